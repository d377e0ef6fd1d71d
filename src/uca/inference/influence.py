"""What each background was found to contribute: numbers, verdicts, a table and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._readable import listed
from .._shown import Part, Shown, table, text
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from .leftout import attainable

NONE = 1e-6  # a relative gain, or a multiplier times its bound in units of the value, below this is 0
TURNED = 0.9  # cosine below which components have turned (26 degrees)
LEVEL = 0.05  # chance that a background which can be left out is said to matter: value and components together

BY_CHANCE = {
    "redundant": "multiplier 0 in these rows, changes nothing there",
    "replaceable": (
        "can be left out, one at a time, as far as these rows show (value and components change no more than when rows are "
        "resampled)"
    ),
    "decisive": "decisive in these rows, without it the components rotate by more than 26 degrees (not by chance alone)",
    "counts": "counts (not by chance alone), but without it the components stay within 26 degrees in these rows",
}
IN_THESE_ROWS = {
    "redundant": "multiplier 0 in these rows, changes nothing there",
    "replaceable": "can be left out, one at a time, which leaves the attainable variance in these rows as it is",
    "decisive": "decisive in these rows, without it the components rotate by more than 26 degrees",
    "counts": "counts in these rows, but without it the components stay within 26 degrees",
}


@dataclass(frozen=True, eq=False, repr=False)
class BackgroundInfluence(Shown):
    """Result of :func:`background_influence`; ``print`` it for the table.

    Attributes
    ----------
    model : UCA
        Fitted with all backgrounds.
    background_names : tuple of str
    lambdas : array of shape (m,)
        Multipliers with all backgrounds.
    values : array of shape (m,)
        Attainable target variance without each background: the certified optimum, of a sequential model summed over its
        problems.
    lambdas_without : array of shape (m, m)
        Multipliers of the others without each; NaN for itself.
    cosines : array of shape (m,)
        Cosine between the first component with all backgrounds and without this one.
    subspace_cosines : array of shape (m,)
        Smallest cosine of the principal angles between the spaces of all components.
    pooled_value, pooled_cosine, pooled_subspace_cosine : float
        The same for one background of all rows stacked; NaN where there is one background, or where no direction respects
        the bound in the stack.
    n_unconverged : int
        Fits that did not reach the tolerance, of those to all rows.
    n_resamples : int
        How often rows were resampled for each background; 0: verdicts are about these rows alone.
    gain_pvalues, turn_pvalues : array of shape (m,)
        How often the attainable variance, and the space of the components, change as much by chance; NaN without resamples.
    takes_place : tuple of str or None
        For each background, the one whose price grows most without it, with which rows were exchanged.
    redundant, replaceable, decisive : list of str
        Backgrounds with that verdict, see :meth:`verdict`.
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
    n_resamples: int
    gain_pvalues: Array
    turn_pvalues: Array
    takes_place: tuple[str | None, ...]

    @property
    def value(self) -> float:
        """Attainable target variance with all backgrounds."""
        return attainable(self.model)

    def _gain(self, value: float) -> float:
        """What a value is above that of all backgrounds, relative; rounding is nothing."""
        gain = value / self.value - 1.0
        return gain if abs(gain) > NONE else 0.0

    def verdict(self, name: str) -> str:
        """The verdict on a background; empty for anything else.

        ``"redundant"``: multiplier 0 in these rows. ``"replaceable"``: leaving it out moves the attainable variance and the
        components no more than drawing rows again does. ``"decisive"``: that moves one of them by more than chance, and in
        these rows the components turn by more than 26 degrees. ``"counts"``: by more than chance, but they turn less.
        Without resamples, what chance does is not looked at.
        """
        if name not in self.background_names:
            return ""
        j = self.background_names.index(name)
        weights = self.model.component_lambdas_[:, j] * self.model.bounds_[j]
        if np.all(weights <= NONE * self.value):
            return "redundant"
        turned = bool(self.subspace_cosines[j] < TURNED)
        if not self.n_resamples:
            same = self._gain(float(self.values[j])) == 0.0
            return "decisive" if turned else "replaceable" if same else "counts"
        if min(self.gain_pvalues[j], self.turn_pvalues[j]) > LEVEL / 2:
            return "replaceable"
        return "decisive" if turned else "counts"

    def _with(self, verdict: str) -> list[str]:
        return [name for name in self.background_names if self.verdict(name) == verdict]

    @property
    def redundant(self) -> list[str]:
        """Backgrounds that change nothing in these rows: multiplier 0, for every component of a sequential model."""
        return self._with("redundant")

    @property
    def replaceable(self) -> list[str]:
        """Backgrounds that can be left out, one at a time: that changes things no more than resampling rows does."""
        return self._with("replaceable")

    @property
    def decisive(self) -> list[str]:
        """Backgrounds that matter by more than chance, and without which the components rotate by more than 26 degrees."""
        return self._with("decisive")

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each background left out, and one for all pooled, as plain numbers."""
        rows = [
            {
                "left out": name,
                "lambda": float(self.lambdas[j]),
                "value": float(self.values[j]),
                "gain": self._gain(float(self.values[j])),
                "cosine": float(self.cosines[j]),
                "subspace cosine": float(self.subspace_cosines[j]),
                "p, gain": float(self.gain_pvalues[j]) if self.n_resamples else None,
                "p, turn": float(self.turn_pvalues[j]) if self.n_resamples else None,
                "verdict": self.verdict(name),
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
                    "p, gain": None,
                    "p, turn": None,
                    "verdict": "",
                }
            )
        return rows

    @property
    def sentence(self) -> str:
        """The result in words."""
        told = BY_CHANCE if self.n_resamples else IN_THESE_ROWS
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
            parts.append("pooled, they leave no direction that respects the smallest of the bounds")
        if not self.n_resamples:
            parts.append("sampling error was not assessed (n_resamples=0)")
        if self.n_unconverged:
            parts.append(f"{self.n_unconverged} of the fits did not reach the tolerance, so this is uncertain")
        return ". ".join(part[0].upper() + part[1:] for part in parts) + "."

    def _brief(self) -> str:
        return listed([f"{name!r} {self.verdict(name)}" for name in self.background_names], 4)

    def _parts(self) -> list[Part]:
        rows = [
            [
                row["left out"],
                "" if row["lambda"] is None else f"{row['lambda']:.4g}",
                f"{row['value']:.4g}",
                f"{100 * row['gain']:+.1f} %",
                f"{row['cosine']:.2f}",
                f"{row['subspace cosine']:.2f}",
                *("" if row[p] is None else f"{row[p]:.3f}" for p in ("p, gain", "p, turn") if self.n_resamples),
                row["verdict"],
            ]
            for row in self.table
        ]
        header = ["left out", "its lambda", "attainable variance", "gain", "cosine, first", "cosine, space"]
        header += [*(["p, gain", "p, turn"] if self.n_resamples else []), ""]
        title = f"With all backgrounds the attainable target variance is {self.value:.4g}"
        return [text(title), table(header, rows), text(self.sentence, place="top")]
