"""Two commits side by side: is the second faster, and does it need more memory? ``make bench-compare A=... B=...``

Both commits are checked out into temporary git worktrees. Every workload runs in fresh processes of this interpreter, in
turns (A B, B A, A B, ...), with the sources of one commit before everything else on the path. A process makes its data, runs
the job once without counting the time, and then several times. Seconds are medians over processes of medians; memory is the
largest growth of the peak resident size. The workloads are those of this file, whatever the commits; a job that one
commit does not know is reported as failed.

    python benchmarks/compare_commits.py v0.1.0 HEAD --only wide --repeats 5

The same commit twice shows what a ratio is worth on this machine. A range by round that holds 1 says little; jobs of some
milliseconds differ by a tenth and more from process to process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from measure import Cost, run

ROOT = Path(__file__).resolve().parents[1]
BUDGET, MOST = 1.0, 15  # seconds of counted runs in a process, and their number at most
Job = Callable[[], object]


def rows(*sizes: int, p: int) -> list:
    """Datasets with common and own factors; uca is imported by way of this, after the path is set."""
    import numpy as np
    from scale import factors

    return [factors(np.random.default_rng(seed), n, p) for seed, n in enumerate(sizes)]


def fit(*sizes: int, p: int, **parameters) -> Job:
    from uca import UCA

    target, *backgrounds = rows(*sizes, p=p)
    return lambda: UCA(**parameters).fit(target, backgrounds=backgrounds)


def sparse_fit() -> Job:
    from scale import topics

    from uca import UCA

    target, *backgrounds = (topics(n, 5_000, 100, seed) for seed, n in enumerate((10_000, 5_000, 5_000)))
    return lambda: UCA().fit(target, backgrounds=backgrounds)


def dual() -> Job:
    import numpy as np

    from uca import solve_dual

    target, *backgrounds = (np.cov(part.T) for part in rows(1_000, 1_000, 1_000, p=300))
    return lambda: solve_dual(target, backgrounds)


def scores() -> Job:
    from uca import UCA

    target, background = rows(100_000, 1_000, p=100)
    model = UCA().fit(target[:1_000], backgrounds=background)
    return lambda: model.transform(target)


def tested() -> Job:
    from uca.inference import uniqueness_test

    target, background = rows(120, 120, p=30)
    return lambda: uniqueness_test(target, background, n_components=2, random_state=0, n_jobs=1)


def noise_fit(*sizes: int, p: int) -> Job:
    import numpy as np

    from uca import UCA

    target, *backgrounds = (np.random.default_rng(seed).standard_normal((n, p)) for seed, n in enumerate(sizes))
    return lambda: UCA().fit(target, backgrounds=backgrounds)


def drawn_again() -> Job:
    from uca.inference import bootstrap

    target, background = rows(100, 100, p=1_000)
    return lambda: bootstrap(target, background, n_resamples=40, random_state=0, n_jobs=1)


WORKLOADS: dict[str, Callable[[], Job]] = {
    "import uca": lambda: lambda: import_module("uca"),
    "wide, 100 + 100 rows, p = 1,000": lambda: fit(100, 100, p=1_000),
    "wide, 100 + 3 x 100 rows, p = 1,000": lambda: fit(100, 100, 100, 100, p=1_000),
    "wide, 80 + 6 x 80 rows, p = 1,000": lambda: fit(*[80] * 7, p=1_000),
    "wide, noise, 80 + 6 x 80 rows, p = 1,000": lambda: noise_fit(*[80] * 7, p=1_000),
    "wide, 100 + 100 rows, p = 10,000": lambda: fit(100, 100, p=10_000),
    "tall, 100,000 + 50,000 rows, p = 100": lambda: fit(100_000, 50_000, p=100),
    "135 + 3 x 135 rows, p = 76": lambda: fit(135, 135, 135, 135, p=76),
    "implicit, 2,000 + 2,000 rows, p = 2,000": lambda: fit(2_000, 2_000, p=2_000, representation="implicit"),
    "sparse 2 %, 10,000 + 2 x 5,000 rows, p = 5,000": sparse_fit,
    "sequential, 4 components, 500 + 500 rows, p = 100": lambda: fit(
        500, 500, p=100, n_components=4, components="sequential"
    ),
    "solve_dual, 2 backgrounds, p = 300": dual,
    "transform, 100,000 rows, p = 100": scores,
    "bootstrap, 40 resamples, 100 + 100 rows, p = 1,000": drawn_again,
    "uniqueness_test, 120 + 120 rows, p = 30": tested,
}
ONCE = {"import uca"}  # a second time in the same process is another thing


def child(name: str, source: str) -> dict[str, float | None]:
    """Measure one workload in this process."""
    job = WORKLOADS[name]()
    first = run(job)
    counted = [first] if name in ONCE else []
    started = time.perf_counter()
    while name not in ONCE and len(counted) < MOST and (not counted or time.perf_counter() - started < BUDGET):
        counted.append(run(job))
    used = Path(import_module("uca").__file__).resolve()
    if not used.is_relative_to(Path(source).resolve()):
        raise SystemExit(f"measured {used}, which is not of {source}")
    memory = [mb for _, mb in [first, *counted] if mb is not None]
    return {"seconds": statistics.median(seconds for seconds, _ in counted), "mb": max(memory, default=None)}


def measure(name: str, source: Path) -> Cost | str:
    """Cost of a workload with the sources of one commit, in a fresh process; or the last line of what went wrong."""
    arguments = [sys.executable, "-W", "ignore", __file__, "--child", name, str(source)]
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        arguments, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def turns(repeats: int) -> list[str]:
    """The order of the sides: each goes first in every other round, so that a drift of the machine hits both."""
    return [side for i in range(repeats) for side in ("AB" if i % 2 == 0 else "BA")]


def in_turns(name: str, sources: dict[str, Path], repeats: int) -> dict[str, list[Cost | str]]:
    """Both sides of a workload, process by process; a side that failed is not run again."""
    seen: dict[str, list[Cost | str]] = {side: [] for side in sources}
    for side in turns(repeats):
        if not any(isinstance(cost, str) for cost in seen[side]):
            seen[side].append(measure(name, sources[side]))
    return seen


def together(costs: list[Cost | str]) -> Cost | str:
    """Median of the times and largest memory over processes; the reason where one failed."""
    failed = [cost for cost in costs if isinstance(cost, str)]
    if failed:
        return failed[0]
    memory = [cost.mb for cost in costs if cost.mb is not None]
    return Cost(statistics.median(cost.seconds for cost in costs), max(memory, default=None))


HEAD = f"{'workload':<52} {'A, s':>9} {'B, s':>9} {'B / A':>6} {'by round':>13} {'A, MB':>7} {'B, MB':>7}"


def line(name: str, seen: dict[str, list[Cost | str]]) -> str:
    """A row of the table: the ratio of medians, and the range of the ratios by round; a failure is told below it."""
    a, b = (together(seen[side]) for side in "AB")
    ratio = spread = ""
    if isinstance(a, Cost) and isinstance(b, Cost):
        rounds = sorted(second.seconds / first.seconds for first, second in zip(seen["A"], seen["B"], strict=True))
        ratio, spread = f"{b.seconds / a.seconds:.2f}", f"{rounds[0]:.2f} to {rounds[-1]:.2f}"
    seconds = ("failed" if isinstance(cost, str) else f"{cost.seconds:.4f}" for cost in (a, b))
    memory = ("" if isinstance(cost, str) or cost.mb is None else f"{cost.mb:.1f}" for cost in (a, b))
    told = "{:<52} {:>9} {:>9} {:>6} {:>13} {:>7} {:>7}".format(name, *seconds, ratio, spread, *memory).rstrip()
    return "\n".join(
        [told, *(f"    {side}: {cost}" for side, cost in zip("AB", (a, b), strict=True) if isinstance(cost, str))]
    )


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return done.stdout.strip()


def commit_of(name: str) -> str:
    """The full hash of a commit, tag or branch."""
    with contextlib.suppress(SystemExit):
        return git("rev-parse", "--verify", f"{name}^{{commit}}")
    raise SystemExit(f"git knows no commit {name!r}")


@contextlib.contextmanager
def checked_out(**commits: str) -> Iterator[dict[str, Path]]:
    """The folder ``src`` of each commit, compiled, in a worktree that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        places = {side: Path(folder) / side for side in commits}
        try:
            for side, place in places.items():
                git("worktree", "add", "--quiet", "--detach", str(place), commits[side])
                subprocess.run([sys.executable, "-m", "compileall", "-q", str(place / "src")], check=True)
            yield {side: place / "src" for side, place in places.items()}
        finally:
            for place in places.values():
                if place.exists():
                    git("worktree", "remove", "--force", str(place))


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--child"]:
        print(json.dumps(child(*arguments[1:])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("A", help="commit, tag or branch")
    parser.add_argument("B", help="the same")
    parser.add_argument("--only", default="", help="run workloads whose name contains this")
    parser.add_argument("--repeats", type=int, default=5, help="processes of each side (default: 5)")
    options = parser.parse_args(arguments)
    names = [name for name in WORKLOADS if options.only in name]
    if not names:
        parser.error(f"no workload contains {options.only!r}; there are: {'; '.join(WORKLOADS)}")
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {options.repeats}")
    commits = {side: commit_of(getattr(options, side)) for side in "AB"}
    for side, commit in commits.items():
        print(f"{side}: {git('log', '-1', '--format=%h %s', commit)}")
    print(f"{os.cpu_count()} cores; medians over {options.repeats} processes each, in turns\n\n{HEAD}")
    with checked_out(**commits) as sources:
        for name in names:
            print(line(name, in_turns(name, sources, options.repeats)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
