"""``python -m tests.fuzz.run``: damaged files over every reader; a run that was stopped goes on where it was.

python -m tests.fuzz.run                     10 000 files of each format; state and failures in out/fuzz
python -m tests.fuzz.run --files 500 npz mtx
python -m tests.fuzz.run --report            the table of what was run
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from .campaign import FINE, Tally, campaign
from .seeds import NEEDS, possible

EVERY = 50  # files between two notes of the state


def main() -> int:
    """Run, and say how many files failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", choices=[*NEEDS, []], help="default: all that can be read here")
    parser.add_argument("--files", type=int, default=10_000, help="of each format")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--report", action="store_true", help="only print the table")
    given = parser.parse_args()
    tallies = {name: restored(given.out, name) for name in given.formats or possible()}
    if not given.report:
        for tally in tallies.values():
            run(tally, given.files, given.out)
    print(report(list(tallies.values())))
    return int(any(tally.failures for tally in tallies.values()))


def run(tally: Tally, number: int, out: Path) -> None:
    """Read files until there were so many, and note the state now and then."""
    began = time.monotonic()
    before = tally.n_files
    for i, answer in campaign(tally.format, tally.n_files, number - tally.n_files, out / tally.format):
        tally.add(i, answer)
        if answer["outcome"] not in FINE:
            print(f"{tally.format} {i}: {answer['outcome']}: {answer['told']}", file=sys.stderr)
        if tally.n_files % EVERY == 0:
            note(out, tally)
    note(out, tally)
    seconds = time.monotonic() - began
    print(f"{tally.format}: {tally.n_files - before} files in {seconds:.0f} s, {dict(tally.outcomes)}", file=sys.stderr)


def restored(out: Path, name: str) -> Tally:
    """The state of a format."""
    path = out / f"{name}.json"
    if not path.exists():
        return Tally(name)
    held = json.loads(path.read_text())
    return Tally(name, held["n_files"], Counter(held["outcomes"]), held["failures"])


def note(out: Path, tally: Tally) -> None:
    """Keep the state of a format."""
    out.mkdir(parents=True, exist_ok=True)
    temporary = out / f".{tally.format}.json"
    held = {**vars(tally), "outcomes": dict(tally.outcomes)}
    temporary.write_text(json.dumps(held, indent=1))
    temporary.replace(out / f"{tally.format}.json")


def report(tallies: list[Tally]) -> str:
    """A table for the docs."""
    lines = ["| format | files | read | refused, file named | failures |", "|---|---|---|---|---|"]
    for tally in tallies:
        fine = [tally.outcomes[outcome] for outcome in FINE]
        cells = (tally.format, tally.n_files, *fine, tally.n_files - sum(fine))
        lines.append(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
