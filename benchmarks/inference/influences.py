"""Are the verdicts of ``background_influence`` right? Backgrounds of one law, with a factor of their own, irrelevant ones.

A background of the same law as another can be left out: it should be *redundant* or *replaceable*. One with a factor that
the target has too, and no other background, should be *decisive* or *count*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from uca.inference import background_influence

from .laws import FACTORS, Rng, factor_rows, normal

VERDICTS = ("redundant", "replaceable", "counts", "decisive")
REPEATS = 200


@dataclass(frozen=True)
class Study:
    """A target, backgrounds by name, and the subject of each row (None: rows are independent)."""

    target: np.ndarray
    backgrounds: dict[str, np.ndarray]
    groups: list[np.ndarray] | None = None


def alike(rng: Rng, *, n: int = 60, p: int = 20, unique: float = 1.0, shift: float = 0.0) -> Study:
    """Two backgrounds of one law; the target has their factors and (unless ``unique`` is 0) one of its own."""
    shared = normal(rng, FACTORS, p)
    target = factor_rows(rng, n, np.vstack([shared, unique * normal(rng, 1, p)]))
    return Study(target, {"a": factor_rows(rng, n, shared), "a too": factor_rows(rng, n, shared) + shift})


def alike_and_repeated(rng: Rng, *, subjects: int, rows: int, p: int) -> Study:
    """Two backgrounds of one law, with several rows of each subject, which differ little."""
    shared = normal(rng, FACTORS, p)
    tables = [np.repeat(factor_rows(rng, subjects, shared), rows, axis=0) for _ in range(3)]
    target, a, too = (table + 0.3 * normal(rng, *table.shape) for table in tables)
    codes = [np.repeat(np.arange(subjects) + subjects * i, rows) for i in range(3)]
    return Study(target, {"a": a, "a too": too}, codes)


def with_own(rng: Rng, *, n: int = 60, p: int = 20, twice: bool = False) -> Study:
    """One background (or two of one law) with shared factors, and one with another factor that the target has."""
    shared, own = normal(rng, FACTORS, p), 2 * normal(rng, 1, p)
    target = factor_rows(rng, n, np.vstack([shared, own, normal(rng, 1, p)]))
    names = ("a", "a too") if twice else ("a",)
    return Study(target, {**{name: factor_rows(rng, n, shared) for name in names}, "own": factor_rows(rng, n, own)})


def irrelevant(rng: Rng, *, n: int = 60, p: int = 20) -> Study:
    """One background with shared factors, and one that is noise."""
    shared = normal(rng, FACTORS, p)
    target = factor_rows(rng, n, np.vstack([shared, normal(rng, 1, p)]))
    return Study(target, {"a": factor_rows(rng, n, shared), "noise": normal(rng, n, p)})


LAWS: dict[str, Callable[[Rng], Study]] = {
    "two of one law, 60 rows": alike,
    "two of one law, 60 rows, nothing unique": partial(alike, unique=0.0),
    "two of one law, 15 rows": partial(alike, n=15),
    "two of one law, 60 rows, 150 features": partial(alike, p=150),
    "two of one law, 60 rows, other means": partial(alike, shift=3.0),
    "two of one law, 12 subjects with 6 rows, groups given": partial(alike_and_repeated, subjects=12, rows=6, p=20),
    "one with a factor of its own, 60 rows": with_own,
    "one with a factor of its own, 20 rows": partial(with_own, n=20),
    "one irrelevant, 60 rows": irrelevant,
    "one irrelevant, 20 rows": partial(irrelevant, n=20),
    "three, two of them of one law, 60 rows": partial(with_own, twice=True),
}


def verdicts(name: str, seed: int) -> dict[str, str]:
    """What is said of each background in one draw."""
    draw = LAWS[name](np.random.default_rng([seed, 5]))
    found = background_influence(draw.target, draw.backgrounds, groups=draw.groups, random_state=seed)
    return {background: found.verdict(background) for background in found.background_names}


def part(scale: float, known: Any) -> dict[str, Any]:
    """How often each verdict is given, for every background of every law."""
    for name in LAWS:
        if name in known:
            continue
        n = max(10, int(scale * REPEATS))
        runs = Parallel(n_jobs=-1)(delayed(verdicts)(name, seed) for seed in range(n))
        found = {key: dict(Counter(run[key] for run in runs)) for key in runs[0]}
        print(f"{name}: {found}", flush=True)
        known[name] = {"n": n, "verdicts": found}
    return dict(known)


def table(saved: dict[str, Any]) -> str:
    """Verdicts in percent, a row a background; empty where the part was not run."""
    rows = saved.get("influence", {})
    if not rows:
        return ""
    lines = [f"| backgrounds | this one | {' | '.join(VERDICTS)} |", "|---" * (len(VERDICTS) + 2) + "|"]
    for name, found in rows.items():
        for background, counts in found["verdicts"].items():
            cells = (f"{100 * counts[v] / found['n']:.0f}" if counts.get(v) else "" for v in VERDICTS)
            lines.append(f"| {name} | {background} | {' | '.join(cells)} |")
    most = max(found["n"] for found in rows.values())
    return "\n".join(["", *lines, "", f"(Percent of {most} draws each.)", ""])
