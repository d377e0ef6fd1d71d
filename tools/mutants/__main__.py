"""Plant faults, a random sample in each package, and count those that the tests notice: ``make mutants``.

    python -m tools.mutants                       30 faults in each package, seed 0
    python -m tools.mutants --number 100 --seed 1 --packages dual solvers

A fault is noticed where a test fails that passes without it, or where the tests do not end. Each fault meets the tests that
reach its line, the fastest first, as many as take ``--seconds`` of processor time without it; if it survives these, the
next ones, up to ``--survivors`` seconds. The survivors that are listed with fewer tests than reach them may still be noticed
by a slower one, so the share that is reported is a lower bound. Which test reaches what is found first, one test file after
the other, and kept until tests or sources change. Then all of them run once without any fault, in the same order, and those
that fail are left out: they would notice everything (``--no-control`` saves the time). Survivors are tried again when the
command is, others are not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from .bench import Bench
from .faults import Fault, faults
from .reach import Reach, collected, failing, failures, processor_time, reached

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "dual": "src/uca/dual.py",
    "solvers": "src/uca/solvers/",
    "operators": "src/uca/operators/",
    "estimators": "src/uca/estimators/",
    "inference": "src/uca/inference/",
    "io": "src/uca/io/",
}
# Pages, pictures, programs, notebooks, browsers, simulations and studies: slow, and not what these packages are tested by.
ELSEWHERE = {
    *("api_snapshot", "bench_history", "benchmarks", "demo", "docs", "each_shown", "examples", "extras", "first_run"),
    *(
        "inference_study",
        "influence_study",
        "machines",
        "methods_text",
        "mne",
        "notebook_single_cell",
        "notebooks",
        "paper",
    ),
    *("plotting", "plotting_images", "plotting_inference", "project", "release", "report", "report_browser"),
    *("scverse", "scverse_after", "scverse_each", "startup", "structure"),
}
FILE_SECONDS = 60.0  # processor time that one test file may take for the map; the rest of it is left out


@dataclass(frozen=True)
class Outcome:
    """What became of one fault: noticed (by a failing test), endless, survived or unreached."""

    package: str
    file: str
    line: int
    kind: str
    start: int
    before: str
    after: str
    fate: str
    tests: int
    ran: int

    @property
    def noticed(self) -> bool:
        return self.fate in {"noticed", "endless"}


def targets(names: list[str]) -> list[str]:
    """Test files, those named or all, and the packages for their doctests."""
    files = sorted(path.stem[5:] for path in (ROOT / "tests").glob("test_*.py"))
    tests = [f"tests/test_{name}.py" for name in names or files if name not in ELSEWHERE]
    return [*tests, *(path.rstrip("/") for path in PACKAGES.values())]


def digest(*paths: Path) -> str:
    """Of the contents of files and folders."""
    found = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found.update(file.read_bytes())
    return found.hexdigest()[:12]


def all_reached(bench: Bench, store: Path, names: list[str], limit: float) -> list[Reach]:
    """The map of every target, from the store where it is known."""
    maps, source = [], digest(ROOT / "src")
    for target in targets(names):
        kept = store / f"{target.replace('/', '-')}-{source}-{digest(ROOT / target)}.json"
        if not kept.exists():
            began = processor_time()
            work = partial(_reached, target, limit)
            answer = bench.run(work, 3 * limit + 60, compiled=True)
            if answer is None:
                raise SystemExit(f"the tests of {target} could not be run:\n{bench.log()}")
            kept.write_text(json.dumps(answer))
            print(f"{target}: {len(answer['seconds'])} tests, {processor_time() - began:.0f} s", flush=True)
        maps.append(Reach.from_dict(json.loads(kept.read_text())))
    return maps


def _reached(target: str, limit: float) -> dict[str, object]:
    return reached(target, list(PACKAGES.values()), limit).as_dict()


def without_failing(bench: Bench, maps: list[Reach]) -> list[Reach]:
    """The maps without tests that fail where no fault is planted, the fastest first as ever."""
    seconds = {test: spent for reach in maps for test, spent in reach.seconds.items()}
    failed = bench.run(
        partial(failures, sorted(seconds, key=lambda test: (seconds[test], test))), 3 * sum(seconds.values()) + 60
    )
    if failed is None:
        raise SystemExit(f"the tests could not be run without a fault:\n{bench.log()}")
    for test in failed:
        print(f"left out, as it fails without a fault: {test}", flush=True)
    return [reach.without(failed) for reach in maps]


def sample(package: str, number: int, seed: int) -> list[tuple[str, Fault]]:
    """Faults of a package, drawn without replacement, each as likely as any other."""
    path = ROOT / PACKAGES[package]
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    found = [(str(file.relative_to(ROOT)), fault) for file in files for fault in faults(file.read_text())]
    order = random.Random(zlib.crc32(f"{package} {seed}".encode())).sample(range(len(found)), len(found))
    print(f"{package}: {min(number, len(found))} of {len(found)} faults", flush=True)
    return [found[i] for i in order[:number]]


def choose(maps: list[Reach], file: str, fault: Fault, budget: float) -> tuple[list[str], int, float]:
    """The fastest tests that reach a fault, within a budget of seconds; how many reach it; the seconds of those chosen."""
    known = {test: reach.seconds[test] for reach in maps for test in reach.tests(file, fault.lines)}
    chosen, spent = [], 0.0
    for test, seconds in sorted(known.items(), key=lambda item: (item[1], item[0])):
        if chosen and spent + seconds > budget:
            break
        chosen.append(test)
        spent += seconds
    return chosen, len(known), spent


def plant(
    bench: Bench, maps: list[Reach], package: str, file: str, fault: Fault, budget: float, more: float
) -> Outcome:
    """Plant one fault and run its tests: the fastest within a budget, then, if it survives, those within ``more``."""
    fate, ran = "unreached", 0
    with bench.holding(file, fault.planted((ROOT / file).read_text())):
        for limit in (budget, more):
            tests, reaching, spent = choose(maps, file, fault, limit)
            new = tests[ran:]
            if not new or fate not in {"unreached", "survived"}:
                break
            code = bench.run(partial(failing, new), 3 * spent + 30)
            fate, ran = {None: "endless", 0: "survived"}.get(code, "noticed"), len(tests)
    what = (package, file, fault.line, fault.kind, fault.start, fault.before, fault.after)
    return Outcome(*what, fate, reaching, ran)


def table(outcomes: list[Outcome]) -> str:
    """Shares noticed, with standard errors, and the survivors."""
    lines = ["| package | faults | noticed | share | standard error | not reached |", "|---|---|---|---|---|---|"]
    for name in [*PACKAGES, "all"]:
        these = [outcome for outcome in outcomes if name in {outcome.package, "all"}]
        if these:
            n, hit = len(these), sum(outcome.noticed for outcome in these)
            share = hit / n
            error = math.sqrt(share * (1 - share) / n)
            missed = sum(outcome.fate == "unreached" for outcome in these)
            lines.append(f"| {name} | {n} | {hit} | {100 * share:.0f} % | {100 * error:.0f} % | {missed} |")
    lines += ["", "Survivors:"]
    for one in outcomes:
        if not one.noticed:
            what = f"{one.file}:{one.line} {one.kind}: {one.before!r} -> {one.after!r}"
            lines.append(f"- {what} ({one.fate}; {one.ran} of {one.tests} tests)")
    return "\n".join(lines)


def planted(options: argparse.Namespace, store: Path) -> Iterator[Outcome]:
    """The fates of the sample; one fault of each package in turn, so that a run that is stopped has some of all."""
    drawn = {package: sample(package, options.number, options.seed) for package in options.packages}
    known = store / f"outcomes-{digest(ROOT / 'src')}.jsonl"
    stored = [Outcome(**json.loads(line)) for line in known.read_text().splitlines()] if known.exists() else []
    noticed = {(one.file, one.start, one.after): one for one in stored if one.noticed}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        bench = Bench(ROOT, Path(folder) / "uca")
        maps = all_reached(bench, store, options.tests, options.file_seconds)
        bench.run(lambda: collected(targets(options.tests)), 300, compiled=True)
        if options.control:
            maps = without_failing(bench, maps)
        turns = [
            (package, *found[i]) for i in range(options.number) for package, found in drawn.items() if i < len(found)
        ]
        for package, file, fault in turns:
            one = noticed.get((file, fault.start, fault.after))
            if one is None:
                one = plant(bench, maps, package, file, fault, options.seconds, options.survivors)
                with known.open("a") as out:
                    out.write(json.dumps(asdict(one)) + "\n")
                print(
                    f"{one.fate} ({one.ran} of {one.tests}) {file}:{one.line} {one.before!r} -> {one.after!r}",
                    flush=True,
                )
            yield one


def main() -> None:
    """What the command line asks for."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__, formatter_class=form)
    parser.add_argument("--number", type=int, default=30, help="faults in each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="of processor time, for the tests that a fault meets"
    )
    parser.add_argument("--survivors", type=float, default=120.0, help="the same, for faults that survive these tests")
    parser.add_argument("--control", action=argparse.BooleanOptionalAction, default=True, help="default: yes")
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--tests", nargs="+", default=[], help="files, without test_ and .py (default: all quick ones)")
    parser.add_argument(
        "--file-seconds", type=float, default=FILE_SECONDS, help="the same for the map of one test file"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants", help="where what is known is kept")
    options = parser.parse_args()
    store = options.out.resolve()
    store.mkdir(parents=True, exist_ok=True)
    print(table(list(planted(options, store))))


if __name__ == "__main__":
    main()
