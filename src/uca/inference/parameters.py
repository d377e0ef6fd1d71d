"""Parameters that the functions share, checked, and the model that they refit."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._parameters import check_number
from ..estimators.uca import UCA


def check_model(model: Any, **parameters: Any) -> UCA:
    """An unfitted copy of the model (or of the default one) with some parameters changed."""
    if model is not None and not isinstance(model, UCA):
        raise TypeError(f"model must be a UCA, fitted or not, whose parameters are used; got {type(model).__name__}")
    copy: UCA = clone(UCA() if model is None else model)
    return copy.set_params(**parameters, verbose=False)


def check_alpha(alpha: Any) -> float:
    """A level strictly between 0 and 1."""
    value = check_number("alpha", alpha, 0.0, 1.0)
    if not 0 < value < 1:
        raise ValueError(f"alpha must lie between 0 and 1, such as 0.05; got {alpha!r}")
    return value
