"""Figures of a fitted model, and of what :mod:`uca.inference` says about it, drawn with matplotlib (extra ``plot``).

Every function takes the fitted model, or the result, first and an optional ``ax``, draws on it (or on a new figure)
and returns the Axes. Every figure has a title, unless the Axes given have one; ``ax.set_title`` replaces it, and
``ax.set_title("")`` takes it away. Importing this package does not import matplotlib; calling a function does. No
function calls ``plt.show`` or changes the style, so figures follow the user's rcParams. One function draws with the report's
scripts instead: :func:`explore`, the contrast slider for notebooks (extra ``report``).
"""

from ..report.slider import explore
from .bars import loadings, variance
from .densities import density
from .dual_function import dual
from .groupwise import each
from .images import eigenimages
from .influences import influence, leverage
from .path import contrast_path
from .resampled import reliable_loadings, stability
from .scatter import biplot, scores
from .sparsity import sparsity_path
from .style import PALETTE
from .tested import n_components, uniqueness

__all__ = [
    "PALETTE",
    "biplot",
    "contrast_path",
    "density",
    "dual",
    "each",
    "eigenimages",
    "explore",
    "influence",
    "leverage",
    "loadings",
    "n_components",
    "reliable_loadings",
    "scores",
    "sparsity_path",
    "stability",
    "uniqueness",
    "variance",
]
