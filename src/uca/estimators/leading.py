"""Which features a component is about, in one line: "UC1: IL6 +, CRP +, ALB −".

A feature is named if it has a weight in the score *and* follows it in the target: features are ordered by their share of the
score's variance, weight times pattern, ``v_i (Av)_i / v'Av``; the shares of all features add up to 1. A feature that only
cancels a background has a weight and no share, and so has one that only follows what is shared. A sparse component is
made of few features: all of them are named. Models of older versions have no patterns; their squared loadings are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array

if TYPE_CHECKING:
    from .base import ContrastiveTransformer

MINUS = "\u2212"
SHOWN = 6  # features in a line
BESIDE = 0.25  # of the largest share: what is smaller does not lead


@dataclass(frozen=True)
class Leading:
    """The leading features of a component, largest first.

    Attributes
    ----------
    component : str
        Its name, such as ``"UC1"``.
    names : tuple of str
        Of the features.
    shares : tuple of float
        Of the score's variance in the target.
    rises : tuple of bool
        Whether the feature rises with the score; else it falls.
    """

    component: str
    names: tuple[str, ...]
    shares: tuple[float, ...]
    rises: tuple[bool, ...]

    @property
    def signed(self) -> tuple[tuple[str, str], ...]:
        """Names with ``+`` for features that rise with the score, and a minus sign for those that fall."""
        return tuple((name, "+" if up else MINUS) for name, up in zip(self.names, self.rises, strict=True))

    @property
    def features(self) -> str:
        """Names with their signs, in one text."""
        return ", ".join(f"{name} {sign}" for name, sign in self.signed) or "no feature varies along it"

    def __str__(self) -> str:
        return f"{self.component}: {self.features}"


def leading(model: ContrastiveTransformer, names: Sequence[Any] | None = None, n: int = SHOWN) -> tuple[Leading, ...]:
    """The leading features of every component.

    Parameters
    ----------
    model : fitted estimator
    names : sequence of length p, optional
        Of the features; default: those of the fit, else ``x0``, ``x1`` and so on.
    n : int
        How many features at most; all of a sparse component.
    """
    names = getattr(model, "feature_names_in_", None) if names is None else names
    called = [f"{model.component_prefix}{i + 1}" for i in range(len(model.components_))]
    components = model.to_numpy().components_.astype(float)
    rows = zip(called, components, shares(model), strict=True)
    most = None if hasattr(model, "support_") else n
    return tuple(_first(name, weights, share, names, most) for name, weights, share in rows)


def shares(model: ContrastiveTransformer) -> Array:
    """Each feature's share of the variance of each score in the target, (k, p); rows add up to 1."""
    fitted = model.to_numpy()
    components = fitted.components_.astype(float)
    patterns = getattr(fitted, "patterns_", None)
    return components * (components if patterns is None else patterns.astype(float))


def how_to_read(model: ContrastiveTransformer) -> str:
    """What the signs behind the features mean, in one line."""
    if hasattr(model, "support_"):
        return f"(all features of each component, largest loading first; + rises with the score, {MINUS} falls with it)"
    return f"(leading features: + rises with the score in the target, {MINUS} falls with it)"


def _first(component: str, weights: Array, share: Array, names: Sequence[Any] | None, n: int | None) -> Leading:
    if n is None:
        order = np.argsort(-np.abs(weights), kind="stable")
        chosen = order[: np.count_nonzero(weights)].tolist()
    else:
        order = np.argsort(-share, kind="stable")[:n]
        chosen = [i for i in order.tolist() if share[i] > 0 and share[i] >= BESIDE * share[order[0]]]
    called = tuple(f"x{i}" if names is None else str(names[i]) for i in chosen)
    return Leading(
        component, called, tuple(float(share[i]) for i in chosen), tuple(bool(weights[i] > 0) for i in chosen)
    )
