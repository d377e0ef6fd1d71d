"""What each background contributes: leave one out, and pool them all.

A background whose multiplier is 0 in the problem of every component changes nothing: the optimum is the same without it.
One that matters raises the attainable target variance when it is left out, and turns the components. The table says how
much of each; pooling (all backgrounds stacked into one) stands beside it, so that "do I need all of these, and apart?" has
an answer in numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parameters import check_bound, check_n_components
from .._pool import pool
from .._types import Array, Backgrounds, Rows
from ..estimators.bounded import BoundedTransformer
from ..estimators.summary import Summary, text_table
from ..solvers.infeasible import InfeasibleBoundsError
from .parallel import run
from .parameters import check_model
from .sample import Sample, check_sample
from .stability import compare

NONE = 1e-6  # a relative gain, or a multiplier times its bound in units of the value, below this is 0
TURNED = 0.9  # cosine below which components have turned (26 degrees)
POOLED = -1


@dataclass(frozen=True, eq=False)
class BackgroundInfluence:
    """Result of :func:`background_influence`; ``print`` it for the table.

    Attributes
    ----------
    model : UCA
        Fitted with all backgrounds.
    background_names : tuple of str
    lambdas : array of shape (m,)
        Multipliers with all backgrounds.
    values : array of shape (m,)
        Attainable target variance without each background.
    lambdas_without : array of shape (m, m)
        Multipliers of the others without each; NaN for itself.
    cosines : array of shape (m,)
        Cosine between the first component with all backgrounds and without this one.
    subspace_cosines : array of shape (m,)
        Smallest cosine of the principal angles between the spaces of all components.
    pooled_value, pooled_cosine, pooled_subspace_cosine : float
        The same for one background of all rows stacked; NaN where there is one background, or where no direction keeps the
        bound in the stack.
    n_unconverged : int
        Fits that did not reach the tolerance.
    redundant, replaceable, decisive : list of str
        Backgrounds with multiplier 0; those without which the others attain the same; those without which the components
        turn by more than 26 degrees.
    """

    model: BoundedTransformer
    background_names: tuple[str, ...]
    lambdas: Array
    values: Array
    lambdas_without: Array
    cosines: Array
    subspace_cosines: Array
    pooled_value: float
    pooled_cosine: float
    pooled_subspace_cosine: float
    n_unconverged: int

    @property
    def value(self) -> float:
        """Attainable target variance with all backgrounds."""
        return float(self.model.certificate_.upper)

    def _gain(self, value: float) -> float:
        """What a value is above that of all backgrounds, relative; rounding is nothing."""
        gain = value / self.value - 1.0
        return gain if abs(gain) > NONE else 0.0

    def verdict(self, name: str) -> str:
        """``"redundant"``, ``"replaceable"``, ``"decisive"`` or ``"counts"``; empty for what is no background."""
        if name not in self.background_names:
            return ""
        j = self.background_names.index(name)
        weights = self.model.component_lambdas_[:, j] * self.model.bounds_[j]
        if np.all(weights <= NONE * self.value):
            return "redundant"
        if self.subspace_cosines[j] < TURNED:
            return "decisive"
        return "replaceable" if self._gain(float(self.values[j])) == 0.0 else "counts"

    def _with(self, verdict: str) -> list[str]:
        return [name for name in self.background_names if self.verdict(name) == verdict]

    @property
    def redundant(self) -> list[str]:
        """Backgrounds that change nothing: multiplier 0, for every component of a sequential model."""
        return self._with("redundant")

    @property
    def replaceable(self) -> list[str]:
        """Backgrounds with a multiplier, without which the value is the same: another one says what they say."""
        return self._with("replaceable")

    @property
    def decisive(self) -> list[str]:
        """Backgrounds without which the components turn by more than 26 degrees."""
        return self._with("decisive")

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row a background left out, and one for all pooled, as plain numbers."""
        rows = [
            {
                "left out": name,
                "lambda": float(self.lambdas[j]),
                "value": float(self.values[j]),
                "gain": self._gain(float(self.values[j])),
                "cosine": float(self.cosines[j]),
                "subspace cosine": float(self.subspace_cosines[j]),
            }
            for j, name in enumerate(self.background_names)
        ]
        if np.isfinite(self.pooled_value):
            rows.append(
                {
                    "left out": "(none: all pooled)",
                    "lambda": None,
                    "value": self.pooled_value,
                    "gain": self._gain(self.pooled_value),
                    "cosine": self.pooled_cosine,
                    "subspace cosine": self.pooled_subspace_cosine,
                }
            )
        return rows

    @property
    def sentence(self) -> str:
        """The result in words."""
        told = {
            "redundant": "multiplier 0, changes nothing",
            "replaceable": "can be left out singly, the others say the same",
            "decisive": "decisive, without it the components turn",
            "counts": "counts, but without it the components stay within 26 degrees",
        }
        parts = []
        for verdict, words in told.items():
            if names := self._with(verdict):
                parts.append(f"{words}: {', '.join(map(repr, names))}")
        if np.isfinite(self.pooled_value):
            same = self.pooled_subspace_cosine >= TURNED
            parts.append(
                f"pooling all of them gives {'nearly the same' if same else 'other'} components "
                f"(cosine {self.pooled_subspace_cosine:.2f})"
            )
        elif len(self.background_names) > 1:
            parts.append("pooled, they leave no direction that keeps the smallest of the bounds")
        if self.n_unconverged:
            parts.append(f"{self.n_unconverged} of the fits did not reach the tolerance, so this is uncertain")
        return ". ".join(part[0].upper() + part[1:] for part in parts) + "."

    def summary(self) -> Summary:
        """The table and the sentence as text."""
        rows = [
            [
                row["left out"],
                "" if row["lambda"] is None else f"{row['lambda']:.4g}",
                f"{row['value']:.4g}",
                f"{100 * row['gain']:+.1f} %",
                f"{row['cosine']:.2f}",
                f"{row['subspace cosine']:.2f}",
            ]
            for row in self.table
        ]
        header = ["left out", "its lambda", "attainable variance", "gain", "cosine, first", "cosine, space"]
        title = f"With all backgrounds the attainable target variance is {self.value:.4g}"
        return Summary("\n".join([title, "", *text_table(header, rows), "", self.sentence]))

    def __str__(self) -> str:
        return str(self.summary())


def background_influence(
    X: Rows,
    backgrounds: Backgrounds,
    *,
    n_components: int = 2,
    model: BoundedTransformer | None = None,
    n_jobs: int | None = None,
) -> BackgroundInfluence:
    """Leave each background out in turn, and pool them all: how do value, multipliers and components move?

    Parameters
    ----------
    X, backgrounds, model, n_jobs
        As in :func:`~uca.inference.uniqueness_test`.
    n_components : int, default=2

    Returns
    -------
    BackgroundInfluence

    Notes
    -----
    "attainable variance" is the certified optimum of the first problem. Without any background left, the model is PCA. With
    a numeric ``bound`` for each background, bounds go with their backgrounds, and the pool gets the smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from uca.inference import background_influence
    >>> rng = np.random.default_rng(0)
    >>> shared = [3, 3, 0, 0, 0, 0]
    >>> treated = rng.normal(size=(300, 1)) * shared + rng.normal(size=(300, 6))
    >>> control = rng.normal(size=(300, 1)) * shared + rng.normal(size=(300, 6))
    >>> noise = rng.normal(size=(300, 6))
    >>> background_influence(treated, {"control": control, "noise": noise}).decisive
    ['control']
    """
    sample = check_sample(X, backgrounds, min_subjects=2)
    k = check_n_components(n_components, sample.n_features)
    copy = check_model(model, n_components=k)
    m = len(sample.names)
    variants: list[int | None] = [None, *range(m), *([POOLED] if m > 1 else [])]
    fits = run(
        _fit_variant, variants, sample, copy, check_bound(getattr(copy, "bound", "mean"), sample.names), n_jobs=n_jobs
    )
    full, *without = fits[: m + 1]
    pooled = fits[-1] if m > 1 else None
    reference = full.components_.astype(float)
    cosines, spaces, values = np.array([_moved(reference, part) for part in (*without, pooled)]).T
    lambdas_without = np.full((m, m), np.nan)
    for j, part in enumerate(without):
        lambdas_without[j, [i for i in range(m) if i != j]] = part.lambdas_
    return BackgroundInfluence(
        model=full,
        background_names=sample.names,
        lambdas=full.lambdas_.astype(float),
        values=values[:m],
        lambdas_without=lambdas_without,
        cosines=cosines[:m],
        subspace_cosines=spaces[:m],
        pooled_value=float(values[m]),
        pooled_cosine=float(cosines[m]),
        pooled_subspace_cosine=float(spaces[m]),
        n_unconverged=sum(part is not None and part.certificate_.status != "optimal" for part in fits),
    )


def _moved(reference: Array, model: BoundedTransformer | None) -> tuple[float, float, float]:
    """Cosine of the first component, smallest cosine of the spaces, and the attainable variance."""
    if model is None:
        return (np.nan,) * 3
    cosines, spaces, _ = compare(reference, model.components_.astype(float))
    return float(cosines[0]), float(spaces[-1]), float(model.certificate_.upper)


def _fit_variant(
    left_out: int | None, sample: Sample, model: BoundedTransformer, bounds: Array | None
) -> BoundedTransformer | None:
    """The model with all backgrounds, without one, or with all of them stacked into one, if a direction keeps its bound."""
    kept = [j for j in range(len(sample.names)) if j != left_out]
    if left_out == POOLED:
        bound = "mean" if bounds is None else float(bounds.min())
        stacked = pool(*sample.arrays[1:])
        try:
            return check_model(model, bound=bound).fit(sample.arrays[0], backgrounds={"pooled": stacked})
        except InfeasibleBoundsError:
            return None
    bound = "mean" if bounds is None or not kept else bounds[kept].tolist()
    backgrounds = {sample.names[j]: sample.arrays[1 + j] for j in kept}
    return check_model(model, bound=bound).fit(sample.arrays[0], backgrounds=backgrounds or None)
