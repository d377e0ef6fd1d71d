"""A fitted model as a small table for people."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array
from .expected_words import NO_PREDICTION, far_lines
from .leading import how_to_read, leading

if TYPE_CHECKING:
    from .bounded import BoundedTransformer

LINE_WIDTH = 100
NEW_ROWS = (
    "new rows: the variance to expect in rows of the same kind that were not in the fit, predicted for independent rows "
    "(repeated rows: uca.inference.expected_background_variance)."
)
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
        f"{model.title}: target {rows} x {model.n_features_in_}, "
        f"{m} background{'' if m == 1 else 's'}, components={model.components!r}",
        "",
        *(part for row in leading(model) for part in wrap(str(row), LINE_WIDTH, subsequent_indent="     ")),
        how_to_read(model),
        model.certificate_.brief,
        "",
    ]
    expected = getattr(model, "expected_background_variance_", None)  # absent in files of older versions
    if m:
        lines += [*_backgrounds(model), ""]
    new = [] if expected is None else [f"{name}, new rows" for name in model.background_names_]
    lines += text_table(
        ["component", "eigenvalue", "target", "% of target", *model.background_names_, *new],
        _components(model, expected),
    )
    if m and np.any(exceeds_bound(model.background_variance_, model.bounds_)):
        lines.append(f"* more than the bound. {_reason(model)}")
    if new and expected is not None:
        lines += wrap(NEW_ROWS, LINE_WIDTH)
        if not np.isfinite(expected).all():
            lines.append(f"none: {NO_PREDICTION}.")
        told = far_lines(
            f"{model.component_prefix}1",
            model.background_names_,
            model.background_variance_[0],
            expected[0],
            model.bounds_,
        )
        for line in told:
            lines += wrap(f"{line[0].upper()}{line[1:]}.", LINE_WIDTH)
    if getattr(model, "restriction_", None) is not None:
        lines += ["", model.restriction_.summary()]
    lines += ["", *wrap(model.certificate_.message, LINE_WIDTH)]
    if means := getattr(model, "mean_differences_", None):  # absent from model files of older versions
        lines += wrap(means.sentence, LINE_WIDTH)
    if m:
        lines += wrap(POINTER, LINE_WIDTH)
    return Summary("\n".join(lines))


def exceeds_bound(background_variance: Any, bounds: Any) -> Array:
    """Where the variance of a background is above its bound, by more than the tolerance of a fit explains."""
    return np.asarray(background_variance) > np.asarray(bounds) * (1 + 1e-6)


def prediction(expected: float) -> str:
    """The variance to expect in new rows, in a table."""
    return f"{expected:.3g}" if np.isfinite(expected) else "none"


def _reason(model: BoundedTransformer) -> str:
    held_back = getattr(model, "restriction_", None) is not None
    if held_back and (
        model.components == "sequential" or exceeds_bound(model.background_variance_, model.bounds_)[0].any()
    ):
        return "No direction that the restricted fit allows respects it; see below."
    if model.components == "joint":
        return "Only the first component is bound; components='sequential' bounds them all."
    return "No single direction attains the optimum there; see the certificate."


def _backgrounds(model: BoundedTransformer) -> list[str]:
    used = getattr(model, "rows_used_", None)
    rows = [
        [name, f"{weight:.6g}", f"{bound:.4g}", *([] if used is None else [f"{used[j]:.3g}"])]
        for j, (name, weight, bound) in enumerate(
            zip(model.background_names_, model.lambdas_, model.bounds_, strict=True)
        )
    ]
    return text_table(["background", "lambda", "bound", *([] if used is None else ["rows used up"])], rows)


def _components(model: BoundedTransformer, expected: Array | None) -> list[list[str]]:
    marks = np.where(exceeds_bound(model.background_variance_, model.bounds_), "*", "")
    return [
        [
            f"{model.component_prefix}{i + 1}",
            f"{model.eigenvalues_[i]:.5g}",
            f"{model.explained_variance_[i]:.5g}",
            f"{100 * model.explained_variance_ratio_[i]:.1f}",
            *(f"{v:.5g}{mark}" for v, mark in zip(model.background_variance_[i], marks[i], strict=True)),
            *([] if expected is None else map(prediction, expected[i])),
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
