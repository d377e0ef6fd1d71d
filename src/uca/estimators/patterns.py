"""What follows the score: the covariance and the correlation of every feature with it, in the target.

A component v is a filter: the weights by which features are added up. It also holds features that only cancel what a
background shares. The *pattern* ``A v / (v'Av)`` says how features move with the score: by how much a feature rises, in the
units of the fit, where the score rises by 1 (Haufe et al. 2014, "On the interpretation of weight vectors of linear models").
"""

from __future__ import annotations

import numpy as np

from .._types import Array
from ..operators.representations.representation import Representation, as_rows


def patterns(images: Array, variances: Array) -> Array:
    """``A v / (v'Av)`` from ``A v``, (size, k), in any space; 0 for a v without variance."""
    return np.divide(images, variances, out=np.zeros_like(images), where=variances > 0)


def correlations(patterns: Array, variances: Array, deviations: Array | None) -> Array | None:
    """Correlation of features with the score, (k, p): ``pattern * SD of the score / SD of the feature``.

    0 for features that do not vary; None where the spread of features is not known.
    """
    if deviations is None:
        return None
    size = np.sqrt(np.maximum(variances, 0.0))[:, np.newaxis]
    with np.errstate(over="ignore"):
        found = np.divide(patterns * size, deviations, out=np.zeros_like(patterns), where=deviations > 0)
    return np.clip(found, -1.0, 1.0)


def feature_deviations(held: Representation) -> Array | None:
    """SD of every feature in the target as it entered the fit: 1 where it was scaled, 0 where it is constant.

    From the covariance where there is one, else from what the target was scaled by; None where neither tells.
    """
    if held.lift is as_rows and (matrix := held.pencil.target.dense()) is not None:
        return np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    standard = held.standards[0]
    if standard.deviation is not None:
        return (standard.deviation > 0).astype(float)
    return standard.spread
