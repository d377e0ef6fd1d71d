"""What it costs to start, to save and to read files, as ratios measured in one run. Run ``make bench``.

Every job is a process of its own. Its cost is its CPU time (user and system), the least of several turns in which all jobs
of a group are run one after the other: other work on the machine makes times longer, never shorter. Targets are printed
beside what was measured, reached or not.

    python benchmarks/startup.py            print
    python benchmarks/startup.py --save     also renew the table of docs/scale.md
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pages import between

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
BASE = "import sklearn.base"
PROGRAM = "import sys; sys.argv = ['uca', *{!r}]\nfrom uca.cli import app\napp(prog_name='uca')"
FIT = "import numpy as np\nfrom uca import UCA\nmodel = UCA().fit(np.random.default_rng(0).normal(size=(20, 3)))\n"
READ = "from uca.io import read_table\nread_table({!r}).values.sum()"
ARROW = "import pandas, pyarrow.csv as c\nc.read_csv({!r}, read_options=c.ReadOptions(block_size={}))"
ALL = (
    "from uca import UCA\nfrom uca.io import read_table\ntarget, background = map(read_table, {!r})\n"
    "UCA().fit(target.data(), backgrounds=background.data())"
)
COMPLETE = {"_UCA_COMPLETE": "complete_bash", "COMP_WORDS": "uca fit --mis", "COMP_CWORD": "2"}


@dataclass(frozen=True)
class Row:
    """Seconds of a job and of what it is compared with; the ratio that is wanted, where there is one."""

    job: str
    beside: str
    seconds: float
    beside_seconds: float
    target: float | None = None

    @property
    def ratio(self) -> float:
        return self.seconds / self.beside_seconds

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return f"at most {self.target:g}: {'reached' if self.ratio <= self.target else 'MISSED'}"


def cpu_seconds(code: str, environment: dict[str, str] | None = None) -> float:
    """CPU time of a process that runs some code, compiled before, as it is where the package is installed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(jobs: dict[str, tuple[str, dict[str, str] | None]], turns: int) -> dict[str, float]:
    """The least CPU time of each job; the first turn, which may compile, is not counted."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(turns + 1):
        for name, job in jobs.items():
            seconds = cpu_seconds(*job)
            if turn:
                times[name].append(seconds)
    return {name: min(seen) for name, seen in times.items()}


def starting(turns: int) -> list[Row]:
    """The program and the package beside what every user of scikit-learn imports."""
    targets = {
        "`uca --version`": (PROGRAM.format(("--version",)), None, 0.15),
        "`uca --help`": (PROGRAM.format(("--help",)), None, 0.15),
        "completion of an option": (PROGRAM.format(()), COMPLETE, 0.15),
        "`import uca`": ("import uca", None, 0.15),
        "`from uca import UCA`": ("from uca import UCA", None, 1.15),
    }
    times = least({BASE: (BASE, None), **{name: job[:2] for name, job in targets.items()}}, turns)
    return [Row(name, f"`{BASE}`", times[name], times[BASE], job[2]) for name, job in targets.items()]


def saving(folder: Path, turns: int) -> list[Row]:
    """A first ``save`` beside the same process without it."""
    save = f"{FIT}import uca\nuca.save(model, {str(folder / 'model.skops')!r})"
    times = least({"fit": (FIT, None), "save": (save, None)}, turns)
    return [Row("import, fit 20 x 3 and save", "the same without saving", times["save"], times["fit"])]


def write_csv(path: Path, rows: int, columns: int, seed: int) -> str:
    """Normal numbers with six decimals."""
    import numpy as np

    rng = np.random.default_rng(seed)
    with path.open("w") as stream:
        stream.write(",".join(f"g{i}" for i in range(columns)) + "\n")
        for start in range(0, rows, 10_000):
            block = rng.normal(size=(min(10_000, rows - start), columns))
            np.savetxt(stream, block, fmt="%.6f", delimiter=",")
    return str(path)


def reading(name: str, path: str, turns: int) -> Row:
    """``read_table`` beside pyarrow's reader alone with the same block size; both import pandas and pyarrow."""
    from uca.io.plain import block_bytes

    with Path(path).open() as stream:
        block = block_bytes(max(len(next(stream)), len(next(stream))))
    times = least(
        {
            "imports": ("import pandas, pyarrow.csv", None),
            "imports of ours": ("import pandas, pyarrow.csv, uca.io\nuca.io.read_table", None),
            "pyarrow": (ARROW.format(path, block), None),
            "ours": (READ.format(path), None),
        },
        turns,
    )
    ours, theirs = times["ours"] - times["imports of ours"], times["pyarrow"] - times["imports"]
    return Row(f"`read_table`, {name}", "pyarrow's reader", ours, theirs, 1.3)


def fitting(target: str, background: str, folder: Path, turns: int) -> Row:
    """The whole command beside importing, reading and fitting."""
    arguments = ("fit", target, "-b", background, "-o", str(folder / "out"), "--force", "--quiet")
    times = least(
        {"whole": (PROGRAM.format(arguments), None), "parts": (ALL.format((target, background)), None)}, turns
    )
    return Row("`uca fit`, 240,000 x 50 as CSV", "import, read and fit", times["whole"], times["parts"], 1.5)


def table(rows: list[Row]) -> str:
    lines = ["", "| job | beside | CPU s | beside, CPU s | ratio | target |", "|---|---|---|---|---|---|"]
    for row in rows:
        figures = f"{row.seconds:.2f} | {row.beside_seconds:.2f} | {row.ratio:.2f}"
        lines.append(f"| {row.job} | {row.beside} | {figures} | {row.verdict} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="renew the table of docs/scale.md")
    parser.add_argument("--quick", action="store_true", help="starting and saving only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = [*starting(2 * options.turns), *saving(folder, options.turns)]
        print(table(rows), flush=True)
        if not options.quick:
            tall, wide = folder / "tall.csv", folder / "wide.csv"
            target, many = write_csv(tall, 240_000, 50, 0), write_csv(wide, 260, 40_000, 1)
            background = write_csv(folder / "background.csv", 24_000, 50, 2)
            rows.append(reading("240,000 x 50", target, options.turns))
            rows.append(reading("260 x 40,000", many, options.turns))
            rows.append(fitting(target, background, folder, options.turns))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    text = table(rows)
    print(text)
    if options.save:
        when = f"({time.strftime('%Y-%m-%d')}; {machine}; the least of {options.turns} turns)\n"
        PAGE.write_text(between(PAGE.read_text(), "startup", f"{text}\n{when}"))


if __name__ == "__main__":
    main()
