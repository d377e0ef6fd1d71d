"""Eigenpairs of a matrix in memory, and proofs that none is larger, by LAPACK."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh

from ..._threads import one_blas_thread
from ..._types import Array
from ..contract.operator import Eigenpairs

# Up to this order eigenproblems are solved directly, from this order on by products with a proof by Cholesky; in between by
# products as long as they converge fast (whole fits, one thread: 36 against 79 ms on noise of order 400, 34 against 33 ms on
# structured data; at order 1 000 structured data takes a fifth of the time by products).
DIRECT_MAX = 700
DIRECT_MAX_IF_SLOW = 1500


def direct_eigenpairs(matrix: Array, k: int) -> Eigenpairs:
    """The ``k`` largest eigenpairs of a matrix."""
    d = len(matrix)
    # One thread: tridiagonalisation waits at a barrier for every column, which on a busy machine costs tenfold.
    with one_blas_thread():
        try:
            values, vectors = eigh(matrix, subset_by_index=[d - k, d - 1], check_finite=False)
            if len(values) < k:
                raise LinAlgError("fewer eigenvalues than were asked for")
        except LinAlgError:  # LAPACK's fast method gives up on rare clustered spectra; divide and conquer does not
            values, vectors = np.linalg.eigh(matrix)
            values, vectors = values[d - k :], vectors[:, d - k :]
    return Eigenpairs(values[::-1], vectors[:, ::-1])


def nothing_above(matrix: Array, bound: float) -> bool:
    """Whether ``bound * I - C`` has a Cholesky factor, which proves that no eigenvalue lies above ``bound``."""
    shifted = -matrix
    shifted.flat[:: len(matrix) + 1] += bound
    try:
        with one_blas_thread():
            cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True
