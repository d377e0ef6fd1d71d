"""Laws that data are drawn from: null settings, in which nothing is unique to the target, and planted unique directions.

Loadings of shared factors and planted directions are drawn anew for every repetition. ``Draw.groups`` is for the function
under test, ``Draw.planted`` is how many directions are unique to the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Rng = np.random.Generator
FACTORS = 3  # shared ones


@dataclass(frozen=True)
class Draw:
    """A target, its backgrounds, the subject of each row (None: rows are independent), the number of unique directions.

    ``scale`` is how the model is to scale.
    """

    target: np.ndarray
    backgrounds: list[np.ndarray]
    groups: list[np.ndarray] | None = None
    planted: int = 0
    scale: bool | str = True


def normal(rng: Rng, *shape: int) -> np.ndarray:
    return rng.normal(size=shape)


def student(rng: Rng, *shape: int) -> np.ndarray:
    return rng.standard_t(3, size=shape)


def factor_rows(rng: Rng, n: int, loadings: np.ndarray, law: Callable[..., np.ndarray] = normal) -> np.ndarray:
    """Rows of a factor model with unit noise."""
    return law(rng, n, len(loadings)) @ loadings + law(rng, n, loadings.shape[1])


def same_law(rng: Rng, *, n: int, n_background: int, p: int, m: int = 1, factors: int = FACTORS, law=normal) -> Draw:
    """Target and backgrounds from one law with strong shared factors (or none)."""
    loadings = normal(rng, factors, p)
    return Draw(factor_rows(rng, n, loadings, law), [factor_rows(rng, n_background, loadings, law) for _ in range(m)])


def weakened(rng: Rng, *, n: int, p: int, strength: float, m: int = 1) -> Draw:
    """The target's factors are those of the backgrounds, weaker; at strength 0 the target is noise."""
    loadings = normal(rng, FACTORS, p)
    return Draw(factor_rows(rng, n, strength * loadings), [factor_rows(rng, n, loadings) for _ in range(m)])


def rare(rng: Rng, *shape: int) -> np.ndarray:
    """Active in one row of ten; variance 1."""
    return (rng.random(shape) < 0.1) * rng.normal(size=shape) / np.sqrt(0.1)


def rare_factors(rng: Rng, *, n: int, n_background: int, p: int, everywhere: bool) -> Draw:
    """The same covariance; in the background, or everywhere, every factor lives in one row of ten."""
    loadings = 2 * normal(rng, FACTORS, p)
    target = (rare if everywhere else normal)(rng, n, FACTORS) @ loadings + normal(rng, n, p)
    return Draw(target, [rare(rng, n_background, FACTORS) @ loadings + normal(rng, n_background, p)])


def other_shape(rng: Rng, *, n: int, p: int) -> Draw:
    """The same covariance; the background has heavy tails and the target has not."""
    loadings = normal(rng, FACTORS, p)
    heavy = factor_rows(rng, n, loadings, lambda rng, *shape: rng.standard_t(5, size=shape) / np.sqrt(5 / 3))
    return Draw(factor_rows(rng, n, loadings), [heavy])


def repeated(
    rng: Rng, *, subjects: int, rows: int, p: int, in_background: int | None = None, labelled: bool = True
) -> Draw:
    """Several rows a subject, who differ from one another by as much as rows within a subject do, in both datasets alike."""
    loadings = normal(rng, FACTORS, p)

    def dataset(n: int) -> np.ndarray:
        between = factor_rows(rng, n, loadings)
        return np.repeat(between, rows, axis=0) + factor_rows(rng, n * rows, loadings)

    counts = (subjects, in_background or subjects)
    groups = [np.repeat(np.arange(n), rows) + 1000 * j for j, n in enumerate(counts)] if labelled else None
    target, background = map(dataset, counts)
    return Draw(target, [background], groups)


def binary(rng: Rng, *, n: int, n_background: int, p: int) -> Draw:
    """Rare yes-or-no features with something in common, from one law: a small half may not show some of them at all."""
    loadings = 0.5 * normal(rng, FACTORS, p)

    def dataset(rows: int) -> np.ndarray:
        return (factor_rows(rng, rows, loadings) > 2.0).astype(float)

    return Draw(dataset(n), [dataset(n_background)])


def planted(rng: Rng, *, n: int, p: int, strength: float, directions: int = 1, m: int = 1) -> Draw:
    """Shared factors, and orthogonal directions along which the target alone has ``strength**2`` more variance."""
    draw = same_law(rng, n=n, n_background=n, p=p, m=m)
    unique = np.linalg.qr(normal(rng, p, max(directions, 1)))[0].T[:directions]
    target = draw.target + strength * normal(rng, n, directions) @ unique
    return Draw(target, draw.backgrounds, planted=directions)


NULLS: dict[str, Callable[[Rng], Draw]] = {
    "noise": lambda rng: same_law(rng, n=100, n_background=100, p=20, factors=0),
    "shared factors": lambda rng: same_law(rng, n=100, n_background=100, p=20),
    "shared factors, 2 backgrounds": lambda rng: same_law(rng, n=100, n_background=100, p=20, m=2),
    "weakened copy": lambda rng: weakened(rng, n=100, p=20, strength=0.5),
    "structure in the background only": lambda rng: weakened(rng, n=100, p=20, strength=0.0),
    "heavy tails (t3)": lambda rng: same_law(rng, n=100, n_background=100, p=20, law=student),
    "heavy tails in the background only (t5)": lambda rng: other_shape(rng, n=100, p=20),
    "factors in one row of ten, background only": lambda rng: rare_factors(
        rng, n=200, n_background=200, p=20, everywhere=False
    ),
    "40 target rows, 400 background rows": lambda rng: same_law(rng, n=40, n_background=400, p=20),
    "400 target rows, 40 background rows": lambda rng: same_law(rng, n=400, n_background=40, p=20),
    "p > n: 60 rows, 150 features": lambda rng: same_law(rng, n=60, n_background=60, p=150),
    "repeated rows, groups given": lambda rng: repeated(rng, subjects=16, rows=8, p=20),
    "repeated rows, 16 and 9 subjects, groups given": lambda rng: repeated(
        rng, subjects=16, in_background=9, rows=15, p=20
    ),
    "shared factors, 5 backgrounds": lambda rng: same_law(rng, n=100, n_background=100, p=20, m=5),
    "400 target rows, 12 background rows": lambda rng: same_law(rng, n=400, n_background=12, p=20),
    "rare binary features, 400 and 40 rows": lambda rng: binary(rng, n=400, n_background=40, p=40),
    "24 rows": lambda rng: same_law(rng, n=24, n_background=24, p=10),
    "5 features": lambda rng: same_law(rng, n=100, n_background=100, p=5, factors=2),
    "heavy tails (t3), no factors": lambda rng: same_law(rng, n=100, n_background=100, p=20, factors=0, law=student),
}
