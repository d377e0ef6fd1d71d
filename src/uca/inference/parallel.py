"""Independent pieces of work on any number of workers.

Promises: results come in the order of the work and do not depend on the number of workers: random pieces have streams
of their own, and every piece runs on one core, in a worker as at home.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .._progress import Done, counted
from .._threads import one_core


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
    if n_jobs in (None, 1):
        results = (quietly(work, item, *args) for item in items)
    else:
        results = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(quietly)(work, item, *args) for item in items)
    return list(counted(results, len(items), what, verbose))


def quietly(work: Callable[..., Any], item: Any, *args: Any) -> Any:
    """One piece: without the warnings of a fit, which speak of a part of the rows that nobody asked for."""
    with warnings.catch_warnings(), one_core():
        warnings.simplefilter("ignore")
        return work(item, *args)
