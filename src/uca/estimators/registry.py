"""The registry of what can be fitted, saved and compared."""

from .base import ContrastiveTransformer
from .cpca import CPCA
from .cpca_plus_plus import CPCAPlusPlus
from .sparse_uca import SparseUCA
from .uca import UCA

#: Every estimator, in the order in which a comparison shows them. A new one is one file and one entry here.
ESTIMATORS: tuple[type[ContrastiveTransformer], ...] = (CPCA, CPCAPlusPlus, UCA, SparseUCA)
