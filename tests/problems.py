"""Random UCA problems of every kind that has made a solver stumble, with a full-size SDP as the independent answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    family: str
    seed: int
    target: np.ndarray
    backgrounds: list[np.ndarray]

    def __str__(self) -> str:
        return f"{self.family}-{self.seed}-p{len(self.target)}-m{len(self.backgrounds)}"

    @property
    def bounds(self) -> np.ndarray:
        return np.array([np.trace(b) / len(b) for b in self.backgrounds])


def covariance(rows: np.ndarray) -> np.ndarray:
    z = rows - rows.mean(axis=0)
    deviation = z.std(axis=0, ddof=1)
    z = z / np.where(deviation > 0, deviation, 1.0)
    return z.T @ z / (len(z) - 1)


def _mixed(rng: np.random.Generator, n: int, p: int, decay: float) -> np.ndarray:
    return rng.standard_normal((n, p)) * np.arange(1, p + 1) ** -decay @ rng.standard_normal((p, p))


def tall(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    return [covariance(_mixed(rng, 3 * p + 5, p, 0.5)) for _ in range(m + 1)]


def wide(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    n = max(3, p // 3)
    return [covariance(_mixed(rng, n, p, 0.3)) for _ in range(m + 1)]


def low_rank(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    r = max(2, p // 6)
    return [covariance(rng.standard_normal((2 * p, r)) @ rng.standard_normal((r, p))) for _ in range(m + 1)]


def duplicated(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    a, b = tall(rng, p, 1)
    return [a, *[b] * m]


def equal_to_target(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    a, *rest = tall(rng, p, m)
    return [a, a, *rest[1:]]


def nearly_equal(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    a, b = tall(rng, p, 1)
    return [a, *(b + 1e-7 * (i + 1) * covariance(rng.standard_normal((2 * p, p))) for i in range(m))]


def rank_one(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    a, *rest = tall(rng, p, m)
    v = rng.standard_normal((p, 1))
    return [a, v @ v.T, *rest[1:]]


def correlated(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    def one() -> np.ndarray:
        common = rng.standard_normal((4 * p, 2)) @ rng.standard_normal((2, p))
        return covariance(common + 1e-3 * rng.standard_normal((4 * p, p)))

    return [one() for _ in range(m + 1)]


def shared_axes(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    """Commuting matrices: eigenvalues cross instead of avoiding each other, so the optimum is at a kink."""
    axes = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return [axes * rng.gamma(1.0, size=p) @ axes.T for _ in range(m + 1)]


def isotropic(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    """Backgrounds that average to the identity leave no interior: a mixture meets all bounds exactly or breaks one."""
    a, b = tall(rng, p, 1)
    b = b / np.linalg.norm(b, 2)
    return [a, *(np.eye(p) + (-1) ** i * (b - np.trace(b) / p * np.eye(p)) for i in range(m))]


def unequal_units(rng: np.random.Generator, p: int, m: int) -> list[np.ndarray]:
    return [10.0 ** rng.uniform(-6, 6) * matrix for matrix in tall(rng, p, m)]


FAMILIES: tuple[Callable[[np.random.Generator, int, int], list[np.ndarray]], ...] = (
    tall,
    wide,
    low_rank,
    duplicated,
    equal_to_target,
    nearly_equal,
    rank_one,
    correlated,
    shared_axes,
    isotropic,
    unequal_units,
)


def make_problems(n: int, p_min: int, p_max: int, seed: int = 0) -> list[Problem]:
    """``n`` problems, families in turn; p from ``p_min`` to ``p_max`` and 1 to 8 backgrounds, spread evenly."""
    problems = []
    for i in range(n):
        family = FAMILIES[i % len(FAMILIES)]
        rng = np.random.default_rng([seed, i])
        p = int(np.round(np.exp(rng.uniform(np.log(p_min), np.log(p_max)))))
        target, *backgrounds = family(rng, p, 1 + (i // len(FAMILIES)) % 8)
        problems.append(Problem(family.__name__, i, target, backgrounds))
    return problems
