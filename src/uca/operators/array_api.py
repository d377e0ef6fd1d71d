"""Arrays of other namespaces (PyTorch and the like), through scikit-learn's array-API dispatch.

Promises: the passes over data (moments, or the Gram matrix and the lift) run in the input's namespace and on its device;
only p x p or N x N matrices and a few vectors come to numpy, where the problem is solved; fitted arrays and scores return to
the namespace and device of the input. Blocks are widened to float64 where the device has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import sklearn

from .._containers import is_array_api
from .._types import Array
from .covariance import from_moments
from .memory import check_matrices_fit
from .moments import Moments, check_range, deviations, inverse, two_sum
from .reduced import from_columns
from .representation import Representation, stacked

BLOCK_BYTES = 64_000_000  # a device works best on large blocks


def namespace(*arrays: Any) -> Any:
    """The namespace that the arrays share; scikit-learn says so where they do not."""
    from sklearn.utils._array_api import get_namespace

    return get_namespace(*arrays)[0]


def to_numpy(array: Any) -> Array:
    """An array of any namespace and device, in numpy."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # PyTorch: off the graph
        array = array.detach()
    from sklearn.utils._array_api import _convert_to_numpy

    with sklearn.config_context(array_api_dispatch=True):
        return np.asarray(_convert_to_numpy(array, namespace(array)))


def like(array: Array, reference: Any, dtype: Any = None) -> Any:
    """A numpy array in the namespace and on the device of ``reference``, of the same type where the device has it."""
    from sklearn.utils._array_api import device

    xp, values = namespace(reference), np.ascontiguousarray(array)
    try:
        return xp.asarray(values, dtype=dtype, device=device(reference))
    except TypeError:  # Apple's MPS has no float64
        return xp.asarray(values.astype(np.float32), dtype=dtype, device=device(reference))


def check_namespace(X: Any, fitted: Any, method: str) -> None:
    """Refuse rows of another namespace or device than that of the fit, while array-API dispatch is on."""
    if isinstance(fitted, np.ndarray) and not is_array_api(X):
        return
    if not sklearn.get_config()["array_api_dispatch"]:
        return
    from sklearn.utils._array_api import device

    if not is_array_api(X) or namespace(X) is not namespace(fitted) or device(X) != device(fitted):
        raise ValueError(
            f"Inputs passed to {method}() must use the same namespace and the same device as those passed to fit()."
        )


def numpy_dtype(array: Any) -> np.dtype:
    """float32 for float32 arrays, else float64."""
    return np.dtype(np.float32 if array.dtype == namespace(array).float32 else np.float64)


def from_array_api(
    arrays: Sequence[Any], labels: Sequence[str], *, representation: str, center: bool, scale: bool | str, n_empty: int
) -> Representation:
    """The covariance or reduced form of arrays in one namespace, target first."""
    if representation not in ("covariance", "reduced"):
        raise ValueError(
            f"representation={representation!r} takes numpy arrays; for arrays of another namespace choose 'covariance' or "
            "'reduced', or pass them as numpy"
        )
    reference = next(array for array in arrays if not isinstance(array, np.ndarray))
    arrays = [like(array, reference) if isinstance(array, np.ndarray) else array for array in arrays]
    if representation == "reduced":
        return from_columns(DeviceColumns(arrays, labels, center=center, scale=scale), n_empty=n_empty)
    check_matrices_fit(arrays[0].shape[1], len(arrays), "representation='covariance'")
    return _covariances(arrays, labels, center=center, scale=scale)


def _covariances(arrays: Sequence[Any], labels: Sequence[str], *, center: bool, scale: bool | str) -> Representation:
    moments = [_moments(array, label) for array, label in zip(arrays, labels, strict=True)]
    return from_moments(moments, center=center, scale=scale)


def _moments(X: Any, label: str) -> Moments:
    """Three passes: means, what rounding left in them, then the scatter about the sum of both."""
    xp, (n, p) = namespace(X), X.shape
    size = max(1, BLOCK_BYTES // (8 * p))
    blocks = [X[start : min(start + size, n), :] for start in range(0, n, size)]
    mean = sum(xp.sum(_wide(block), axis=0) for block in blocks) / n
    left = sum(xp.sum(_wide(block) - mean, axis=0) for block in blocks) / n
    scatter = np.zeros((p, p))
    for block in blocks:
        centred = (_wide(block) - mean) - left
        scatter += to_numpy(centred.T @ centred)
    center, rest = two_sum(to_numpy(mean).astype(float), to_numpy(left).astype(float))
    if not (np.isfinite(center).all() and np.isfinite(scatter.diagonal()).all()):
        _raise_not_finite(X, label)
    return Moments(n, center, scatter, numpy_dtype(X), None, rest)


def _wide(block: Any) -> Any:
    """The block in float64, or as it is where the device has none."""
    try:
        return namespace(block).astype(block, namespace(block).float64)
    except TypeError:  # Apple's MPS
        return block


def _raise_not_finite(X: Any, label: str) -> None:
    from .._validation import raise_not_finite

    raise_not_finite(to_numpy(X), label)


class DeviceColumns:
    """The passes of :class:`~uca.operators.columns.ColumnBlocks` in another namespace."""

    def __init__(self, arrays: Sequence[Any], labels: Sequence[str], *, center: bool, scale: bool | str):
        self.arrays, self.labels, self.center, self.scale = arrays, labels, center, scale
        self.xp = namespace(*arrays)
        self.n_features = arrays[0].shape[1]
        self.rows = stacked([array.shape[0] for array in arrays])
        width = max(1, BLOCK_BYTES // (8 * self.rows[-1].stop))
        self._columns = [slice(s, min(s + width, self.n_features)) for s in range(0, self.n_features, width)]
        self.width = width
        self.means = [np.zeros(self.n_features) for _ in arrays]
        self.rests = [np.zeros(self.n_features) for _ in arrays]
        self.deviations = [np.ones(self.n_features) for _ in arrays]

    def gram(self) -> Array:
        """``Z Z'``, with means and deviations found on the way."""
        total = np.zeros((self.rows[-1].stop, self.rows[-1].stop))
        for columns in self._columns:
            for i, array in enumerate(self.arrays):
                self._measure(i, _wide(array[:, columns]), columns)
            z = self._standardised(columns)
            total += to_numpy(z @ z.T)
        return total

    def covariances(self) -> Callable[[], Representation]:
        """The same data in covariance form."""
        return partial(_covariances, self.arrays, self.labels, center=self.center, scale=self.scale)

    def product(self, vectors: Array) -> Array:
        """``Z V``."""
        parts = (self._standardised(c) @ like(vectors[c], self.arrays[0]) for c in self._columns)
        return np.asarray(sum(to_numpy(part) for part in parts))

    def transposed_product(self, weights: Array) -> Array:
        """``(Z' W)'``."""
        left = like(weights.T, self.arrays[0])
        return np.hstack([to_numpy(left @ self._standardised(columns)) for columns in self._columns])

    def raise_not_finite(self, i: int) -> None:
        """Raise the error that names what is not finite in dataset ``i``."""
        _raise_not_finite(self.arrays[i], self.labels[i])

    def _measure(self, i: int, block: Any, columns: slice) -> None:
        n = block.shape[0]
        if self.center:
            mean = self.xp.sum(block, axis=0) / n
            block = block - mean
            left = self.xp.sum(block, axis=0) / n
            block = block - left
            self.means[i][columns], self.rests[i][columns] = two_sum(to_numpy(mean), to_numpy(left))
        if self.scale == "target" and i:
            self.deviations[i][columns] = self.deviations[0][columns]
        elif self.scale:
            squares = to_numpy(self.xp.sum(block * block, axis=0)).astype(float)
            check_range(squares, self.means[i][columns])
            found = deviations(squares, self.means[i][columns], n, numpy_dtype(self.arrays[i]))
            self.deviations[i][columns] = found

    def _standardised(self, columns: slice) -> Any:
        parts = []
        for array, mean, rest, spread in zip(self.arrays, self.means, self.rests, self.deviations, strict=True):
            part = _wide(array[:, columns])
            if self.center:
                part = (part - like(mean[columns], part, part.dtype)) - like(rest[columns], part, part.dtype)
            if self.scale:
                part = part * like(inverse(spread[columns]), part, part.dtype)
            parts.append(part)
        return self.xp.concat(parts, axis=0)


def project_in_namespace(X: Any, mean: Array, weights: Array) -> Any:
    """``(X - 1 mean') W`` in the namespace of X."""
    wide = _wide(X)
    scores = (wide - like(mean, wide, wide.dtype)) @ like(weights, wide, wide.dtype)
    if not bool(namespace(X).all(namespace(X).isfinite(scores))):
        _raise_not_finite(X, "X")
    return namespace(X).astype(scores, X.dtype)
