"""PCA as a user would run it: every solver of scikit-learn that suits the shape, so that the fastest can be named.

A BLAS with several threads can be slower than with one (small matrices, busy machines), so that both are tried. PCA with all
its defaults, on all threads, is timed as well, but is never called the fastest: it takes one of the others, and could be
faster only by chance.
"""

from __future__ import annotations

from collections.abc import Callable

from scipy import sparse
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

APPROXIMATE = {"randomized"}
MOST_FEATURES = 1_000  # for p x p matrices: at 3 000 they take seconds a fit
MOST_WORK = 2e9  # rows x features x the smaller of them, for a full SVD: at 1e10 it takes half a minute a fit
VERY_TALL = 1_000  # rows for each feature above which arpack takes a minute where a p x p matrix takes a second
ONE_THREAD = ", one BLAS thread"
DEFAULTS = "PCA(2) with its defaults"


def solvers(n: int, p: int, is_sparse: bool = False) -> list[str]:
    """The solvers that suit n rows and p features; left out is what takes minutes or cannot run."""
    if is_sparse:  # centred without being made dense: arpack, or a p x p matrix
        return ["arpack", *(["covariance_eigh"] if p <= MOST_FEATURES else [])]
    found = ["randomized"]
    if p <= MOST_FEATURES:
        found.append("covariance_eigh")
    if n <= VERY_TALL * p:
        found.append("arpack")
    if float(n) * p * min(n, p) <= MOST_WORK:
        found.append("full")
    return found


def jobs(stack) -> dict[str, Callable[[], object]]:
    """One fit of PCA(2) for each solver that suits the rows, by name, and one with its defaults."""

    def fit(solver: str) -> Callable[[], object]:
        return lambda: PCA(2, svd_solver=solver, random_state=0).fit(stack)

    is_sparse = sparse.issparse(stack)
    found = {name(solver): fit(solver) for solver in solvers(*stack.shape, is_sparse)}
    found = found if is_sparse else with_one_thread(found)  # sparse products do not use BLAS
    return found if is_sparse else {**found, DEFAULTS: fit("auto")}


def with_one_thread(found: dict[str, Callable[[], object]]) -> dict[str, Callable[[], object]]:
    """Each job as it is and limited to one BLAS thread."""
    return found | {f"{peer}{ONE_THREAD}": on_one_thread(job) for peer, job in found.items()}


def on_one_thread(job: Callable[[], object]) -> Callable[[], object]:
    def limited() -> object:
        with threadpool_limits(1):
            return job()

    return limited


def name(solver: str) -> str:
    return f"PCA(2) {solver}" + (", approximate" if solver in APPROXIMATE else "")


def is_exact(peer: str) -> bool:
    return ", approximate" not in peer
