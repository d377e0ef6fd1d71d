"""Is it real? What :mod:`uca.inference` found, checked against the model, as sentences, rows of tables and numbers to draw.

Promises: a result for other backgrounds or features than the model's is refused; the leverage of rows is always
computed, from all rows given, not only from those drawn; rows and features have the names that the rest of the page uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Array
from .._validation import ADVICE
from ..estimators.base import component_names
from ..estimators.bounded import BoundedTransformer
from ..inference import BackgroundInfluence, Bootstrap, RowLeverage, UniquenessTest
from ..inference.leverage import leverage_of
from ..inference.outcome import PARAMETERS, p_text
from .inputs import Inputs
from .scores import frames, in_fit
from .words import count

MOST_FEATURES = 12  # reliable ones that are named, for each component


@dataclass(frozen=True)
class Evidence:
    """What is known about the components; None where it was not asked for."""

    test: UniquenessTest | None
    stability: Bootstrap | None
    influence: BackgroundInfluence | None


def check_evidence(model: BoundedTransformer, test: Any, stability: Any, influence: Any) -> Evidence:
    """Results of the right kind that speak of the model's backgrounds and features."""
    for name, result, kind, function in (
        ("test", test, UniquenessTest, "uniqueness_test"),
        ("stability", stability, Bootstrap, "bootstrap"),
        ("influence", influence, BackgroundInfluence, "background_influence"),
    ):
        if result is not None:
            if not isinstance(result, kind):
                raise TypeError(
                    f"{name} must be a {kind.__name__}, as uca.inference.{function} returns it; "
                    f"got {type(result).__name__}"
                )
            _check_same(model, name, result)
    return Evidence(test, stability, influence)


def _check_same(model: BoundedTransformer, name: str, result: Any) -> None:
    own, fitted = list(model.background_names_), getattr(result, "model", None)
    names = list(result.background_names if fitted is None else fitted.background_names_)
    if set(names) != set(own):
        raise ValueError(f"{name} is about the backgrounds {names}, but the model was fitted with {own}")
    n_features = result.n_features if fitted is None else fitted.n_features_in_
    if n_features != model.n_features_in_:
        raise ValueError(f"{name} is about {n_features} features, but the model was fitted on {model.n_features_in_}")
    if getattr(result, "order", "model") != "model":
        raise ValueError(f"{name} counts components by contrast, the page by the model: make it with order='model'")
    for key in PARAMETERS:
        used = result.parameters.get(key) if fitted is None else getattr(fitted, key, None)
        wanted = getattr(model, key, None)
        if repr(used) != repr(wanted):
            raise ValueError(f"{name} was made with {key}={used!r}, but the model has {wanted!r}: pass model= to it")


def context(model: BoundedTransformer, data: Inputs, found: Evidence) -> dict[str, Any]:
    """What the section prints."""
    return {
        "chip": chip(found.test),
        "test": None if found.test is None else _test(found.test, model),
        "stability": None if found.stability is None else _stability(found.stability, model, data.features),
        "influence": None if found.influence is None else _influence(found.influence),
        "leverage": leverage(model, data).warnings_about(data.ids[0]),
    }


def drawing(test: UniquenessTest | None) -> dict[str, Any] | None:
    """The held-out variances to draw, four digits each."""
    if test is None:
        return None
    return {
        "names": list(test.background_names),
        "values": _short(test.variances),
        "low": _short(test.low),
        "high": _short(test.high),
        "p": [p_text(value) for value in test.pvalues],
        "unique": test.n_unique_,
    }


def chip(test: UniquenessTest | None) -> tuple[str, str]:
    """A few words for the top of the page, and their style."""
    if test is None:
        return "not tested", "plain"
    n = test.n_unique_
    if n == 0:
        return "no component shown to be unique", "warn"
    return f"{n} unique component{'' if n == 1 else 's'}", "good"


def _test(test: UniquenessTest, model: BoundedTransformer) -> dict[str, Any]:
    return {
        "sentence": test.sentence,
        "good": test.n_unique_ > 0,
        "level": f"{100 * (1 - test.alpha):g}\u202f%",
        "names": ["target", *test.background_names],
        "rows": [
            {
                "component": name,
                "variances": [_interval(*triple) for triple in zip(*(part[i] for part in _parts(test)), strict=True)],
                "backgrounds": [p_text(value) for value in test.background_pvalues[i]],
                "average": p_text(test.average_pvalues[i]),
                "p": p_text(test.pvalues[i]),
                "unique": test.verdict(i),
            }
            for i, name in enumerate(component_names(model, len(test.pvalues)))
        ],
    }


def _parts(test: UniquenessTest) -> tuple[Array, Array, Array]:
    return test.variances, test.low, test.high


def _stability(found: Bootstrap, model: BoundedTransformer, features: list[str]) -> dict[str, Any]:
    low, high = found.interval(found.cosines)
    expected = (found.expected_variances, found.expected_low, found.expected_high)
    sizes = np.abs(found.model.components_)
    return {
        "n": len(found.cosines),
        "level": f"{100 * found.level:g}\u202f%",
        "names": ["target", *found.model.background_names_],
        "rows": [
            {
                "component": name,
                "expected": [_interval(*ends) for ends in zip(*(part[i] for part in expected), strict=True)],
                "cosine": f"{found.stability_[i]:.2f} [{low[i]:.2f}, {high[i]:.2f}]",
                "space": f"{found.subspace_stability_[i]:.2f}",
                "n_reliable": int(found.reliable[i].sum()),
                "reliable": _some([features[j] for j in np.argsort(-sizes[i], kind="stable") if found.reliable[i, j]]),
            }
            for i, name in enumerate(component_names(model, found.cosines.shape[1]))
        ],
    }


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST_FEATURES]) + (" …" if len(names) > MOST_FEATURES else "")


def _influence(found: BackgroundInfluence) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "value": f"{found.value:.4g}",
        "n": found.n_resamples,
        "rows": [
            {
                "name": row["left out"],
                "lambda": "" if row["lambda"] is None else f"{row['lambda']:.4g}",
                "value": f"{row['value']:.4g}",
                "gain": f"{100 * row['gain']:+.1f}\u202f%",
                "cosine": f"{row['cosine']:.2f}",
                "space": f"{row['subspace cosine']:.2f}",
                "p": ["" if row[key] is None else p_text(row[key]) for key in ("p, gain", "p, turn")],
                "verdict": row["verdict"],
            }
            for row in found.table
        ],
    }


def leverage(model: BoundedTransformer, data: Inputs) -> RowLeverage:
    """Leverage of every target row on every component; refuses rows without a score, which dask arrays may still hold."""
    components = model.components_[np.newaxis].astype(float)
    target = in_fit(model, data.arrays[:1])[0]
    scores = frames([target.rows], [target.standard], components, np.ones(components.shape[:2]))[0]
    bad = np.flatnonzero(~np.isfinite(scores).all(axis=0))
    if len(bad):
        raise ValueError(
            f"target X contains NaN or infinity in {count(len(bad), 'row')}, the first is row {bad[0]}. {ADVICE}"
        )
    return leverage_of(scores.T, center=bool(model.center), prefix=model.component_prefix)


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.3g}" if np.isnan(low) else f"{value:.3g} [{low:.3g}, {high:.3g}]"


def _short(values: Array) -> list[list[float]]:
    return [[float(f"{value:.4g}") for value in row] for row in values]
