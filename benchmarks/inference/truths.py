"""What else the test promises, against the truth: second component, intervals, seeds, the limit of the mean of z."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from uca._subjects import halves as halve
from uca.inference import uniqueness_test
from uca.inference.halvings import measure
from uca.inference.parallel import streams
from uca.inference.parameters import seed_of
from uca.inference.sample import check_sample
from uca.inference.uniqueness import conclude, model_of_halves

from .known import Known
from .laws import FACTORS, Draw, factor_rows, normal, planted, student

LEVELS = (0.05, 0.01)
SPLITS = 10


def second(scale: float, known: Known) -> dict[str, Any]:
    """How often a second component is called unique where one direction is planted, strong and weak."""
    n, out = max(20, round(1000 * scale)), {}
    for strength in (3.0, 6.0):
        p = Parallel(n_jobs=-1)(delayed(_second_p)(i, strength) for i in range(n))
        out[f"strength {strength:g}"] = {
            "n": n,
            **{f"{level:g}": float(np.mean(np.array(p) <= level)) for level in LEVELS},
        }
        print(f"second component, first of strength {strength:g}: {out[f'strength {strength:g}']}", flush=True)
    return out


def _second_p(seed: int, strength: float) -> float:
    draw = planted(np.random.default_rng([seed, 6]), n=100, p=20, strength=strength)
    return float(uniqueness_test(draw.target, draw.backgrounds, n_components=2, random_state=seed).pvalues[1])


def seeds(scale: float, known: Known) -> dict[str, Any]:
    """Do seeds agree? Data near the level, five seeds each."""
    n = max(10, round(100 * scale))
    p = np.array(Parallel(n_jobs=-1)(delayed(_five_seeds)(i) for i in range(n)))
    near = (np.median(p, axis=1) > 0.01) & (np.median(p, axis=1) < 0.15)
    apart = (p <= LEVELS[0]).any(axis=1) & (p > LEVELS[0]).any(axis=1)
    out = {
        "n": int(near.sum()),
        "disagree": float(apart[near].mean()),
        "deviation of p": float(p[near].std(axis=1).mean()),
    }
    print(f"seeds, data with p from .01 to .15: {out}", flush=True)
    return out


def _five_seeds(i: int) -> list[float]:
    draw = planted(np.random.default_rng([i, 7]), n=100, p=20, strength=2.0)
    return [
        float(uniqueness_test(draw.target, draw.backgrounds, n_components=1, random_state=seed).pvalues[0])
        for seed in range(5)
    ]


def _normal(rng: np.random.Generator, rows: int, loadings: np.ndarray) -> np.ndarray:
    return factor_rows(rng, rows, loadings)


def _student(rng: np.random.Generator, rows: int, loadings: np.ndarray) -> np.ndarray:
    return factor_rows(rng, rows, loadings, student)


COVERED: dict[str, tuple[int, int, Callable[..., np.ndarray], float]] = {  # rows of both, law, variance of its noise
    "100 and 100 rows": (100, 100, _normal, 1.0),
    "200 and 30 rows": (200, 30, _normal, 1.0),
    "heavy tails (t3), 200 and 200 rows": (200, 200, _student, 3.0),
}


def intervals(scale: float, known: Known) -> dict[str, Any]:
    """Coverage of the intervals for the variances: truth is the geometric mean over the halves' own directions."""
    n, out = max(20, round(400 * scale)), {}
    for name, setting in COVERED.items():
        hits = np.array(Parallel(n_jobs=-1)(delayed(_covered)(i, *setting) for i in range(n)))
        out[name] = {"n": n, "target": float(hits[:, 0].mean()), "background": float(hits[:, 1].mean())}
        print(f"intervals of the test, {name}: {out[name]}", flush=True)
    return out


def _covered(seed: int, n: int, n_background: int, law: Callable[..., np.ndarray], unit: float) -> tuple[bool, bool]:
    rng = np.random.default_rng([seed, 8])
    p = 20
    shared = normal(rng, FACTORS, p)
    own = np.concatenate([shared, 2.5 * np.linalg.qr(normal(rng, p, 1))[0].T])
    draw = Draw(law(rng, n, own), [law(rng, n_background, shared)])
    truths = [_correlation(unit * (loadings.T @ loadings + np.eye(p))) for loadings in (own, shared)]
    sample = check_sample(draw.target, draw.backgrounds, None)
    model = model_of_halves(None, 1, sample)
    found = conclude(sample, measure(sample, model, SPLITS, LEVELS[0], seed_of(seed)), model, LEVELS[0])
    directions = np.array(_directions(sample, model, seed_of(seed)))
    true = [np.exp(np.mean(np.log(np.einsum("hp,pq,hq->h", directions, matrix, directions)))) for matrix in truths]
    low, high = found.low[0], found.high[0]
    return bool(low[0] <= true[0] <= high[0]), bool(low[1] <= true[1] <= high[1])


def _correlation(matrix: np.ndarray) -> np.ndarray:
    deviations = np.sqrt(np.diag(matrix))
    return matrix / np.outer(deviations, deviations)


def _directions(sample: Any, model: Any, seed: int) -> list[np.ndarray]:
    """First components of the halves of a test."""
    found = []
    for stream in streams(seed, SPLITS):
        first = halve(sample.subjects, np.random.default_rng(stream))
        sides = (first, tuple(~part for part in first))
        found += [sample.fit_part(model, side, "a half").components_[0].astype(float) for side in sides]
    return found


def limit(scale: float, known: Known) -> dict[str, Any]:
    """Variance of the mean over all splits of <test, rule(train)> for normal data, beside the bound of the proof."""
    rng, n = np.random.default_rng(0), max(200, round(4000 * scale))
    out: dict[str, Any] = {}
    for share in (0.5, 0.8):
        bound = max((1 - share) * (k + 1) * share**k for k in range(50))
        rows = {name: float(np.var(_means(rule, share, n, rng))) for name, rule in RULES.items()}
        out[f"{share:g}"] = {"bound": bound, **rows}
        print(f"variance of the mean z, share {share:g} trains: bound {bound:.3f}, {rows}", flush=True)
    return out


def _means(rule: Callable[[np.ndarray], np.ndarray], share: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """The mean over 2 000 random splits, for n draws of the data in the limit: ten normal coordinates."""
    out = []
    for _ in range(n):
        data, other = rng.normal(size=10), rng.normal(size=(2000, 10))
        train = np.sqrt(share) * data + np.sqrt(1 - share) * other
        test = np.sqrt(1 - share) * data - np.sqrt(share) * other
        out.append(np.mean(np.sum(test * rule(train), axis=1)))
    return np.array(out)


def _unit(values: np.ndarray) -> np.ndarray:
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def _best_coordinate(train: np.ndarray) -> np.ndarray:
    return (np.arange(train.shape[1]) == train.argmax(axis=1)[:, np.newaxis]).astype(float)


def _wave(train: np.ndarray) -> np.ndarray:
    """A rule of high order: the gradient of a wave with four periods around the first two coordinates."""
    angle = 3 * np.arctan2(train[:, 1], train[:, 0])
    out = np.zeros_like(train)
    out[:, 0], out[:, 1] = np.cos(angle), -np.sin(angle)
    return out


RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "a fixed direction": lambda train: np.eye(train.shape[1])[:1],
    "towards the training rows": _unit,
    "the largest coordinate": _best_coordinate,
    "a wave around two coordinates": _wave,
}
