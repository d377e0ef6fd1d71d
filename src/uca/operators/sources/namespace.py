"""Arrays of other namespaces (PyTorch and the like): which one, and to numpy and back."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import sklearn

from ... import _sklearn
from ..._containers import is_array_api
from ..._sklearn import device_of, get_namespace
from ..._types import Array


def namespace(*arrays: Any) -> Any:
    """The namespace that the arrays share; scikit-learn says so where they do not."""
    return get_namespace(*arrays)


def to_numpy(array: Any) -> Array:
    """An array of any namespace and device, in numpy."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # PyTorch: off the graph
        array = array.detach()
    with sklearn.config_context(array_api_dispatch=True):
        return _sklearn.to_numpy(array, namespace(array))


def like(array: Array, reference: Any, dtype: Any = None) -> Any:
    """A numpy array in the namespace and on the device of ``reference``, of the same type where the device has it."""
    xp, values = namespace(reference), np.ascontiguousarray(array)
    try:
        return xp.asarray(values, dtype=dtype, device=device_of(reference))
    except TypeError:  # Apple's MPS has no float64
        return xp.asarray(values.astype(np.float32), dtype=dtype, device=device_of(reference))


def check_namespace(X: Any, fitted: Any, method: str) -> None:
    """Refuse rows of another namespace or device than that of the fit, while array-API dispatch is on."""
    if isinstance(fitted, np.ndarray) and not is_array_api(X):
        return
    if not sklearn.get_config()["array_api_dispatch"]:
        return
    if not is_array_api(X) or namespace(X) is not namespace(fitted) or device_of(X) != device_of(fitted):
        raise ValueError(
            f"Inputs passed to {method}() must use the same namespace and the same device as those passed to fit()."
        )


def numpy_dtype(array: Any) -> np.dtype:
    """float32 for float32 arrays, else float64."""
    return np.dtype(np.float32 if array.dtype == namespace(array).float32 else np.float64)


def in_numpy(holder: Any, reference: Any) -> Any:
    """An object with its arrays in numpy: itself if ``reference``, one of them, is there already, else a copy."""
    if isinstance(reference, np.ndarray):
        return holder
    twin = copy(holder)
    foreign = {name: value for name, value in vars(holder).items() if hasattr(value, "shape")}
    vars(twin).update({name: to_numpy(value) for name, value in foreign.items()})
    return twin
