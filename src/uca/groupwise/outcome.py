"""What was found of each group: numbers, a table, and sentences."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .._optional import optional
from .._shown import Part, Shown
from .._types import Array
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from ..estimators.leading import Leading
from ..inference.outcome import LEAST_KEPT, UniquenessTest
from ..means import MeanDifferences
from . import words

NOT_TESTED = "not tested"


@dataclass(frozen=True, eq=False, repr=False)
class EachGroup(Shown):
    """One group as the target, the others as its backgrounds.

    Attributes
    ----------
    name : str
    n_rows, n_subjects : int
        Rows, and independent subjects (rows that have a value, where subjects are not told).
    backgrounds : tuple of str
        Groups that it was compared with.
    left_out : tuple of str
        Other groups, that are too small to be a background.
    model : UCA or SparseUCA, or None
        Fitted; None where that was not possible.
    leading : tuple of Leading
        The leading features of each component.
    expected : array of shape (k, m), or None
        Variance of each component to expect in new rows of each background: predicted for independent rows, or by leaving
        subjects out where they are told. ``inf``: no usable prediction. None: not known.
    test : UniquenessTest or None
        At level ``alpha`` over the number of tests, with p-values that are not adjusted.
    adjusted : array of shape (k,), or None
        p-values adjusted across groups (Holm).
    alpha : float
        Level of all groups together.
    failed, untested : str
        Why there is no model, or no test; empty where there is one.
    warnings : tuple of str
        What the fit warned of.
    """

    name: str
    n_rows: int
    n_subjects: int
    backgrounds: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    model: BoundedTransformer | None = None
    leading: tuple[Leading, ...] = ()
    expected: Array | None = None
    test: UniquenessTest | None = None
    adjusted: Array | None = None
    alpha: float = 0.05
    failed: str = ""
    untested: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def n_unique(self) -> int | None:
        """Leading components that are unique by the adjusted p-values; None where there is no test."""
        return None if self.adjusted is None else int(np.sum(self.adjusted <= self.alpha))

    def verdict(self, i: int) -> str:
        """Of component i, from 0: as that of a UniquenessTest, by adjusted p-values; or ``"not tested"``."""
        return NOT_TESTED if self.judged is None else self.judged.verdict(i)

    @property
    def judged(self) -> UniquenessTest | None:
        """The test with adjusted p-values, and the level of all groups, in the place of its own."""
        if self.test is None or self.adjusted is None:
            return None
        own = self.test.pvalues
        times = np.divide(self.adjusted, own, out=np.ones_like(own), where=own > 0)
        times[self.adjusted >= 1.0] = np.nan  # cut off there: by what it was multiplied is not known
        return replace(
            self.test,
            n_unique_=int(np.sum(self.adjusted <= self.alpha)),
            pvalues=self.adjusted,
            pvalue_errors=times * self.test.pvalue_errors,
            alpha=self.alpha,
        )

    @property
    def means(self) -> MeanDifferences | None:
        """Large differences in means from the backgrounds, which components do not show; None where they are not known."""
        if self.test is not None:
            return self.test.means
        return None if self.model is None else self.model.mean_differences_

    @property
    def cautions(self) -> list[str]:
        """What makes the p-values less certain than they look, a sentence each; :attr:`means` tells of means."""
        if self.judged is None:
            return []
        found, n = replace(self.judged, means=None).cautions, self.judged.n_unique_
        if n < len(self.judged.kept) and self.judged.kept[n] < LEAST_KEPT:
            found.append(
                f"{100 * (1 - self.judged.kept[n]):.0f} % of {self.leading[n].component} lies in features that are constant "
                "in some group, or in half of its rows, and the test leaves these out: look at them by themselves."
            )
        return found

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row a component as plain numbers and text; one row with a note where there is no model."""
        start = {"group": self.name, "rows": self.n_rows, "subjects": self.n_subjects}
        if self.model is None:
            return [{**start, **dict.fromkeys(COLUMNS), "verdict": NOT_TESTED, "note": f"not fitted: {self.failed}"}]
        return [{**start, **self._row(self.model, i)} for i in range(len(self.leading))]

    def _row(self, model: BoundedTransformer, i: int) -> dict[str, Any]:
        worst = int(np.argmax(model.background_variance_[i]))
        known = None if self.expected is None else float(self.expected[i].max())
        return {
            "component": component_names(model)[i],
            "target_variance": float(model.explained_variance_[i]),
            "target_share": float(model.explained_variance_ratio_[i]),
            "background_variance": float(model.background_variance_[i, worst]),
            "background": model.background_names_[worst],
            "expected_variance": known,
            "p": None if self.test is None else float(self.test.pvalues[i]),
            "p_adjusted": None if self.adjusted is None else float(self.adjusted[i]),
            "verdict": self.verdict(i),
            "leading_features": ", ".join(f"{name} {sign}" for name, sign in self.leading[i].signed),
            "note": f"not tested: {self.untested}" if self.untested else "",
        }

    def _parts(self) -> list[Part]:
        return words.parts_of_group(self)

    def _brief(self) -> str:
        return f"{self.name!r}, {words.count(self.n_rows, 'row')}, {words.shortly(self)}"


#: Columns of the table that a group without a model leaves empty, in order.
COLUMNS = (
    "component",
    "target_variance",
    "target_share",
    "background_variance",
    "background",
    "expected_variance",
    "p",
    "p_adjusted",
    "verdict",
    "leading_features",
    "note",
)


@dataclass(frozen=True, eq=False, repr=False)
class Each(Shown):
    """Result of :func:`uca.each`; ``print`` it for the table, ``result["name"]`` is one group.

    Attributes
    ----------
    groups : tuple of EachGroup
        In order: numbers by size, text by letter.
    pooled : bool
        Whether the other groups were stacked into one background.
    alpha : float
        Level of all groups together.
    n_features : int
    grouped_by : str or None
        What the groups are called, where the labels came with a name.
    with_subjects : bool
        Whether subjects were told apart; else every row counts as one.
    parameters : dict
        Of the model that was fitted to each group.
    """

    groups: tuple[EachGroup, ...]
    pooled: bool
    alpha: float
    n_features: int
    grouped_by: str | None
    with_subjects: bool
    parameters: dict[str, Any]

    def __getitem__(self, name: Any) -> EachGroup:
        for group in self.groups:
            if group.name == str(name):
                return group
        raise KeyError(f"there is no group {name!r}; the groups are {[group.name for group in self.groups]}")

    def __iter__(self) -> Iterator[EachGroup]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def models(self) -> dict[str, BoundedTransformer]:
        """Fitted models by group; a group that could not be fitted has none."""
        return {group.name: group.model for group in self.groups if group.model is not None}

    @property
    def tests(self) -> dict[str, UniquenessTest]:
        """Tests by group, with p-values that are not adjusted; a group that was not tested has none."""
        return {group.name: group.test for group in self.groups if group.test is not None}

    @property
    def n_unique(self) -> dict[str, int | None]:
        """By group, how many leading components are unique by the adjusted p-values; None where there is no test."""
        return {group.name: group.n_unique for group in self.groups}

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each group and component, as plain numbers and text: ready for a DataFrame or JSON."""
        return [row for group in self.groups for row in group.table]

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame."""
        pandas = optional("pandas", "a DataFrame needs pandas", "cli")
        return pandas.DataFrame(self.table)

    @property
    def sentence(self) -> str:
        """The result in words."""
        return words.sentence(self)

    def report(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the table, the figure and the groups as one HTML file that works offline.

        Parameters
        ----------
        path : path
            The file to write.
        **options
            ``title`` and ``made_on``: see :func:`uca.report.each`.

        Returns
        -------
        path : pathlib.Path
        """
        # Imported on use and by name: the report stands below and needs an extra.
        return import_module("uca.report").each(self, path, **options)

    def _parts(self) -> list[Part]:
        return words.parts(self)

    def _brief(self) -> str:
        return words.in_short(self)
