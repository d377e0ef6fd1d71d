"""Which rows are drawn, and their scores at every step of the contrast.

The target's scores are those of ``transform``. Each background is centred and scaled as it was in the fit, so that the
spread of its points is the variance that the bounds speak of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._containers import is_dask
from .._threads import one_blas_thread
from .._types import Array
from ..estimators.base import ContrastiveTransformer
from ..fitted import Standardised, background_in_fit, target_in_fit
from ..operators.sources.chunks import project
from ..operators.sources.distributed import project_lazily
from ..operators.sources.graphs import plain
from ..operators.statistics.standard import Standard

FRAME_VALUES = 800_000  # scores of all steps together: about 2 MB in the file
WIDE_BLOCK_BYTES = 32_000_000
MAX_ROWS = 20_000  # points that a browser draws without delay, over all datasets


def in_fit(model: ContrastiveTransformer, arrays: Sequence[Any]) -> list[Standardised]:
    """Target and backgrounds with their centring and scaling, gaps completed, as in the fit."""
    return [target_in_fit(model, arrays[0]), *(background_in_fit(model, array) for array in arrays[1:])]


def choose_rows(n_rows: Sequence[int], n_components: int, n_steps: int) -> list[Array]:
    """Rows of each dataset to draw: all where they fit, else an even random sample with a fixed seed.

    The target takes what the backgrounds leave, and at least half; the backgrounds share the rest evenly.
    """
    room = int(min(MAX_ROWS, FRAME_VALUES // (n_components * n_steps)))
    target = min(n_rows[0], max(room // 2, room - sum(n_rows[1:])))
    left, taken = room - target, [target] + [0] * (len(n_rows) - 1)
    smallest_first = sorted(range(1, len(n_rows)), key=n_rows.__getitem__)
    for position, j in enumerate(smallest_first):
        taken[j] = min(n_rows[j], left // (len(smallest_first) - position))
        left -= taken[j]
    random = np.random.default_rng(0)
    return [
        np.arange(n) if take == n else np.sort(random.choice(n, size=take, replace=False))
        for n, take in zip(n_rows, taken, strict=True)
    ]


def take(array: Any, rows: Array) -> Any:
    """Some rows of an array, CSR or CSC; those of a dask array come into memory."""
    if is_dask(array):
        return plain(array[rows].compute())
    return array.tocsr()[rows] if sparse.issparse(array) else array[rows]


def frames(arrays: Sequence[Any], standard: Sequence[Standard], components: Array, score_scale: Array) -> Array:
    """Scores at every step, (s, k, N), of the rows of all datasets one after another.

    ``components`` has shape (s, k, p); ``score_scale`` (s, k) multiplies scores (whitening).
    """
    s, k, p = components.shape
    flat = components.reshape(s * k, p)
    with one_blas_thread():
        parts = [
            _project(array, std.mean, (flat * std.factor).T).T.reshape(s, k, -1)
            for array, std in zip(arrays, standard, strict=True)
        ]
    return np.concatenate(parts, axis=2) * score_scale[:, :, np.newaxis]


def _project(array: Any, mean: Array, weights: Array) -> Array:
    """Scores on many components at once: in larger blocks than a few components need, as the weights are read each time."""
    if is_dask(array):
        return np.asarray(project_lazily(array, mean, weights, np.dtype(float)).compute())
    if sparse.issparse(array):
        return project(array, mean, weights)
    rows = max(1, WIDE_BLOCK_BYTES // (8 * array.shape[1]))
    return np.concatenate([(array[i : i + rows] - mean) @ weights for i in range(0, array.shape[0], rows)])
