"""Reads the files whose names arrive on standard input, one a line, and answers each with a line of JSON.

Run by ``campaign.py`` as ``python worker.py FORMAT BYTES``. Memory beyond what the process has after its imports is limited
to BYTES. An answer has ``outcome``: "read", "refused" (a ValueError or OSError that names the file) or what went wrong.
Code that a file makes run is seen by an audit hook: programs started, connections, unpickled names, files written, and
``fuzz_canary``, which hostile model files name.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

RUN = (
    *("fuzz.canary", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen"),
    *("pickle.find_class", "socket.connect", "socket.bind", "ctypes.dlopen", "os.remove", "os.rename", "shutil.rmtree"),
)
seen: list[str] = []


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook."""
    if event in RUN:
        seen.append(f"{event} {arguments[:1]!r}"[:200])
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        seen.append(f"open to write {arguments[0]!r}"[:200])


def read(kind: str, path: Path) -> None:
    """Read a file as a user would, and touch what was read."""
    import uca
    from uca.io import read_table

    if kind == "skops":
        model = uca.load(path)
        repr(model)
        with np.errstate(all="ignore"):
            try:
                model.transform(np.zeros((2, model.n_features_in_)))
            except Exception:  # what a model says of rows is not about the file
                return
    elif kind == "moments":
        uca.Moments.load(path).covariance()
    elif kind == "streamed":
        from uca.io.batches import open_batches

        file = open_batches(path, id=None)
        for values, _ in file.blocks(file.head.features or (), list(file.head.columns)):
            with np.errstate(all="ignore"):
                values.sum()
    else:
        values = read_table(path).values
        with np.errstate(all="ignore"):
            (values @ np.ones(values.shape[1])).sum()


def judge(kind: str, path: Path) -> dict[str, str]:
    """What came of one file."""
    seen.clear()
    outcome, told = "read", ""
    try:
        read(kind, path)
    except BaseException as error:
        told = f"{type(error).__name__}: {error}"
        fine = isinstance(error, (ValueError, OSError)) and not isinstance(error, UnicodeError)
        outcome = "refused" if fine and path.name in str(error) else "no name" if fine else "wrong error"
    if seen:
        outcome, told = "code ran", "; ".join(seen)
    return {"outcome": outcome, "told": told[:500]}


def main() -> None:
    """Answer until standard input ends."""
    kind, limit = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    valid = Path(sys.stdin.readline().rstrip("\n"))
    read(kind, valid)  # imports what is needed, before limits and the hook
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(watch)
    print(json.dumps(judge(kind, valid)), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(judge(kind, Path(line.rstrip("\n")))), file=answers, flush=True)


if __name__ == "__main__":
    main()
