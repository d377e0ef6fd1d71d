"""Dask graphs: made of delayed tasks, and run without waiting for workers that do not come back.

Promises: a graph runs on the default ``distributed.Client`` where there is one, else on dask's own scheduler; a task that
kills its workers again and again, a scheduler that is gone, and ``NO_WORKER_SECONDS`` without a worker each end in a
RuntimeError that says what to do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..._missing import with_nan
from ..._types import Array

NO_WORKER_SECONDS = 30.0
FAN_IN = 4  # results merged by one task


def compute(lazy: list[Any]) -> list[Any]:
    """Results of one graph, from the client where there is one, else from dask's own scheduler."""
    import dask

    client = _client()
    if client is None:
        (results,) = dask.compute(lazy)
        return list(results)
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        return list(_watch(client, client.compute(dask.delayed(list, pure=False)(lazy))))


def _client() -> Any:
    """The default ``distributed.Client``, if there is one; distributed is not imported for this."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _watch(client: Any, future: Any) -> Any:
    """Wait for a result, but not for workers that do not come back. An error of a chunk is raised as it is."""
    from distributed import CancelledError, KilledWorker, TimeoutError, wait

    last_seen = time.monotonic()
    try:
        while True:
            try:
                wait(future, timeout=1)
                break
            except TimeoutError:
                if client.status != "running":
                    raise RuntimeError(f"the dask client is {client.status}: its scheduler is gone") from None
                if client.nthreads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > NO_WORKER_SECONDS:
                    raise RuntimeError(
                        f"no dask worker has been available for {NO_WORKER_SECONDS:.0f} s, so the fit was stopped: start "
                        "workers (perhaps with more memory, or with smaller chunks) and fit again"
                    ) from None
        failed = future.exception() if future.status == "error" else None
        if failed is None:
            return future.result()
    except (CancelledError, OSError) as error:
        raise RuntimeError(f"the connection to the dask scheduler was lost during the fit: {error}") from error
    finally:
        client.cancel(future) if client.status == "running" else None
    if isinstance(failed, KilledWorker):
        raise RuntimeError(
            f"dask workers died repeatedly on one task ({failed}): they probably ran out of memory. Use smaller "
            "chunks or give workers more memory."
        ) from failed
    raise failed


def grid(array: Any) -> list[list[Any]]:
    """Chunks as delayed objects, rows of columns."""
    return [list(row) for row in array.to_delayed()]


def task(function: Callable[..., Any], nout: int | None = None) -> Any:
    """A function whose calls become tasks of a graph."""
    import dask

    return dask.delayed(function, pure=False, nout=nout)


def constant(value: Array) -> Any:
    """An array that a graph holds once, however many tasks use it."""
    import dask

    return dask.delayed(value, pure=False)


def tree(parts: list[Any], merge: Callable[[Sequence[Any]], Any]) -> Any:
    """Merge results a few at a time, so that no task holds many."""
    while len(parts) > 1:
        parts = [task(merge)(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]


def sum_of(parts: Sequence[Array]) -> Array:
    """The sum of arrays; none of them is changed."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def plain(chunk: Any) -> Any:
    """A chunk as the kernels take it: a numpy array (NaN where it is masked), or CSR or CSC without duplicates."""
    if not sparse.issparse(chunk):
        return np.asarray(with_nan(chunk))
    chunk = chunk if chunk.format in ("csr", "csc") else chunk.tocsr()
    if not chunk.has_canonical_format:
        chunk = chunk.copy()
        chunk.sum_duplicates()
    return chunk
