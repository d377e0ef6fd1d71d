"""Independent pieces of work on any number of workers.

Promises: results come in the order of the work and do not depend on the number of workers: random pieces have streams
of their own, and every piece runs on one core, in a worker as at home. Workers that would not pay are not started: new
processes take seconds to load the package, so work goes on here until they are ready, and little work is done here
altogether. joblib keeps its workers for the next call.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from .._progress import Done, counted
from .._threads import one_core

LITTLE = 8.0  # seconds of work that are done here before workers could be of help


def streams(seed: int, n: int) -> list[np.random.SeedSequence]:
    """``n`` independent random streams of one seed."""
    return np.random.SeedSequence(seed).spawn(n)


def run(
    work: Callable[..., Any],
    items: Sequence[Any],
    *args: Any,
    n_jobs: int | None = None,
    verbose: bool | Done = False,
    what: str = "fits",
) -> list[Any]:
    """``[work(item, *args) for item in items]``."""
    if n_jobs in (None, 1) or effective_n_jobs(n_jobs) == 1:
        results: Iterator[Any] = (quietly(work, item, *args) for item in items)
    else:
        results = _shared(work, items, args, n_jobs)
    return list(counted(results, len(items), what, verbose))


def _shared(work: Callable[..., Any], items: Sequence[Any], args: tuple[Any, ...], n_jobs: Any) -> Iterator[Any]:
    """Results in order: of pieces done here until workers are ready, then of theirs."""
    starting: Thread | None = None
    if type(get_active_backend()[0]).__name__ == "LokyBackend":  # others, which the user has set, need no start
        started = time.monotonic()
        for done, item in enumerate(items, start=1):
            yield quietly(work, item, *args)
            if starting is None and (time.monotonic() - started) / done * (len(items) - done) > LITTLE:
                starting = Thread(target=_start_workers, args=(n_jobs,), daemon=True)
                starting.start()
            if starting is not None and not starting.is_alive():
                items = items[done:]
                break
        else:
            return
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(delayed(quietly)(work, item, *args) for item in items)


def _start_workers(n_jobs: Any) -> None:
    """Make joblib's workers load this package."""
    Parallel(n_jobs=n_jobs)(delayed(_nothing)() for _ in range(2 * effective_n_jobs(n_jobs)))


def _nothing() -> None:
    time.sleep(0.05)  # so that one worker does not take them all


def quietly(work: Callable[..., Any], item: Any, *args: Any) -> Any:
    """One piece: without the warnings of a fit, which speak of a part of the rows that nobody asked for."""
    with warnings.catch_warnings(), one_core():
        warnings.simplefilter("ignore")
        return work(item, *args)
