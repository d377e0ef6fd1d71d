"""A copy of the checkout in which faults are planted, and processes in which its tests run.

Promises: the checkout itself is never changed; every run is a forked process with limits on processor time and on waiting,
ended with all its children when it is over; the file is whole again afterwards. Libraries are imported once, before forks.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEFT_BEHIND = [".git", ".venv*", "out", "__pycache__", "_build", "gallery", ".*_cache", ".hypothesis"]
LIBRARIES = [
    *("numpy", "numpy.random", "scipy.linalg", "scipy.sparse.linalg", "scipy.optimize", "scipy.stats", "scipy.special"),
    *(
        "sklearn.decomposition",
        "sklearn.pipeline",
        "sklearn.cluster",
        "sklearn.metrics",
        "sklearn.utils.estimator_checks",
    ),
    *(
        "clarabel",
        "pandas",
        "matplotlib.figure",
        "pyarrow.csv",
        "polars",
        "cvxpy",
        "dask.array",
        "dask.dataframe",
        "anndata",
    ),
    *("anndata", "typer.testing"),
]
WAITING = 8  # times the processor time: a loaded machine waits


class Bench:
    """The copy, in ``folder``. Making it changes the current folder and the import path of this process."""

    def __init__(self, checkout: Path, folder: Path):
        self.folder = folder
        shutil.copytree(checkout, folder, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
        os.chdir(folder)
        os.environ.update(PYTHONPATH=f"{folder / 'src'}:{folder}", OPENBLAS_NUM_THREADS="1", SCIPY_ARRAY_API="1")
        sys.path[:0] = [str(folder / "src"), str(folder)]
        for name in LIBRARIES:
            with suppress(ImportError):  # what is not there is skipped by the tests, too
                importlib.import_module(name)

    @contextmanager
    def holding(self, file: str, text: str) -> Iterator[None]:
        """The file with another text, for a while. Compiled files are matched by time, so the time differs as well."""
        path = self.folder / file
        whole, then = path.read_bytes(), path.stat()
        path.write_text(text)
        os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns - 10**10))
        try:
            yield
        finally:
            path.write_bytes(whole)
            os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))

    def log(self) -> str:
        """The end of what the last run printed."""
        return (self.folder / "log.txt").read_text(errors="replace")[-3000:]

    def run(self, work: Callable[[], object], seconds: float, *, compiled: bool = False) -> object:
        """What ``work`` returns in a process of its own; None where it was ended by a limit or by a crash."""
        answer, log = self.folder / "answer.json", self.folder / "log.txt"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            os.setsid()
            _quietly(log)
            sys.dont_write_bytecode = not compiled
            os.environ["PYTHONDONTWRITEBYTECODE"] = "" if compiled else "1"
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            try:
                answer.write_text(json.dumps(work()))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(0)
        _wait(child, seconds * WAITING)
        return json.loads(answer.read_text()) if answer.exists() else None


def _quietly(log: Path) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(handle, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def _wait(child: int, seconds: float) -> None:
    """Until the process is over, or its time; then nothing of its group is left."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.02)
    try:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ProcessLookupError, ChildProcessError):
        return
