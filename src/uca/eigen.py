"""Top eigenpairs of a symmetric operator, proofs of their size, and signs.

Promises: eigenvalues come in descending order with orthonormal vectors; the same input gives the same output, bit for
bit; a matrix that is held in memory never gets a largest eigenvalue that is too small without :func:`eigenvalue_bound`
noticing it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from ._threads import one_blas_thread
from ._types import Array
from .operators.base import CovarianceOperator, Eigenpairs
from .operators.dense import direct_eigenpairs


def top_eigenpairs(operator: CovarianceOperator, k: int, *, accuracy: float | None = None) -> Eigenpairs:
    """The ``k`` algebraically largest eigenpairs.

    Parameters
    ----------
    operator : CovarianceOperator
        It has a way of its own to find them, or can be held as a matrix.
    k : int
        Number of pairs, at most ``operator.size``.
    accuracy : float, optional
        Error that the largest eigenvalue may have where the method is iterative. None asks for all pairs as accurate as
        they get.
    """
    own = operator.own_eigenpairs(k, accuracy)
    if own is not None:
        return own
    matrix = operator.dense()
    return direct_eigenpairs(operator @ np.eye(operator.size) if matrix is None else matrix, k)


def _nothing_above(matrix: Array, bound: float) -> bool:
    """Whether ``bound * I - C`` has a Cholesky factor, which proves that no eigenvalue lies above ``bound``."""
    shifted = -matrix
    shifted.flat[:: len(matrix) + 1] += bound
    try:
        with one_blas_thread():
            cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def eigenvalue_bound(operator: CovarianceOperator, top: float, slack: float) -> tuple[float, bool]:
    """An upper bound on the largest eigenvalue, given an estimate ``top`` from an iterative method; and is it proven?

    An iterative method approaches the largest eigenvalue from below and may miss it. Where the matrix is in memory, a
    Cholesky factorisation of ``(top + slack) I - C`` proves that nothing lies above; if it fails, the eigenvalue is
    computed directly. Without the matrix, the estimate stands.
    """
    matrix = operator.dense()
    if matrix is None:
        return top, False
    return (top + slack if _nothing_above(matrix, top + slack) else float(direct_eigenpairs(matrix, 1).values[0])), True


def fix_signs(components: Array) -> Array:
    """Flip rows so that the largest absolute entry of each is positive."""
    flipped = -components.min(axis=1) > components.max(axis=1)
    out = components.copy()
    out[flipped] *= -1
    return out
