"""Time and peak memory of ours and of its alternatives on the same data, in one fresh process, in turns."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

HOPELESS = 4.0
CLEAR = Path("/proc/self/clear_refs")  # Linux: writing 5 starts the peak of the resident size anew


@dataclass(frozen=True)
class Cost:
    """Median seconds, and growth of the peak resident size in megabytes where it could be read."""

    seconds: float
    mb: float | None


@dataclass(frozen=True)
class Figures:
    """What ours cost and what each alternative cost on the same data, in one run; size of the input."""

    ours: Cost
    peers: dict[str, Cost]
    input_mb: float


def status_kb(field: str) -> int:
    """Kilobytes from the kernel's account of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def run(job: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> tuple[float, float | None]:
    """Seconds by a clock, and megabytes by which the peak resident size grew."""
    before = None
    if CLEAR.exists():
        CLEAR.write_text("5")
        before = status_kb("VmRSS")
    start = clock()
    job()
    seconds = clock() - start
    return seconds, None if before is None else (status_kb("VmHWM") - before) / 1024


def cost(runs: list[tuple[float, float | None]]) -> Cost:
    """Median of the times, largest growth of memory."""
    return Cost(statistics.median(s for s, _ in runs), max((mb for _, mb in runs if mb is not None), default=None))


def compare(
    ours: Callable[[], object],
    peers: dict[str, Callable[[], object]],
    input_mb: float,
    repeats: int,
    *,
    clock: Callable[[], float] = time.perf_counter,
    always: Collection[str] = (),
) -> Figures:
    """All jobs in turns; medians of time, largest growth of memory. With several repeats the first turn is not counted.

    An alternative that takes more than ``HOPELESS`` times as long as the fastest in the first turn is left at that one run,
    but for those that are ``always`` repeated.
    """
    jobs = {None: ours, **peers}
    first = {name: run(job, clock) for name, job in jobs.items()}
    if repeats == 1:
        costs = {name: cost([figures]) for name, figures in first.items()}
        return Figures(costs.pop(None), costs, input_mb)
    limit = HOPELESS * min(first[name][0] for name in peers)
    seen = {name: [] for name in jobs if name is None or name in always or first[name][0] <= limit}
    for _ in range(repeats):
        for name, runs in seen.items():
            runs.append(run(jobs[name], clock))
    costs = {name: cost(seen.get(name) or [first[name]]) for name in jobs}
    return Figures(costs.pop(None), costs, input_mb)


def _child(workload: Callable[..., Figures], arguments: tuple, connection) -> None:
    connection.send(workload(*arguments))


def in_fresh_process(workload: Callable[..., Figures], *arguments) -> Figures:
    """Run a workload where nothing else was allocated before."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_child, args=(workload, arguments, there))
    child.start()
    there.close()  # so that a child that dies ends the wait
    try:
        return here.recv()
    finally:
        child.join()
