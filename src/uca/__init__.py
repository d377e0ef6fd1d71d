"""Unique Component Analysis: what varies in one dataset and not in others.

>>> from uca import UCA
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._pool import pool
from .drifted import Alarm, Drift
from .dual import Certificate, DualResult
from .estimators.cpca import CPCA, ContrastiveResult
from .estimators.cpca_plus_plus import CPCAPlusPlus
from .estimators.expected_words import NewRowsWarning
from .estimators.sparse_component import SparseCertificate
from .estimators.sparse_uca import SparseUCA
from .estimators.uca import UCA
from .means import MeanDifference, MeanDifferences
from .monitoring import drift
from .operators.statistics.moments import Moments
from .persistence import load, save
from .pipeline import ContrastivePipeline
from .removal import remove
from .solvers.api import solve_dual
from .solvers.infeasible import InfeasibleBoundsError

if _TYPE_CHECKING:
    from .groupwise import Each, EachGroup, each

__version__ = _version("unique-component-analysis")

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

_ON_USE = {
    "comparison",
    "datasets",
    "inference",
    "io",
    "mne",
    "plotting",
    "report",
    "scverse",
}  # imported when first used; may need an extra

_FROM = {
    "Each": "groupwise",
    "EachGroup": "groupwise",
    "each": "groupwise",
}  # names of modules that are imported on use


def __getattr__(name: str) -> _Any:
    if name in _FROM:
        return getattr(_import_module(f"{__name__}.{_FROM[name]}"), name)
    if name in _ON_USE:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
