"""Figures of a fitted model, drawn with matplotlib (extra ``plot``).

Every function takes the fitted model first and an optional ``ax``, draws on it (or on a new figure) and returns the Axes.
Importing this package does not import matplotlib; calling a function does. No function calls ``plt.show`` or changes
the style, so figures follow the user's rcParams.
"""

from .bars import loadings, variance
from .densities import density
from .dual_function import dual
from .images import eigenimages
from .path import contrast_path
from .scatter import biplot, scores
from .style import PALETTE

__all__ = [
    "PALETTE",
    "biplot",
    "contrast_path",
    "density",
    "dual",
    "eigenimages",
    "loadings",
    "scores",
    "variance",
]
