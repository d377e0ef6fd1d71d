"""What the test of uniqueness found: numbers, a table, and a sentence with its cautions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._readable import listed
from .._shown import Finding, Part, Shown, table, text
from .._types import Array
from ..means import ELSEWHERE, MeanDifferences
from .cautions import RowFacts
from .judged import errors_from_level

PARAMETERS = (
    "center",
    "scale",
    "bound",
    "bound_on",
    "components",
    "n_nonzero",
)  # of the model, that a result depends on
LEAST_KEPT = 0.5  # of a component, below which the result says that most of it was not tested
CLOSE = 2.0  # random errors from the level, below which the result says that a p-value is a close call
COPIES = 0.05  # share of rows that are copies, from which the result says so
FEW = 30  # rows or subjects below which the result says that they are few


@dataclass(frozen=True, eq=False, repr=False)
class UniquenessTest(Shown):
    """Result of :func:`uniqueness_test`; ``print`` it for the table.

    Attributes
    ----------
    n_unique_ : int
        Number of leading components that are unique at level ``alpha``.
    pvalues : array of shape (k,)
        Overall p-value of each component, monotone: the level at which it and all before it are called unique.
    background_pvalues : array of shape (k, m)
        Does the target vary more than this background?
    pvalue_errors : array of shape (k,)
        Random error of ``pvalues``: how much p-values from other halvings differ. NaN after one halving.
    average_pvalues : array of shape (k,)
        Does the target vary more along the component than along an average direction?
    variances : array of shape (k, m + 1)
        Held-out variance in the target (first) and in each background, geometric means over the splits.
    low, high : arrays of shape (k, m + 1)
        Ends of ``1 - alpha`` intervals for them.
    kept : array of shape (k,)
        Share of each component (of its squared length) in features that vary in the held-out rows of every dataset, mean
        over halves. The rest is not tested.
    background_names : tuple of str
    alpha : float
    n_splits : int
    n_rows, n_subjects : tuple of int
        Rows, and independent subjects, of the target and each background.
    grouped : bool
        Whether ``groups`` were given.
    n_features : int
    order : str
        What the components are counted by: ``"model"`` or ``"contrast"``.
    parameters : dict
        Those of the model that matter: ``center``, ``scale``, ``bound``, ``bound_on`` and ``components``.
    rows : RowFacts
        What all rows show along the components of a fit to all of them: tails, dependence, copies, and rows that carry
        most of a component.
    means : MeanDifferences or None
        Large differences in means, which no test of variation sees.
    prefix : str
        What components are called: ``UC`` of ``UC1``.
    subjects_from : str
        The argument that tells subjects apart in the function that made the test: what a caution tells to give.
    notes : tuple of str
        Cautions that only the caller can give, from what is known of the rows; they come first.
    """

    n_unique_: int
    pvalues: Array
    pvalue_errors: Array
    background_pvalues: Array
    average_pvalues: Array
    variances: Array
    low: Array
    high: Array
    kept: Array
    background_names: tuple[str, ...]
    alpha: float
    n_splits: int
    n_rows: tuple[int, ...]
    n_subjects: tuple[int, ...]
    grouped: bool
    n_features: int
    order: str
    parameters: dict[str, Any]
    rows: RowFacts
    means: MeanDifferences | None
    prefix: str = "UC"
    subjects_from: str = "groups"
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row per component, as plain numbers: ready for a DataFrame or JSON."""
        names = ["target variance", *(f"variance in {name}" for name in self.background_names)]
        return [
            {
                "component": i + 1,
                **{
                    name: (float(self.variances[i, j]), float(self.low[i, j]), float(self.high[i, j]))
                    for j, name in enumerate(names)
                },
                **{
                    f"p against {name}": float(p)
                    for name, p in zip(self.background_names, self.background_pvalues[i], strict=True)
                },
                "p, average direction": float(self.average_pvalues[i]),
                "p": float(self.pvalues[i]),
                "random error of p": float(self.pvalue_errors[i]) if self.n_splits > 1 else None,
                "unique": i < self.n_unique_,
                "verdict": self.verdict(i),
            }
            for i in range(len(self.pvalues))
        ]

    def verdict(self, i: int) -> str:
        """Of component i, from 0: ``"unique"``; ``"not shown"``, the first that is not; ``"not judged"``, those after it."""
        if i < self.n_unique_:
            return "unique"
        return "not shown" if i == self.n_unique_ else "not judged"

    @property
    def sentence(self) -> str:
        """The result in words, with its cautions."""
        return " ".join([*self._told(), *self.cautions])

    def _told(self) -> list[str]:
        return [self._finding(), *self._details(), *self._independence()]

    def _finding(self) -> str:
        n = self.n_unique_
        backgrounds = len(self.background_names)
        others = "the background" if backgrounds == 1 else f"every one of {backgrounds} backgrounds"
        units = ", each dataset standardised by its own SD" if self.parameters["scale"] is True else ""
        more = f"more in the target than in {others}{units}, on rows held out of the fit"
        if n:
            found = f"{self._named(n)} {'varies' if n == 1 else 'vary'} {more}"
        elif self.background_pvalues[0].max() <= self.alpha:
            found = (
                f"{self._name(0)} varies {more}, but that it varies more than an average direction of the target could not "
                "be shown, so it is not called unique"
            )
        else:
            found = f"For no component could it be shown that it varies {more}"
        halvings = f"{self.n_splits} random halving{'' if self.n_splits == 1 else 's'}"
        return f"{found} (level {100 * self.alpha:g} %, {self._sizes()}, {halvings})."

    def _details(self) -> list[str]:
        """What the components are, and why the count ends."""
        k, n = len(self.pvalues), self.n_unique_
        text = []
        if self.order == "contrast":
            text.append(
                "Components are counted by their contrast in the rows of the fit, not in the order of the model."
            )
        if n == k:
            if k > 1:
                text.append(f"{'Both' if k == 2 else f'All {k}'} that were tested are unique; there may be more.")
            return text
        text.append(f"{self._name(n)}: {self._reason(n)}.")
        if k - n > 1:
            text.append(f"{self._named(k, n + 1)} {'was' if k - n == 2 else 'were'} not judged.")
        if self.kept[n] < LEAST_KEPT:
            text.append(
                f"But {100 * (1 - self.kept[n]):.0f} % of it lies in features that are constant in some dataset, or in "
                "half of its rows, and the test leaves these out: look at them by themselves."
            )
        return text

    def _independence(self) -> list[str]:
        """What the p-values assume, where nothing else says it."""
        if self.grouped or self.notes or self._dependence() or self._copies():
            return []
        return [f"Rows count as independent: if several belong to one subject, give {self.subjects_from}."]

    @property
    def cautions(self) -> list[str]:
        """What makes the p-values less certain than they look, one sentence each; empty for most data."""
        found = [self._undecided(), self._few(), self._one_feature(), self._unstudied(), self._tails()]
        found += [self._copies(), self._dependence(), *self._carried(), self._shifted()]
        return [text for text in (*self.notes, *found) if text]

    def _shifted(self) -> str:
        """Means that differ: nothing that a test of variation could show."""
        return f"{self.means.short} {ELSEWHERE}" if self.means is not None and self.means.n_large else ""

    def _undecided(self) -> str:
        """A p-value that is as near to the level as halvings by chance move it."""
        last = min(self.n_unique_, len(self.pvalues) - 1)
        for i in {max(last - 1, 0), last}:
            p, error = self.pvalues[i], self.pvalue_errors[i]
            if errors_from_level(p, error, self.alpha) <= CLOSE:
                return (
                    f"{self._name(i)} is a close call: p = {p:.2g} with a random error of {error:.1g}, so other "
                    "random halvings may decide otherwise."
                )
        return ""

    def _few(self) -> str:
        n = min(self.n_subjects)
        what = "subjects" if self.grouped else "rows"
        return (
            f"The smallest dataset has {n} independent {what}: few, so take p-values near the level with care."
            if n < FEW
            else ""
        )

    def _one_feature(self) -> str:
        """Every direction is the average one."""
        return (
            "With one feature, no direction varies more than an average one, and nothing can be called unique: compare the "
            "variances, for instance by Levene's test (scipy.stats.levene)."
            if self.n_features == 1
            else ""
        )

    def _unstudied(self) -> str:
        """Settings of the model for which the level was not simulated."""
        told = {"center": True, "bound": "mean", "bound_on": "rows", "components": "joint"}
        if "n_nonzero" in self.parameters:  # studied for components of few features, each of which keeps the bounds
            told["components"] = "sequential"
        other = [
            f"{name}={self.parameters[name]!r}"
            for name, usual in told.items()
            if self.parameters.get(name, usual) != usual
        ]
        return f"The level of the test was not studied by simulation for {' and '.join(other)}." if other else ""

    def _tails(self) -> str:
        names = [repr(name) for name, heavy in zip(self.background_names, self.rows.heavier, strict=True) if heavy]
        if not names:
            return ""
        units = "" if self.parameters["scale"] is True else ", all the more in common units"
        return (
            f"Rows of {' and '.join(names)} have heavier tails than the target's: a background whose variance lies in rare "
            f"far rows looks narrower in a sample than it is, and p-values can be too small{units}. Look at the far rows, "
            "or compare more background rows."
        )

    def _copies(self) -> str:
        """Rows that are there more than once, as if they were several."""
        told = [
            f"{n} of {rows} rows of {name}"
            for n, rows, name in zip(
                self.rows.copies, self.n_rows, ("the target", *map(repr, self.background_names)), strict=True
            )
            if n >= COPIES * rows
        ]
        if self.grouped or not told:
            return ""
        return (
            f"{' and '.join(told)} are copies of other rows: they are not independent, and p-values are too small. Remove "
            f"copies, or give {self.subjects_from}."
        )

    def _dependence(self) -> str:
        last = min(self.n_unique_ + 1, self.rows.dependent.shape[1])
        places = np.argwhere(self.rows.dependent[:, :last])
        if not len(places):
            return ""
        worst = max(places.tolist(), key=lambda place: self.rows.autocorrelation[tuple(place)])
        name = ("the target", *map(repr, self.background_names))[worst[0]]
        what = "subjects" if self.grouped else "rows"
        return (
            f"Neighbouring {what} of {name} are alike along {self._name(worst[1])} (autocorrelation "
            f"{self.rows.autocorrelation[tuple(worst)]:.2f}): in a time series, or with repeated measurements, {what} are "
            f"not independent and p-values are too small. Give {self.subjects_from}: subjects, or blocks of successive "
            "rows, longer than the dependence. If the table is only sorted by a label, this does not matter."
        )

    def _carried(self) -> list[str]:
        """Unique components that a handful of rows make."""
        return [text for i, text in enumerate(self.rows.leverage.each_warning()) if text and i < self.n_unique_]

    def _name(self, i: int) -> str:
        """UC1 is the first component of the model; by contrast, components have a rank only."""
        return f"{self.prefix}{i + 1}" if self.order == "model" else f"Component {i + 1}"

    def _named(self, n: int, first: int = 0) -> str:
        """Components from ``first`` up to, not including, ``n``."""
        if n - first == 1:
            return self._name(first)
        joined = "and" if n - first == 2 else "to"
        ends = f"{self._name(first)} {joined} {self._name(n - 1)}"
        return ends if self.order == "model" else f"Components {first + 1} {joined} {n}"

    def _sizes(self) -> str:
        """Independent units of every dataset."""
        sizes = [
            f"{name} {f'{n} subjects with {rows} rows' if n < rows else f'{rows} rows'}"
            for name, n, rows in zip(("target", *self.background_names), self.n_subjects, self.n_rows, strict=True)
        ]
        return ", ".join(sizes)

    def _reason(self, i: int) -> str:
        p = [*self.background_pvalues[i], self.average_pvalues[i]]
        worst = int(np.argmax(p))
        name = (
            "an average direction of the target"
            if worst == len(self.background_names)
            else repr(self.background_names[worst])
        )
        return f"p = {p[worst]:.2g} against {name}"

    def _brief(self) -> str:
        told = [f"{self._name(i)} {p_text(p)}" for i, p in enumerate(self.pvalues)]
        found = f"{self.n_unique_} of {len(self.pvalues)} components unique at level {100 * self.alpha:g} %"
        return f"{found}; p: {listed(told, 5)}"

    def _parts(self) -> list[Part]:
        names = ("target", *self.background_names)
        header = ["component", *names, *(f"p, {name}" for name in self.background_names), "p, average", "p", ""]
        rows = [
            [
                f"{self.prefix}{i + 1}" if self.order == "model" else f"{i + 1}",
                *(
                    f"{v:.3g} [{a:.3g}, {b:.3g}]"
                    for v, a, b in zip(self.variances[i], self.low[i], self.high[i], strict=True)
                ),
                *(p_text(value) for value in self.background_pvalues[i]),
                p_text(self.average_pvalues[i]),
                p_text(self.pvalues[i]),
                self.verdict(i),
            ]
            for i in range(len(self.pvalues))
        ]
        title = f"Variance on rows held out of the fit, with {100 * (1 - self.alpha):g} % intervals"
        return [
            text(title),
            table(header, rows),
            Finding("top", sentences=tuple(self._told()), cautions=tuple(self.cautions)),
        ]


def p_text(value: float) -> str:
    """A p-value to three digits."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
