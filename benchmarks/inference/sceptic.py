"""Laws that a sceptic brings: null settings beside those of laws.py, which the test was not made on.

Rare kinds of rows, tails that differ between target and background, dependent rows, data that are no measurements. In
``HOLDS`` the level must hold; in ``CAUTIONED`` it cannot be had (the sample does not show what would be needed), and the
result must say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from .laws import FACTORS, Draw, Rng, factor_rows, normal, rare_factors, repeated, same_law, student


def cluster(rng: Rng, *, n: int, n_background: int, share: float, p: int = 20, far: float = 3.0, m: int = 1) -> Draw:
    """One law; a share of the rows lies in a far cluster."""
    centre = far * normal(rng, p)

    def dataset(rows: int) -> np.ndarray:
        return normal(rng, rows, p) + (rng.random((rows, 1)) < share) * centre

    return Draw(dataset(n), [dataset(n_background) for _ in range(m)])


def student_rows(rng: Rng, rows: int) -> np.ndarray:
    """Factors on rows that make them multivariate t with 3 degrees of freedom and variance 1."""
    return np.sqrt(1.0 / rng.chisquare(3, size=(rows, 1)))


def far_rows(rng: Rng, rows: int) -> np.ndarray:
    """Factors on rows of which one in twenty is five times as far; variance 1."""
    return np.where(rng.random((rows, 1)) < 0.05, 5.0, 1.0) / np.sqrt(0.95 + 0.05 * 25)


def other_tails(
    rng: Rng, *, n: int, p: int, rows: Callable[[Rng, int], np.ndarray], scale: bool | str, heavy: str = "background"
) -> Draw:
    """Equal covariances; one of the two has heavier tails."""
    loadings = normal(rng, FACTORS, p)
    light, tailed = factor_rows(rng, n, loadings), factor_rows(rng, n, loadings) * rows(rng, n)
    pair = (light, tailed) if heavy == "background" else (tailed, light)
    return Draw(pair[0], [pair[1]], scale=scale)


def lognormal(rng: Rng, *, n: int, p: int, correlation: float, both: bool = False) -> Draw:
    """Equal correlations; the background, or everything, is lognormal."""

    def dataset(equal: float) -> np.ndarray:
        return np.sqrt(equal) * normal(rng, n, 1) + np.sqrt(1 - equal) * normal(rng, n, p)

    under = np.log1p(correlation * (np.e - 1))  # of the logarithms
    return Draw(np.exp(dataset(under)) if both else dataset(correlation), [np.exp(dataset(under))])


def series(rng: Rng, *, n: int, p: int, memory: float, blocks: int = 0) -> Draw:
    """Autoregressive rows in both; with blocks, successive rows are one group."""

    def dataset() -> np.ndarray:
        rows = normal(rng, n, p)
        for i in range(1, n):
            rows[i] = memory * rows[i - 1] + np.sqrt(1 - memory**2) * rows[i]
        return rows

    groups = [np.arange(n) // blocks + 10_000 * j for j in range(2)] if blocks else None
    return Draw(dataset(), [dataset()], groups)


def counts(rng: Rng, *, n: int, n_background: int, p: int, zeros: float = 0.0, scale: bool | str = True) -> Draw:
    """Overdispersed counts with shared factors and rows of unequal depth, one law; a share of entries is set to 0."""
    loadings = 0.4 * normal(rng, FACTORS, p)

    def dataset(rows: int) -> np.ndarray:
        depth = np.exp(0.4 * normal(rng, rows, 1))
        values = rng.poisson(2.0 * depth * np.exp(normal(rng, rows, FACTORS) @ loadings))
        return np.log1p(values * (rng.random((rows, p)) >= zeros))

    return Draw(dataset(n), [dataset(n_background)], scale=scale)


def answers(rng: Rng, *, n: int, n_background: int, p: int) -> Draw:
    """Answers from 1 to 5 with something in common, one law."""
    loadings = 0.8 * normal(rng, FACTORS, p)

    def dataset(rows: int) -> np.ndarray:
        return np.digitize(factor_rows(rng, rows, loadings), [-2.0, -0.7, 0.7, 2.0]) + 1.0

    return Draw(dataset(n), [dataset(n_background)])


def paired(rng: Rng, *, n: int, p: int, labelled: bool = True) -> Draw:
    """The same subjects in target and background, who are alike in both."""
    loadings = normal(rng, FACTORS, p)
    own = factor_rows(rng, n, loadings)
    groups = [np.arange(n), np.arange(n)] if labelled else None
    return Draw(own + factor_rows(rng, n, loadings), [own + factor_rows(rng, n, loadings)], groups)


def other_units(rng: Rng, *, n: int, p: int) -> Draw:
    """One law up to the units and means of every feature, which differ in the background."""
    draw = same_law(rng, n=n, n_background=n, p=p)
    return Draw(draw.target, [draw.backgrounds[0] * np.exp(2 * normal(rng, p)) + 10 * normal(rng, p)])


def unequal_subjects(rng: Rng, *, subjects: int, p: int) -> Draw:
    """Subjects with 1 to 20 rows each, in both datasets alike."""
    loadings = normal(rng, FACTORS, p)

    def dataset(first: int) -> tuple[np.ndarray, np.ndarray]:
        codes = np.repeat(np.arange(first, first + subjects), rng.integers(1, 21, size=subjects))
        between = factor_rows(rng, subjects, loadings)
        return between[codes - first] + factor_rows(rng, len(codes), loadings), codes

    (target, one), (background, other) = dataset(0), dataset(1000)
    return Draw(target, [background], [one, other])


def three_unlike(rng: Rng, *, p: int) -> Draw:
    """Rare kinds again, with three backgrounds of 200, 60 and 30 rows."""
    whole = cluster(rng, n=200, n_background=290, share=0.05, p=p)
    return Draw(whole.target, np.split(whole.backgrounds[0], [200, 260]))


def scaled(law: Callable[[Rng], Draw], scale: bool | str) -> Callable[[Rng], Draw]:
    """The same law for a model that scales in another way."""
    return lambda rng: replace(law(rng), scale=scale)


shared = partial(same_law, n=100, n_background=100, p=20)

HOLDS: dict[str, Callable[[Rng], Draw]] = {
    "5 % of rows in a far cluster, 200 and 30 rows": partial(cluster, n=200, n_background=30, share=0.05),
    "10 % in a far cluster, 200 and 20 rows": partial(cluster, n=200, n_background=20, share=0.10),
    "5 % in a far cluster, 500 and 50 rows": partial(cluster, n=500, n_background=50, share=0.05),
    "2 % in a far cluster, 500 and 100 rows": partial(cluster, n=500, n_background=100, share=0.02),
    "3 % in a far cluster, 300 and 60 rows": partial(cluster, n=300, n_background=60, share=0.03),
    "5 % in a near cluster, 200 and 30 rows": partial(cluster, n=200, n_background=30, share=0.05, far=1.0),
    "5 % in a far cluster, 3 backgrounds of 200, 60, 30 rows": partial(three_unlike, p=20),
    "5 % in a far cluster, 200 and 30 rows, scale=False": scaled(
        partial(cluster, n=200, n_background=30, share=0.05), False
    ),
    "factors in one row of ten, 200 and 20 rows": partial(rare_factors, n=200, n_background=20, p=20, everywhere=True),
    "shared factors, scale=False": scaled(shared, False),
    "shared factors, scale='target'": scaled(shared, "target"),
    "heavy tails (t3), scale=False": scaled(partial(shared, law=student), False),
    "heavy tails in the target only (t3 rows), scale=False": partial(
        other_tails, n=100, p=20, rows=student_rows, scale=False, heavy="target"
    ),
    "lognormal, background only": partial(lognormal, n=100, p=20, correlation=0.0),
    "lognormal, correlated, background only": partial(lognormal, n=100, p=20, correlation=0.3),
    "lognormal, correlated, both": partial(lognormal, n=100, p=20, correlation=0.3, both=True),
    "counts, 150 and 60 rows": partial(counts, n=150, n_background=60, p=30),
    "counts, 80 % zeros, 200 and 80 rows": partial(counts, n=200, n_background=80, p=30, zeros=0.8),
    "counts, 200 and 80 rows, scale=False": partial(counts, n=200, n_background=80, p=30, scale=False),
    "answers from 1 to 5": partial(answers, n=100, n_background=60, p=15),
    "other units and means": partial(other_units, n=100, p=20),
    "paired subjects, groups given": partial(paired, n=60, p=15),
    "subjects with 1 to 20 rows, groups given": partial(unequal_subjects, subjects=20, p=15),
    "series, blocks of 24 rows as groups": partial(series, n=480, p=10, memory=0.8, blocks=24),
    "8 rows": partial(same_law, n=8, n_background=8, p=5, factors=1),
    "30 rows, 2 000 features": partial(same_law, n=30, n_background=30, p=2000),
}

CAUTIONED: dict[str, Callable[[Rng], Draw]] = {
    "background t3, scale=False": partial(other_tails, n=100, p=20, rows=student_rows, scale=False),
    "background t3, scale='target'": partial(other_tails, n=100, p=20, rows=student_rows, scale="target"),
    "5 % of background rows five times as far, scale=False": partial(
        other_tails, n=100, p=20, rows=far_rows, scale=False
    ),
    "5 % of background rows five times as far, scale='target'": partial(
        other_tails, n=100, p=20, rows=far_rows, scale="target"
    ),
    "series, groups NOT given": partial(series, n=240, p=10, memory=0.8),
    "repeated rows, groups NOT given": partial(repeated, subjects=16, rows=8, p=20, labelled=False),
}
