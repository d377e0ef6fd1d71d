"""What the test of uniqueness found: numbers, a table, and a sentence with its cautions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Array
from ..estimators.summary import Summary, text_table

PARAMETERS = ("center", "scale", "bound", "components")  # of the model, that a result depends on
FEW = 30  # rows or subjects below which the result says that they are few


@dataclass(frozen=True, eq=False)
class UniquenessTest:
    """Result of :func:`uniqueness_test`; ``print`` it for the table.

    Attributes
    ----------
    n_unique_ : int
        Number of leading components that are unique at level ``alpha``.
    pvalues : array of shape (k,)
        Overall p-value of each component, monotone: the level at which it and all before it are called unique.
    background_pvalues : array of shape (k, m)
        Does the target vary more than this background?
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
        Those of the model that matter: ``center``, ``scale``, ``bound`` and ``components``.
    """

    n_unique_: int
    pvalues: Array
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
    prefix: str = "UC"

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row a component, as plain numbers: ready for a DataFrame or JSON."""
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
                "unique": bool(self.pvalues[i] <= self.alpha),
            }
            for i in range(len(self.pvalues))
        ]

    @property
    def sentence(self) -> str:
        """The result in words."""
        k, n = len(self.pvalues), self.n_unique_
        others = f"every one of {len(self.background_names)} backgrounds"
        found = "No component varies" if n == 0 else f"{self._named(n)} {'varies' if n == 1 else 'vary'}"
        units = ", each in units of its own deviations" if self.parameters["scale"] is True else ""
        text = (
            f"{found} more in the target than in {'the background' if len(self.background_names) == 1 else others}{units}, "
            f"on held-out rows (level {100 * self.alpha:g} %, {self._sizes()}, "
            f"{self.n_splits} random halving{'' if self.n_splits == 1 else 's'})."
        )
        if self.order == "contrast":
            text += (
                " Components are counted by their contrast in the rows that chose them, not in the order of the model."
            )
        if n < k:
            text += f" {self._name(n)}: {self._reason(n)}."
            if self.kept[n] < 0.5:
                text += (
                    f" But {100 * (1 - self.kept[n]):.0f} % of it lies in features that are constant in some dataset, or in "
                    "half of its rows, and the test leaves these out: look at them by themselves."
                )
        elif k > 1:
            text += f" {'Both' if k == 2 else f'All {k}'} that were tested are unique; there may be more."
        if min(self.n_subjects) < FEW:
            text += (
                f" The smallest dataset has {min(self.n_subjects)} independent {'subjects' if self.grouped else 'rows'}: "
                "few, so take p-values near the level with care."
            )
        return text

    def _name(self, i: int) -> str:
        """UC1 is the first component of the model; by contrast, components have a rank only."""
        return f"{self.prefix}{i + 1}" if self.order == "model" else f"Component {i + 1}"

    def _named(self, n: int) -> str:
        """The first ``n`` components."""
        if n == 1:
            return self._name(0)
        ends = f"{self._name(0)} {'and' if n == 2 else 'to'} {self._name(n - 1)}"
        return ends if self.order == "model" else f"Components 1 {'and' if n == 2 else 'to'} {n}"

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

    def __str__(self) -> str:
        return str(self.summary())

    def summary(self) -> Summary:
        """The table and the sentence as text."""
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
                "unique" if i < self.n_unique_ else "",
            ]
            for i in range(len(self.pvalues))
        ]
        title = f"Variance on held-out rows, with {100 * (1 - self.alpha):g} % intervals"
        return Summary("\n".join([title, "", *text_table(header, rows), "", self.sentence]))


def p_text(value: float) -> str:
    """A p-value to three digits."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
