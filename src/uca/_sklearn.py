"""What scikit-learn has and does not promise: every private name that this package imports, in one place.

A release of scikit-learn that moves one of them breaks here, and nowhere else (``tests/test_structure.py``). Each has no
public equal:

* :func:`get_namespace`, :func:`to_numpy`, :func:`device_of`: the namespace and device of an array, as scikit-learn's own
  array-API dispatch sees them. Another answer than its own would let arrays of two devices pass one check and fail the next.
* :func:`dense_output`: what ``set_output`` asks of a transformer; scikit-learn gives a way to set it and none to ask.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def get_namespace(*arrays: Any) -> Any:
    """The namespace that the arrays share; scikit-learn says so where they do not."""
    from sklearn.utils._array_api import get_namespace as shared

    return shared(*arrays)[0]


def to_numpy(array: Any, namespace: Any) -> np.ndarray:
    """An array of a namespace in numpy, from whatever device."""
    from sklearn.utils._array_api import _convert_to_numpy

    return np.asarray(_convert_to_numpy(array, namespace))


def device_of(array: Any) -> Any:
    """Where an array is."""
    from sklearn.utils._array_api import device

    return device(array)


def dense_output(transformer: Any) -> str:
    """``"default"``, ``"pandas"`` or ``"polars"``: what ``set_output`` has asked of a transformer."""
    from sklearn.utils._set_output import _get_output_config

    return str(_get_output_config("transform", transformer)["dense"])
