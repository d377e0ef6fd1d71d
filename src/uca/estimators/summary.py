"""A fitted model as a small table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._shown import LINE_WIDTH as LINE_WIDTH
from .._shown import Named, Part, folded, table, text
from .._shown import Summary as Summary
from .._shown import text_table as text_table
from .._types import Array
from .expected_words import NO_PREDICTION, far_lines
from .leading import how_to_read, leading

if TYPE_CHECKING:
    from .bounded import BoundedTransformer

NEW_ROWS = (
    "new rows: the variance to expect in rows of the same kind that were not in the fit, predicted for independent rows "
    "(repeated rows: uca.inference.expected_background_variance)."
)
POINTER = (
    "The certificate says that the problem is solved, not that the components are real: "
    "uca.inference.uniqueness_test(X, backgrounds) tests them on held-out rows."
)


def summarise(model: BoundedTransformer) -> Summary:
    """The summary of a fitted :class:`~uca.UCA`: features first, then the certificate, then variances."""
    rows = "?" if model.n_samples_ is None else f"{model.n_samples_}"
    m = len(model.background_names_)
    parts: list[Part] = [
        text(
            f"{model.title}: target {rows} x {model.n_features_in_}, "
            f"{m} background{'' if m == 1 else 's'}, components={model.components!r}",
            place="top",
        ),
        Named("top", entries=tuple((row.component, row.features) for row in leading(model))),
        text(how_to_read(model), kind="note", place="top", apart=False),
        text(model.certificate_.brief, place="top", apart=False),
        *([_backgrounds(model)] if m else []),
        *_variances(model),
    ]
    if getattr(model, "restriction_", None) is not None:
        parts += folded(model.restriction_.summary().parts)
    parts.append(text(model.certificate_.message, wrapped=True, place="more"))
    if means := getattr(model, "mean_differences_", None):  # absent from model files of older versions
        parts.append(text(means.sentence, kind="caution", wrapped=True, apart=False))
    if m:
        parts.append(text(POINTER, kind="note", wrapped=True, apart=False))
    return Summary.of(parts)


def _variances(model: BoundedTransformer) -> list[Part]:
    """The table of components, and what is to be said of it."""
    expected = getattr(model, "expected_background_variance_", None)  # absent in files of older versions
    names = model.background_names_
    new = [] if expected is None else [f"{name}, new rows" for name in names]
    header = ["component", "eigenvalue", "target", "% of target", *names, *new]
    parts: list[Part] = [table(header, _components(model, expected))]
    if names and np.any(exceeds_bound(model.background_variance_, model.bounds_)):
        parts.append(text(f"* more than the bound. {_reason(model)}", kind="note", apart=False))
    if not new or expected is None:
        return parts
    parts.append(text(NEW_ROWS, kind="note", wrapped=True, apart=False))
    if not np.isfinite(expected).all():
        parts.append(text(f"none: {NO_PREDICTION}.", kind="note", apart=False))
    first = f"{model.component_prefix}1"
    far = far_lines(first, names, model.background_variance_[0], expected[0], model.bounds_)
    told = [f"{line[0].upper()}{line[1:]}." for line in far]
    return [*parts, text(*told, kind="caution", wrapped=True, apart=False)]


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


def _backgrounds(model: BoundedTransformer) -> Part:
    used = getattr(model, "rows_used_", None)
    rows = [
        [name, f"{weight:.6g}", f"{bound:.4g}", *([] if used is None else [f"{used[j]:.3g}"])]
        for j, (name, weight, bound) in enumerate(
            zip(model.background_names_, model.lambdas_, model.bounds_, strict=True)
        )
    ]
    return table(["background", "lambda", "bound", *([] if used is None else ["rows used up"])], rows, place="more")


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
