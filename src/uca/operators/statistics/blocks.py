"""Arithmetic on blocks of rows that loses no digits: means as sums of two floats, squares in short sums, safe ranges.

This module alone knows ``ddof``; nobody else divides by a number of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._types import Array
from ..._validation import OutOfRangeError

DDOF = 1
BLOCK_BYTES = 1_000_000  # stays in the second-level cache
PARALLEL_BYTES = 8_000_000  # inputs from this size on are shared out over the cores
SUM_ROWS = 128  # rows whose squares are added up one after the other
LANES_SHARE = 0.1  # of the input, that the buffers of all cores may take together
SMALLEST_SQUARES, LARGEST_SQUARES = 1e-120, 1e120  # sums of squares, between which products of variances are safe
VANISHING = 1e-100  # a mean this small whose column has no squares may belong to values whose squares vanished


def divisor(n: Any) -> Any:
    """What a sum of squares over ``n`` rows is divided by; ``n`` may differ from feature to feature."""
    return n - DDOF


def fill(out: Array, block: Any) -> None:
    """Copy a block, dense or sparse, to a dense buffer of its shape."""
    if sparse.issparse(block):
        entries = block.tocoo(copy=False)
        out[...] = 0
        out[entries.row, entries.col] = entries.data
    else:
        np.copyto(out, block)


def center_block(block: Any, out: Array) -> tuple[Array, Array]:
    """Write the block minus its column means to ``out``; return the means and what rounding them left, both float64.

    The mean is the sum of the two results: where it is large beside the spread, one float does not hold its digits. What
    the first subtraction leaves is taken out by a second.
    """
    averaging = np.full(len(out), 1.0 / len(out), dtype=out.dtype)
    fill(out, block)  # then in place: twice as fast as subtracting from the strided view
    mean = averaging @ out
    out -= mean
    left = averaging @ out
    out -= left
    return two_sum(mean, left)


def sums_of_squares(rows: Array) -> Array:
    """Sum of squares of each column, a few rows at a time.

    In one long sum of equal terms every rounding goes the same way, and binary data has many: errors would grow with the
    number of rows, not with its root.
    """
    n, p = rows.shape
    whole = n - n % SUM_ROWS
    parts = rows[:whole].reshape(-1, SUM_ROWS, p)
    return np.einsum("kbp,kbp->kp", parts, parts).sum(axis=0) + np.einsum("np,np->p", rows[whole:], rows[whole:])


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b``, and what rounding the sum lost (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def check_range(sums_of_squares: Any, mean: Array) -> None:
    """Raise where squares are, or may be, outside what the arithmetic holds. NaN passes: others look for it.

    Columns that are to be scaled are checked one by one, a dataset that is not by its total.
    """
    vanished = (mean != 0) & (np.abs(mean) < VANISHING)
    vanished = vanished if np.ndim(sums_of_squares) else vanished.any()
    small = (sums_of_squares < SMALLEST_SQUARES) & ((sums_of_squares > 0) | vanished)
    if np.any(small) or np.any(sums_of_squares > LARGEST_SQUARES):
        raise OutOfRangeError(
            "values are so large or so small that their squares overflow or vanish; rescale the features"
        )


def stored_bytes(X: Any) -> int:
    """Size of the values of an array, dense or sparse."""
    return int(X.data.nbytes if sparse.issparse(X) else X.nbytes)


def lanes_within(lane_bytes: float, input_bytes: float, room: float = 0.0) -> int:
    """How many lanes may work side by side, so that together they take no more than ``room`` and a share of the input."""
    return max(1, int((LANES_SHARE * input_bytes + room) // lane_bytes))
