"""How a fit is held back so that its bounds hold on new rows, and what was traded for that."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._parameters import check_number, check_positive_int
from .._shown import Part, Shown, table, text
from .._types import Array
from ..dual import DualResult

#: What a background counts for above its bound. With 1, target variance would pay for any excess; held-out variances of few
#: rows are uncertain, and a larger power errs to the side of the bound. In benchmarks/inference/option.py, with 20 rows, one
#: repetition in ten was above 2.7 (p = 100) or 3.1 times the bound (p = 500) with 1, above 1.8 or 2.1 with 1.5.
POWER = 1.5


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Shown):
    """What g restrictions give on held-out rows, for the first component; ``print`` it for the table.

    Attributes
    ----------
    n_leading : tuple of int or None
        Leading directions of the target that each is confined to; None: all.
    factors : array of shape (g,)
        What each multiplies the bounds by.
    target : array of shape (g,)
        Variance in held-out rows of the target, the mean over folds.
    background : array of shape (g, m)
        The same in every background.
    bounds : array of shape (m,)
        What it should not exceed.
    names : tuple of str
        Of the backgrounds.
    n_folds, n_repeats : int
        Parts that the rows (or subjects) were divided into, and how often.
    n_measured : int or None
        How many of these ``n_folds * n_repeats`` parts were measured before the time was over; None: all.
    """

    n_leading: tuple[int | None, ...]
    factors: Array
    target: Array
    background: Array
    bounds: Array
    names: tuple[str, ...]
    n_folds: int
    n_repeats: int
    n_measured: int | None = None

    @property
    def excess(self) -> Array:
        """Largest held-out background variance in units of its bound, (g,)."""
        there = self.bounds > 0
        return np.max(self.background[:, there] / self.bounds[there], axis=1, initial=0.0)

    @property
    def criterion(self) -> Array:
        """Held-out target variance, over a power of the excess where that is above 1; (g,)."""
        return self.target / np.maximum(1.0, self.excess) ** POWER

    @property
    def best(self) -> int:
        """Position of the largest criterion."""
        return int(np.argmax(self.criterion))

    def best_of_each(self) -> list[int]:
        """For every number of directions, the position of the factor with the largest criterion."""
        criterion = self.criterion
        places: dict[int | None, int] = {}
        for i, q in enumerate(self.n_leading):
            if q not in places or criterion[i] > criterion[places[q]]:
                places[q] = i
        return list(places.values())

    def _brief(self) -> str:
        i = self.best
        where = "all directions" if self.n_leading[i] is None else _leading(self.n_leading[i] or 0)
        return f"best of {len(self.factors)} restrictions on held-out rows: {where}, bounds times {self.factors[i]:.3g}"

    def _parts(self) -> list[Part]:
        rows = []
        for i in sorted({*self.best_of_each(), self.best, _plain(self)}):
            q = self.n_leading[i]
            mark = "chosen" if i == self.best else "the paper's bound" if i == _plain(self) else ""
            variances = (
                f"{value:.4g}{'*' if value > bound else ''}"
                for value, bound in zip(self.background[i], self.bounds, strict=True)
            )
            rows.append(
                ["all" if q is None else f"{q}", f"{self.factors[i]:g}", f"{self.target[i]:.4g}", *variances, mark]
            )
        cut = "" if self.n_measured is None else f", of which {self.n_measured} were measured in time"
        folds = f"{self.n_folds} folds, {self.n_repeats} times{cut}"
        legend = f"Variances of the first component on held-out rows, {folds}; * above the bound."
        header = ["directions", "bound x", "target", *self.names, ""]
        return [table(header, rows), text(legend, kind="note", apart=False)]


@dataclass(frozen=True)
class Restriction(Shown):
    """The first component among the leading directions of the target, and bounds times a factor.

    Attributes
    ----------
    n_leading : int or None
        How many leading eigenvectors of the target's covariance components are made of; None: all directions.
    factor : float
        What every bound is multiplied by. In a fitted model it is the factor that was used: larger than asked for
        if tighter bounds would cost the target more than they take from the backgrounds, in proportion, and larger
        than 1 if no direction among the leading ones respects the bounds.
    trade_off : TradeOff or None
        What it was chosen from; None where it was given.
    """

    n_leading: int | None = None
    factor: float = 1.0
    trade_off: TradeOff | None = field(default=None, repr=False, compare=False)

    def check(self, n_components: int) -> None:
        """Raise unless the numbers make sense for so many components."""
        if not 0 < check_number("factor", self.factor, 0.0, np.inf) <= 1:
            raise ValueError(f"factor tightens the bounds and must lie between 0 and 1; got {self.factor!r}")
        if self.n_leading is None:
            return
        check_positive_int("n_leading", self.n_leading)
        if self.n_leading < n_components:
            raise ValueError(
                f"n_components={n_components} is more than n_leading={self.n_leading}, the directions that bound_on allows: "
                "ask for fewer components, or allow more directions"
            )

    @property
    def sentence(self) -> str:
        """The restriction in words, with what it gives on held-out rows."""
        if self.n_leading is None and self.factor == 1.0:
            told = "Not restricted for new rows: all directions, bounds as they are."
        else:
            where = "all directions" if self.n_leading is None else f"{_leading(self.n_leading)} of the target"
            told = f"Restricted for new rows: {where}, bounds times {self.factor:.3g}."
        if self.trade_off is None:
            return told
        i = self.trade_off.best
        found = ", ".join(
            f"{value:.3g} in {name!r} (bound {bound:.3g})"
            for name, value, bound in zip(
                self.trade_off.names, self.trade_off.background[i], self.trade_off.bounds, strict=True
            )
        )
        kept = "" if self.trade_off.excess.min() <= 1.0 else " No candidate respects every bound on held-out rows."
        target = f"{self.trade_off.target[i]:.4g} in the target"
        return f"{told} On held-out rows: {target}, {found}.{kept}"

    def _parts(self) -> list[Part]:
        """The sentence, and a table of the candidates: for every number of directions the best factor."""
        if self.trade_off is None:
            return [text(self.sentence)]
        return [text(self.sentence, wrapped=True, place="top"), *self.trade_off.summary().parts]


def _plain(t: TradeOff) -> int:
    """The position of the paper's problem: all directions, bounds as they are."""
    return next(i for i, q in enumerate(t.n_leading) if q is None and t.factors[i] == 1.0)


def _leading(q: int) -> str:
    return "the leading direction" if q == 1 else f"the {q} leading directions"


def check_bound_on(value: Any, n_components: Any) -> None:
    """Raise unless ``bound_on`` is "rows", "new rows" or a restriction that leaves room for the components."""
    if isinstance(value, Restriction):
        value.check(int(n_components) if isinstance(n_components, numbers.Integral) else 1)
    elif not (isinstance(value, str) and value in ("rows", "new rows")):
        raise ValueError(
            "bound_on must be 'rows', 'new rows' or a Restriction (uca.inference.choose_restriction makes one); "
            f"got {value!r}"
        )


def as_restricted(
    restriction: Restriction, results: Sequence[DualResult], bounds: Array
) -> tuple[Restriction, list[DualResult]]:
    """The restriction as it was used, and the results with the bounds that were asked for and certificates that say so."""
    factors = [_factor(result.bounds, bounds, restriction.factor) for result in results]
    told = [
        replace(
            result,
            bounds=bounds.copy(),
            certificate=replace(
                result.certificate, message=f"{result.certificate.message} {_told(restriction.n_leading, factor)}"
            ),
        )
        for result, factor in zip(results, factors, strict=True)
    ]
    return replace(restriction, factor=factors[0]), told


def _factor(used: Array, bounds: Array, otherwise: float) -> float:
    """What the bounds were multiplied with; a background without variance has none."""
    there = bounds > 0
    return float(np.max(used[there] / bounds[there])) if there.any() else otherwise


def _told(n_leading: int | None, factor: float) -> str:
    if n_leading is None and factor == 1.0:
        return "This refers to these rows."
    where = "" if n_leading is None else f"components made of {_leading(n_leading)} of the target, "
    told = f"This refers to these rows and to a problem restricted for new ones: {where}bounds times {factor:.3g}."
    return f"{told} No direction there respects the bounds themselves." if factor > 1 + 1e-9 else told
