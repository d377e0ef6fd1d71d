"""Run the methods on the settings: ``make real``.

Without options it prints; ``--save`` writes docs/real.json, the tables of docs/real-data.md and its figure. The figures of
every split are kept in out/real.json, from which ``--again`` makes the rest without fitting.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from . import pages
from .methods import METHODS, RUNS, SAME_FOR_ONE, SLOW, Project
from .scoring import figure, judge
from .sets import SETTINGS
from .setting import Draw, NotHereError, Setting, split
from .summary import summarise

ROOT = Path(__file__).resolve().parents[2]
SAVED, DOCS = ROOT / "docs" / "real.json", ROOT / "docs"
EACH = ROOT / "out" / "real.json"
SPLITS = 30


@dataclass
class Values:
    """Figures of one setting: by run, metric and number of components, one for each split; reasons where there is none."""

    name: str
    units: str
    shape: dict[str, Any] = field(default_factory=dict)
    found: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, run: str, scored: dict[str, float]) -> None:
        lists = self.found.setdefault(run, {})
        for name, value in scored.items():
            lists.setdefault(name, []).append(value)


def one_split(values: Values, setting: Setting, seed: int, runs: dict[str, tuple[str, Any]]) -> None:
    """Fit every method on the rows that are not held out, and judge it on those that are."""
    draw = setting.draw(seed)
    fit, held = split(draw, seed)
    values.shape = {
        "rows": len(draw.target),
        "features": draw.target.shape[1],
        "backgrounds": {name: len(rows) for name, rows in draw.backgrounds.items()},
        "labels": len(np.unique(draw.labels)),
        "groups": len(np.unique(draw.groups)),
    }
    scored: dict[str, dict[str, float]] = {}
    for run, (method, scale) in runs.items():
        if run in values.reasons or seed >= SLOW.get(method, seed + 1):
            continue
        start = time.process_time()
        if method in SAME_FOR_ONE and len(draw.backgrounds) == 1 and (same := run.replace(method, "UCA")) in scored:
            scored[run] = scored[same]
        else:
            try:
                scored[run] = _scored(METHODS[method](draw.target[fit], draw.backgrounds, scale), draw, fit, held)
            except NotHereError as error:
                values.reasons[run] = str(error)
                continue
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
                values.reasons[run] = f"split {seed + 1}: {error}"
                continue
        values.add(run, scored[run])
        values.seconds[run] = values.seconds.get(run, 0.0) + time.process_time() - start


def _scored(projections: dict[int, Project], draw: Draw, fit: np.ndarray, held: np.ndarray) -> dict[str, float]:
    """Figures by metric and number of components."""
    labels = draw.labels
    return {
        figure(metric, k): value
        for k, project in projections.items()
        for metric, value in judge(
            project(draw.target[fit]), project(draw.target[held]), labels[fit], labels[held]
        ).items()
    }


def available(settings: tuple[Setting, ...]) -> tuple[list[Setting], dict[str, str]]:
    """Settings whose data is here, and why others are skipped."""
    here, skipped = [], {}
    for setting in settings:
        try:
            setting.draw(0)
            here.append(setting)
        except NotHereError as error:
            skipped[setting.name] = str(error)
            print(f"skipped {setting.name}: {error}", flush=True)
    return here, skipped


def run(settings: tuple[Setting, ...], splits: int, runs: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """All splits of all settings, split by split; what is done is kept after each."""
    here, skipped = available(settings)
    all_values, start = [Values(setting.name, setting.units) for setting in here], time.perf_counter()
    kept: dict[str, Any] = {}
    for seed in range(splits):
        for values, setting in zip(all_values, here, strict=True):
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one_split(values, setting, seed, runs)
        kept = {"splits": seed + 1, "skipped": skipped, "values": [asdict(values) for values in all_values]}
        EACH.parent.mkdir(exist_ok=True)
        EACH.write_text(json.dumps(kept))
        print(f"split {seed + 1} of {splits}, {time.perf_counter() - start:.0f} s", flush=True)
    return kept


def as_text(found: dict[str, Any]) -> str:
    """JSON with a mean and its interval on one line."""
    return re.sub(r"\[\s+(\S+),\s+(\S+)\s+\]", r"[\1, \2]", json.dumps(found, indent=1)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--only", nargs="*", help="settings, by name")
    parser.add_argument("--methods", nargs="*", help="methods, by name")
    parser.add_argument("--save", action="store_true", help="renew docs/real.json, the page and its figure")
    parser.add_argument("--again", action="store_true", help="from the figures of the last run, without fitting")
    parser.add_argument("--pages", action="store_true", help="only draw page and figure from docs/real.json")
    arguments = parser.parse_args()
    if arguments.pages:
        pages.write(json.loads(SAVED.read_text()), DOCS)
        return
    settings = tuple(one for one in SETTINGS if arguments.only is None or one.name in arguments.only)
    runs = {key: value for key, value in RUNS.items() if arguments.methods is None or value[0] in arguments.methods}
    kept = json.loads(EACH.read_text()) if arguments.again else run(settings, arguments.splits, runs)
    found = summarise(kept)
    print(pages.overview(found))
    if arguments.save:
        SAVED.write_text(as_text(found))
        pages.write(found, DOCS)


if __name__ == "__main__":
    main()
