"""Means and scatter matrices of rows, in blocks and without losing digits; they can be merged and saved.

Promises: no centred copy of the data is made, only blocks of a few megabytes, whose number does not grow with that of the
cores beyond a share of the input; a mean of 1e14 with a spread of 1 costs no digits (blocks are centred by their own mean,
twice, means are kept as a sum of two floats, and blocks are merged pairwise, Chan, Golub & LeVeque 1983); float32 input is
widened to float64 a block at a time, so its products lose nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..._claims import check_npz
from ..._containers import float_dtype
from ..._files import new_file
from ..._guard import Refusal, check_file, guarded
from ..._memory import check_matrices_fit
from ..._threads import in_lanes
from ..._types import Array
from ..._validation import check_rows, check_same_columns, get_columns, raise_not_finite
from .blocks import BLOCK_BYTES, PARALLEL_BYTES, center_block, divisor, lanes_within, stored_bytes, two_sum
from .standard import is_finite


@dataclass(eq=False, repr=False)
class Moments:
    """Number of rows, mean and scatter matrix of a table; they can be added to, merged and saved.

    Two objects computed in two places and merged are the moments of all rows together, as a map-reduce needs.
    Pass them to :meth:`uca.UCA.partial_fit` in place of rows.

    Attributes
    ----------
    n : int
        Number of rows.
    mean : array of shape (p,)
    scatter : array of shape (p, p)
        Sum of outer products of rows about the mean.
    dtype : numpy dtype
        The wider of float32 and float64 that rows came in; tells how large rounding errors of the data are.
    columns : list or None
        Names of the features, where rows came with names. Moments with other names, or in another order, do not merge.
    rest : array of shape (p,) or None
        What ``mean`` lost to rounding: the mean is the sum of the two. It matters where a mean is large beside the spread.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA, Moments
    >>> rng = np.random.default_rng(0)
    >>> rows, controls = rng.normal(size=(60, 4)), rng.normal(size=(50, 4))
    >>> here, there = Moments.of(rows[:20]), Moments.of(rows[20:])  # perhaps on two machines
    >>> model = UCA().partial_fit(here.merge(there), backgrounds=Moments.of(controls))
    >>> bool(np.allclose(model.components_, UCA().fit(rows, backgrounds=controls).components_))
    True
    """

    n: int
    mean: Array
    scatter: Array
    dtype: np.dtype = np.dtype(np.float64)  # noqa: RUF009  (a dtype cannot change)
    columns: list[Any] | None = None
    rest: Array | None = None

    def __repr__(self) -> str:
        return f"Moments({self.n} rows, {len(self.mean)} features, {self.dtype})"

    @property
    def squares(self) -> Array:
        """Sums of squares about the mean."""
        return self.scatter.diagonal()

    @classmethod
    def empty(cls, p: int) -> Moments:
        """The moments of no rows with ``p`` features."""
        check_matrices_fit(p, 1, "a Moments object")
        return cls(0, np.zeros(p), np.zeros((p, p)), np.dtype(np.float32))

    @classmethod
    def of(cls, X: Any, label: str = "X") -> Moments:
        """The moments of a table, dense or sparse, in row blocks; ``label`` names it in errors."""
        columns = get_columns(X)
        X = check_rows(None, X, label, min_rows=1)
        moments = cls.of_checked(X.tocsr() if sparse.issparse(X) else X, label)
        moments.columns = columns
        return moments

    @classmethod
    def of_checked(cls, X: Any, label: str) -> Moments:
        """The same for an array or CSR matrix that was checked before."""
        total = cls.gather(X, parallel=stored_bytes(X) >= PARALLEL_BYTES)
        if not is_finite(total):
            raise_not_finite(X, label)
        return total

    @classmethod
    def gather(cls, X: Any, *, parallel: bool) -> Moments:
        """The same where NaN and infinity may show in the result."""
        n, p = X.shape
        # Each block costs a few passes over the p x p scatter: long blocks make up for them where p is large.
        rows = int(np.clip(BLOCK_BYTES // (8 * p), max(256, p // 4), 1 << 16))
        starts = range(0, n, rows)

        def work(share: Sequence[int]) -> Moments:
            moments, buffer = cls(0, np.zeros(p), np.zeros((p, p))), np.empty((min(rows, n), p))
            with np.errstate(invalid="ignore", over="ignore"):  # of this thread
                for start in share:
                    moments._add_block(X[start : start + rows], buffer)
            return moments

        # A lane holds a block, its scatter, and what merging the two needs; the matrices that a fit holds anyway are room.
        lanes = lanes_within(8 * p * (min(rows, n) + 3 * p), stored_bytes(X), 8 * 8 * p**2) if parallel else 1
        with np.errstate(invalid="ignore", over="ignore"):
            total, *others = in_lanes(work, starts, most=lanes)
            for other in others:
                total.merge(other)
        total.dtype = float_dtype(X.dtype)
        return total

    def add(self, X: Any) -> Moments:
        """Add rows; returns the object itself."""
        return self.merge(Moments.of(X))

    def merge(self, other: Moments) -> Moments:
        """Add the rows behind ``other``; returns the object itself."""
        if len(other.mean) != len(self.mean):
            raise ValueError(f"moments of {len(other.mean)} features cannot be merged with those of {len(self.mean)}")
        check_same_columns(other, self.columns, "the object to merge")
        self._merge(other.n, other.mean, other.rest, other.scatter)
        self.columns = self.columns or other.columns
        self.dtype = np.result_type(self.dtype, other.dtype)
        return self

    def covariance(self, *, center: bool = True) -> Array:
        """Covariance matrix; with ``center=False`` the second moments about zero (same divisor)."""
        if center:
            return self.scatter / divisor(self.n)
        return (self.scatter + self.n * np.multiply.outer(self.mean, self.mean)) / divisor(self.n)

    def copy(self) -> Moments:
        """Moments that can be added to without changing these."""
        rest = None if self.rest is None else self.rest.copy()
        return Moments(self.n, self.mean.copy(), self.scatter.copy(), self.dtype, self.columns, rest)

    def in_units(self, factors: Array) -> Moments:
        """The moments of rows whose columns were multiplied by ``factors``, powers of two."""
        rest = None if self.rest is None else self.rest * factors
        scatter = self.scatter * factors * factors[:, np.newaxis]
        return Moments(self.n, self.mean * factors, scatter, self.dtype, self.columns, rest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a ``.npz`` file, completely or not at all."""
        held: dict[str, Any] = {"n": self.n, "mean": self.mean, "scatter": self.scatter, "dtype": self.dtype.name}
        if self.rest is not None:
            held["rest"] = self.rest
        if self.columns is not None:
            held["columns"] = np.array([str(name) for name in self.columns])
        with new_file(path) as file:
            np.savez(file, **held)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Read what :meth:`save` wrote. Nothing in the file is executed."""
        place = Path(path)
        check_file(place, "moments")
        with guarded(place, "a file of moments written by Moments.save"):
            check_npz(place)
            with np.load(place, allow_pickle=False) as file:
                n, mean, scatter, dtype = int(file["n"]), file["mean"], file["scatter"], np.dtype(str(file["dtype"]))
                columns = file["columns"].tolist() if "columns" in file else None
                rest = file.get("rest")
            _check_parts(n, mean, scatter, rest, dtype)
        return cls(n, mean, scatter, dtype, columns, rest)

    def _add_block(self, block: Any, buffer: Array) -> None:
        n = block.shape[0]
        centred = buffer[:n]
        mean, rest = center_block(block, centred)
        self._merge(n, mean, rest, centred.T @ centred)

    def _merge(self, n: int, mean: Array, rest: Array | None, scatter: Array) -> None:
        """Chan, Golub & LeVeque's update."""
        if n == 0:
            return
        self.scatter += scatter
        if self.n == 0:
            self.n, self.mean, self.rest = n, mean, rest
            return
        own, other = (0.0 if part is None else part for part in (self.rest, rest))
        shift = (mean - self.mean) + (other - own)
        self.scatter += np.multiply.outer(shift * (self.n * n / (self.n + n)), shift)
        self.mean, lost = two_sum(self.mean, shift * (n / (self.n + n)))
        self.rest = own + lost
        self.n += n


def _check_parts(n: int, mean: Array, scatter: Array, rest: Array | None, dtype: np.dtype[Any]) -> None:
    """Refuse parts of a file that are not numbers or do not fit together."""
    floats = all(isinstance(part, np.ndarray) and part.dtype.kind == "f" for part in (mean, scatter))
    if (
        not floats
        or dtype.kind != "f"
        or not (rest is None or (isinstance(rest, np.ndarray) and rest.dtype.kind == "f"))
    ):
        raise Refusal("it does not hold numbers where Moments.save writes them")
    shapes = {mean.shape, mean.shape if rest is None else rest.shape}
    if mean.ndim != 1 or scatter.shape != (len(mean), len(mean)) or len(shapes) > 1 or n < 0:
        raise Refusal(f"it holds moments of inconsistent shapes {mean.shape}, {scatter.shape}")
