"""Supports with a large eigenvalue of a contrast: grow many at once, feature by feature, and keep the best."""

from __future__ import annotations

import numpy as np

from .._types import Array
from .bordered import Bordered, distinct, pairs

CELLS = 2**20  # numbers in a buffer: small enough for a cache, large enough for numpy


def grow(contrast: Array, k: int, width: int) -> Array:
    """Up to ``width`` supports of ``k >= 2`` features, (n, k), the largest eigenvalue first."""
    p = len(contrast)
    supports, scores = pairs(contrast)
    supports = supports[_best(scores, width)]
    while supports.shape[1] < k:
        step = max(1, CELLS // (supports.shape[1] * p))
        scores = np.concatenate(
            [Bordered.of(contrast, supports[i : i + step]).largest() for i in range(0, len(supports), step)]
        )
        # A support has up to r + 1 parents here, so this many hold `width` different ones.
        flat = _best(scores.ravel(), width * (supports.shape[1] + 1))
        parent, feature = np.divmod(flat[np.isfinite(scores.ravel()[flat])], p)
        supports = np.sort(np.column_stack([supports[parent], feature]), axis=1)
        supports = supports[distinct(supports, p)][:width]
    return supports


def _best(scores: Array, n: int) -> Array:
    """Positions of the ``n`` largest, the largest first."""
    if n < len(scores):
        chosen = np.argpartition(-scores, n)[:n]
        return chosen[np.argsort(-scores[chosen], kind="stable")]
    return np.argsort(-scores, kind="stable")
