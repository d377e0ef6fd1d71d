"""Rows that occur more than once: a covariance needs each of them once, with its count.

Rows that are drawn again, as in a bootstrap, repeat; so does data in which measurements were copied. Promise: only rows
that are equal in every value are called equal (0 and -0 are not). Few columns are looked at where that tells rows apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from ..._types import Array

LOOKED_AT = 16  # columns, evenly spaced, that tell most rows apart


def first_equal(arrays: Sequence[Any]) -> Array:
    """For every row of dense arrays, stacked, the place of the first row of its array that equals it; (N,)."""
    parts, start = [], 0
    for array in arrays:
        parts.append(start + _first_equal(array))
        start += len(array)
    return np.concatenate(parts)


def _first_equal(array: Array) -> Array:
    out = np.arange(len(array))
    alike: dict[bytes, list[int]] = {}
    for i, few in enumerate(np.ascontiguousarray(array[:, :: max(1, array.shape[1] // LOOKED_AT)])):
        alike.setdefault(few.tobytes(), []).append(i)
    for places in alike.values():
        seen: dict[bytes, int] = {}
        for i in places if len(places) > 1 else ():
            row = np.ascontiguousarray(array[i])
            first = seen.setdefault(blake2b(row.tobytes()).digest(), i)
            if first != i and np.array_equal(row, array[first]):
                out[i] = first
    return out
