"""Data with a sparse component of the target's own: shared factors in all datasets, and k features that move together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uca import UCA

SHARED = 3


@dataclass(frozen=True)
class Planted:
    """A target, its backgrounds, and the features of the planted component."""

    target: np.ndarray
    backgrounds: list[np.ndarray]
    features: np.ndarray

    @property
    def value(self) -> float:
        """The largest variance within the bounds that the planted features carry, by UCA on them alone."""
        inside = [rows[:, self.features] for rows in self.backgrounds]
        return float(UCA(1).fit(self.target[:, self.features], backgrounds=inside).explained_variance_[0])


def planted(
    seed: int, *, n: int, p: int, k: int, strength: float, backgrounds: int = 1, decoys: bool = False
) -> Planted:
    """Factor rows; ``decoys``: the features of the strongest shared factor are many, and louder than the planted ones."""
    rng = np.random.default_rng(seed)
    shared = 0.5 * rng.normal(size=(SHARED, p))
    features = rng.choice(p, k, replace=False)
    if decoys:
        shared[0, rng.choice(np.setdiff1d(np.arange(p), features), 3 * k, replace=False)] = 2.0
    own = np.zeros(p)
    own[features] = strength * rng.choice([-1.0, 1.0], k)

    def rows() -> np.ndarray:
        return rng.normal(size=(n, SHARED)) @ shared + rng.normal(size=(n, p))

    return Planted(rows() + rng.normal(size=(n, 1)) * own, [rows() for _ in range(backgrounds)], np.sort(features))
