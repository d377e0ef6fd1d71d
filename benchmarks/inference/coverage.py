"""Do the intervals of ``bootstrap`` cover what they are for, and is ``reliable`` at its level?

What an interval is for. Loadings and multipliers: those of the population's component, which is what ``fit_covariance``
finds on the covariances of the law (correlations where the model scales). Variances: those of the law along the *fitted*
component, v'Sv with v from the sample: what endlessly many new rows show along it. The variance along the population's
component is another number, and is counted beside it ("population"); the table of ``bootstrap`` does not speak of it.

Laws. Four features have loadings of ±.5 on a factor that the target alone has; a factor on three fifths of the features,
those four among them, is shared with the background, so that the population's multiplier is unique and above 0. Features
beyond have population loadings of exactly 0: ``reliable`` is wrong where it names one of them. Loadings of shared factors
are drawn anew for every repetition.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from uca import UCA
from uca.inference import Bootstrap, bootstrap

from .laws import Rng, factor_rows, normal

STRENGTH, SHARED = 2.5, 0.7
LARGE = 0.3  # a loading
ZERO = 1e-7  # population loadings below this are 0 up to the tolerance of a fit
RESAMPLES = 200
REPETITIONS = 200


@dataclass(frozen=True)
class Case:
    """Loadings of each dataset's factors (noise has variance 1), how many rows there are, and how the model is called."""

    loadings: tuple[np.ndarray, ...]
    n_rows: tuple[int, ...]
    scale: bool = True
    law: Callable[..., np.ndarray] = normal
    repeats: int = 1
    k: int = 1
    unique: bool = True  # the population's multipliers are
    exists: bool = True  # the population has a component

    def rows(self, rng: Rng) -> list[np.ndarray]:
        """A sample; with repeats, subjects differ by as much as rows within a subject do."""
        parts = zip(self.n_rows, self.loadings, strict=True)
        if self.repeats == 1:
            return [factor_rows(rng, n, part, self.law) for n, part in parts]
        return [
            np.repeat(factor_rows(rng, n, part), self.repeats, axis=0) + factor_rows(rng, n * self.repeats, part)
            for n, part in parts
        ]

    def groups(self) -> list[np.ndarray] | None:
        if self.repeats == 1:
            return None
        return [np.repeat(np.arange(n), self.repeats) + 10_000 * j for j, n in enumerate(self.n_rows)]

    def moments(self) -> list[np.ndarray]:
        """Covariances of the law as the model sees them."""
        kinds = 1 if self.repeats == 1 else 2  # variation between subjects and within
        matrices = [kinds * (part.T @ part + np.eye(part.shape[1])) for part in self.loadings]
        if not self.scale:
            return matrices
        deviations = [np.sqrt(matrix.diagonal()) for matrix in matrices]
        return [matrix / np.outer(sd, sd) for matrix, sd in zip(matrices, deviations, strict=True)]


def unique_factor(rng: Rng, p: int, first: int = 0) -> np.ndarray:
    """Four loadings of ±.5, (1, p)."""
    out = np.zeros((1, p))
    out[0, first : first + 4] = rng.choice([-0.5, 0.5], size=4)
    return out


def planted(
    rng: Rng,
    n: int,
    p: int,
    *,
    n_background: int | None = None,
    strength: float = STRENGTH,
    second: float = 0.0,
    **how: Any,
) -> Case:
    """One unique factor (or two), one shared one."""
    shared = SHARED * normal(rng, 1, p) * (np.arange(p) < 3 * p // 5)
    own = [strength * unique_factor(rng, p), second * unique_factor(rng, p, 4)]
    return Case((np.vstack([*own, shared]), shared), (n, n_background or n), **how)


def two_backgrounds(rng: Rng, n: int, p: int) -> Case:
    """Each background has a factor of its own that touches the unique one: both multipliers are unique and above 0."""
    unique = 2.2 * unique_factor(rng, p)
    factors = np.zeros((2, p))
    for row, (touched, others) in enumerate(((0, slice(4, 8)), (1, slice(8, 12)))):
        factors[row, touched] = 1.2 * np.sign(unique[0, touched])
        factors[row, others] = 1.2
    return Case((np.vstack([unique, factors]), 1.5 * factors[:1], 1.5 * factors[1:]), (n, n, n))


def noise(rng: Rng, n: int, p: int, **how: Any) -> Case:
    """Nothing but noise: the population has no component, so that no feature can be reliable."""
    return Case((np.zeros((1, p)),) * 2, (n, n), unique=False, exists=False, **how)


def no_shared(rng: Rng, n: int, p: int, **how: Any) -> Case:
    """A unique factor over noise: the multiplier is not unique."""
    return Case((STRENGTH * unique_factor(rng, p), np.zeros((1, p))), (n, n), unique=False, **how)


def student5(rng: Rng, *shape: int) -> np.ndarray:
    return rng.standard_t(5, size=shape) / np.sqrt(5 / 3)


LAWS: dict[str, Callable[[Rng], Case]] = {
    "100 rows, 20 features": lambda rng: planted(rng, 100, 20),
    "300 rows": lambda rng: planted(rng, 300, 20),
    "1 000 rows": lambda rng: planted(rng, 1000, 20),
    "60 rows, 60 features": lambda rng: planted(rng, 60, 60),
    "two backgrounds, 200 rows": lambda rng: two_backgrounds(rng, 200, 20),
    "30 subjects of 5 rows": lambda rng: planted(rng, 30, 20, repeats=5),
    "heavy tails (t5), 150 rows": lambda rng: planted(rng, 150, 20, law=student5),
    "common units, 150 rows": lambda rng: planted(rng, 150, 20, strength=2.0, scale=False),
    "300 target rows, 60 background rows": lambda rng: planted(rng, 300, 20, n_background=60),
    "a weaker second component, 200 rows": lambda rng: planted(rng, 200, 20, strength=3.0, second=1.5, k=2),
}
#: For ``reliable`` alone.
NULLS: dict[str, Callable[[Rng], Case]] = {
    "noise in the background": lambda rng: no_shared(rng, 100, 20),
    "noise, 100 rows, 20 features": lambda rng: noise(rng, 100, 20),
    "noise, 60 rows, 6 features": lambda rng: noise(rng, 60, 6),
    "noise, 40 rows, 100 features": lambda rng: noise(rng, 40, 100),
}


def repetition(law: Callable[[Rng], Case], seed: list[int]) -> dict[str, float]:
    """What one sample says: shares of intervals that cover, NaN where none is given."""
    rng = np.random.default_rng(seed)
    case = law(rng)
    target, *backgrounds = case.rows(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = bootstrap(
            target,
            backgrounds,
            groups=case.groups(),
            n_components=case.k,
            n_resamples=RESAMPLES,
            random_state=seed[-1],
            model=UCA(scale=case.scale),
        )
        moments = case.moments()
        truth = UCA(n_components=case.k).fit_covariance(moments[0], backgrounds=moments[1:])
    return {**covered(found, truth, moments, unique=case.unique), **judged(found, truth, exists=case.exists)}


def covered(found: Bootstrap, truth: UCA, moments: list[np.ndarray], *, unique: bool) -> dict[str, float]:
    fitted = found.model.components_
    population = truth.components_ * np.where(np.sum(truth.components_ * fitted, axis=1) < 0, -1, 1)[:, np.newaxis]
    inside = holds(population, found.loadings_low, found.loadings_high)
    along_fit, along_truth = (
        np.array([[v @ matrix @ v for matrix in moments] for v in part]) for part in (fitted, population)
    )
    new = holds(along_fit, found.expected_low, found.expected_high)
    old = holds(along_fit, *found.interval(found.variances))
    other = holds(along_truth, found.expected_low, found.expected_high)
    large = np.abs(population) > LARGE
    out = {
        "stability": float(found.stability_.mean()),
        "given": float(found.found_again.mean()),
        "loadings, large": mean(inside[large]),
        "loadings, small": mean(inside[~large]),
        "loadings": mean(inside),
        "target": mean(new[:, 0]),
        "background": mean(new[:, 1:]),
        "target, percentiles": mean(old[:, 0]),
        "background, percentiles": mean(old[:, 1:]),
        "target, population": mean(other[:, 0]),
        "background, population": mean(other[:, 1:]),
        "estimate outside": float(estimates_outside(found)),
    }
    if unique:
        out["lambda"] = mean(holds(truth.lambdas_, found.lambdas_low, found.lambdas_high))
        out["lambda, percentiles"] = mean(holds(truth.lambdas_, *found.interval(found.lambdas)))
    return out


def judged(found: Bootstrap, truth: UCA, *, exists: bool) -> dict[str, float]:
    """Whether a feature is called reliable that has no loading, and the share of large loadings that are called so."""
    zero = np.abs(truth.components_) < ZERO if exists else np.ones(found.reliable.shape, dtype=bool)
    large = (np.abs(truth.components_) > LARGE) & ~zero
    return {"false reliable": float(found.reliable[zero].any()), "reliable, large": mean(found.reliable[large])}


def estimates_outside(found: Bootstrap) -> int:
    """How many intervals exclude their own estimate."""
    triples = (
        (found.model.components_, found.loadings_low, found.loadings_high),
        (found.model.lambdas_, found.lambdas_low, found.lambdas_high),
        (found.expected_variances, found.expected_low, found.expected_high),
    )
    return sum(int(np.sum((value < low) | (value > high))) for value, low, high in triples)


def holds(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """1 where an interval covers, 0 where it does not, NaN where there is none."""
    return np.where(np.isnan(low), np.nan, (low <= value) & (value <= high))


def mean(values: np.ndarray) -> float:
    given = values[~np.isnan(values.astype(float))]
    return float(given.mean()) if len(given) else float("nan")


def part(scale: float, known: dict[str, Any]) -> dict[str, Any]:
    """Coverage in percent by law, and how often ``reliable`` names a feature that has no loading."""
    laws = {**LAWS, **NULLS}
    for number, (name, law) in enumerate(laws.items()):
        if name not in known:
            n = max(20, round(REPETITIONS * scale))
            rows = Parallel(n_jobs=-1)(delayed(repetition)(law, [number, 5, i]) for i in range(n))
            known[name] = summarised(rows)
            show(name, known[name])
    return {name: known[name] for name in laws}


def summarised(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Means over the repetitions in which there was something to judge; None where there was never."""
    out: dict[str, Any] = {"n": len(rows)}
    for key in rows[0]:
        value = mean(np.array([row[key] for row in rows]))
        out[key] = None if np.isnan(value) else value
    return out


def show(name: str, found: dict[str, Any]) -> None:
    told = "  ".join(f"{key} {value:.3f}" for key, value in found.items() if value is not None and key != "n")
    print(f"{name:<38} {told}", flush=True)
