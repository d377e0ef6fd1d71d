"""What leaving groups out has shown: numbers, a table, and sentences that claim no more than the groups at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._readable import listed
from .._shown import Part, Shown, table, text
from .._types import Array
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from .resampled import FOUND_AGAIN
from .sample import MIN_SUBJECTS

TOLD = 3  # components that the sentence speaks of


@dataclass(frozen=True, eq=False, repr=False)
class LeftOutGroups(Shown):
    """Result of :func:`leave_one_group_out`; ``print`` it for the table.

    Attributes
    ----------
    model : UCA
        Fitted to all rows.
    group_names : tuple of str
        The g groups, in the order in which they occur.
    dataset_names : tuple of str
        ``"target"`` and the m backgrounds.
    n_rows : array of shape (g, m + 1)
        Rows of each group in each dataset.
    means, deviations : arrays of shape (g, m + 1, k)
        Mean and SD of the scores (those of ``model.transform``); NaN where a group has no rows, or too few.
    cosines : array of shape (g, k)
        Between each component and the one of the same number in the fit without the group; 1 is no change. NaN where the
        group cannot be left out.
    space_cosines : array of shape (g, k)
        The smallest cosine of the principal angles between the spaces of the first 1, …, k components.
    variances : array of shape (g, m + 1, k)
        Variance of the group's rows, about their own mean, along the components of the fit without the group.
    between : array of shape (k,)
        Share of the target's variance along each component that lies between groups.
    n_unconverged : int
        Fits that did not reach the tolerance.
    """

    model: BoundedTransformer
    group_names: tuple[str, ...]
    dataset_names: tuple[str, ...]
    n_rows: Array
    means: Array
    deviations: Array
    cosines: Array
    space_cosines: Array
    variances: Array
    between: Array
    n_unconverged: int

    @property
    def angles(self) -> Array:
        """The angles of ``cosines`` in degrees, (g, k)."""
        return np.degrees(np.arccos(self.cosines))

    @property
    def n_groups(self) -> tuple[int, ...]:
        """Groups of each dataset, target first; 0 for a dataset whose rows belong to none."""
        return tuple(int(n) for n in (self.n_rows > 0).sum(axis=0))

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each group, dataset and component, as plain numbers; NaN where there is none."""
        return [
            {
                "group": group,
                "dataset": dataset,
                "component": component,
                "rows": int(self.n_rows[i, j]),
                "mean": float(self.means[i, j, c]),
                "SD": float(self.deviations[i, j, c]),
                "variance, left out": float(self.variances[i, j, c]),
                "cosine without it": float(self.cosines[i, c]),
                "angle without it": float(self.angles[i, c]),
            }
            for i, group in enumerate(self.group_names)
            for j, dataset in enumerate(self.dataset_names)
            if self.n_rows[i, j]
            for c, component in enumerate(component_names(self.model))
        ]

    @property
    def sentence(self) -> str:
        """The groups in words: the first components, and what cannot be said."""
        names = component_names(self.model)
        told = [self._told(i) for i in range(min(TOLD, len(names)))]
        more = [f"{', '.join(names[TOLD:])}: see the table."] if len(names) > TOLD else []
        return " ".join([*told, *more, *self._limits()])

    def _told(self, i: int) -> str:
        return " ".join([self._direction(i), *self._spread(i), self._between(i)])

    def _direction(self, i: int) -> str:
        """Whether the component is the same without any one group."""
        name, cosines = component_names(self.model)[i], self.cosines[:, i]
        known = np.flatnonzero(~np.isnan(cosines))
        if not len(known):
            return f"{name}: no group can be left out."
        worst = known[np.argmin(cosines[known])]
        moved = known[cosines[known] < FOUND_AGAIN]
        if not len(moved):
            return (
                f"{name} keeps its direction whichever of {len(known)} groups is left out "
                f"(it turns by {self.angles[worst, i]:.0f}° at most)."
            )
        groups = listed([f"{self.group_names[g]!r} ({self.angles[g, i]:.0f}°)" for g in moved])
        one = len(moved) == 1
        which = groups if one else f"one of {groups}"
        text = f"{name} turns far when {which} is left out: it depends on {'that group' if one else 'these groups'}."
        if i + 1 < self.cosines.shape[1] and (self.space_cosines[moved, -1] >= FOUND_AGAIN).all():
            text += " The space of all components stays: they change places or mix."
        return text

    def _spread(self, i: int) -> list[str]:
        """Variances of groups that the fit has not seen."""
        target, *others = (part[~np.isnan(part)] for part in self.variances[:, :, i].T)
        if not len(target):
            return []
        said = [f"{len(target)} of the target {_range(target)}"]
        said += [
            f"{len(part)} of {name!r} {_range(part)}"
            for name, part in zip(self.dataset_names[1:], others, strict=True)
            if len(part)
        ]
        text = f"Variance of groups along it when they are left out of the fit: {'; '.join(said)}."
        highest = max((part.max() for part in others if len(part)), default=None)
        if highest is None:
            return [text]
        above = int(np.sum(target > highest))
        some = f"{above} groups" if above > 1 else f"{above or 'No'} group"
        which = "Every group" if above == len(target) else some
        verb = "vary" if which.endswith("s") else "varies"
        return [text, f"{which} of the target {verb} more than every group of the backgrounds."]

    def _between(self, i: int) -> str:
        share, n = self.between[i], self.n_groups[0]
        text = f"{100 * share:.0f} % of the target's variance along it lies between groups"
        return f"{text}: it is mostly a difference between {n} groups." if share > 0.5 else f"{text}."

    def _limits(self) -> list[str]:
        lost = [name for name, row in zip(self.group_names, self.cosines, strict=True) if np.isnan(row).all()]
        out = []
        if lost:
            out.append(f"{listed(list(map(repr, lost)))} cannot be left out: some dataset has no other group.")
        if self.n_unconverged:
            out.append(f"{self.n_unconverged} fits did not reach the tolerance.")
        fewest = min(n for n in self.n_groups if n)
        few = f"with {fewest} groups in the smallest dataset " if fewest < MIN_SUBJECTS else ""
        out.append(
            f"This describes the groups at hand and is no test: {few}"
            + (
                f"nothing can be said about others (uniqueness_test needs {MIN_SUBJECTS} in every dataset)."
                if few
                else "uniqueness_test with these groups is one."
            )
        )
        return out

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        names = component_names(self.model)
        header = ["group", "dataset", "rows"]
        header += [f"{name} {what}" for name in names for what in ("mean", "SD", "var. left out", "angle")]
        rows = [
            [
                group,
                dataset,
                str(self.n_rows[i, j]),
                *(
                    text
                    for c in range(len(names))
                    for text in (
                        _number(self.means[i, j, c]),
                        _number(self.deviations[i, j, c]),
                        _number(self.variances[i, j, c]),
                        "" if np.isnan(self.angles[i, c]) else f"{self.angles[i, c]:.0f}°",
                    )
                ),
            ]
            for i, group in enumerate(self.group_names)
            for j, dataset in enumerate(self.dataset_names)
            if self.n_rows[i, j]
        ]
        return header, rows

    def _parts(self) -> list[Part]:
        note = (
            "mean, SD: scores of model.transform, in the units of the target. var. left out: variance of the group's rows "
            "along the component of the fit without the group, each dataset scaled as in the fit. angle: between that "
            "component and the one of all rows."
        )
        return [
            table(*self._cells()),
            text(note, kind="note", apart=False, wrapped=True),
            text(self.sentence, place="top"),
        ]

    def _brief(self) -> str:
        angles = self.angles[~np.isnan(self.angles[:, 0]), 0]
        first = component_names(self.model, 1)[0]
        turn = f"{first} turns by {angles.max():.0f}° at most without one of them" if len(angles) else "none left out"
        return f"{len(self.group_names)} groups; {turn}"


def _range(values: Array) -> str:
    low, high = values.min(), values.max()
    return f"{low:.3g}" if len(values) == 1 else f"{low:.3g} to {high:.3g}"


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}"
