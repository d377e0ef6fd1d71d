"""A real cluster of processes: data larger than a worker, workers that die, and none that is left."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from uca import UCA

distributed = pytest.importorskip("distributed", reason="pip install unique-component-analysis[dask]")
da = pytest.importorskip("dask.array", reason="pip install unique-component-analysis[dask]")

pytestmark = pytest.mark.filterwarnings("default")  # dask and its workers warn of what these tests do to them

P, ROWS, LIMIT = 60, 1_600_000, 600_000_000  # the target takes 768 MB, more than one worker may hold


def _rows(block_info=None, seed=0):
    """One chunk of a table that never exists as a whole."""
    location = block_info[None]["chunk-location"]
    shape = block_info[None]["chunk-shape"]
    rng = np.random.default_rng([seed, *location])
    rows = rng.standard_normal(shape)
    rows[:, :4] += 2 * rng.standard_normal((shape[0], 1))
    if seed == 0:
        rows[:, 4:8] += rng.standard_normal((shape[0], 1))
    return rows


def _slow(chunk, seconds):
    time.sleep(seconds)
    return chunk


def _table(n, chunk, seed, slow=0.0):
    array = da.map_blocks(_rows, chunks=((chunk,) * (n // chunk), (P,)), dtype=float, seed=seed, meta=np.empty((0, 0)))
    return array.map_blocks(_slow, slow, dtype=float, meta=np.empty((0, 0))) if slow else array


@pytest.fixture
def cluster():
    """Two processes on loopback, each with a memory limit, and a client; all are gone afterwards."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=LIMIT,
            dashboard_address=":0",
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield cluster


def _pids(cluster):
    return [worker.process.process.pid for worker in cluster.workers.values()]


def _correlation(table):
    """By numpy, chunk by chunk in this process; means are near 0, so sums of products lose no digits."""
    total, products = np.zeros(P), np.zeros((P, P))
    for block in table.blocks:
        rows = block.compute(scheduler="synchronous")
        total, products = total + rows.sum(axis=0), products + rows.T @ rows
    covariance = products - np.outer(total, total) / len(table)
    deviation = np.sqrt(covariance.diagonal())
    return covariance / np.outer(deviation, deviation)


def _same(model, expected):
    assert model.certificate_.upper == pytest.approx(expected.certificate_.upper, rel=1e-9)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-6)


def test_data_larger_than_any_worker(cluster):
    target, background = _table(ROWS, 40_000, 0), _table(400_000, 40_000, 1)
    assert target.nbytes > LIMIT
    model = UCA().fit(target, backgrounds=background)
    assert model.representation_ == "covariance"
    # The planted direction is the target's alone: features 4 to 7 in equal shares.
    np.testing.assert_allclose(np.abs(model.components_[0, 4:8]), 0.5, atol=0.02)
    _same(model, UCA().fit_covariance(_correlation(target), backgrounds=_correlation(background)))
    scores = model.transform(target)
    assert scores[:10].compute().shape == (10, 2)


@pytest.mark.parametrize("representation", ["covariance", "implicit"])
def test_a_worker_dies_in_the_middle_of_a_fit(cluster, representation):
    """The fit completes, with the answer it would have had."""
    target, background = _table(24_000, 2_000, 0), _table(8_000, 2_000, 1)
    expected = UCA().fit(target.compute(), backgrounds=background.compute())
    slow = _table(24_000, 2_000, 0, slow=0.2 if representation == "covariance" else 0.02)
    killed = []

    def kill():
        time.sleep(0.7)
        killed.append(_pids(cluster)[0])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    model = UCA(representation=representation).fit(slow, backgrounds=background)
    ended = time.monotonic()
    thread.join()
    assert time.monotonic() - ended < 0.1, "the fit must still be running when the worker is killed"
    assert killed
    _same(model, expected)


def test_all_workers_die(cluster, monkeypatch):
    """A clear error instead of a wait without end, and the model is as it was."""
    from uca.operators.sources import graphs as module

    monkeypatch.setattr(module, "NO_WORKER_SECONDS", 3.0)
    target, background = _table(24_000, 2_000, 0, slow=0.3), _table(8_000, 2_000, 1)
    model = UCA()

    def kill():
        time.sleep(0.7)
        cluster.scale(0)  # so that nobody starts them again
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    pids = _pids(cluster)
    thread = threading.Thread(target=kill)
    thread.start()
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="no dask worker has been available for 3 s.*start workers"):
        model.fit(target, backgrounds=background)
    thread.join()
    assert time.monotonic() - start < 60
    assert not hasattr(model, "components_")


def test_a_chunk_that_no_worker_survives(cluster):
    """dask gives up on a task that kills its workers; the error says what to do."""
    import dask

    def deadly(chunk):
        os.kill(os.getpid(), signal.SIGKILL)
        return chunk

    target = _table(4_000, 2_000, 0).map_blocks(deadly, dtype=float, meta=np.empty((0, 0)))
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster.scheduler.allowed_failures = 0
        with pytest.raises(RuntimeError, match="workers died.*smaller chunks"):
            UCA().fit(target)


def test_a_worker_out_of_memory(cluster):
    """The nanny ends a worker that exceeds its limit; dask tries again, gives up, and the error says what to do."""
    cluster.scheduler.allowed_failures = 1

    def greedy(chunk):
        held = np.ones(2 * LIMIT // 8)  # twice what the worker may hold
        time.sleep(2)  # the nanny looks every 0.1 s
        return chunk + 0 * held[0]

    target = _table(4_000, 2_000, 0).map_blocks(greedy, dtype=float, meta=np.empty((0, 0)))
    model, start = UCA(), time.monotonic()
    with pytest.raises(RuntimeError, match="workers died.*smaller chunks"):
        model.fit(target)
    assert time.monotonic() - start < 120
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("kind", [OSError, TimeoutError])
def test_a_chunk_that_raises(cluster, kind):
    """The error of the chunk itself reaches the user, and the cluster serves the next fit."""

    def failing(chunk, block_info=None):
        if block_info[0]["chunk-location"][0] == 3:
            raise kind("chunk 3 cannot be read from the archive")
        return chunk

    good = _table(16_000, 2_000, 0)
    bad = good.map_blocks(failing, dtype=float, meta=np.empty((0, 0)))
    model = UCA()
    with pytest.raises(kind, match="chunk 3 cannot be read from the archive"):
        model.fit(bad)
    assert not hasattr(model, "components_")
    _same(UCA().fit(good), UCA().fit(good.compute()))


@pytest.mark.parametrize("representation", ["covariance", "implicit"])
def test_chunks_of_unequal_size_both_ways(representation):
    """Rows and columns in uneven chunks, also of one row; the answer is that of the same numbers in memory."""
    target, background = (_table(n, 500, seed).compute() for n, seed in ((1_500, 0), (1_000, 1)))
    uneven = da.from_array(target, chunks=((1, 799, 17, 683), (7, 1, 52)))
    other = da.from_array(background, chunks=((999, 1), (60,)))
    model = UCA(representation=representation).fit(uneven, backgrounds=other)
    _same(model, UCA().fit(target, backgrounds=background))
    np.testing.assert_allclose(np.asarray(model.transform(uneven)[:5]), model.transform(target[:5]), atol=1e-8)


def test_a_scheduler_that_restarts():
    """The scheduler is gone in the middle of a fit: an error, or the answer where it is back in time; never a hang."""
    target, background = _table(24_000, 2_000, 0, slow=0.3), _table(8_000, 2_000, 1)
    model, ended = UCA(), []

    def fit():
        try:
            ended.append(model.fit(target, backgrounds=background))
        except Exception as error:
            ended.append(error)

    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(host="127.0.0.1", memory_limit=LIMIT, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(1)
        thread = threading.Thread(target=fit, daemon=True)
        thread.start()
        time.sleep(1.0)
        client.restart(timeout=30)  # every task is forgotten, workers start anew
        thread.join(120)
    assert not thread.is_alive(), "the fit must end"
    (end,) = ended
    if isinstance(end, Exception):
        assert str(end), "an error must say something"
        assert not hasattr(model, "components_")
    else:
        plain = UCA().fit(
            target.compute(scheduler="synchronous"), backgrounds=background.compute(scheduler="synchronous")
        )
        _same(model, plain)
    # The next fit works, on threads of this process.
    small = _table(4_000, 2_000, 0)
    _same(UCA().fit(small), UCA().fit(small.compute(scheduler="synchronous")))
