"""How many cores each kind of work gets.

A fit runs with one BLAS thread: small products and eigenproblems are slower on several, because the threads wait for
each other, and numpy and scipy carry separate thread pools that keep spinning beside one another. Two kinds of work get
all cores: blocked passes over large data, where each core takes its own blocks, and Cholesky factors of large matrices.
This module owns the decisions. Nested parallelism cannot arise: BLAS has one thread wherever Python threads are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    # Scanning the loaded libraries takes milliseconds, so it is done once. scipy.linalg is imported first: its BLAS
    # must be loaded to be seen.
    import scipy.linalg  # noqa: F401  (imported for the library it loads)

    return ThreadpoolController()


@contextmanager
def blas_threads(n: int) -> Iterator[None]:
    """Run the body with ``n`` BLAS threads."""
    with _controller().limit(limits=n, user_api="blas"):
        yield


def n_workers() -> int:
    """Cores this process may use: the affinity mask, lowered by ``OMP_NUM_THREADS`` where that is set."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def in_lanes(work: Callable[[Sequence[Item]], Result], items: Sequence[Item], *, parallel: bool) -> list[Result]:
    """Apply ``work`` to ``items`` dealt into lanes, one lane a core, and return one result a lane, in order.

    Lanes are dealt round-robin, so the same items meet in the same sum whenever the number of cores is the same.
    """
    lanes = min(n_workers(), len(items)) if parallel else 1
    if lanes <= 1:
        return [work(items)]
    shares = [items[i::lanes] for i in range(lanes)]
    with blas_threads(1), ThreadPoolExecutor(lanes) as pool:
        return list(pool.map(work, shares))
