"""How far a computed covariance may lie from that of the numbers passed in.

A certificate speaks of the sample covariances of the user's numbers, so its bounds make room for what computing them
cost. An *allowance* is a bound on the spectral norm of that error, in the units of the covariance. Three facts give it:

* a sum of products of n terms is known to ``8 sqrt(n) u`` of the sum of their sizes, u the unit of rounding. The sure
  bound is ``n u``; roundings that do not conspire stay within ``8 sqrt(n) u`` (Higham & Mary 2019, "A new approach to
  probabilistic rounding error analysis": the chance of more is below 1e-12 an entry);
* for rows Z the sizes of the products are ``|Z|' |Z|``, whose norm is at most the trace of the covariance times n - 1;
* entries of Z are centred and scaled with a few roundings each, and a deviation is the root of such a sum.
"""

from __future__ import annotations

import numpy as np

UNIT = float(np.finfo(float).eps) / 2
ENTRY = 16.0  # roundings of an entry, with room
LONGEST = 65_536  # rows of a block; longer sums are sums of blocks
ARITHMETIC = 16.0  # units of rounding of a norm, for combining matrices and solving their eigenproblem


def summation(n: int) -> float:
    """Units of rounding, relative to the sum of sizes, that a sum of ``n`` products may be off by."""
    if n > LONGEST:
        return summation(LONGEST) + summation(-(-n // LONGEST))
    return float(min(n, 8.0 * np.sqrt(n)))


def blocked(n: int, block: int) -> float:
    """The same for a sum over blocks of at most ``block`` products."""
    return min(summation(n), summation(min(n, block)) + summation(-(-n // max(block, 1))))


def product_allowance(n: int) -> float:
    """Error of the covariance of ``n`` rows by products of standardised entries, relative to its trace."""
    # Once for the products, once for the deviations that entries are divided by.
    return UNIT * (2.0 * summation(n) + ENTRY)
