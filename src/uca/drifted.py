"""The result of a comparison of new rows with those of a fit: numbers, alarms and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from ._readable import listed
from ._shown import Kind, Part, Shown, table, text
from ._types import Array
from .operators.statistics.blocks import divisor


@dataclass(frozen=True)
class Alarm:
    """One comparison that is beyond chance.

    Attributes
    ----------
    dataset : str
        ``"target"``, or the name of a background.
    component : str
        ``"UC1"`` and so on.
    kind : {"variance", "mean"}
    value : float
        Variance of the new rows over that of the fit, or the shift of their mean in SDs of the fit.
    low, high : float
        Its interval, at the level of all comparisons together.
    """

    dataset: str
    component: str
    kind: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        where = f"of {self.dataset!r}" if self.dataset != "target" else "of the target"
        span = f"({self.low:#.3g} to {self.high:#.3g})"
        if self.kind == "mean":
            return f"the mean {where} along {self.component} has moved by {self.value:#.3g} SD {span}"
        word = "risen to" if self.value > 1 else "fallen to"
        return f"the variance {where} along {self.component} has {word} {self.value:#.3g} times that of the fit {span}"


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Shown):
    """Result of :func:`uca.drift`; ``print`` it for the table. Arrays have one row per dataset, one column per component.

    Attributes
    ----------
    datasets : tuple of str
        ``"target"`` and names of backgrounds: those whose new rows were given.
    components : tuple of str
    n_rows, n_groups : tuple of int
        New rows of each dataset, and groups that count as independent (rows, where no groups were given).
    fitted : array of shape (d, k)
        Variance that new rows should show: in the target that of the fit, in backgrounds that which the fit expects.
    variance : array of shape (d, k)
        Variance of the new rows.
    ratio, ratio_low, ratio_high : array of shape (d, k)
        ``variance / fitted`` with its interval. NaN where the fit predicts nothing.
    shift, shift_low, shift_high : array of shape (d, k)
        Mean of the new rows less that of the fit, in SDs (roots of ``fitted``), with its interval. NaN with
        ``center=False``, which uses no means.
    variance_pvalues, shift_pvalues : array of shape (d, k)
        Of each comparison by itself.
    alpha : float
        Level of all comparisons together; intervals and alarms are at ``alpha`` over their number.
    """

    datasets: tuple[str, ...]
    components: tuple[str, ...]
    n_rows: tuple[int, ...]
    n_groups: tuple[int, ...]
    fitted: Array
    variance: Array
    ratio: Array
    ratio_low: Array
    ratio_high: Array
    shift: Array
    shift_low: Array
    shift_high: Array
    variance_pvalues: Array
    shift_pvalues: Array
    alpha: float

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Every comparison whose interval excludes no change, target first; empty if all is as in the fit."""
        out = []
        for i, dataset in enumerate(self.datasets):
            for j, component in enumerate(self.components):
                if self.ratio_low[i, j] > 1 or self.ratio_high[i, j] < 1:
                    span = (self.ratio[i, j], self.ratio_low[i, j], self.ratio_high[i, j])
                    out.append(Alarm(dataset, component, "variance", *map(float, span)))
                if self.shift_low[i, j] > 0 or self.shift_high[i, j] < 0:
                    span = (self.shift[i, j], self.shift_low[i, j], self.shift_high[i, j])
                    out.append(Alarm(dataset, component, "mean", *map(float, span)))
        return tuple(out)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each dataset and component, as plain numbers."""
        names = ["fitted", "variance", "ratio", "ratio_low", "ratio_high", "variance_pvalues"]
        names += ["shift", "shift_low", "shift_high", "shift_pvalues"]
        return [
            {
                "dataset": dataset,
                "component": component,
                "n_rows": self.n_rows[i],
                "n_groups": self.n_groups[i],
                **{name.replace("pvalues", "pvalue"): float(getattr(self, name)[i, j]) for name in names},
            }
            for i, dataset in enumerate(self.datasets)
            for j, component in enumerate(self.components)
        ]

    @property
    def sentence(self) -> str:
        """What has moved, in words."""
        told = "; ".join(map(str, self.alarms))
        if not told:
            told = f"nothing has moved beyond chance along {', '.join(self.components)} in {', '.join(self.datasets)}"
        blind = np.argwhere(~np.isfinite(self.ratio))
        for i, j in blind.tolist():
            told += f"; for {self.datasets[i]!r} along {self.components[j]} the fit has no usable prediction to compare with"
        return f"{told[0].upper()}{told[1:]} (all comparisons together at level {self.alpha:g})."

    def _brief(self) -> str:
        n = len(self.alarms)
        told = f"{n} alarm{'' if n == 1 else 's'}" if n else "no alarm"
        return f"{told} at level {self.alpha:g}, rows of {listed(self.datasets, 4)}"

    def _parts(self) -> list[Part]:
        header = [
            "dataset",
            "component",
            "rows",
            "variance expected",
            "found",
            "ratio",
            "interval",
            "mean, SD",
            "interval",
        ]
        rows = [
            [
                row["dataset"],
                row["component"],
                _rows(row["n_rows"], row["n_groups"]),
                f"{row['fitted']:.3g}",
                f"{row['variance']:.3g}",
                f"{row['ratio']:.3g}",
                f"{row['ratio_low']:.3g} to {row['ratio_high']:.3g}",
                f"{row['shift']:.2g}",
                f"{row['shift_low']:.2g} to {row['shift_high']:.2g}",
            ]
            for row in self.table
        ]
        kind: Kind = "caution" if self.alarms else "plain"
        return [table(header, rows), text(self.sentence, kind=kind, wrapped=True, place="top")]


def drift_of(
    datasets: tuple[str, ...],
    components: tuple[str, ...],
    found: Sequence[dict[str, Any]],
    *,
    alpha: float,
) -> Drift:
    """From logarithms of ratios and shifts with their standard errors, one entry a dataset."""
    part = {name: np.array([each[name] for each in found]) for name in found[0]}
    n_compared = int(np.isfinite(part["log_ratio"]).sum() + np.isfinite(part["shift"]).sum())
    df = divisor(part["n_groups"])[:, np.newaxis].astype(float)
    reach = -stdtrit(df, alpha / max(n_compared, 1) / 2.0)
    span, shift_span = reach * part["log_error"], reach * part["shift_error"]
    return Drift(
        datasets=datasets,
        components=components,
        n_rows=tuple(part["n_rows"].tolist()),
        n_groups=tuple(part["n_groups"].tolist()),
        fitted=part["fitted"],
        variance=part["variance"],
        ratio=part["ratio"],
        ratio_low=np.exp(part["log_ratio"] - span),
        ratio_high=np.exp(part["log_ratio"] + span),
        shift=part["shift"],
        shift_low=part["shift"] - shift_span,
        shift_high=part["shift"] + shift_span,
        variance_pvalues=2.0 * stdtr(df, -np.abs(part["log_ratio"] / part["log_error"])),
        shift_pvalues=2.0 * stdtr(df, -np.abs(part["shift"] / part["shift_error"])),
        alpha=alpha,
    )


def _rows(n_rows: int, n_groups: int) -> str:
    return f"{n_rows}" if n_groups == n_rows else f"{n_rows} in {n_groups} groups"
