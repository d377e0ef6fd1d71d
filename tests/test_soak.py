"""Many fits in one process: memory returns, and threads give the answers of one after the other, bit for bit.

UCA_SOAK=1000 (``make soak``) runs as many fits and looks at the memory of the whole process; the short version counts what
Python itself holds.
"""

from __future__ import annotations

import gc
import os
import tracemalloc
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from uca import CPCA, UCA, CPCAPlusPlus, SparseUCA
from uca._threads import one_blas_thread

N = int(os.environ.get("UCA_SOAK", "0"))
SHAPES = ((200, 6), (20, 40), (60, 15), (500, 12))
KINDS = (
    lambda: UCA(),
    lambda: UCA(components="sequential", n_components=3),
    lambda: UCA(solver="lbfgs"),
    lambda: UCA(representation="implicit"),
    lambda: UCA(missing="em"),
    lambda: CPCA(alpha=1.0),
    lambda: CPCAPlusPlus(shrinkage=0.5),
    lambda: SparseUCA(1, n_nonzero=3, proof="bound"),
)


def case(i: int):
    """An estimator and its data; the i-th of a mixture of shapes, kinds and containers."""
    rng = np.random.default_rng(i)
    n, p = SHAPES[i % len(SHAPES)]
    model = KINDS[(i // len(SHAPES)) % len(KINDS)]()
    m = 1 if isinstance(model, CPCA | CPCAPlusPlus) else 1 + i % 3
    target, *backgrounds = rng.standard_normal((m + 1, n, p)) @ rng.standard_normal((p, p))
    if getattr(model, "missing", "") == "em":
        target[0, 0] = np.nan
    elif i % 5 == 0:
        target = sparse.csr_array(np.where(np.abs(target) > 1, target, 0.0))
    elif i % 7 == 0:
        target, backgrounds = target.astype(np.float32), [part.astype(np.float32) for part in backgrounds]
    return model, target, backgrounds


def fit(i: int):
    model, target, backgrounds = case(i)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small random data: solved or not is not asked here
        return model.fit(target, backgrounds=backgrounds)


def resident() -> int:
    """Bytes of the process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_models_and_data_are_released():
    for i in range(len(SHAPES) * len(KINDS)):
        model, target, backgrounds = case(i)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(target, backgrounds=backgrounds)
        watched = [weakref.ref(model), weakref.ref(target), *map(weakref.ref, backgrounds)]
        name = type(model).__name__
        del model, target, backgrounds
        gc.collect()
        assert [ref() is None for ref in watched] == [True] * len(watched), (i, name)


def test_python_holds_nothing_after_fits():
    """The second and third round of the same fits leave what the first left: caches are filled, nothing grows."""
    rounds = range(len(SHAPES) * len(KINDS))
    held = []
    for i in rounds:
        fit(i)
    tracemalloc.start()
    try:
        for _ in range(2):
            for i in rounds:
                fit(i)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert held[1] - held[0] < 200_000, held  # one model of the mixture takes more than this


@pytest.mark.skipif(not N, reason="minutes: make soak")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_of_the_process_returns():
    sizes = []
    for i in range(N):
        fit(i)
        if (i + 1) % (N // 10) == 0:
            gc.collect()
            sizes.append(resident())
    print("MB after each tenth:", [round(size / 1e6) for size in sizes])
    # From the third tenth on nothing grows: 20 MB is what allocators move, and 2 % of what a leak of one
    # table a fit would come to.
    assert max(sizes[3:]) - sizes[2] < 20e6


def wide(i: int):
    """More than 100 features, where BLAS would share its work among threads, and its sums would end differently."""
    rng = np.random.default_rng(i)
    p = int(rng.integers(100, 180))
    target, background = (rng.standard_normal((int(n), p)) for n in rng.integers(40, 300, 2))
    model = (CPCAPlusPlus(shrinkage=0.1), UCA(), CPCA(alpha=1.0), UCA(solver="lbfgs"))[i % 4]
    return model.fit(target, backgrounds=background)


@pytest.mark.filterwarnings("ignore")
def test_eight_threads_give_serial_answers_with_many_features():
    cases = range(24)
    with threadpool_limits(2, user_api="blas"):  # set by this thread, as in a program that has used BLAS before
        serial = [wide(i) for i in cases]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(wide, cases))
    for i, one, other in zip(cases, serial, together, strict=True):
        for name in ("components_", "patterns_", "explained_variance_", "background_variance_"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"case {i}, {name}")


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_every_python_thread_has_one_blas_thread():
    """Also where another thread has set a limit before and lives: threadpoolctl then ignores all others."""

    def seen(_: int) -> tuple[list[int], list[int]]:
        with one_blas_thread():
            outer = blas_threads()
            with one_blas_thread():
                return outer, blas_threads()

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(8) as pool:
            inside = list(pool.map(seen, range(40)))
        assert {tuple(threads) for pair in inside for threads in pair} == {(1,) * len(before)}
        assert blas_threads() == before


@pytest.mark.filterwarnings("ignore")  # as in fit; the filters are those of the whole process
def test_eight_threads_give_serial_answers():
    cases = range(64)
    serial = [fit(i).components_ for i in cases]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda i: plain_fit(i).components_, cases))
    for i, one, other in zip(cases, serial, together, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"case {i}")


def plain_fit(i: int):
    """Without a filter of warnings: threads would undo one another's."""
    model, target, backgrounds = case(i)
    return model.fit(target, backgrounds=backgrounds)
