"""The figures of docs/missing-values.md: what gaps do to components, by way of mean filling, zero filling and EM.

    python -W ignore -m benchmarks.missing            print the tables (two minutes)
    python -W ignore -m benchmarks.missing --save     and renew them in docs/missing-values.md
    python -W ignore -m benchmarks.missing --levels   how often the test calls a component unique where there is none
    python -W ignore -m benchmarks.missing --coverage how often intervals of bootstrap cover what they are for

Values are taken out of complete rows, the model is fitted to what is left, and compared with the fit to all values: the
angle between the spaces of the first two components (median over seeds), and the variance of the first component in the
complete rows of the backgrounds, in units of its bound (mean over seeds; the largest of several backgrounds). The mouse data
is looked for as everywhere in the package (UCA_DATA, then the cache).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from benchmarks.inference.coverage import covered, planted
from benchmarks.pages import between

from uca import UCA
from uca.datasets.files import find
from uca.datasets.mice import HOW, NAME, _download, _read
from uca.inference import bootstrap, uniqueness_test

PAGE = Path(__file__).resolve().parents[1] / "docs" / "missing-values.md"
SEEDS = 5
SHARES = (0.05, 0.20, 0.40)
WAYS = ("mean filling", "zero filling", "EM")
Rows = list[np.ndarray]
Gapper = Callable[[Rows, np.random.Generator], Rows]


# --- data -------------------------------------------------------------------------------------------------------------


def mice() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with their gaps, classes, and which features are complete but for three nearly empty rows."""
    file = find(NAME, None, how=HOW, download=_download)
    _, values, _, classes = _read(file.read_bytes(), file)
    return values, classes, np.isnan(values).sum(axis=0) <= 3


def mouse_sets(which: str) -> tuple[Rows, Rows]:
    """Complete rows of a target and its backgrounds on 68 features, and where the same rows have gaps in the others."""
    values, classes, complete = mice()
    groups = {
        "one": [("c-SC-s", "t-SC-s"), ("c-CS-s",)],
        "three": [("c-CS-s", "t-CS-s"), ("t-SC-m",), ("t-CS-m",), ("t-SC-s",)],
    }[which]
    chosen = [np.isin(classes, group) & ~np.isnan(values[:, complete]).any(axis=1) for group in groups]
    return [values[rows][:, complete] for rows in chosen], [np.isnan(values[rows][:, ~complete]) for rows in chosen]


def simulated(seed: int, n: int = 100, p: int = 500) -> Rows:
    """Eight factors in both datasets, two in the target alone, and noise."""
    rng = np.random.default_rng(1000 + seed)
    shared, unique = rng.normal(size=(8, p)), rng.normal(size=(2, p))
    target = rng.normal(size=(n, 8)) @ shared + rng.normal(size=(n, 2)) @ unique + rng.normal(size=(n, p))
    return [target, rng.normal(size=(n, 8)) @ shared + rng.normal(size=(n, p))]


# --- gaps -------------------------------------------------------------------------------------------------------------


def at_random(share: float) -> Gapper:
    """Each value by itself."""
    return lambda sets, rng: [np.where(rng.random(rows.shape) < share, np.nan, rows) for rows in sets]


def below_limit(share: float) -> Gapper:
    """The smallest values of each feature, over all datasets together."""

    def take(sets: Rows, rng: np.random.Generator) -> Rows:
        limits = np.quantile(np.vstack(sets), share, axis=0)
        return [np.where(rows < limits, np.nan, rows) for rows in sets]

    return take


def transplanted(gaps: Rows) -> Gapper:
    """Each feature gets the gaps that one of the mouse features has in these rows, drawn at random: whole mice mostly."""

    def take(sets: Rows, rng: np.random.Generator) -> Rows:
        usable = np.flatnonzero(np.all([part.mean(axis=0) < 0.8 for part in gaps], axis=0))
        drawn = rng.choice(usable, size=sets[0].shape[1])
        return [np.where(part[:, drawn], np.nan, rows) for rows, part in zip(sets, gaps, strict=True)]

    return take


def filled(rows: np.ndarray, way: str) -> np.ndarray:
    if way == "EM":
        return rows
    return np.where(np.isnan(rows), 0.0 if way == "zero filling" else np.nanmean(rows, axis=0), rows)


# --- figures ----------------------------------------------------------------------------------------------------------


def angle(first: np.ndarray, second: np.ndarray) -> float:
    """The largest principal angle between two spaces of components, in degrees."""
    return float(np.degrees(np.arccos(np.linalg.svd(first @ second.T, compute_uv=False)[-1].clip(max=1.0))))


def compared(make: Callable[[int], Rows], gapper: Gapper) -> tuple[dict[str, tuple[float, float]], float]:
    """Angle and true background variance for every way, and the share of values that are missing."""
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    shares = []
    for seed in range(SEEDS):
        sets = make(seed)
        truth = UCA(2).fit(sets[0], backgrounds=sets[1:])
        correlations = [np.corrcoef(rows.T) for rows in sets[1:]]
        gapped = gapper(sets, np.random.default_rng(seed))
        shares.append(np.mean([np.isnan(rows).mean() for rows in gapped]))
        for way in WAYS:
            target, *others = [filled(rows, way) for rows in gapped]
            model = UCA(2, missing="em" if way == "EM" else "error").fit(target, backgrounds=others)
            v = model.components_[0]
            found[way].append((angle(truth.components_, model.components_), max(v @ b @ v for b in correlations)))
    figures = {
        way: (float(np.median([a for a, _ in f])), float(np.mean([v for _, v in f]))) for way, f in found.items()
    }
    return figures, float(np.mean(shares))


def cases() -> Iterator[tuple[str, str, Callable[[int], Rows], Gapper]]:
    """Data, gaps, and how to make both."""
    for which, told in (("one", "mice, one background"), ("three", "mice, three backgrounds")):
        sets, gaps = mouse_sets(which)
        for share in SHARES:
            yield told, f"{100 * share:.0f} % at random", lambda seed, sets=sets: sets, at_random(share)
        yield told, "as in real gaps", lambda seed, sets=sets: sets, transplanted(gaps)
        for share in SHARES[:2]:
            yield told, f"lowest {100 * share:.0f} %", lambda seed, sets=sets: sets, below_limit(share)
    for share in SHARES:
        yield "simulated, p = 500, n = 100", f"{100 * share:.0f} % at random", simulated, at_random(share)
    yield "simulated, p = 500, n = 100", "lowest 20 %", simulated, below_limit(0.2)


def table() -> str:
    """All cases as Markdown; the smallest angle and the variance nearest to the bound are bold."""
    lines = [f"| data | gaps | missing | {' | '.join(WAYS)} |", "|---|---|---|" + "---|" * len(WAYS)]
    for data, gaps, make, gapper in cases():
        figures, share = compared(make, gapper)
        least = min(a for a, _ in figures.values())
        nearest = min(abs(v - 1.0) for _, v in figures.values())
        cells = [
            f"{f'**{a:.1f}°**' if a == least else f'{a:.1f}°'} / "
            f"{f'**{v:.2f}**' if abs(v - 1.0) == nearest else f'{v:.2f}'}"
            for a, v in figures.values()
        ]
        lines.append(f"| {data} | {gaps} | {100 * share:.0f} % | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


# --- the level of the test --------------------------------------------------------------------------------------------

NULLS = {  # features, rows of target and background, share of gaps in each
    "p = 10, 60 + 60 rows, 20 % and 20 %": (10, 60, 60, 0.2, 0.2),
    "p = 10, 60 + 60 rows, 5 % and 40 %": (10, 60, 60, 0.05, 0.4),
    "p = 10, 60 + 60 rows, 40 % and 5 %": (10, 60, 60, 0.4, 0.05),
    "p = 30, 50 + 50 rows, 20 % and 20 %": (30, 50, 50, 0.2, 0.2),
}


def levels(repetitions: int) -> str:
    """How often the first component is called unique (level 5 %) where both datasets have one law of two factors."""
    ways = ("complete rows", "mean filling", "EM")
    lines = [f"| same law in both | {' | '.join(ways)} |", "|---|" + "---|" * len(ways)]
    for name, (p, n, m, gaps, other_gaps) in NULLS.items():
        called = np.array([_calls(seed, p, (n, m), (gaps, other_gaps)) for seed in range(repetitions)])
        lines.append(f"| {name} | {' | '.join(f'{100 * share:.1f} %' for share in called.mean(axis=0))} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def _calls(seed: int, p: int, n: tuple[int, int], shares: tuple[float, float]) -> list[bool]:
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(2, p))
    sets = [rng.normal(size=(rows, 2)) @ loadings + rng.normal(size=(rows, p)) for rows in n]
    gapped = [np.where(rng.random(rows.shape) < share, np.nan, rows) for rows, share in zip(sets, shares, strict=True)]
    tried = ((sets, "error"), ([filled(rows, "mean filling") for rows in gapped], "error"), (gapped, "em"))
    return [
        uniqueness_test(
            rows[0], rows[1], n_components=2, n_splits=10, random_state=seed, model=UCA(missing=missing)
        ).n_unique_
        > 0
        for rows, missing in tried
    ]


# --- coverage of intervals ---------------------------------------------------------------------------------------------

COVERED = {"loadings": "loadings", "λ": "lambda", "target, new rows": "target", "background, new rows": "background"}


def coverage(repetitions: int) -> str:
    """Percent of the intervals of ``bootstrap`` (95 %) that cover; a law of :mod:`benchmarks.inference.coverage`."""
    lines = [f"| 10 % missing | {' | '.join(COVERED)} |", "|---|" + "---|" * len(COVERED)]
    found = [_covers(seed) for seed in range(repetitions)]
    for way in found[0]:
        shares = [np.nanmean([each[way][key] for each in found]) for key in COVERED.values()]
        lines.append(f"| {way} | {' | '.join(f'{100 * share:.0f}' for share in shares)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def _covers(seed: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng([seed, 77])
    case = planted(rng, 150, 8)
    rows = case.rows(rng)
    gapped = at_random(0.1)(rows, rng)
    moments = case.moments()
    truth = UCA(n_components=1).fit_covariance(moments[0], backgrounds=moments[1:])
    out = {}
    for way, sets in {"complete rows": rows, "mean filling": gapped, "EM": gapped}.items():
        target, *others = [part if way == "complete rows" else filled(part, way) for part in sets]
        model = UCA(missing="em" if way == "EM" else "error")
        found = bootstrap(target, others, n_components=1, n_resamples=200, random_state=seed, model=model)
        out[way] = covered(found, truth, moments, unique=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", action="store_true", help="renew the tables of docs/missing-values.md")
    parser.add_argument("--levels", action="store_true", help="the level of the test, instead (half an hour)")
    parser.add_argument("--coverage", action="store_true", help="coverage of intervals, instead (a quarter of an hour)")
    parser.add_argument("--repetitions", type=int, help="300 for levels, 100 for coverage")
    given = parser.parse_args()
    if given.coverage:
        mark, text = "coverage", coverage(given.repetitions or 100)
    elif given.levels:
        mark, text = "levels", levels(given.repetitions or 300)
    else:
        mark, text = "components", table()
    if given.save:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(between(page, mark, f"\n{text}\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
