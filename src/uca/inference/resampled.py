"""What a bootstrap found: stability, intervals, reliable features, and the table of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._readable import listed
from .._shown import Part, Shown, table, text
from .._types import Array
from ..estimators.bounded import BoundedTransformer

FOUND_AGAIN = 0.8  # median cosine from which a component counts as found again (benchmarks/inference/coverage.py)


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Shown):
    """Result of :func:`bootstrap`; ``print`` it for the table.

    Attributes
    ----------
    model : UCA
        Fitted to all rows.
    cosines : array of shape (r, k)
        For each resample: the cosine between each component and the one of the same number.
    subspace_cosines : array of shape (r, k)
        The smallest cosine of the principal angles between the spaces of the first 1, …, k components.
    loadings_low, loadings_high : arrays of shape (k, p)
        Ends of intervals for the loadings of the population's component; NaN for components that are not found again.
    loadings_error : array of shape (k, p)
        Root mean square distance of the aligned loadings of the resamples from those of all rows: spread and shrinkage.
    reliable : boolean array of shape (k, p)
        Loadings that differ from 0 at the chosen level, for all features together (Bonferroni).
    found_again : boolean array of shape (k,)
        Components with a stability of at least 0.8 along which held-out halves of the target vary more than along an average
        direction: only these have intervals for loadings and the target's variance, and reliable features.
    lambdas : array of shape (r, m)
        Of each resample.
    lambdas_low, lambdas_high : arrays of shape (m,)
        Ends of intervals for the population's multipliers; NaN where the first component is not found again.
    variances : array of shape (r, k, m + 1)
        Of the rows of each resample along its own components; target first. As optimistic as any fit is.
    expected_variances : array of shape (k, m + 1)
        Variance along the components of ``model`` that new rows of the same kind are expected to show: those of
        the rows it was fitted to, corrected for optimism.
    expected_low, expected_high : arrays of shape (k, m + 1)
        Ends of intervals for them; NaN for the target along components that are not found again, and where a variance is 0.
    level : float
        Of the intervals.
    feature_names : array of str
    n_unconverged : int
        Fits that did not reach the tolerance.
    """

    model: BoundedTransformer
    cosines: Array
    subspace_cosines: Array
    loadings_low: Array
    loadings_high: Array
    loadings_error: Array
    reliable: Array
    found_again: Array
    lambdas: Array
    lambdas_low: Array
    lambdas_high: Array
    variances: Array
    expected_variances: Array
    expected_low: Array
    expected_high: Array
    level: float
    feature_names: Array
    n_unconverged: int

    @property
    def stability_(self) -> Array:
        """Median cosine of each component with that of the same number, (k,): 1 is perfectly stable."""
        return np.median(self.cosines, axis=0)

    @property
    def subspace_stability_(self) -> Array:
        """Median smallest cosine between the spaces of the first 1, …, k components."""
        return np.median(self.subspace_cosines, axis=0)

    @property
    def _in_sample(self) -> Array:
        """Variances of the rows of the fit, (k, m + 1)."""
        return np.column_stack([self.model.explained_variance_, self.model.background_variance_]).astype(float)

    def interval(self, values: Array) -> tuple[Array, Array]:
        """How far values spread over resamples (axis 0): percentiles. Not confidence intervals; the fields have those."""
        tail = (1.0 - self.level) / 2
        low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
        return low, high

    def reliable_features(self, component: int = 0) -> list[str]:
        """Names of the features that are reliably loaded, largest loading first."""
        sizes = np.abs(self.model.components_[component])
        chosen = np.flatnonzero(self.reliable[component])
        return [str(self.feature_names[i]) for i in chosen[np.argsort(-sizes[chosen], kind="stable")]]

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row per component, as plain numbers; expected variances with the ends of their intervals, None without."""
        names = ["target variance", *(f"variance in {name}" for name in self.model.background_names_)]
        fitted = self._in_sample
        expected = np.stack([self.expected_variances, self.expected_low, self.expected_high], axis=-1)
        return [
            {
                "component": i + 1,
                "stability": float(self.stability_[i]),
                "subspace stability": float(self.subspace_stability_[i]),
                **{f"{name}, these rows": float(fitted[i, j]) for j, name in enumerate(names)},
                **{f"{name}, new rows": _numbers(expected[i, j]) for j, name in enumerate(names)},
                "reliable features": int(self.reliable[i].sum()),
            }
            for i in range(len(self.stability_))
        ]

    def _brief(self) -> str:
        told = [f"{self._name(i)} {value:.2f}" for i, value in enumerate(self.stability_)]
        return f"{len(self.cosines)} resamples; stability (median cosine): {listed(told, 5)}"

    def _parts(self) -> list[Part]:
        names = ("target", *self.model.background_names_)
        heads = [f"{name}, {which} rows" for name in names for which in ("these", "new")]
        variances = [
            [text for value, *ends in zip(*parts, strict=True) for text in (f"{value:.3g}", _text(_numbers(ends)))]
            for parts in zip(
                self._in_sample, self.expected_variances, self.expected_low, self.expected_high, strict=True
            )
        ]
        rows = [
            [
                self._name(i),
                f"{row['stability']:.2f}",
                f"{row['subspace stability']:.2f}",
                *cells,
                f"{row['reliable features']} of {self.reliable.shape[1]}",
            ]
            for i, (row, cells) in enumerate(zip(self.table, variances, strict=True))
        ]
        parts: list[Part] = [table(["component", "stability", "of the space", *heads, "reliable features"], rows)]
        if self.lambdas.shape[1]:
            told = zip(self.model.lambdas_.astype(float), self.lambdas_low, self.lambdas_high, strict=True)
            cells = [[name, _text(_numbers(ends))] for name, ends in zip(names[1:], told, strict=True)]
            parts.append(table(["background", "lambda"], cells, place="more"))
        return [*parts, text(*self._notes(), kind="note"), text(*self._cautions(), kind="caution", apart=False)]

    def _name(self, i: int) -> str:
        return f"{self.model.component_prefix}{i + 1}"

    def _notes(self) -> list[str]:
        return [
            f"{len(self.cosines)} resamples, {100 * self.level:g} % intervals. Stability: median cosine with the component "
            "of all rows.",
            "These rows: variance in the rows of the fit, which is optimistic. New rows: what others of the same kind are "
            "expected to show along the same component.",
        ]

    def _cautions(self) -> list[str]:
        notes = []
        lost = [self._name(int(i)) for i in np.flatnonzero(~self.found_again)]
        if lost:
            what = "loadings and target variance" if self.found_again[0] else "loadings, target variance and lambda"
            who = f"{', '.join(lost)} {'is' if len(lost) == 1 else 'are'}"
            notes.append(
                f"{who} not found again (stability below {FOUND_AGAIN:g}, or held-out halves of the target vary no more "
                f"along it than along an average direction): no intervals for {what}, and no reliable features."
            )
        if self.n_unconverged:
            notes.append(f"{self.n_unconverged} fits did not reach the tolerance.")
        return notes


def _numbers(ends: Any) -> tuple[float | None, ...]:
    """Plain numbers, and None for NaN."""
    return tuple(None if np.isnan(value) else float(value) for value in ends)


def _text(ends: tuple[float | None, ...]) -> str:
    value, *interval = (f"{end:.3g}" for end in ends if end is not None)
    return f"{value} [{', '.join(interval)}]" if interval else value
