"""Differences in means between a target and its backgrounds: what UCA does not look at.

Each dataset is centred by its own mean, so a shift that is the same for all rows of the target is gone before anything is
compared. Where means differ much, people should know: a t-test (or limma, for expression) is the tool for that.

The rule. For each feature and background, the standardised difference is ``d = (mean of target - mean of background) / s``,
where ``s`` is the root of the mean of the two variances (pooled SD with equal weights, so that a large background does not
decide alone). A difference is *large* if ``|d|`` is at least 1 **and** it is no accident of few rows: Welch's t-test rejects
equal means at level 0.01 divided by the number of comparisons (features times backgrounds; Bonferroni). Features that are
constant in both datasets, at different values, differ by infinitely many SDs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from ._readable import listed
from ._shown import Part, Shown, text
from ._types import Array
from .operators.representations.units import divided, like_powers
from .operators.sources.memory import Rows
from .operators.statistics.blocks import divisor
from .operators.statistics.standard import Observed, standards

LARGE = 1.0  # standard deviations
LEVEL = 0.01  # of all comparisons together
LISTED = 5  # features that are kept by name, for each background
SAME = 1e-6  # relative difference of two constants that may be rounding: one stored in single precision

ELSEWHERE = "UCA does not look at means (each dataset is centred by its own); a t-test or limma does."
DESIGN = (
    "To bring a mean difference into view, take treated and control rows of some subjects together as the target, and "
    "control rows of other subjects as the background."
)


@dataclass(frozen=True)
class MeanDifference:
    """Features whose mean in one background is far from that of the target.

    Attributes
    ----------
    background : str
    n_large : int
        How many features differ by 1 SD or more, beyond what chance explains.
    features : tuple of int
        The largest of them, at most five, largest first.
    names : tuple of str
        What they are called; ``x0`` is the first feature where names are not known.
    sizes : tuple of float
        Their standardised differences, positive where the target's mean is larger.
    """

    background: str
    n_large: int
    features: tuple[int, ...]
    names: tuple[str, ...]
    sizes: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class MeanDifferences(Shown):
    """Large differences in means between the target and each background; ``print`` it for a sentence.

    Attributes
    ----------
    n_features : int
    backgrounds : tuple of MeanDifference
        One for each background, in order.
    """

    n_features: int
    backgrounds: tuple[MeanDifference, ...]

    @property
    def n_large(self) -> int:
        """The largest number of features that differ from one background."""
        return max((part.n_large for part in self.backgrounds), default=0)

    @property
    def short(self) -> str:
        """Which means differ, in one sentence; empty if no difference is large."""
        return self._fact(None)

    @property
    def sentence(self) -> str:
        """Which means differ, what to use for that, and a design that shows it; empty if no difference is large."""
        return self.told()

    def told(self, feature_names: Sequence[str] | None = None) -> str:
        """The sentence with feature names other than those of the fit."""
        fact = self._fact(feature_names, listed=True)
        return f"{fact} {ELSEWHERE} {DESIGN}" if fact else ""

    def _fact(self, feature_names: Sequence[str] | None, *, listed: bool = False) -> str:
        parts = [part for part in self.backgrounds if part.n_large]
        if not parts:
            return ""
        said = [
            f"{part.n_large} of {self.n_features} features between the target and {part.background!r}"
            + (f" ({_largest(part, feature_names)})" if listed else "")
            for part in parts
        ]
        return f"Means differ by {LARGE:g} SD or more in {' and '.join(said)}."

    def _brief(self) -> str:
        counts = [f"{part.n_large} of {self.n_features} features from {part.background!r}" for part in self.backgrounds]
        return f"large differences in {listed(counts, 3)}" if counts else "no background"

    def _parts(self) -> list[Part]:
        if self.sentence:
            return [text(self.sentence, kind="caution")]
        return [text("No mean of a feature differs much between the target and a background.")]


def _largest(part: MeanDifference, feature_names: Sequence[str] | None) -> str:
    names = part.names if feature_names is None else [str(feature_names[i]) for i in part.features]
    listed = ", ".join(f"{name} {size:+.1f} SD" for name, size in zip(names, part.sizes, strict=True))
    return f"largest: {listed}" if part.n_large > len(part.features) else listed


def mean_differences(
    target: Observed, backgrounds: dict[str, Observed], feature_names: Sequence[Any] | None = None
) -> MeanDifferences:
    """Compare the means of a target with those of each background.

    Parameters
    ----------
    target : Observed
        Rows, means and deviations; ``n`` may be smaller than the number of rows, where several belong to one subject.
    backgrounds : dict of name -> Observed
    feature_names : sequence of length p, optional

    Returns
    -------
    MeanDifferences
    """
    p = len(target.mean)
    level = LEVEL / max(p * len(backgrounds), 1)
    found = [_compare(target, other, name, level, feature_names) for name, other in backgrounds.items()]
    return MeanDifferences(p, tuple(found))


def mean_differences_of_rows(
    arrays: Sequence[Any],
    names: Sequence[str],
    feature_names: Sequence[Any] | None = None,
    n: Sequence[int] | None = None,
) -> MeanDifferences:
    """The same from rows: arrays or CSR matrices of finite numbers, target first.

    ``n`` has the number of independent subjects of each dataset, where rows are repeated measurements: what is significant
    then depends on them, not on the number of rows.
    """
    powers = like_powers(arrays, each_dataset=False, each_feature=True)
    if powers is not None:
        arrays = [divided(array, power) for array, power in zip(arrays, powers, strict=True)]
    moments = [Rows(array).moments() for array in arrays]
    observed = [part for s in standards(moments, center=True, scale=False) if (part := s.observed) is not None]
    target, *others = (
        observed if n is None else [replace(part, n=count) for part, count in zip(observed, n, strict=True)]
    )
    return mean_differences(target, dict(zip(names, others, strict=True)), feature_names)


def _compare(target: Observed, other: Observed, name: str, level: float, names: Sequence[Any] | None) -> MeanDifference:
    sizes = standardised_difference(target, other)
    large = np.flatnonzero(np.abs(sizes) >= LARGE)
    large = large[_differ(target, other, sizes, large, level)]
    order = np.argsort(-np.abs(sizes[large]), kind="stable")[:LISTED]
    first = large[order].tolist()
    called = tuple(f"x{i}" if names is None else str(names[i]) for i in first)
    return MeanDifference(name, len(large), tuple(first), called, tuple(sizes[first].tolist()))


def _pooled(target: Observed, other: Observed) -> Array:
    return np.hypot(target.deviation, other.deviation) / np.sqrt(2.0)


def standardised_difference(target: Observed, other: Observed) -> Array:
    """Mean of the target less that of the other, in pooled SDs, (p,); infinite where both are constant and differ."""
    difference = (target.mean - other.mean) + (target.rest - other.rest)
    spread = _pooled(target, other)
    apart = (spread == 0) & (np.abs(difference) > SAME * np.maximum(np.abs(target.mean), np.abs(other.mean)))
    out = np.divide(difference, spread, out=np.zeros_like(difference), where=spread > 0)
    out[apart] = np.copysign(np.inf, difference[apart])
    return out


def _differ(target: Observed, other: Observed, sizes: Array, which: Array, level: float) -> Array:
    """Whether Welch's t-test rejects equal means for some features, whose standardised differences are known."""
    spread = _pooled(target, other)[which]
    total, weight = np.zeros(len(which)), np.zeros(len(which))
    for part in (target, other):
        n = np.broadcast_to(np.asarray(part.n, dtype=float), part.mean.shape)[which]
        relative = np.divide(part.deviation[which], spread, out=np.zeros_like(spread), where=spread > 0)
        total += relative**2 / n
        weight += (relative**2 / n) ** 2 / divisor(np.maximum(n, 2.0))  # a feature with one value has no deviation
    varies = weight > 0
    df = np.divide(total**2, weight, out=np.ones_like(total), where=varies)
    t = np.divide(np.abs(sizes[which]), np.sqrt(total), out=np.full_like(total, np.inf), where=varies)
    # Between the normal law and the t distribution of the smaller dataset: only there the degrees of freedom matter.
    fewest = divisor(max(float(min(np.min(target.n), np.min(other.n))), 2.0))
    out = t >= -stdtrit(fewest, level / 2)
    undecided = np.flatnonzero((t >= -ndtri(level / 2)) & ~out)
    out[undecided] = 2.0 * stdtr(df[undecided], -t[undecided]) <= level
    return out
