"""How many cores each kind of work gets.

A fit runs with one BLAS thread: small products and eigenproblems are slower on several, because the threads wait for
each other, and numpy and scipy carry separate thread pools that keep spinning beside one another; on a busy machine the
barriers of a threaded eigen-solver cost tenfold. Blocked passes over large data get all cores: each core takes its own
blocks. This module owns the decisions. Nested parallelism cannot arise: BLAS has one thread wherever Python threads are
used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Event, Lock, local
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _libraries() -> list[Any]:
    # Scanning the loaded libraries takes milliseconds, so it is done once. scipy.linalg is imported first: its BLAS
    # must be loaded to be seen.
    import scipy.linalg  # noqa: F401  (imported for the library it loads)

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _OneThread:
    """One thread in some libraries: set by the first of its users, lifted by the last."""

    def __init__(self, libraries: Sequence[Any]):
        self._libraries, self._before, self._users = libraries, [0], 0

    def take(self) -> None:
        """One user more."""
        if self._users == 0:
            self._before = [library.get_num_threads() for library in self._libraries]
            for library in self._libraries:
                _set(library, 1)
        self._users += 1

    def release(self) -> None:
        """One user less."""
        self._users -= 1
        if self._users == 0:
            for library, n in zip(self._libraries, self._before, strict=True):
                _set(library, n)


def _set(library: Any, n: int) -> None:
    """Set the threads of a library, from whichever thread.

    threadpoolctl 3.8 lets no thread set the threads of OpenBLAS but the one that first did, as long as that lives, and
    says nothing to the others. The counting here does what that rule is for.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n)


def _per_thread(library: Any) -> bool:
    """Whether a limit holds for the Python thread that sets it, not for the whole process."""
    return library.internal_api == "mkl" or (library.internal_api, library.threading_layer) == ("openblas", "openmp")


_lock = Lock()


@cache
def _of_process() -> _OneThread:
    return _OneThread([library for library in _libraries() if not _per_thread(library)])


class _OfThread(local):
    """The limit of each Python thread."""

    def __init__(self) -> None:
        self.limit = _OneThread([library for library in _libraries() if _per_thread(library)])


_own = _OfThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the body with one BLAS thread, in whichever Python thread it runs.

    Where the limit belongs to the process (OpenBLAS with its own threads) it is set by the first user and lifted by the
    last, so that fits in several Python threads leave it as they found it; it holds unless other code sets the number of
    BLAS threads meanwhile. Where it belongs to a thread (MKL, OpenMP), each sets its own.
    """
    with _lock:
        _of_process().take()
    try:
        _own.limit.take()
        yield
    finally:
        _own.limit.release()
        with _lock:
            _of_process().release()


_one_core = ContextVar("one_core", default=False)


@contextmanager
def one_core() -> Iterator[None]:
    """Run the body on one core, so that sums do not depend on how many there are: where whole fits run side by side."""
    token = _one_core.set(True)
    try:
        yield
    finally:
        _one_core.reset(token)


def n_workers() -> int:
    """Lanes for blocked passes: ``UCA_NUM_WORKERS`` where it is set, else the cores this process may use.

    Those are the affinity mask, lowered by ``OMP_NUM_THREADS`` or ``OPENBLAS_NUM_THREADS``. ``UCA_NUM_WORKERS`` may also
    exceed the number of cores, so that what happens on a larger machine can be tried on a small one.
    """
    if _one_core.get():
        return 1
    wanted = os.environ.get("UCA_NUM_WORKERS", "")
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise ValueError(f"UCA_NUM_WORKERS must be a whole number of at least 1, got {wanted!r}")
        return int(wanted)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = [os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")]
    return max(1, min([cores, *(int(limit) for limit in limits if limit.isdigit())]))


def in_lanes(
    work: Callable[[Sequence[Item]], Result], items: Sequence[Item], *, most: int | None = None
) -> list[Result]:
    """Apply ``work`` to ``items`` dealt into lanes, one lane a core, and return one result a lane, in order.

    ``most`` limits the number of lanes: memory that each lane takes must not grow with the number of cores. Lanes are dealt
    round-robin, so the same items meet in the same sum whenever the number of lanes is the same.
    """
    lanes = min(n_workers(), len(items), len(items) if most is None else most)
    if lanes <= 1:
        return [work(items)]
    stop = Event()
    shares = [_Stoppable(items[i::lanes], stop) for i in range(lanes)]
    with one_blas_thread(), ThreadPoolExecutor(lanes) as pool:
        try:
            return list(pool.map(one_blas_thread()(work), shares))
        except BaseException:  # Ctrl-C, or an error in one lane: the others end with the item they are at
            stop.set()
            raise


class _Stoppable(Sequence[Item]):
    """Items that end early once ``stop`` is set."""

    def __init__(self, items: Sequence[Item], stop: Event):
        self._items, self._stop = items, stop

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            if self._stop.is_set():
                return
            yield item
