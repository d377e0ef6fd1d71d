"""What the numbers of a fitted model mean, in sentences, and how the report was made, in rows of a table."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from ..dual import Status
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from ..estimators.expected_words import about, first_is_far, in_both
from ..estimators.summary import exceeds_bound, prediction
from .inputs import Inputs

PACKAGES = {
    "uca": "unique-component-analysis",
    "numpy": "numpy",
    "scipy": "scipy",
    "scikit-learn": "scikit-learn",
    "plotly": "plotly",
}


def count(n: int, word: str) -> str:
    """A number with its noun: 1 row, 2 000 rows."""
    return f"{n:,}".replace(",", "\u202f") + f" {word}{'' if n == 1 else 's'}"


def subtitle(model: BoundedTransformer, data: Inputs) -> str:
    """What was compared with what."""
    text = f"{count(data.n_rows[0], 'target row')}, {count(model.n_features_in_, 'feature')}"
    names = list(model.background_names_)
    if not names:
        return f"{text}, no background (plain PCA)."
    if len(data.n_rows) == 1:
        return f"{text}, against {_listed(names)}."
    sizes = [f"{name} ({count(n, 'row')})" for name, n in zip(names, data.n_rows[1:], strict=True)]
    return f"{text}, against {_listed(sizes)}."


def in_short(model: BoundedTransformer) -> str:
    """The first component in one or two sentences."""
    variance, share = (
        float(model.explained_variance_[0]),
        float(model.explained_variance_ratio_[0]),
    )
    text = f"{component_names(model, 1)[0]} explains {100 * share:.1f} % of the target's variance ({variance:#.3g})."
    names = model.background_names_
    if not names:
        return text
    own, expected = model.background_variance_[0], getattr(model, "expected_background_variance_", None)
    if expected is None:  # fitted on matrices, or by an older version
        parts = [
            f"{value:#.3g} in {name} (bound {bound:#.3g})"
            for name, value, bound in zip(names, own, model.bounds_, strict=True)
        ]
        return f"{text} Along the same direction the variance is {_listed(parts)}."
    parts = [
        f"in {name} (bound {bound:#.3g}) the variance is {in_both(value, new)}."
        for name, value, new, bound in zip(names, own, expected[0], model.bounds_, strict=True)
    ]
    return " ".join([f"{text} Along the same direction", parts[0], *(part[0].upper() + part[1:] for part in parts[1:])])


def solved_chip(model: BoundedTransformer) -> tuple[str, str]:
    """Whether the problem is solved, in a few words for the top of the page, and their style."""
    c = model.certificate_
    if not model.has_dual and c.status in c.settled and c.status != Status.OPTIMAL:
        return f"others have at most {100 * (c.upper / c.lower - 1):.0f} % more", "plain"
    if c.status != Status.OPTIMAL:
        return "not proven optimal", "warn"
    words = "proven optimal" if c.proven else "optimal"
    return f"{words} for these rows" if model.background_names_ else words, "good"


def expected_chip(model: BoundedTransformer) -> tuple[str, str] | None:
    """What to expect of new rows, the same way; None where that is not known."""
    expected = getattr(model, "expected_background_variance_", None)
    if expected is None or not model.background_names_:
        return None
    times = float(
        np.max(np.divide(expected[0], model.bounds_, out=np.zeros(len(expected[0])), where=model.bounds_ > 0))
    )
    if not np.isfinite(times):
        return "new rows: no usable prediction", "warn"
    return f"new rows: about {about(times)} times the bound", "warn" if first_is_far(model).any() else "plain"


def mean_sentence(model: BoundedTransformer, features: Sequence[str]) -> str:
    """Large differences in means, which components do not show; empty where there are none."""
    means = getattr(model, "mean_differences_", None)  # absent from model files of older versions
    return "" if means is None else means.told(features)


def certificate_sentence(model: BoundedTransformer) -> str:
    """What the certificate of the first problem means."""
    restriction = getattr(model, "restriction_", None)
    if restriction is not None:
        return f"{restriction.sentence} {model.certificate_.message}"
    c = model.certificate_
    if not model.has_dual:
        return c.message + (_for_these_rows(model) if c.status == "optimal" else "")
    direction = "direction that respects the bounds" if model.background_names_ else "direction"
    if c.status != "optimal":
        reason = (
            "Rounding error leaves this open"
            if c.status == "rounding"
            else "The search ended before optimality was proven"
        )
        return (
            f"{reason}: the best target variance that any mixture of directions within "
            f"the bounds can have lies between {c.lower:.6g} and {c.upper:.6g}."
        )
    if c.tight:
        return (
            f"No {direction} can have a target variance above {c.upper:.6g}, and the first component reaches it; this "
            f"{'is proven' if c.proven else 'holds'} up to a relative {c.gap:.1e}"
            f"{'' if c.proven else ', though it is not proven (the note below says why)'}, without a parameter to tune."
            f"{_for_these_rows(model)}"
        )
    return (
        f"No {direction} can have a target variance above {c.upper:.6g}; this value is reached by a mixture of "
        "directions only, so the first component comes close to it but does not attain it." + _for_these_rows(model)
    )


def _for_these_rows(model: BoundedTransformer) -> str:
    """A proof never stands alone where new rows will not keep the bounds."""
    if not first_is_far(model).any():
        return ""
    return " That is a statement about these rows: new rows are expected to exceed the bounds, see Variance."


def sampling_sentence(shown: Sequence[int], n_rows: Sequence[int], n_coloured: int, n_features: int) -> str:
    """Says what is left out of the drawing; empty where nothing is."""
    parts = []
    if list(shown) != list(n_rows):
        parts.append(
            f"The scatter draws {count(sum(shown), 'row')} of {count(sum(n_rows), 'row')}: a random sample with a fixed "
            "seed. Components, variances and the certificate use every row."
        )
    if n_coloured < n_features:
        parts.append(
            f"Points can be coloured by the {count(n_coloured, 'feature')} with the largest loadings; "
            f"the table of loadings has all {count(n_features, 'feature')}."
        )
    return " ".join(parts)


def multipliers(model: BoundedTransformer) -> list[dict[str, str]]:
    """One row for each background: multiplier, bound, and what the first component has."""
    return [
        {"name": name, "lambda": f"{weight:.4g}", "bound": f"{bound:.4g}", "variance": f"{value:.4g}"}
        for name, weight, bound, value in zip(
            model.background_names_,
            model.lambdas_,
            model.bounds_,
            model.background_variance_[0],
            strict=True,
        )
    ]


def variances(model: BoundedTransformer) -> list[dict[str, Any]]:
    """One row for each component; a mark where a background has more than its bound."""
    bounds, expected = model.bounds_, getattr(model, "expected_background_variance_", None)
    return [
        {
            "component": name,
            "target": f"{target:.4g}",
            "share": f"{100 * ratio:.1f}\u202f%",
            "backgrounds": [
                (f"{value:.4g}", bool(above)) for value, above in zip(own, exceeds_bound(own, bounds), strict=True)
            ],
            "expected": [] if expected is None else [prediction(value) for value in expected[i]],
        }
        for i, (name, target, ratio, own) in enumerate(
            zip(
                component_names(model),
                model.explained_variance_,
                model.explained_variance_ratio_,
                model.background_variance_,
                strict=True,
            )
        )
    ]


def how_made(
    model: BoundedTransformer, data: Inputs, seconds: float | None, made_on: str | None
) -> list[tuple[str, str]]:
    """Versions, shapes, parameters and time."""
    shapes = [f"{name}: {n} x {model.n_features_in_}" for name, n in zip(data.names, data.n_rows, strict=True)]
    fitted = "covariance matrices" if model.n_samples_ is None else f"{model.n_samples_} target rows"
    rows = [
        ("Made on", made_on or today()),
        ("Data", "; ".join(shapes)),
        ("Fitted on", fitted),
        ("Parameters", parameters_told(model.get_params())),
        ("Held as", f"{model.representation_} representation"),
        ("Solver", f"{model.solver_}, {count(model.certificate_.n_eigensolves, 'eigen-solve')}"),
        ("Versions", ", ".join(f"{name} {version(package)}" for name, package in PACKAGES.items())),
        ("Python", platform.python_version()),
    ]
    return rows if seconds is None else [*rows[:6], ("Time", f"{seconds:.3g} s"), *rows[6:]]


def parameters_told(parameters: dict[str, Any]) -> str:
    """Parameters of a model in a line."""
    return ", ".join(f"{name}={_value(value)}" for name, value in parameters.items() if name != "verbose")


def today() -> str:
    """The date; reproducible builds set it through SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now().astimezone()
    return moment.strftime("%Y-%m-%d")


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return repr(value) if len(repr(value)) <= 200 else repr(value)[:200] + "…"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
