"""Types that every layer shares."""

from typing import Any, TypeAlias

from numpy.typing import NDArray

#: A numpy array; shapes are given in docstrings.
Array: TypeAlias = NDArray[Any]
