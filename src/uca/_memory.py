"""Whether p x p matrices fit in memory, asked before any work is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ALWAYS = 2.0**26  # bytes that nobody asks for: looking takes longer than a small fit should
SCRATCH = 2  # matrices of the same size that are needed for a while beside those that are kept


def available_bytes() -> float:
    """Memory that this process can still get: what the system has free, or its own limit; infinity where unknown."""
    free = float("inf")
    info = Path("/proc/meminfo")
    if info.exists():
        lines = dict(line.split(":", 1) for line in info.read_text().splitlines())
        free = 1024.0 * int(lines["MemAvailable"].split()[0])
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        free = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    free = min([free, *_left_in_group()])
    if resource is not None:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = Path("/proc/self/statm")
        if limit != resource.RLIM_INFINITY and used.exists():
            free = min(free, limit - int(used.read_text().split()[0]) * float(os.sysconf("SC_PAGE_SIZE")))
    return free


def _left_in_group() -> list[float]:
    """What the control group of a container or a batch job leaves, version 2 or 1; empty where there is none."""
    root = Path("/sys/fs/cgroup")
    left = []
    for limit, used, cached in (
        (root / "memory.max", root / "memory.current", "inactive_file"),
        (root / "memory/memory.limit_in_bytes", root / "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            free = float(limit.read_text()) - float(used.read_text())
        except (OSError, ValueError):  # not there, or "max"
            continue
        left.append(free + _reclaimable(limit.parent / "memory.stat", cached))
    return left


def _reclaimable(statistics: Path, name: str) -> float:
    """Bytes of files in memory that the system gives back when asked: they count as used, and are free."""
    try:
        return float(dict(line.split() for line in statistics.read_text().splitlines())[name])
    except (OSError, ValueError, KeyError):
        return 0.0


def fits(n_bytes: float) -> bool:
    """Whether so much memory can be had."""
    return n_bytes <= ALWAYS or n_bytes <= available_bytes()


def room() -> float:
    """The largest size that fits."""
    return max(available_bytes(), ALWAYS)


def matrices_fit(p: int, n_matrices: int) -> bool:
    """Whether ``n_matrices`` p x p matrices fit, with room to compute them."""
    return fits((n_matrices + SCRATCH) * 8.0 * p**2)


def check_matrices_fit(p: int, n_matrices: int, what: str) -> None:
    """Raise a MemoryError that gives the size and the alternative where ``n_matrices`` p x p matrices do not fit."""
    if matrices_fit(p, n_matrices):
        return
    need = (n_matrices + SCRATCH) * 8.0 * p**2
    raise MemoryError(
        f"{what} holds a {p:,} x {p:,} matrix for each of {n_matrices} dataset{'s' if n_matrices > 1 else ''}: "
        f"{size_of(need)} with room to compute, but {size_of(available_bytes())} are free. Pass all rows at once to fit(), "
        "as a numpy memmap, a sparse matrix or a dask array: representation='implicit' then reads them in blocks and "
        "holds a few vectors."
    )


def check_dense_fits(rows: Any, why: str) -> None:
    """Raise a MemoryError where a dense copy of sparse rows, with what is computed from it, does not fit."""
    need = 3 * 8.0 * rows.shape[0] * rows.shape[1]
    if not fits(need):
        raise MemoryError(f"{why}, which takes {size_of(need)}; {size_of(available_bytes())} are free.")


def size_of(n_bytes: float) -> str:
    """A number of bytes for people."""
    return f"{n_bytes / 1e9:,.1f} GB"
