"""Does ``UCA(bound_on="new rows")`` keep its promise? Population variances of the first component, beside the plain fit.

Data come from factor models whose population is known: shared factors in target and backgrounds, one factor of the target's
own, one of each background's own where there are several. Loadings are +-strength: every feature of a dataset has the
same variance, and population correlations are known exactly. On real data, where no population is known, half of the
rows (or subjects) fits and the other half measures.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits

from uca import UCA, solve_dual
from uca._subjects import halves
from uca.datasets import DataNotFoundError, digits_on_grass, load_london_faces, load_mice, london_study
from uca.inference import choose_restriction
from uca.inference.heldout import held_out
from uca.reproduce.mice import BACKGROUNDS

REPETITIONS = 20
STRENGTHS = {"weak": 0.2, "strong": 1.0, "no": 0.0}  # of shared factors; the target's own is weak where there are none
SHARED = 3


@dataclass(frozen=True)
class Cell:
    """A setting of the simulation."""

    p: int
    n: int
    factors: str
    m: int = 1

    @property
    def name(self) -> str:
        return f"{self.factors} factors, p = {self.p}, {self.n} rows, {self.m} background{'s' * (self.m > 1)}"


CELLS = [Cell(p, n, kind) for kind in STRENGTHS for p in (100, 500, 3000) for n in (20, 50, 200)]
CELLS += [Cell(p, n, "weak", m) for m in (2, 3) for p, n in ((100, 50), (500, 20), (500, 200), (3000, 50))]


class Population:
    """Loadings of target and backgrounds, (factors, p) each; every row of a dataset has unit noise."""

    def __init__(self, cell: Cell, rng: np.random.Generator):
        strength = STRENGTHS[cell.factors]

        def loadings(k: int, size: float) -> np.ndarray:
            return size * rng.choice([-1.0, 1.0], size=(k, cell.p))

        shared = loadings(SHARED if strength else 0, strength)
        own = strength or STRENGTHS["weak"]
        self.loadings = [np.vstack([shared, loadings(1, own)])]
        self.loadings += [np.vstack([shared, loadings(int(cell.m > 1), own)]) for _ in range(cell.m)]

    def draw(self, n: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Rows of every dataset, target first."""
        return [rng.normal(size=(n, len(f))) @ f + rng.normal(size=(n, f.shape[1])) for f in self.loadings]

    def variances(self, v: np.ndarray) -> np.ndarray:
        """Variance along a unit vector in every dataset, in units of its own deviations."""
        return np.array([(np.sum((f @ v) ** 2) + v @ v) / (1.0 + np.sum(f[:, 0] ** 2)) for f in self.loadings])

    def optimum(self) -> np.ndarray:
        """The first component of the population; it lies in the span of all loadings and one direction of noise."""
        p = self.loadings[0].shape[1]
        spanned = np.vstack([*self.loadings, np.random.default_rng(0).normal(size=(1, p))])
        left, sizes, _ = np.linalg.svd(spanned.T, full_matrices=False)
        basis = left[:, sizes > 1e-8 * sizes[0]]
        matrices = [
            ((basis.T @ f.T) @ (f @ basis) + np.eye(basis.shape[1])) / (1.0 + np.sum(f[:, 0] ** 2))
            for f in self.loadings
        ]
        found = solve_dual(matrices[0], matrices[1:], bounds=1.0, n_components=1)
        return np.asarray(basis @ found.vectors[:, 0])


def repetition(cell: Cell, seed: int) -> dict[str, dict[str, float]]:
    """Plain and held back: population variances over those of the optimum or the bound, and the cosine to the optimum."""
    rng = np.random.default_rng([8, seed, cell.p, cell.n, cell.m])  # the rule was chosen on other draws
    population = Population(cell, rng)
    target, *backgrounds = population.draw(cell.n, rng)
    best = population.optimum()
    out = {}
    for way in ("rows", "new rows"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            v = UCA(1, bound_on=way).fit(target, backgrounds=backgrounds).components_[0]
        variances = population.variances(v)
        excess = float(variances[1:].max())
        share = float(variances[0] / population.variances(best)[0])
        within = share / max(1.0, excess)
        out[way] = {"background": excess, "target": share, "within": within, "cosine": float(abs(v @ best))}
    return out


def medians(found: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Of every measure of every way."""
    return {
        way: {what: float(np.median([row[way][what] for row in found])) for what in found[0][way]} for way in found[0]
    }


def part(scale: float, known: dict[str, Any]) -> dict[str, Any]:
    """Simulated cells and real data; cells that are known are kept."""
    n = max(3, round(REPETITIONS * scale))
    for cell in CELLS:
        if cell.name not in known:
            found = Parallel(n_jobs=-1)(delayed(repetition)(cell, seed) for seed in range(n))
            known[cell.name] = {"n": n, **medians(found)}
            print(f"{cell.name:<52} {told(known[cell.name])}", flush=True)
    for name, found in real(max(1, round(10 * scale))):
        known[name] = found
        print(f"{name:<52} {told(found)}", flush=True)
    return dict(known)


def told(found: dict[str, Any]) -> str:
    """A line: what the plain fit has -> what the option has."""
    pairs = [(what, found["rows"][what], found["new rows"][what]) for what in found["rows"]]
    return "  ".join(f"{what} {before:.2f} -> {after:.2f}" for what, before, after in pairs)


# --- real data: half of the subjects fits, the other half measures ------------------------------------------------------


def real(splits: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Medians over random halves of variances in the other half."""
    for name, (rows, subjects, scale) in real_data().items():
        seeds = range(splits)
        found = Parallel(n_jobs=-1)(delayed(split_once)(rows, subjects, scale, seed) for seed in seeds)
        yield name, {"n": splits, "real": True, **medians(found)}


def split_once(
    rows: Sequence[np.ndarray], subjects: Sequence[np.ndarray], scale: bool | str, seed: int
) -> dict[str, dict[str, float]]:
    """Fit on one half, plain and held back; measure on the other."""
    sides = halves(subjects, np.random.default_rng(seed))
    target, *backgrounds = (part[side] for part, side in zip(rows, sides, strict=True))
    groups = [codes[side] for codes, side in zip(subjects, sides, strict=True)]
    other = [part[~side] for part, side in zip(rows, sides, strict=True)]
    codes = [part[~side] for part, side in zip(subjects, sides, strict=True)]
    out = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = choose_restriction(target, backgrounds, groups=groups, model=UCA(1, scale=scale))
        for way, given in (("rows", "rows"), ("new rows", chosen)):
            model = UCA(1, scale=scale, bound_on=given).fit(target, backgrounds=backgrounds)
            variances = np.exp(held_out(other, codes, model.components_, center=True, scale=scale).log_variance[:, 0])
            excess = float(np.max(variances[1:] / model.bounds_))
            out[way] = {
                "background": excess,
                "target": float(variances[0]),
                "within": float(variances[0]) / max(1.0, excess),
            }
    return out


Rows = tuple[
    list[np.ndarray], list[np.ndarray], bool | str
]  # of every dataset, their subjects, and how they are scaled


def real_data() -> dict[str, Rows]:
    """Target first; what is not there is left out."""
    out: dict[str, Rows] = {}
    for load in (_mice, _faces, _digits):
        try:
            out.update(load())
        except (DataNotFoundError, OSError) as error:
            print(error)
    return out


def _mice() -> dict[str, Rows]:
    data = load_mice()
    analyses = {
        "mouse proteins, one background": (("c-SC-s", "t-SC-s"), ("c-CS-s",)),
        "mouse proteins, three backgrounds": (("c-CS-s", "t-CS-s"), BACKGROUNDS),
    }
    out: dict[str, Rows] = {}
    for name, (target, backgrounds) in analyses.items():
        parts = [target, *((b,) for b in backgrounds)]
        out[name] = ([data.rows(*c) for c in parts], _coded([data.labels(*c)[1] for c in parts]), True)
    return out


def _faces() -> dict[str, Rows]:
    study = london_study(load_london_faces())
    rows = [study.target, *study.backgrounds.values()]
    subjects = _coded([study.person, *(np.array([f"{j}-{i}" for i in range(len(b))]) for j, b in enumerate(rows[1:]))])
    return {"London faces, two backgrounds": (rows, subjects, True)}


def _digits() -> dict[str, Rows]:
    study = digits_on_grass()
    pixels, labels = load_digits(return_X_y=True)
    cases = {
        "digits over grass, 100 and 60 rows": [study.target[:100], study.backgrounds["grass"][:60]],
        "handwritten 3 and 8 against 0, 80 and 40 rows": [
            pixels[np.isin(labels, (3, 8))][:80],
            pixels[labels == 0][:40],
        ],
    }
    return {
        name: (rows, _coded([np.arange(len(r)) + 10_000 * j for j, r in enumerate(rows)]), False)
        for name, rows in cases.items()
    }


def _coded(labels: Sequence[Any]) -> list[np.ndarray]:
    """Labels as integers, the same for the same label in every dataset."""
    codes = np.unique(np.concatenate([np.asarray(part).astype(str) for part in labels]), return_inverse=True)[1]
    return np.split(codes, np.cumsum([len(part) for part in labels])[:-1])
