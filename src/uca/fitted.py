"""From a fitted model and rows back to what the fit saw: its problem, its standards, its scores.

A model keeps no rows and no matrices, so whatever speaks of the problem behind it takes the data again. That it is the
same data is checked one way: the dual value at the fitted multipliers must be the certificate's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._containers import is_array_api, is_dask
from ._parameters import check_matrices
from ._types import Array, Backgrounds, Rows
from ._validation import Datasets, align_columns, check_datasets, check_rows, label_of, name_backgrounds
from .dual import Certificate, Dual, DualResult
from .estimators.base import ContrastiveTransformer, represent
from .estimators.bounded import BoundedTransformer
from .estimators.registry import ESTIMATORS
from .operators.eigen.solver import Eigensolver
from .operators.gaps.estimate import estimate, has_gaps, law_of_complete
from .operators.gaps.law import Completed, NormalLaw
from .operators.representations.build import build
from .operators.representations.covariance import from_matrices, from_moments
from .operators.representations.estimated import in_memory
from .operators.representations.leading import restrict
from .operators.representations.representation import Representation
from .operators.sources.chunks import project
from .operators.sources.distributed import project_lazily
from .operators.sources.namespace import to_numpy
from .operators.statistics.standard import Standard

SAME = 1e-3  # relative difference of dual values that no picture shows: rounded rows, other divisors
FINE = 1e-7  # relative error of the dual value where eigenvalues are found iteratively
LARGE = 2_000  # features from which covariances are not formed again


def names_of(kind: type) -> str:
    """The estimators of a kind, for an error."""
    *others, last = [estimator.__name__ for estimator in ESTIMATORS if issubclass(estimator, kind)]
    return f"{', '.join(others)} or {last}" if others else last


def check_fitted(model: Any, what: str) -> ContrastiveTransformer:
    """A fitted model of the package, with its arrays in numpy; ``what`` begins the error."""
    if not isinstance(model, ContrastiveTransformer):
        raise TypeError(f"{what} must be a fitted {names_of(ContrastiveTransformer)}; got {type(model).__name__}")
    check_is_fitted(model)
    return model.to_numpy()


def check_bounded(model: Any, what: str) -> BoundedTransformer:
    """The same for a model with multipliers, bounds and a certificate."""
    if not isinstance(model, BoundedTransformer):
        raise TypeError(f"{what} must be a fitted {names_of(BoundedTransformer)}; got {type(model).__name__}")
    check_is_fitted(model)
    return model.to_numpy()


def in_order_of_fit(model: ContrastiveTransformer, backgrounds: Backgrounds) -> dict[str, Any]:
    """Backgrounds under the names and in the order of the fit: by name, or by position where none were given."""
    fitted, given = model.background_names_, name_backgrounds(backgrounds)
    if set(given) == set(fitted):
        return {name: given[name] for name in fitted}
    if not hasattr(backgrounds, "items") and len(given) == len(fitted):
        return dict(zip(fitted, given.values(), strict=True))
    raise ValueError(
        f"backgrounds must be those of the fit, {fitted}; got {list(given)}: pass the same ones, by name or in order"
    )


# --- standards and scores -----------------------------------------------------------------------------------------------


def target_standard(model: ContrastiveTransformer) -> Standard:
    """What the target was centred and scaled by."""
    model = model.to_numpy()
    mean, scale = model.mean_.astype(float), model.scale_.astype(float)
    return Standard(bool(model.center), mean, np.zeros_like(mean), scale)


def takes_gaps(model: ContrastiveTransformer) -> bool:
    """Whether rows with missing values have scores: the law that fills them was fitted."""
    return getattr(model, "law_", None) is not None  # absent from model files of older versions


@dataclass(frozen=True, eq=False)
class Standardised:
    """Rows of a dataset with what they are centred and scaled by in a fit.

    Attributes
    ----------
    rows : array or sparse matrix
        Gaps are filled with their conditional means: those of the target under the law of the model, those of a background
        under its own.
    standard : Standard
    completed : Completed or None
        What filled the gaps, and how uncertain it is; None where there were none.
    """

    rows: Any
    standard: Standard
    completed: Completed | None = None


def target_in_fit(model: ContrastiveTransformer, rows: Any) -> Standardised:
    """Rows of the target (a checked array or sparse matrix) as a fit sees them."""
    law = getattr(model, "law_", None)
    if law is None or is_dask(rows) or not has_gaps(rows):
        return Standardised(rows, target_standard(model))
    completed = law.complete(in_memory(rows))
    return Standardised(completed.rows, target_standard(model), completed)


def background_in_fit(model: ContrastiveTransformer, rows: Any, label: str = "background") -> Standardised:
    """Rows of a background (a checked array or sparse matrix) as a fit sees them."""
    if not takes_gaps(model) or is_dask(rows) or not has_gaps(rows):
        return Standardised(rows, background_standard(model, rows, label))
    known = background_law(model, rows, rows, label)
    assert known.law is not None
    completed = known.law.complete(in_memory(rows))
    return Standardised(completed.rows, known.standard, completed)


@dataclass(frozen=True, eq=False)
class KnownLaw:
    """What rows of a background are centred and scaled by, and the law that fills gaps; None where there are none."""

    standard: Standard
    law: NormalLaw | None


def background_law(model: ContrastiveTransformer, rows: Any, others: Any, label: str = "background") -> KnownLaw:
    """The standard of rows of a background, and their law where they or ``others``, which are to be completed, have gaps."""
    if has_gaps(rows):
        found = estimate(in_memory(rows), label)
        own = from_moments([found.moments], center=bool(model.center), scale=model.scale is True).standards[0]
        return KnownLaw(_in_units_of_target(model, own), found.law)
    law = law_of_complete(rows, label) if has_gaps(others) else None
    return KnownLaw(background_standard(model, rows, label), law)


def background_standard(model: ContrastiveTransformer, rows: Any, label: str = "background") -> Standard:
    """What rows of a background (a checked array or sparse matrix, without gaps) are centred and scaled by in a fit."""
    if model.n_samples_ is None:  # fitted on matrices: rows are used as they are
        return Standard.none(model.n_features_in_)
    how = {"center": bool(model.center), "scale": model.scale is True}
    return _in_units_of_target(model, build([rows], [label], representation="implicit", **how).standards[0])


def _in_units_of_target(model: ContrastiveTransformer, own: Standard) -> Standard:
    if model.scale != "target":
        return own
    return Standard(own.center, own.mean, own.rest, target_standard(model).deviation)


def scores_by(standard: Standard, model: ContrastiveTransformer, rows: Any) -> Array:
    """Scores of rows that are centred and scaled by a standard, (n, k)."""
    model = model.to_numpy()
    weights = (model.components_ * standard.factor).T * model.score_scale_
    if is_dask(rows):
        return np.asarray(project_lazily(rows, standard.mean, weights, np.dtype(float)).compute())
    return project(rows, standard.mean, weights)


def check_background(model: ContrastiveTransformer, rows: Rows, name: str | None) -> Any:
    """Rows of a background as a numpy array, a sparse matrix or a dask array with the features of the fit."""
    label = label_of(name)
    rows = align_columns(rows, getattr(model, "feature_names_in_", None), label)
    array = check_rows(model, rows, label, min_rows=2, gaps=takes_gaps(model))
    if array.shape[1] != model.n_features_in_:
        raise ValueError(f"{label} has {array.shape[1]} features, but the model was fitted on {model.n_features_in_}")
    return to_numpy(array) if is_array_api(array) else array


# --- the problem --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FittedProblem:
    """A dual problem with its solution, in the user's units.

    Attributes
    ----------
    held : Representation
        Target and backgrounds.
    lambdas, bounds : array of shape (m,)
    names : list of str
        Of the backgrounds.
    certificate : Certificate
    """

    held: Representation
    lambdas: Array
    bounds: Array
    names: list[str]
    certificate: Certificate

    @property
    def m(self) -> int:
        """Number of backgrounds."""
        return len(self.lambdas)

    @cached_property
    def eigen(self) -> Eigensolver:
        """The eigen-solver of its pencil; it remembers what it has met."""
        return Eigensolver(self.held.pencil)

    @cached_property
    def dual(self) -> Dual:
        """The dual function."""
        return Dual(self.eigen, self.bounds)

    @cached_property
    def value(self) -> float:
        """The dual value at the fitted multipliers, from the data given now."""
        accuracy = FINE * abs(self.certificate.upper)
        return self.dual.evaluate(self.lambdas * self.bounds, k=1, accuracy=accuracy).value

    def is_same_data(self) -> bool:
        """Whether the data given now is that of the fit, as far as the dual value tells."""
        room = max(SAME * abs(self.certificate.upper), 2 * self.certificate.allowance)
        return self.held.pencil.n_backgrounds == self.m and abs(self.value - self.certificate.upper) <= room

    def check_same_data(self) -> None:
        """Raise where it is not."""
        given = self.held.pencil.n_backgrounds
        if given != self.m:
            raise ValueError(f"got {given} backgrounds, but the model was fitted on {self.m}")
        if not self.is_same_data():
            raise ValueError(
                f"X and backgrounds are not what the model was fitted on: the dual value at its lambdas is "
                f"{self.value:.6g}, its certificate says {self.certificate.upper:.6g}"
            )


def problem_of(model: Any, X: Any, backgrounds: Any) -> FittedProblem:
    """The problem of a fitted model with bounds or of a DualResult, from what it was fitted on: rows or matrices."""
    if isinstance(model, DualResult):
        named = name_backgrounds(backgrounds)
        held = from_matrices(check_matrices(X, named, semidefinite=False))
        problem = FittedProblem(held, model.lambdas, model.bounds, list(named), model.certificate)
    else:
        if isinstance(model, ContrastiveTransformer) and not isinstance(model, BoundedTransformer):
            name = type(model).__name__
            raise TypeError(f"{name} has no dual problem; pass a fitted UCA or the result of uca.solve_dual")
        fitted = check_bounded(model, "the first argument")
        if not fitted.has_dual:
            raise TypeError(
                f"{type(fitted).__name__} chooses features, and no dual problem on all of them belongs to it: draw "
                "plotting.sparsity_path(model.path([3, 5, 10])), or fit a UCA"
            )
        if not fitted.background_names_:
            raise ValueError("the model was fitted without backgrounds: it is PCA, and there is no dual to draw")
        named = in_order_of_fit(fitted, backgrounds)
        if fitted.n_samples_ is None:  # fitted on covariance matrices
            held = from_matrices(check_matrices(X, named, semidefinite=True))
        else:
            data = check_datasets(fitted, X, named, gaps=takes_gaps(fitted))
            held = represent(fitted, data, len(fitted.components_))
        problem = _with_solution(held, fitted)
    problem.check_same_data()
    return problem


def problem_of_rows(model: BoundedTransformer, arrays: Sequence[Any], k: int) -> FittedProblem:
    """The problem of a fitted model from checked rows, target first; whether they are those of the fit is not checked.

    No p x p matrix is made for more than ``LARGE`` features. After ``fit_covariance`` the matrices were used as they are:
    those of centred, unscaled rows are the natural match.
    """
    p = arrays[0].shape[1]
    if takes_gaps(model) and any(map(has_gaps, arrays)):
        data = Datasets(dict(zip((None, *model.background_names_), arrays, strict=True)), p, None)
        return _with_solution(represent(model, data, k), model.to_numpy())
    from_rows = model.n_samples_ is not None
    labels = Datasets(dict(zip((None, *model.background_names_), arrays, strict=True)), p, None).labels
    held = build(
        arrays,
        labels,
        representation=form_for(sum(array.shape[0] for array in arrays), p),
        center=bool(model.center) if from_rows else True,
        scale=model.scale if from_rows else False,
        n_empty=k,
    )
    return _with_solution(held, model.to_numpy())


def form_for(n_rows: int, n_features: int) -> str:
    """The representation of rows that are looked at again: as in a fit for few features, without p x p matrices for many."""
    if n_features <= LARGE:
        return "auto"
    return "reduced" if n_rows <= LARGE else "implicit"


def _with_solution(held: Representation, model: BoundedTransformer) -> FittedProblem:
    lambdas, bounds = model.lambdas_.astype(float), model.bounds_.astype(float)
    restriction = getattr(model, "restriction_", None)
    if restriction is not None:  # the problem that was solved is that among the leading directions
        bounds = restriction.factor * bounds
        if restriction.n_leading is not None:
            held = restrict(held, restriction.n_leading)
    return FittedProblem(held, lambdas, bounds, list(model.background_names_), model.certificate_)
