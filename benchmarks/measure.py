"""Time and peak memory of two jobs on the same data, in one fresh process, in turns."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CLEAR = Path("/proc/self/clear_refs")  # Linux: writing 5 starts the peak of the resident size anew


@dataclass(frozen=True)
class Figures:
    """Median seconds and growth of the peak resident size, in megabytes, of ours and of a peer; size of the input."""

    ours: float
    peer: float
    ours_mb: float | None
    peer_mb: float | None
    input_mb: float
    note: str = ""


def status_kb(field: str) -> int:
    """Kilobytes from the kernel's account of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def run(job: Callable[[], object]) -> tuple[float, float | None]:
    """Seconds, and megabytes by which the peak resident size grew."""
    before = None
    if CLEAR.exists():
        CLEAR.write_text("5")
        before = status_kb("VmRSS")
    start = time.perf_counter()
    job()
    seconds = time.perf_counter() - start
    return seconds, None if before is None else (status_kb("VmHWM") - before) / 1024


def compare(
    ours: Callable[[], object], peer: Callable[[], object], input_mb: float, repeats: int, note: str = ""
) -> Figures:
    """Both jobs in turns; medians of time, largest growth of memory. With several repeats the first is not counted."""
    seen: dict[str, list[tuple[float, float | None]]] = {"ours": [], "peer": []}
    for turn in range(repeats + (repeats > 1)):
        for name, job in (("ours", ours), ("peer", peer)):
            figures = run(job)
            if turn > 0 or repeats == 1:
                seen[name].append(figures)
    seconds = {name: statistics.median(f[0] for f in figures) for name, figures in seen.items()}
    grown = {name: max((f[1] for f in figures if f[1] is not None), default=None) for name, figures in seen.items()}
    return Figures(seconds["ours"], seconds["peer"], grown["ours"], grown["peer"], input_mb, note)


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
