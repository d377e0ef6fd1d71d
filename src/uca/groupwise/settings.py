"""What all groups share: the model that is fitted to each, and how it is tested."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parameters import check_bool
from ..estimators.bounded import BoundedTransformer
from ..inference.parameters import check_alpha, check_model, seed_of
from ..inference.uniqueness import check_splits


@dataclass(frozen=True)
class Settings:
    """What all groups share; ``level`` is that of each test."""

    model: BoundedTransformer
    pooled: bool
    test: bool
    n_splits: int | str
    alpha: float
    seed: int | None
    level: float = 0.05


def check_settings(
    model: Any, n_components: Any, pooled: Any, test: Any, n_splits: Any, alpha: Any, random_state: Any
) -> Settings:
    """The parameters of :func:`uca.each` that are not data, checked."""
    check_bool("pooled", pooled)
    check_bool("test", test)
    check_splits(n_splits)
    own = check_model(model)
    if n_components is not None:
        own.set_params(n_components=n_components)
    bound = own.get_params()["bound"]
    if np.ndim(bound) or isinstance(bound, dict):
        raise ValueError(
            "bound has a number for each background, but the backgrounds differ from group to group: give one number for "
            "all of them, or 'mean'"
        )
    return Settings(own, bool(pooled), bool(test), n_splits, check_alpha(alpha), _seed(random_state))


def _seed(random_state: Any) -> int | None:
    """What every group's functions take as ``random_state``: a number as it is, so that they can be called by hand."""
    drawn = seed_of(random_state)
    if random_state is None:
        return None
    return int(random_state) if isinstance(random_state, numbers.Integral) else drawn
