"""Arrays of other namespaces (PyTorch and the like), through scikit-learn's array-API dispatch.

Promises: the passes over data (moments, or the Gram matrix and the lift) run in the input's namespace and on its device;
only p x p or N x N matrices and a few vectors come to numpy, where the problem is solved; fitted arrays and scores return to
the namespace and device of the input. Blocks are widened to float64 where the device has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..._containers import is_array_api
from ..._types import Array
from ..._validation import raise_not_finite
from ..statistics.blocks import two_sum
from ..statistics.column_moments import ColumnMoments
from ..statistics.moments import Moments
from ..statistics.standard import Standard, standards
from .columns import stacked
from .namespace import like, namespace, numpy_dtype, to_numpy
from .source import Offer, Source

DEVICE_BYTES = 64_000_000  # of a block: a device works best on large ones


class DeviceSource(Source):
    """Arrays in one namespace, on one device; numpy arrays among them join it."""

    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.MOMENTS, Offer.COLUMNS})
    containers: ClassVar[str] = "arrays of another namespace"

    def __init__(self, arrays: Sequence[Any], labels: Sequence[str]):
        reference = next(array for array in arrays if not isinstance(array, np.ndarray))
        joined = [like(array, reference) if isinstance(array, np.ndarray) else array for array in arrays]
        super().__init__(joined, labels)

    @classmethod
    def takes(cls, array: Any) -> bool:
        return is_array_api(array)

    def raise_not_finite(self, i: int) -> None:
        raise_not_finite(to_numpy(self.arrays[i]), self.labels[i])

    def moments(self) -> list[Moments]:
        return self.checked([_moments(array) for array in self.arrays])

    def columns(self, *, center: bool, scale: bool | str) -> DeviceColumns:
        return DeviceColumns(self.arrays, center=center, scale=scale)


def _moments(X: Any) -> Moments:
    """Three passes: means, what rounding left in them, then the scatter about the sum of both."""
    xp, (n, p) = namespace(X), X.shape
    size = max(1, DEVICE_BYTES // (8 * p))
    blocks = [X[start : min(start + size, n), :] for start in range(0, n, size)]
    mean = sum(xp.sum(_wide(block), axis=0) for block in blocks) / n
    left = sum(xp.sum(_wide(block) - mean, axis=0) for block in blocks) / n
    scatter = np.zeros((p, p))
    for block in blocks:
        centred = (_wide(block) - mean) - left
        scatter += to_numpy(centred.T @ centred)
    center, rest = two_sum(to_numpy(mean).astype(float), to_numpy(left).astype(float))
    return Moments(n, center, scatter, numpy_dtype(X), None, rest)


def _wide(block: Any) -> Any:
    """The block in float64, or as it is where the device has none."""
    try:
        return namespace(block).astype(block, namespace(block).float64)
    except TypeError:  # Apple's MPS
        return block


class DeviceColumns:
    """:class:`~.source.ColumnPasses` in another namespace."""

    def __init__(self, arrays: Sequence[Any], *, center: bool, scale: bool | str):
        self.arrays, self.center, self.scale = arrays, center, scale
        self.xp = namespace(*arrays)
        self.n_features = arrays[0].shape[1]
        self.rows = stacked([array.shape[0] for array in arrays])
        self.width = max(1, DEVICE_BYTES // (8 * self.rows[-1].stop))
        self._columns = [slice(s, min(s + self.width, self.n_features)) for s in range(0, self.n_features, self.width)]
        self.standards: tuple[Standard, ...] = ()

    def gram(self) -> Array:
        total, parts = np.zeros((self.rows[-1].stop, self.rows[-1].stop)), []
        for columns in self._columns:
            moments = [self._moments(array, columns) for array in self.arrays]
            parts.append(standards(moments, center=self.center, scale=self.scale))
            z = self._standardised(columns, parts[-1])
            total += to_numpy(z @ z.T)
        self.standards = tuple(Standard.beside(of_one) for of_one in zip(*parts, strict=True))
        return total

    def product(self, vectors: Array) -> Array:
        parts = (self._standardised(c, self._part(c)) @ like(vectors[c], self.arrays[0]) for c in self._columns)
        return np.asarray(sum(to_numpy(part) for part in parts))

    def transposed_product(self, weights: Array) -> Array:
        left = like(weights.T, self.arrays[0])
        return np.hstack([to_numpy(left @ self._standardised(c, self._part(c))) for c in self._columns])

    def _part(self, columns: slice) -> list[Standard]:
        return [standard.part(columns) for standard in self.standards]

    def _moments(self, array: Any, columns: slice) -> ColumnMoments:
        """Moments of some columns, about 0 where data is not centred."""
        block = _wide(array[:, columns])
        n, p = block.shape
        mean = rest = np.zeros(p)
        if self.center:
            average = self.xp.sum(block, axis=0) / n
            block = block - average
            left = self.xp.sum(block, axis=0) / n
            block = block - left
            mean, rest = two_sum(to_numpy(average).astype(float), to_numpy(left).astype(float))
        squares = (
            to_numpy(self.xp.sum(block * block, axis=0)).astype(float) if self.scale or self.center else np.zeros(p)
        )
        return ColumnMoments(n, np.full(p, n), mean, rest, squares, numpy_dtype(array))

    def _standardised(self, columns: slice, given: Sequence[Standard]) -> Any:
        parts = []
        for array, standard in zip(self.arrays, given, strict=True):
            part = _wide(array[:, columns])
            if standard.center:
                part = (part - like(standard.mean, part, part.dtype)) - like(standard.rest, part, part.dtype)
            if standard.deviation is not None:
                part = part * like(standard.factor, part, part.dtype)
            parts.append(part)
        return self.xp.concat(parts, axis=0)


def project_in_namespace(X: Any, mean: Array, weights: Array) -> Any:
    """``(X - 1 mean') W`` in the namespace of X."""
    wide = _wide(X)
    scores = (wide - like(mean, wide, wide.dtype)) @ like(weights, wide, wide.dtype)
    if not bool(namespace(X).all(namespace(X).isfinite(scores))):
        raise_not_finite(to_numpy(X), "X")
    return namespace(X).astype(scores, X.dtype)
