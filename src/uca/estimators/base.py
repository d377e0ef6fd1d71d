"""The skeleton of every estimator: checks, the fit, columns by name, scores, and fits that succeed whole or not at all.

A new estimator is one file: a subclass of :class:`ContrastiveTransformer` (or of
:class:`~.bounded.BoundedTransformer`, if its components keep bounds) with its parameters and :meth:`_solve`, and one entry
in ``ESTIMATORS`` of ``registry.py``. Saving, plotting, comparing and the rest know estimators through what is declared
here.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._containers import float_dtype, float_dtypes, is_array_api, is_dask
from .._parameters import check_bool, check_choice, check_n_components, check_positive_int, seed_from
from .._progress import log_once
from .._readable import raise_text_columns
from .._sklearn import dense_output
from .._threads import one_blas_thread
from .._types import Array, Backgrounds, Rows
from .._validation import Datasets, align_columns, check_datasets, label_of, read_dask, read_rows
from ..means import MeanDifference, MeanDifferences
from ..operators.gaps.factors import FactorLaw
from ..operators.gaps.law import NormalLaw
from ..operators.gaps.normal import FullLaw
from ..operators.representations.build import KINDS, build
from ..operators.representations.estimated import build_estimated
from ..operators.representations.representation import Representation
from ..operators.sources.chunks import project
from ..operators.sources.device import project_in_namespace
from ..operators.sources.distributed import project_lazily
from ..operators.sources.namespace import check_namespace, in_numpy, like, to_numpy
from ..operators.statistics.moments import Moments
from ..operators.statistics.standard import inverse
from .gaps import check_missing, completed_scores, incomplete, target_law, without_empty_rows
from .problem import Problem
from .reference import Distances, Reference
from .steps import told_of_skipped_steps
from .warn import warn_y


class ContrastiveTransformer(Distances, TransformerMixin, BaseEstimator):
    """Components of a target against its backgrounds, and linear scores on them.

    Subclasses have the parameters below and those of their own, and implement :meth:`_solve`.
    """

    #: What components are called: ``UC1`` is the first of :class:`uca.UCA`, everywhere.
    component_prefix: ClassVar[str]
    #: How a comparison of methods calls it.
    method_name: ClassVar[str]
    #: How many backgrounds it takes; None is any number.
    most_backgrounds: ClassVar[int | None] = None
    #: Types of this package, besides itself, that a fitted model consists of: what a model file may name.
    parts: ClassVar[tuple[type, ...]] = (MeanDifferences, MeanDifference, Reference, FullLaw, FactorLaw)

    n_components: int
    center: bool
    scale: bool | str
    whiten: bool
    representation: str
    missing: str
    components_: Array
    patterns_: Array
    pattern_correlations_: Array | None
    eigenvalues_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    background_variance_: Array
    background_names_: list[str]
    mean_: Array
    scale_: Array
    mean_differences_: MeanDifferences | None
    law_: NormalLaw | None
    n_features_in_: int
    n_samples_: int | None
    representation_: str

    @abstractmethod
    def _solve(self, problem: Problem) -> dict[str, Any]:
        """All fitted attributes: ``problem.fitted(vectors, eigenvalues)`` and what is the estimator's own."""

    def fit(self, X: Rows, y: Any = None, *, backgrounds: Backgrounds = None) -> Self:
        """Find the components of a target that its backgrounds do not have.

        Parameters
        ----------
        X : array, sparse matrix, table, mapped file or dask array of shape (n, p)
            The target. Nothing is copied; sparse data stays sparse. With ``missing="em"`` values may be missing, here and in
            backgrounds.
        y : ignored
            Pipelines and searches of scikit-learn pass it to every step. Any other call that gives it gets a warning:
            groups are told apart by ``X`` and ``backgrounds``, not by labels.
        backgrounds : array, list or tuple of arrays, or dict of name -> array, optional
            The backgrounds, with the same features, each in its own kind of container. Columns of tables are matched by
            name. None is plain PCA. cPCA and cPCA++ take one: stack several with :func:`uca.pool`, or use
            :class:`uca.UCA`.

        Returns
        -------
        self
            If fitting fails or is interrupted, the estimator stays as it was.
        """
        self._check_parameters()
        warn_y(self, y, plain_pca=backgrounds is None)
        refused = Moments if hasattr(self, "partial_fit") else None
        with told_of_skipped_steps(self, backgrounds):
            data = check_datasets(self, X, backgrounds, refused=refused, gaps=self.missing == "em")
        self._check_backgrounds(data.names)
        data = without_empty_rows(data) if self.missing == "em" else data
        k = check_n_components(self.n_components, data.n_features)
        with one_blas_thread():
            held = represent(self, data, k)
            fitted = self._fit(held, data, float_dtype(data.arrays[0].dtype), data.n_rows)
            if self.missing == "em":
                fitted["law_"] = target_law(held, data.arrays[0], data.labels[0])
        self._install(in_namespace(fitted, data.arrays[0]))
        return self

    def fit_transform(self, X: Rows, y: Any = None, *, backgrounds: Backgrounds = None) -> Array:
        """Fit, and return the scores of the target's rows; parameters as in :meth:`fit`."""
        return self.fit(X, y, backgrounds=backgrounds).transform(X)

    def _fit(
        self,
        held: Representation,
        data: Datasets,
        dtype: np.dtype,
        n_rows: tuple[int, ...] | None,
        names: Sequence[str] = (),
        *,
        describe: bool = True,
    ) -> dict[str, Any]:
        """Everything that is fitted, from data that is held; ``n_rows`` of each dataset, None for matrices.

        ``describe=False`` leaves out what components do not need: what new rows should show, and differences in means.
        """
        names = tuple(names) or data.names
        k = check_n_components(self.n_components, data.n_features)
        told = n_rows if describe else None
        problem = Problem(held, names, k, dtype, seed_from(getattr(self, "random_state", None)), told, data, describe)
        constant = problem.told_constant([label_of(name) for name in (None, *names)])
        if constant:
            warnings.warn(f"constant features were scaled to 0: {constant}", UserWarning, stacklevel=3)
        problem.check_variance()
        means = None if told is None else problem.mean_differences(data.feature_names)
        if means is not None and getattr(self, "verbose", False) is True:
            log_once(means.sentence)
        n_samples = None if n_rows is None else n_rows[0]
        described = {"n_samples_": n_samples, "mean_differences_": means, "law_": None}
        return {**self._solve(problem), **features(data), **described}

    def transform(self, X: Rows) -> Array:
        """Scores of rows on the components.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows of any dataset; they are centred and scaled as the target was. Columns of a table are matched by name.
            Sparse rows stay sparse. A dask array gives a dask array: nothing is computed (unless ``set_output`` asks for a
            table), and values that are not finite are not looked for. With ``missing="em"``, gaps (NaN, masked values) of
            rows in memory are filled with their conditional means under the law of the target, given the values that are
            there; rows without gaps get the same scores as ever.

        Returns
        -------
        scores : array of shape (n, k)
            Columns of a table are called as :meth:`get_feature_names_out` says.
        """
        check_is_fitted(self)
        check_namespace(X, self.components_, f"{type(self).__name__}.transform")
        X = align_columns(X, getattr(self, "feature_names_in_", None), "X")
        model = self.to_numpy()
        weights = (model.components_ * inverse(model.scale_)).T * self.score_scale_
        if is_dask(X):
            return self._transform_lazily(X, model.mean_, weights)
        law = getattr(self, "law_", None)  # absent from files of older versions
        rows = self._validate(read_rows(X, "X", min_rows=1, gaps=law is not None))
        if is_array_api(rows):
            return project_in_namespace(rows, model.mean_, weights)
        scores = project(rows, model.mean_, weights)
        if not np.isfinite(scores).all():
            scores = completed_scores(rows, scores, law, lambda some: project(some, model.mean_, weights))
        return scores.astype(rows.dtype, copy=False)

    def _validate(self, X: Any) -> Any:
        try:
            return validate_data(
                self,
                X,
                reset=False,
                accept_sparse=("csr", "csc"),
                dtype=float_dtypes(X),
                ensure_all_finite=False,
                ensure_min_samples=1,
            )
        except (TypeError, ValueError):
            raise_text_columns(X, "X")
            raise

    def _transform_lazily(self, X: Any, mean: Array, weights: Array) -> Any:
        array = read_dask(X, "X", lengths=None)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {array.shape}, but the model was fitted on {self.n_features_in_} features")
        scores = project_lazily(array, mean, weights, float_dtype(array.dtype))
        # A pandas or polars table that set_output asks for is in memory.
        return scores if dense_output(self) == "default" else scores.compute()

    def inverse_transform(self, Z: Any) -> Array:
        """Rows in feature space, in the units of the target, that have the given scores.

        Of all such rows, the one that is nearest to the mean of the target on the scale of the fit. So
        ``inverse_transform(transform(X))`` is the part of X in the space of the components, about that mean;
        :func:`uca.remove` gives the rest.

        Parameters
        ----------
        Z : array of shape (n, k)

        Returns
        -------
        X : array of shape (n, p)
        """
        check_is_fitted(self)
        Z = check_array(read_rows(Z, "Z", min_rows=1), dtype=float_dtypes(Z), estimator=self, input_name="Z")
        model = self.to_numpy()
        if Z.shape[1] != len(model.components_):
            raise ValueError(f"Z has {Z.shape[1]} columns, but there are {len(model.components_)} components")
        # Components need not be orthogonal (cPCA++), and sparse ones can be equal: the row of smallest size with the scores.
        back = np.linalg.pinv(model.components_.astype(float)).T
        rows = (to_numpy(Z) / self.score_scale_) @ back * model.scale_ + model.mean_
        return like(rows, Z, Z.dtype) if is_array_api(Z) else rows.astype(Z.dtype, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the components: ``UC1`` is the first of :class:`uca.UCA`, ``cPC1`` that of cPCA and cPCA++.

        Parameters
        ----------
        input_features : ignored
            Present for the interface of scikit-learn.

        Returns
        -------
        names : array of str of shape (k,)
        """
        check_is_fitted(self)
        return np.array(component_names(self), dtype=object)

    @property
    def score_scale_(self) -> Array:
        """Factor on each score, (k,): 1, or with ``whiten`` one over the target's deviation along the component."""
        if not self.whiten:
            return np.ones(self.components_.shape[0])
        deviation = np.sqrt(to_numpy(self.explained_variance_).astype(float))
        return np.divide(1.0, deviation, out=np.ones_like(deviation), where=deviation > 0)

    def to_numpy(self) -> Self:
        """The fitted model with its arrays in numpy: itself where they are there already, else a copy."""
        check_is_fitted(self)
        return in_numpy(self, self.components_)

    def _kind(self, data: Datasets) -> str:
        """The representation that a fit to checked data asks for."""
        return self.representation

    def chosen(self) -> str:
        """What the fit chose by itself, in words; empty if there was nothing to choose."""
        return ""

    def _check_parameters(self) -> None:
        """Check the parameters that all estimators have; subclasses add theirs."""
        check_positive_int("n_components", self.n_components)
        check_bool("center", self.center)
        check_choice("scale", self.scale, (True, False, "target"))
        check_bool("whiten", self.whiten)
        check_choice("representation", self.representation, ("auto", *KINDS))
        check_missing(self.missing, self.representation)

    def _check_backgrounds(self, names: Sequence[str]) -> None:
        if self.most_backgrounds is not None and len(names) > self.most_backgrounds:
            raise ValueError(
                f"{type(self).__name__} takes one background, got {len(names)}: stack them with "
                "uca.pool(*backgrounds), or give each its own constraint with UCA"
            )

    def _install(self, fitted: dict[str, Any]) -> None:
        """Replace everything fitted before by ``fitted``, in one step that cannot fail halfway."""
        parameters = {name: value for name, value in self.__dict__.items() if not _is_fitted_name(name)}
        self.__dict__ = {**parameters, **fitted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What an older version has pickled may lack parameters: these are their defaults, with which it was fitted."""
        super().__setstate__({**type(self)().get_params(), **state})

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "em"
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FitError(ValueError):
    """A fit that other parameters make possible.

    ``remedy`` holds them by name, ``reason`` says in a few words why they are needed.
    """

    def __init__(self, message: str, *, remedy: dict[str, Any] | None = None, reason: str = ""):
        super().__init__(
            message
        )  # defaults above: an exception is made again from its message when it leaves a process
        self.remedy, self.reason = remedy or {}, reason


Model = TypeVar("Model", bound=ContrastiveTransformer)


def component_names(model: ContrastiveTransformer, n: int | None = None) -> list[str]:
    """What components are called wherever people read, counted from 1: as many as the model has, or ``n``."""
    return [f"{model.component_prefix}{i + 1}" for i in range(model.components_.shape[0] if n is None else n)]


def refit(model: Model, data: Datasets) -> Model:
    """Fit a model to datasets that were checked, without descriptions: for fits by the hundred."""
    model._check_parameters()
    model._check_backgrounds(data.names)
    k = check_n_components(model.n_components, data.n_features)
    with one_blas_thread():
        held = represent(model, data, k)
        fitted = model._fit(held, data, float_dtype(data.arrays[0].dtype), data.n_rows, describe=False)
    model._install(fitted)
    return model


def represent(model: ContrastiveTransformer, data: Datasets, k: int) -> Representation:
    """Checked datasets, standardised, in the representation that a model asks for, with room for ``k`` components.

    With ``missing="em"``, datasets with gaps have covariances that are estimated; every row has a value.
    """
    if model.missing == "em" and incomplete(data):
        return build_estimated(
            data.arrays, data.labels, center=bool(model.center), scale=model.scale, names=data.columns
        )
    return build(
        data.arrays,
        data.labels,
        representation=model._kind(data),
        center=bool(model.center),
        scale=model.scale,
        n_empty=k,
    )


def in_namespace(fitted: dict[str, Any], X: Any) -> dict[str, Any]:
    """Fitted floats in the namespace and on the device of the target, where it is not numpy's."""
    if not is_array_api(X):
        return fitted
    return {
        name: like(value, X) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
        for name, value in fitted.items()
    }


def features(data: Datasets) -> dict[str, Any]:
    """The fitted attributes that describe the features of the input."""
    named = {} if data.feature_names is None else {"feature_names_in_": data.feature_names}
    return {"n_features_in_": data.n_features, **named}


def _is_fitted_name(name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name in ("_stream", "_problem", "_seen")
