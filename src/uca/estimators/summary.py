"""A fitted model as a small table for people."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array

if TYPE_CHECKING:
    from .bounded import BoundedTransformer

LINE_WIDTH = 100
POINTER = (
    "The certificate says that the problem is solved, not that the components are real: "
    "uca.inference.uniqueness_test(X, backgrounds) tests them on held-out rows."
)


class Summary(str):
    """Text that shows itself as text, also where an interpreter prints the value of an expression."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def summarise(model: BoundedTransformer) -> Summary:
    """The summary of a fitted :class:`~uca.UCA`."""
    rows = "?" if model.n_samples_ is None else f"{model.n_samples_}"
    m = len(model.background_names_)
    lines = [
        f"Unique Component Analysis: target {rows} x {model.n_features_in_}, "
        f"{m} background{'' if m == 1 else 's'}, components={model.components!r}",
        "",
    ]
    if m:
        lines += text_table(
            ["background", "lambda", "bound"],
            [
                [name, f"{weight:.6g}", f"{bound:.4g}"]
                for name, weight, bound in zip(model.background_names_, model.lambdas_, model.bounds_, strict=True)
            ],
        )
        lines.append("")
    lines += text_table(
        ["component", "eigenvalue", "target", "% of target", *model.background_names_], _components(model)
    )
    if m and np.any(exceeds_bound(model.background_variance_, model.bounds_)):
        lines.append(f"* more than the bound. {_reason(model)}")
    if getattr(model, "restriction_", None) is not None:
        lines += ["", model.restriction_.summary()]
    lines += ["", *wrap(model.certificate_.message, LINE_WIDTH)]
    if m:
        lines += wrap(POINTER, LINE_WIDTH)
    return Summary("\n".join(lines))


def exceeds_bound(background_variance: Any, bounds: Any) -> Array:
    """Where the variance of a background is above its bound, by more than the tolerance of a fit explains."""
    return np.asarray(background_variance) > np.asarray(bounds) * (1 + 1e-6)


def _reason(model: BoundedTransformer) -> str:
    held_back = getattr(model, "restriction_", None) is not None
    if held_back and (
        model.components == "sequential" or exceeds_bound(model.background_variance_, model.bounds_)[0].any()
    ):
        return "No direction that the fit was held back to keeps it; see below."
    if model.components == "joint":
        return "Only the first component is bound; components='sequential' bounds them all."
    return "No single direction attains the optimum there; see the certificate."


def _components(model: BoundedTransformer) -> list[list[str]]:
    marks = np.where(exceeds_bound(model.background_variance_, model.bounds_), "*", "")
    return [
        [
            f"{model.component_prefix}{i + 1}",
            f"{model.eigenvalues_[i]:.5g}",
            f"{model.explained_variance_[i]:.5g}",
            f"{100 * model.explained_variance_ratio_[i]:.1f}",
            *(f"{v:.5g}{mark}" for v, mark in zip(model.background_variance_[i], marks[i], strict=True)),
        ]
        for i in range(model.components_.shape[0])
    ]


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A header, a rule and rows as lines of text; the first column is left-aligned."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (header, *rows)
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]
