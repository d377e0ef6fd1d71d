"""Damaged files of one format, read by a worker that is started again whenever it dies.

Promises: file ``i`` of a format is the same in every run with the same libraries. Nothing that a file does reaches this
process. A file that fails is kept, with what was said of it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from .damage import damaged
from .seeds import Content, ending, put, seeds

HERE = Path(__file__).resolve().parent
MEMORY = 1 << 30  # bytes beyond what the imports take
SECONDS = 60.0  # for one file; most take milliseconds
FINE = ("read", "refused")


@dataclass
class Tally:
    """What came of the files of one format; ``failures`` are the numbers of files and what was said."""

    format: str
    n_files: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, str]] = field(default_factory=list)

    def add(self, i: int, answer: dict[str, str]) -> None:
        """Count a file."""
        self.n_files = i + 1
        self.outcomes[answer["outcome"]] += 1
        if answer["outcome"] not in FINE:
            self.failures.append({"file": str(i), **answer})


class Worker:
    """A process that reads files, with limits."""

    def __init__(self, kind: str, valid: Path):
        self.kind, self.valid = kind, valid
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, path: Path) -> dict[str, str]:
        """What came of a file."""
        process = self.process or self._start()
        return self._answer(process, path)

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                stream and stream.close()
            self.process = None

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
        environment["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self._command(), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
        )
        answer = self._answer(self.process, self.valid)
        if answer["outcome"] != "read":
            raise RuntimeError(f"the worker cannot read a valid {self.kind} file: {answer}")
        return self.process

    def _command(self) -> list[str]:
        return [sys.executable, str(HERE / "worker.py"), self.kind, str(MEMORY)]

    def _answer(self, process: subprocess.Popen[bytes], path: Path) -> dict[str, str]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n".encode())
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ready = selector.select(SECONDS)
        line = process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        code = process.wait() if ready else None
        self.stop()
        if code is None:
            return {"outcome": "hang", "told": f"no answer in {SECONDS:g} s"}
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return {"outcome": "crash", "told": name}


def files(kind: str, first: int, number: int) -> Iterator[tuple[int, Content]]:
    """Damaged files of a format, from a number on."""
    valid = seeds(kind)
    for i in range(first, first + number):
        random = Random(f"{kind} {i}")
        yield i, damaged(valid[i % len(valid)], kind, random)


def campaign(kind: str, first: int, number: int, keep: Path | None = None) -> Iterator[tuple[int, dict[str, str]]]:
    """Read damaged files; yields what came of each. Those that fail are kept in a folder, if one is given."""
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(kind, put(seeds(kind)[0], Path(folder) / f"valid{ending(kind)}"))
        try:
            for i, content in files(kind, first, number):
                path = put(content, Path(folder) / f"fuzzed-{i}{ending(kind)}")
                answer = worker.ask(path)
                if answer["outcome"] not in FINE and keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    put(content, keep / path.name)
                _remove(path)
                yield i, answer
        finally:
            worker.stop()


def _remove(path: Path) -> None:
    import shutil

    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
