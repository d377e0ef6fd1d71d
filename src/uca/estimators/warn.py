"""Warnings of a fit, told once and at the user's line."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from sklearn.base import BaseEstimator


def warn_y(estimator: BaseEstimator, y: Any, *, plain_pca: bool) -> None:
    """Warn of ``fit(target, background)`` and ``fit(rows, labels)``: the second position is y, which is ignored.

    Pipelines, searches and checks of scikit-learn hand y to every step, which need not use it: they are not warned.
    """
    if y is None:
        return
    module, level = _caller(estimator)
    if module.split(".")[0] == "sklearn" or module == "uca.pipeline":
        return
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        what = "if it is a background, pass it as backgrounds="
    else:
        what = (
            "if it holds labels of groups, pass the rows of one group as X and those of the others as "
            f"backgrounds={{name: rows}}{'; without backgrounds this is plain PCA' if plain_pca else ''}"
        )
    warnings.warn(f"y is ignored by {type(estimator).__name__}; {what}", UserWarning, stacklevel=level)


def _caller(estimator: BaseEstimator) -> tuple[str, int]:
    """The module from which a method was called and its stack level, seen from the function that asks.

    Methods of the estimator that call one another, and the wrapper that ``set_output`` puts around them, are passed over.
    """
    frame, level = sys._getframe(2), 2
    while frame.f_locals.get("self") is estimator and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return str(frame.f_globals.get("__name__", "")), level
