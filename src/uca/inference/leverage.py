"""How much a component depends on single rows.

The leverage of a target row on a component is its share of the component's target variance: shares sum to 1. A
component *depends on only a few rows* if half of its variance lies in one row, or in no more than one row in twenty; with
normal scores it is one in eight. Such a component may be an outlier, a bad measurement or a rare kind: look at the rows
before believing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._containers import is_array_api, is_dask
from .._readable import listed
from .._shown import Part, Shown, table, text
from .._types import Array, Rows
from ..estimators.base import ContrastiveTransformer
from ..fitted import check_fitted
from ..operators.sources.namespace import to_numpy

FEW = 0.05  # share of the rows
LISTED = 10  # rows that a sentence names


@dataclass(frozen=True, eq=False, repr=False)
class RowLeverage(Shown):
    """Result of :func:`row_leverage`; ``print`` it for the table.

    Attributes
    ----------
    leverage : array of shape (n, k)
        Share of each component's target variance that is due to each row.
    n_half : array of shape (k,)
        The smallest number of rows that together have half of it.
    few : boolean array of shape (k,)
        Whether that is one row, or no more than one row in twenty.
    prefix : str
        What components are called: ``UC1`` is the first of a UCA.
    """

    leverage: Array
    n_half: Array
    few: Array
    prefix: str = "UC"

    def outlying(self, component: int = 0) -> Array:
        """The rows that together have half of a component's variance, largest first, where they are few; else none."""
        if not self.few[component]:
            return np.array([], dtype=int)
        return np.argsort(-self.leverage[:, component], kind="stable")[: self.n_half[component]]

    @property
    def warnings(self) -> list[str]:
        """One sentence for each component that depends on only a few rows."""
        return self.warnings_about()

    def warnings_about(self, ids: Sequence[str] | None = None, prefix: str | None = None) -> list[str]:
        """The warnings with names of rows, and of components."""
        return [text for text in self.each_warning(ids, prefix) if text]

    def each_warning(self, ids: Sequence[str] | None = None, prefix: str | None = None) -> list[str]:
        """The warning about every component; empty where it does not depend on few rows."""
        prefix = self.prefix if prefix is None else prefix
        return [
            f"{prefix}{i + 1} depends on only a few rows: {self._few_rows(i, ids)}." if few else ""
            for i, few in enumerate(self.few)
        ]

    def _few_rows(self, i: int, ids: Sequence[str] | None) -> str:
        rows = self.outlying(i)
        names = [str(row) if ids is None else ids[row] for row in rows[:LISTED]]
        listed = ", ".join(names) + (" …" if len(rows) > LISTED else "")
        share = f"{100 * self.leverage[rows, i].sum():.0f} % of its variance in the target"
        return f"{len(rows)} of {len(self.leverage)} rows ({listed}) ha{'s' if len(rows) == 1 else 've'} {share}"

    def _brief(self) -> str:
        told = [f"{self.prefix}{i + 1} {n}{' (few)' if self.few[i] else ''}" for i, n in enumerate(self.n_half)]
        return f"of {len(self.leverage)} rows, those with half of a component's variance: {listed(told, 5)}"

    def _parts(self) -> list[Part]:
        top = np.sort(self.leverage, axis=0)[::-1]
        rows = [
            [
                f"{self.prefix}{i + 1}",
                f"{100 * top[0, i]:.1f} %",
                f"{100 * top[:3, i].sum():.1f} %",
                f"{self.n_half[i]} of {len(top)}",
            ]
            for i in range(top.shape[1])
        ]
        told = text(*self.warnings, kind="caution", place="top")
        if not self.warnings:
            told = text("No component depends on only a few rows.", place="top")
        return [table(["component", "largest row", "largest three", "rows with half"], rows), told]


def row_leverage(model: ContrastiveTransformer, X: Rows) -> RowLeverage:
    """Leverage of each target row on each component of a fitted model.

    Parameters
    ----------
    model : fitted UCA, CPCA or CPCAPlusPlus
    X : array, sparse matrix or table of shape (n, p)
        Rows of the target that the model was fitted on.

    Returns
    -------
    RowLeverage

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA
    >>> from uca.inference import row_leverage
    >>> rng = np.random.default_rng(0)
    >>> treated, control = rng.normal(size=(100, 5)), rng.normal(size=(100, 5))
    >>> treated[:2, :2] += 30
    >>> model = UCA(n_components=1).fit(treated, backgrounds=control)
    >>> sorted(row_leverage(model, treated).outlying(0).tolist())
    [0, 1]
    """
    check_fitted(model, "model")
    if is_dask(X):
        raise TypeError("X is a dask collection; leverage needs rows in memory: pass .compute()")
    scores = model.transform(X)
    scores = to_numpy(scores) if is_array_api(scores) else scores  # a table where the model gives tables
    return leverage_of(np.asarray(scores, dtype=float), center=bool(model.center), prefix=model.component_prefix)


def leverage_of(scores: Array, *, center: bool = True, prefix: str = "UC") -> RowLeverage:
    """The same from scores, (n, k)."""
    squares = (scores - scores.mean(axis=0)) ** 2 if center else scores**2
    totals = squares.sum(axis=0)
    n = len(scores)
    leverage = np.divide(squares, totals, out=np.full(squares.shape, 1.0 / n), where=totals > 0)
    carried = np.cumsum(np.sort(leverage, axis=0)[::-1], axis=0)
    n_half = 1 + np.sum(carried < 0.5 - 1e-12, axis=0)
    return RowLeverage(leverage, n_half, n_half <= max(1.0, FEW * n), prefix)
