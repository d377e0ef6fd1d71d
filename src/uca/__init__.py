"""Unique Component Analysis: what varies in one dataset and not in others.

>>> from uca import UCA
"""

from importlib.metadata import version as _version

from .dual import Certificate, DualResult
from .estimators.uca import UCA
from .solvers.api import solve_dual
from .solvers.infeasible import InfeasibleBoundsError

__version__ = _version("unique-component-analysis")

__all__ = ["UCA", "Certificate", "DualResult", "InfeasibleBoundsError", "__version__", "solve_dual"]
