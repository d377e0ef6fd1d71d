"""Top eigenpairs of a symmetric operator, deterministic start vectors and signs.

Promises: eigenvalues come in descending order with orthonormal vectors; the same input gives the same output, bit for
bit; a matrix that is held in memory never gets a largest eigenvalue that is too small without :func:`eigenvalue_bound`
noticing it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ._threads import one_blas_thread
from ._types import Array
from .operators.base import CovarianceOperator

# Up to this order LAPACK's direct solver beats Lanczos on dense matrices (measured on two cores).
DIRECT_MAX = 2000
RESTARTS = 15  # of Lanczos on a matrix in memory; beyond, the direct solver is the better choice


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues in descending order, shape (k,), and orthonormal eigenvectors, shape (size, k)."""

    values: Array
    vectors: Array


def top_eigenpairs(
    operator: CovarianceOperator, k: int, *, start: Array | None = None, seed: int = 0, tol: float = 1e-11
) -> Eigenpairs:
    """The ``k`` algebraically largest eigenpairs.

    Parameters
    ----------
    operator : CovarianceOperator
    k : int
        Number of pairs, at most ``operator.size``.
    start : array of shape (size, j), optional
        Vectors near the wanted ones, used where the method is iterative.
    seed : int
        Seed of the start vector of the iterative method.
    tol : float
        Relative accuracy of the eigenvalues where the method is iterative.
    """
    own = operator.own_eigenpairs(k)
    if own is not None:
        return Eigenpairs(*own)
    matrix = operator.dense()
    if matrix is not None and (operator.size <= DIRECT_MAX or k > operator.size // 10):
        return _direct(matrix, k)
    if k >= operator.size - 1:  # Lanczos cannot give (nearly) all pairs
        return _direct(operator @ np.eye(operator.size), k)
    return _lanczos(operator, k, start_vector(operator.size, start, seed), tol)


def _direct(matrix: Array, k: int) -> Eigenpairs:
    d = len(matrix)
    # One thread: tridiagonalisation waits at a barrier for every column, which on a busy machine costs tenfold.
    with one_blas_thread():
        try:
            values, vectors = eigh(matrix, subset_by_index=[d - k, d - 1], check_finite=False)
        except LinAlgError:  # LAPACK's fast method gives up on rare clustered spectra; divide and conquer does not
            values, vectors = np.linalg.eigh(matrix)
            values, vectors = values[d - k :], vectors[:, d - k :]
    return Eigenpairs(values[::-1], vectors[:, ::-1])


def _lanczos(operator: CovarianceOperator, k: int, v0: Array, tol: float) -> Eigenpairs:
    """Lanczos; a matrix in memory is solved directly where it converges slowly or a Cholesky factor shows that it missed."""
    d, matrix = operator.size, operator.dense()
    # ARPACK's tolerance is relative to the eigenvalue: a shift by the norm keeps it meaningful for eigenvalues near 0.
    shift = float(np.linalg.norm(operator @ v0.reshape(-1, 1))) * np.sqrt(d)

    def shifted(vectors: Array) -> Array:
        block = vectors.reshape(d, -1)
        return operator @ block + shift * block

    linear = LinearOperator((d, d), matvec=lambda v: shifted(v).ravel(), matmat=shifted, dtype=float)
    restarts = 50 * d if matrix is None else RESTARTS
    try:
        values, vectors = eigsh(linear, k=k, which="LA", v0=v0, tol=tol, ncv=min(d, max(30, 5 * k)), maxiter=restarts)
    except ArpackNoConvergence as error:
        if matrix is None:
            raise RuntimeError(
                f"the largest eigenvalues of an operator of order {d} did not converge; "
                "drop (nearly) duplicated features or rows, or use a dense representation"
            ) from error
        return _direct(matrix, k)
    order = np.argsort(values)[::-1]
    pairs = Eigenpairs(values[order] - shift, vectors[:, order])
    if matrix is not None and not _nothing_above(matrix, pairs.values[0] + 1e-10 * shift):
        return _direct(matrix, k)
    return pairs


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


def start_vector(size: int, near: Array | None, seed: int) -> Array:
    """A unit start vector: the sum of the vectors in ``near`` (if any), plus a seeded random part.

    The random part matters: started inside an invariant subspace, Lanczos cannot leave it and would miss the top.
    """
    noise = np.random.default_rng(seed).standard_normal(size)
    noise /= np.linalg.norm(noise)
    if near is None or near.shape[1] == 0:
        return noise
    vector = near.sum(axis=1) / np.sqrt(near.shape[1]) + 0.1 * noise
    return vector / np.linalg.norm(vector)


def eigenvalue_bound(operator: CovarianceOperator, top: float, slack: float) -> float:
    """An upper bound on the largest eigenvalue, given an estimate ``top``.

    An iterative method approaches the largest eigenvalue from below and may miss it. Where the matrix is in memory and
    was not solved directly, a Cholesky factorisation of ``(top + slack) I - C`` proves that nothing lies above; if it
    fails, the eigenvalue is computed directly. Without the matrix, the estimate stands (residuals are at ``slack``).
    """
    matrix = operator.dense()
    if matrix is None or operator.size <= DIRECT_MAX:
        return top
    return top + slack if _nothing_above(matrix, top + slack) else float(_direct(matrix, 1).values[0])


def fix_signs(components: Array) -> Array:
    """Flip rows so that the largest absolute entry of each is positive."""
    flipped = -components.min(axis=1) > components.max(axis=1)
    out = components.copy()
    out[flipped] *= -1
    return out
