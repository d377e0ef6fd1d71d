"""Runs dask graphs, and does not wait for workers that do not come back.

Promises: a graph runs on the default ``distributed.Client`` where there is one, else on dask's own scheduler; a task that
kills its workers again and again, a scheduler that is gone, and ``NO_WORKER_SECONDS`` without a worker each end in a
RuntimeError that says what to do.
"""

from __future__ import annotations

import sys
import time
from typing import Any

NO_WORKER_SECONDS = 30.0


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
    """Wait for a result, but not for workers that do not come back."""
    from distributed import CancelledError, KilledWorker, TimeoutError, wait

    last_seen = time.monotonic()
    try:
        while True:
            try:
                wait(future, timeout=1)
                return future.result()
            except TimeoutError:
                if client.status != "running":
                    raise RuntimeError(f"the dask client is {client.status}: its scheduler is gone") from None
                if client.nthreads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > NO_WORKER_SECONDS:
                    raise RuntimeError(
                        f"no dask worker has been there for {NO_WORKER_SECONDS:.0f} s, so the fit was stopped: start "
                        "workers (perhaps with more memory, or with smaller chunks) and fit again"
                    ) from None
    except KilledWorker as error:
        raise RuntimeError(
            f"dask workers died again and again on one task ({error}): they probably ran out of memory. Use smaller "
            "chunks or give workers more memory."
        ) from error
    except (CancelledError, OSError) as error:
        raise RuntimeError(f"the connection to the dask scheduler was lost during the fit: {error}") from error
    finally:
        client.cancel(future) if client.status == "running" else None
