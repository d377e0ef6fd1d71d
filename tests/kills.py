"""Kills the program at random moments, and looks at what it leaves: ``python tests/kills.py FOLDER N [--fresh]``.

Each run replaces the result of another. After every kill the result is one of the two, whole; after all of them a further
run succeeds and, once what is left is old, leaves nothing else behind. Runs are forks of one process that has imported the
program, or, with ``--fresh``, processes of their own (seconds each).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROWS = ("one", "two")


def arguments(i: int) -> list[str]:
    return ["fit", "target.csv", "-b", f"{ROWS[i % 2]}.csv", "-o", "out", "--force", "--no-report", "-q"]


def forked(typed: list[str]) -> int:
    pid = os.fork()
    if pid == 0:
        from uca.cli import app

        try:
            app(typed, prog_name="uca")
        except SystemExit as end:
            os._exit(int(end.code or 0))
        finally:
            os._exit(70)
    return pid


def fresh(typed: list[str]) -> int:
    return subprocess.Popen([sys.executable, "-m", "uca.cli", *typed]).pid


def result() -> str:
    """What the result is, without what differs from run to run; the names of its files are part of it."""
    found = hashlib.sha256()
    for path in sorted(Path("out").iterdir()):
        content = path.read_bytes() if path.suffix in {".csv", ".txt"} else b""
        found.update(path.name.encode() + b"\0" + content + b"\0")
    return found.hexdigest()


def whole_run(start: Callable[[list[str]], int], i: int) -> float:
    began = time.monotonic()
    status = os.waitpid(start(arguments(i)), 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0, f"a run that nobody killed ended with {status}"
    return time.monotonic() - began


def main(folder: str, n: int, start: Callable[[list[str]], int]) -> None:
    for name in ("uca.cli", "uca.plotting", "matplotlib.backends.backend_agg", "skops.io", "pandas"):
        importlib.import_module(name)  # once, for all forks

    os.chdir(folder)
    longest = max(whole_run(start, 1), 0.1)
    known = {result()}
    whole_run(start, 0)
    known.add(result())
    assert len(known) == 2, "the two results must differ"
    chance, killed = random.Random(0), 0
    for i in range(n):
        pid = start(arguments(i + 1))
        time.sleep(chance.uniform(0.0, 1.1 * longest))
        os.kill(pid, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        assert result() in known, f"kill {i} left a result that is not whole: {sorted(os.listdir('out'))}"
    left = [path for path in Path().iterdir() if path.name.startswith(".out.")]
    for path in left:
        os.utime(path, (0, time.time() - 7200))
    whole_run(start, 1)
    rest = sorted(path.name for path in Path().iterdir() if path.name.startswith("."))
    assert not rest, f"still there: {rest}"
    print(f"{n} kills, {killed} before the end; {len(left)} left something behind, and the next run removed it")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), fresh if "--fresh" in sys.argv else forked)
