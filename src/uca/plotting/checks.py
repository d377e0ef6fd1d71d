"""What a figure is drawn from, checked: the model or result, components, rows, backgrounds and names of features."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._containers import is_array_api
from .._missing import entries
from .._parameters import check_choice, check_type
from .._types import Array, Backgrounds, Labels, Rows
from .._validation import label_of, name_backgrounds
from ..estimators.base import ContrastiveTransformer
from ..fitted import background_in_fit, check_background, check_fitted, scores_by
from ..operators.sources.namespace import to_numpy


def check_model(model: ContrastiveTransformer) -> Any:
    """A fitted model of the package, with its arrays in numpy."""
    return check_fitted(model, "the first argument")


def check_result(result: Any, kind: type, function: str) -> None:
    """A result of the given kind, which ``uca.inference.<function>`` makes."""
    check_type(result, kind, f"uca.inference.{function}")


def check_component(model: ContrastiveTransformer, component: Any, name: str = "component") -> int:
    """The number of a component of a model, from 0."""
    return check_place(component, model.components_.shape[0], name)


def check_place(component: Any, k: int, name: str = "component") -> int:
    """The number of one of ``k`` components, from 0."""
    if isinstance(component, (bool, np.bool_)) or not isinstance(component, numbers.Integral):
        raise TypeError(f"{name} must be an integer; got {component!r}")
    if not 0 <= int(component) < k:
        raise ValueError(
            f"{name}={component}, but the model has {k} component{'' if k == 1 else 's'}, numbered from 0: "
            "fit with a larger n_components, or choose another"
        )
    return int(component)


def check_pair(model: ContrastiveTransformer, components: Any) -> tuple[int, int]:
    """The numbers of two different components."""
    if not isinstance(components, (Sequence, np.ndarray)) or isinstance(components, str) or len(components) != 2:
        raise ValueError(f"components must be two numbers, such as (0, 1); got {components!r}")
    first, second = (check_component(model, c, "components") for c in components)
    if first == second:
        raise ValueError(f"components must be two different numbers; got {components!r}")
    return first, second


def check_count(name: str, value: Any, most: int) -> int:
    """A number of things to draw, at least 1 and cut at ``most``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1; got {value}")
    return min(int(value), most)


def row_names(ids: Labels | None, n: int) -> list[str]:
    """Names of rows: those given, or ``row 0`` and so on."""
    if ids is None:
        return [f"row {i}" for i in range(n)]
    names = [str(name) for name in entries(ids)]
    if len(names) != n:
        raise ValueError(f"ids has {len(names)} entries, but there are {n} rows: give one for each row")
    return names


def feature_names(model: ContrastiveTransformer, given: Any) -> Array:
    """Names of the features: those given, those of the fit, or ``feature 0`` and so on."""
    p = int(model.n_features_in_)
    if given is None:
        given = getattr(model, "feature_names_in_", [f"feature {i}" for i in range(p)])
    names = np.asarray([str(name) for name in given], dtype=object)
    if len(names) != p:
        raise ValueError(f"feature_names has {len(names)} names, but the model was fitted on {p} features")
    return names


def target_scores(model: ContrastiveTransformer, X: Rows) -> Array:
    """Scores of rows, (n, k), in numpy."""
    return _in_memory(model.transform(to_numpy(X) if is_array_api(X) else X))


def background_scores(model: ContrastiveTransformer, backgrounds: Backgrounds, units: str) -> dict[str, Array]:
    """Scores of each background, (n_j, k), by name.

    ``units="own"`` centres and scales each background as the fit did, so that its variance along a component is the
    fitted ``background_variance_``; ``"target"`` is ``model.transform``, with the target's means and deviations.
    """
    check_choice("background_units", units, ("own", "target"))
    if backgrounds is None:
        return {}
    named = name_backgrounds(backgrounds)
    # A model of covariance matrices knows no rows; its target is not centred either.
    if units == "target" or model.n_samples_ is None:
        return {name: target_scores(model, rows) for name, rows in named.items()}
    return {name: _in_own_units(model, rows, name) for name, rows in named.items()}


def _in_own_units(model: ContrastiveTransformer, rows: Any, name: str) -> Array:
    array = check_background(model, rows, name)
    own = background_in_fit(model, array, label_of(name))
    return _in_memory(scores_by(own.standard, model, own.rows))


def _in_memory(scores: Any) -> Array:
    if hasattr(scores, "compute"):  # dask
        scores = scores.compute()
    return to_numpy(scores) if is_array_api(scores) else np.asarray(scores)
