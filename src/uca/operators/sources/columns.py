"""Passes over the standardised rows of all datasets, a few columns at a time in a small buffer: for the reduced form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ... import _threads
from ..._containers import float_dtype
from ..._threads import in_lanes
from ..._types import Array
from ..statistics.blocks import BLOCK_BYTES, LANES_SHARE, PARALLEL_BYTES, center_block, fill, sums_of_squares
from ..statistics.column_moments import ColumnMoments
from ..statistics.standard import Standard, standards

LANE_BYTES = 4_000_000


def stacked(n_rows: Sequence[int]) -> list[slice]:
    """Where the rows of each dataset stand in a stack of all, target first."""
    stops = np.cumsum(n_rows).tolist()
    return [slice(stop - n, stop) for stop, n in zip(stops, n_rows, strict=True)]


class ColumnBlocks:
    """:class:`~.source.ColumnPasses` over arrays in memory. The first pass, :meth:`gram`, finds the standards."""

    def __init__(self, arrays: Sequence[Any], *, center: bool, scale: bool | str, parallel: bool = True):
        self.arrays = [array.tocsc() if sparse.issparse(array) else array for array in arrays]
        self.dense = not any(map(sparse.issparse, arrays))
        self.center, self.scale = center, scale
        self.n_features = arrays[0].shape[1]
        # Blocks of float32 input are widened, so that products lose nothing; float32 products of paired data, whose
        # difference is what matters, would break bounds that are certified to be kept.
        self.dtype = np.dtype(float)
        # The lift is another matter: components of float32 data are float32.
        self._lift_dtype = np.result_type(np.float32, *(array.dtype for array in self.arrays))
        self.rows = stacked([array.shape[0] for array in arrays])
        self.n_rows = self.rows[-1].stop
        self.standards: tuple[Standard, ...] = ()
        self._lanes, size = _share_out(self.n_rows, self.n_features, parallel)
        width = max(64, size // (self.n_rows * self.dtype.itemsize))
        self._columns = [slice(s, min(s + width, self.n_features)) for s in range(0, self.n_features, width)]
        self.width = min(width, self.n_features)

    def gram(self) -> Array:
        """``Z Z'`` in float64."""
        measured: dict[int, tuple[Standard, ...]] = {}

        def work(share: Sequence[slice]) -> Array:
            total, buffer = np.zeros((self.n_rows, self.n_rows)), self._buffer()
            with np.errstate(invalid="ignore", over="ignore"):  # of this thread
                for columns in share:
                    z = buffer[:, : columns.stop - columns.start]
                    measured[columns.start] = self._measure(columns, z)
                    total += z @ z.T
            return total

        total = self._sum(work)
        parts = [measured[columns.start] for columns in self._columns]
        self.standards = tuple(Standard.beside(of_one) for of_one in zip(*parts, strict=True))
        return total

    def standardised(self) -> Array:
        """Z itself, after :meth:`gram`."""
        out = np.empty((self.n_rows, self.n_features))
        for columns in self._columns:
            self._standardised(columns, out[:, columns])
        return out

    def product(self, vectors: Array) -> Array:
        """``Z V`` for V of shape (p, k)."""

        def work(share: Sequence[slice]) -> Array:
            total, buffer = np.zeros((self.n_rows, vectors.shape[1])), self._buffer()
            for columns in share:
                total += self._standardised(columns, buffer) @ vectors[columns]
            return total

        return self._sum(work)

    def transposed_product(self, weights: Array) -> Array:
        """``(Z' W)'``, of shape (k, p), for W of shape (N, k)."""
        out = np.empty((weights.shape[1], self.n_features))
        small = self._means_are_small()
        product = self._centred_after if small else self._centred_before
        left = np.ascontiguousarray(weights.T, dtype=self._lift_dtype if small else self.dtype)

        def work(share: Sequence[slice]) -> None:
            buffer = self._buffer()
            for columns in share:
                out[:, columns] = product(left, columns, buffer)

        in_lanes(work, self._columns, most=self._lanes)
        return out

    def _means_are_small(self) -> bool:
        """Whether centring after a product costs no digits that matter: no mean exceeds a hundred deviations (or one)."""
        limit = 100.0 if self._lift_dtype == np.float64 else 1.0
        return self.scale is True and all(np.all(np.abs(s.mean) <= limit * s.scale) for s in self.standards)

    def _centred_before(self, left: Array, columns: slice, buffer: Array) -> Array:
        return left @ self._standardised(columns, buffer)

    def _centred_after(self, left: Array, columns: slice, buffer: Array) -> Array:
        """The same without a standardised block: ``(W'X - (W'1) mean') / deviation`` for each dataset, summed."""
        total = np.zeros((len(left), columns.stop - columns.start))
        for array, rows, standard in zip(self.arrays, self.rows, self.standards, strict=True):
            part = (left[:, rows] @ array[:, columns]).astype(float, copy=False)
            part -= np.multiply.outer(left[:, rows].sum(axis=1), standard.mean[columns])
            standard.part(columns).rescale(part)
            total += part
        return total

    def _sum(self, work: Callable[[Sequence[slice]], Array]) -> Array:
        first, *others = in_lanes(work, self._columns, most=self._lanes)
        for other in others:
            first += other
        return first

    def _buffer(self) -> Array:
        return np.empty((self.n_rows, self.width), dtype=self.dtype)

    def _measure(self, columns: slice, z: Array) -> tuple[Standard, ...]:
        """Standardise a block, and say by what."""
        moments = [self._moments(i, columns, z[rows]) for i, rows in enumerate(self.rows)]
        found = standards(moments, center=self.center, scale=self.scale)
        for rows, standard in zip(self.rows, found, strict=True):
            standard.rescale(z[rows])
        return found

    def _moments(self, i: int, columns: slice, part: Array) -> ColumnMoments:
        """Write columns of a dataset to ``part``, centred if data is; return their moments (squares if they are used)."""
        array, zero = self.arrays[i], np.zeros(columns.stop - columns.start)
        mean, rest, squares = zero, zero, zero
        if self.center:
            mean, rest = center_block(array[:, columns], part)
        else:
            fill(part, array[:, columns])
        if self.center or self.scale is True or (self.scale and i == 0):
            squares = sums_of_squares(part)
        return ColumnMoments(len(part), zero, mean, rest, squares, float_dtype(array.dtype))

    def _standardised(self, columns: slice, buffer: Array) -> Array:
        """Standardise a block by the known standards."""
        z = buffer[:, : columns.stop - columns.start]
        for array, rows, standard in zip(self.arrays, self.rows, self.standards, strict=True):
            fill(z[rows], array[:, columns])
            standard.part(columns).apply(z[rows])
        return z


def _share_out(n_rows: int, n_features: int, parallel: bool) -> tuple[int, int]:
    """Number of lanes, and bytes of a block.

    Lanes need blocks that keep a core busy while another holds Python's lock. Blocks and N x N sums of all lanes together
    stay within a share of the input, however many cores there are.
    """
    n_bytes = 8 * n_rows * n_features
    if not parallel or n_bytes < PARALLEL_BYTES:
        return 1, BLOCK_BYTES
    sums = 2 * 8 * n_rows**2
    lanes = int(np.clip(LANES_SHARE * n_bytes // (sums + BLOCK_BYTES), 1, _threads.n_workers()))
    return lanes, int(np.clip(LANES_SHARE * n_bytes / lanes - sums, BLOCK_BYTES, LANE_BYTES))
