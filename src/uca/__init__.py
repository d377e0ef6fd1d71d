"""Unique Component Analysis: what varies in one dataset and not in others.

>>> from uca import UCA

Nothing is imported before it is used: ``import uca`` alone does not load numpy.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._lazy import on_use as _on_use

if _TYPE_CHECKING:
    from . import comparison as comparison
    from . import datasets as datasets
    from . import inference as inference
    from . import io as io
    from . import mne as mne
    from . import plotting as plotting
    from . import report as report
    from . import scverse as scverse
    from ._pool import pool
    from ._version import __version__
    from .drifted import Alarm, Drift
    from .dual import Certificate, DualResult
    from .estimators.cpca import CPCA, ContrastiveResult
    from .estimators.cpca_plus_plus import CPCAPlusPlus
    from .estimators.expected_words import NewRowsWarning
    from .estimators.sparse_component import SparseCertificate
    from .estimators.sparse_uca import SparseUCA
    from .estimators.uca import UCA
    from .groupwise import Each, EachGroup, each
    from .means import MeanDifference, MeanDifferences
    from .monitoring import drift
    from .operators.statistics.moments import Moments
    from .persistence import load, save
    from .pipeline import ContrastivePipeline
    from .removal import remove
    from .solvers.api import solve_dual
    from .solvers.infeasible import InfeasibleBoundsError

__all__ = [
    "CPCA",
    "UCA",
    "Alarm",
    "CPCAPlusPlus",
    "Certificate",
    "ContrastivePipeline",
    "ContrastiveResult",
    "Drift",
    "DualResult",
    "Each",
    "EachGroup",
    "InfeasibleBoundsError",
    "MeanDifference",
    "MeanDifferences",
    "Moments",
    "NewRowsWarning",
    "SparseCertificate",
    "SparseUCA",
    "__version__",
    "drift",
    "each",
    "load",
    "pool",
    "remove",
    "save",
    "solve_dual",
]

#: Module -> the public names that it brings.
_NAMES = {
    "_pool": ("pool",),
    "_version": ("__version__",),
    "drifted": ("Alarm", "Drift"),
    "dual": ("Certificate", "DualResult"),
    "estimators.cpca": ("CPCA", "ContrastiveResult"),
    "estimators.cpca_plus_plus": ("CPCAPlusPlus",),
    "estimators.expected_words": ("NewRowsWarning",),
    "estimators.sparse_component": ("SparseCertificate",),
    "estimators.sparse_uca": ("SparseUCA",),
    "estimators.uca": ("UCA",),
    "groupwise": ("Each", "EachGroup", "each"),
    "means": ("MeanDifference", "MeanDifferences"),
    "monitoring": ("drift",),
    "operators.statistics.moments": ("Moments",),
    "persistence": ("load", "save"),
    "pipeline": ("ContrastivePipeline",),
    "removal": ("remove",),
    "solvers.api": ("solve_dual",),
    "solvers.infeasible": ("InfeasibleBoundsError",),
}
_ON_USE = {
    "comparison",
    "datasets",
    "inference",
    "io",
    "mne",
    "plotting",
    "report",
    "scverse",
}  # modules that are public; they may need an extra
#: Modules that are no promise, but are found as attributes.
_INSIDE = {"drifted", "dual", "estimators", "fitted", "means", "monitoring", "operators"}
_INSIDE |= {"persistence", "pipeline", "removal", "solvers", "supports", "typing"}

__getattr__, __dir__ = _on_use(__name__, _NAMES, _ON_USE | _INSIDE)
