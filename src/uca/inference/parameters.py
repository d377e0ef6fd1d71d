"""Parameters that the functions share, checked, and the model that they refit."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._parameters import check_number, seed_from
from ..estimators.bounded import BoundedTransformer
from ..estimators.uca import UCA
from ..fitted import names_of


def check_model(model: Any, *, tol: float = 0.0, **parameters: Any) -> BoundedTransformer:
    """An unfitted copy of the model (or of the default one) with some parameters changed.

    ``tol`` is the least tolerance of models that have one: what is refitted many times need not be exact, and sparse
    components need not be proven again.
    """
    if model is not None and not isinstance(model, BoundedTransformer):
        kinds = names_of(BoundedTransformer)
        raise TypeError(
            f"model must be a {kinds}, fitted or not, whose parameters are used; got {type(model).__name__}"
        )
    copy: BoundedTransformer = clone(UCA() if model is None else model)
    own = copy.get_params()
    quiet = {"verbose": False} if "verbose" in own else {}
    loose = {"tol": max(own["tol"], tol)} if "tol" in own else {}
    if tol > 0:
        parameters = {"proof": "none", **parameters}
    known = {name: value for name, value in parameters.items() if name in own}  # others have no such choice
    return copy.set_params(**quiet, **loose, **known)


def takes_gaps(model: Any) -> bool:
    """Whether missing values may be in the rows that a model is fitted to."""
    return isinstance(model, BoundedTransformer) and model.missing == "em"


def check_alpha(alpha: Any) -> float:
    """A level strictly between 0 and 1."""
    value = check_number("alpha", alpha, 0.0, 1.0)
    if not 0 < value < 1:
        raise ValueError(f"alpha must lie between 0 and 1, such as 0.05; got {alpha!r}")
    return value


def seed_of(random_state: Any) -> int:
    """An integer seed; None is 0, so that every way to call a function gives the same result by default."""
    return seed_from(0 if random_state is None else random_state)


def check_dense(model: Any, what: str) -> None:
    """Refuse a model whose features are chosen: what was studied for all features does not hold for it."""
    if model is not None and "n_nonzero" in model.get_params():
        raise TypeError(
            f"{what} was not studied for sparse components, whose features are chosen again in every resample: test them "
            "with uniqueness_test, or look at held-out rows with SparseUCA.path"
        )
