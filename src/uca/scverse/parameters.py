"""Keywords as scanpy names them, and the model that they ask for.

Promises: a keyword that nobody reads is refused, with the one that was probably meant and a list of those there are.
Components are counted by ``n_comps`` (``n_components`` is the same). Features of single cells are in common units, so
``scale`` is False unless it is given: see the page on single cells for the measurement behind it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any

from ..estimators.bounded import BoundedTransformer
from ..estimators.sparse_uca import SparseUCA
from ..estimators.uca import UCA

N_COMPS = 2
SCALE = False
CALLED_ELSEWHERE = {  # names that other functions have for the same thing
    "use_highly_variable": "mask_var",
    "n_pcs": "n_comps",
    "zero_center": "center",
    "reference": "backgrounds",
    "background": "backgrounds",
    "groups": "donor",
    "basis": "use_rep",
    "labels": "color",
}


class Mask(Enum):
    """What genes are used where nothing is said: the highly variable ones where they are marked, as in scanpy's pca."""

    DEFAULT = "highly_variable, where it exists"


def check_names(function: Callable[..., Any], given: Iterable[str], others: Iterable[str] = ()) -> None:
    """Raise unless every name is a keyword of a function, or one of ``others``."""
    own = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    known = list(dict.fromkeys([*own, *others]))
    for name in given:
        if name not in known:
            raise TypeError(
                f"uca.scverse.{function.__name__} has no parameter {name!r}{_meant(name, known)}. "
                f"Parameters are {', '.join(known)}"
            )


def _meant(name: str, known: list[str]) -> str:
    elsewhere = CALLED_ELSEWHERE.get(name)
    close = [elsewhere] if elsewhere in known else get_close_matches(name, known, n=2)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def kind_of(parameters: Mapping[str, Any]) -> type[BoundedTransformer]:
    """The estimator that parameters ask for: components of few genes where ``n_nonzero`` is given."""
    return SparseUCA if "n_nonzero" in parameters else UCA


def names_of_model(parameters: Mapping[str, Any]) -> list[str]:
    """Parameters that an estimator takes besides the number of components."""
    own = [name for name in kind_of(parameters)().get_params() if name != "n_components"]
    return own if "n_nonzero" in own else [*own, "n_nonzero"]


def model_of(parameters: Mapping[str, Any], n_comps: int | None, n_components: int | None = None) -> BoundedTransformer:
    """An estimator with the given parameters, whose names are checked."""
    if n_comps is not None and n_components is not None and n_comps != n_components:
        raise ValueError(f"n_comps={n_comps} and n_components={n_components} are two names of one number: give one")
    number = next((n for n in (n_comps, n_components) if n is not None), N_COMPS)
    kind = kind_of(parameters)
    model: BoundedTransformer = kind(**({"scale": SCALE} | dict(parameters) | {"n_components": number}))
    return model.set_output(transform="default")
