"""How far a computed covariance may lie from that of the numbers passed in.

A certificate speaks of the sample covariances of the user's numbers, so its bounds make room for what computing them
cost. An *allowance* bounds the spectral norm of that error, in the units of the covariance.

The sure bound for a sum of n products, ``n u`` of the sum of their sizes (u is the unit of rounding), is far from what
happens: roundings do not conspire, and errors grow as the root of n (Higham & Mary 2019, "A new approach to probabilistic
rounding error analysis"). The error of a product ``Z'Z`` is taken to be at most ``4 sqrt(n) u`` of its Frobenius norm.
Measured against extended precision (``benchmarks/rounding.py``): 3.5 where 300 rows are all exactly 0.1, so that every
rounding goes the same way; at most 0.9 on other data, 0.1 on noise.
"""

from __future__ import annotations

import numpy as np

from ..._types import Array

UNIT = float(np.finfo(float).eps) / 2
ENTRY = 16.0  # roundings of an entry when it is centred and scaled, with room
BLOCK = 65_536  # rows of a block at most; longer sums are sums of blocks
SAFE = 1e-140  # norms between this and its inverse have squares that neither vanish nor overflow
ARITHMETIC = 16.0  # units of rounding of a norm, for combining matrices and solving their eigenproblem


def summation(n: int, block: int = BLOCK) -> float:
    """Units of rounding that a sum of ``n`` products, in blocks, may be off by."""
    if n > block:
        return summation(block, block) + summation(-(-n // block), block)
    return 4.0 * float(np.sqrt(n))


def one_sum(n: int) -> float:
    """The same for one long sum: with equal terms, as in binary data, every rounding may go the same way."""
    return max(summation(n), n / 4.0)


def product_allowance(n: int, matrix: Array) -> float:
    """Error of the covariance ``matrix`` of ``n`` rows by products of standardised entries."""
    # Once for the products, once for the deviations that entries are divided by.
    return UNIT * (2.0 * summation(n) + ENTRY) * frobenius(matrix)


def frobenius(matrix: Array) -> float:
    """The Frobenius norm, also where squares would overflow."""
    with np.errstate(over="ignore", under="ignore"):
        norm = float(np.linalg.norm(matrix))
    if SAFE < norm < 1.0 / SAFE:
        return norm
    largest = float(np.abs(matrix).max(initial=0.0))
    return largest * float(np.linalg.norm(matrix / largest)) if largest > 0 else 0.0
