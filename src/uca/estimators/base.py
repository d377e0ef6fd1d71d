"""What every estimator of the package shares: columns by name, scores, and fits that succeed whole or not at all."""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from .._containers import float_dtype, float_dtypes, is_array_api, is_dask
from .._parameters import check_bool, check_choice, check_positive_int
from .._readable import raise_text_columns
from .._types import Array
from .._validation import Datasets, align_columns, label_of, raise_not_finite, read_dask, read_rows
from ..operators.array_api import check_namespace, like, project_in_namespace, to_numpy
from ..operators.base import Pencil
from ..operators.build import REPRESENTATIONS, build
from ..operators.chunks import project
from ..operators.moments import inverse
from ..operators.representation import Representation


class ContrastiveTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Linear scores of a fitted contrastive model.

    Subclasses fit ``components_`` (k, p), ``mean_``, ``scale_`` (p,) and ``explained_variance_`` (k,), and call
    :meth:`_install` once, at the end of a successful fit.
    """

    n_components: int
    center: bool
    scale: bool | str
    whiten: bool
    representation: str
    components_: Array
    mean_: Array
    scale_: Array
    explained_variance_: Array
    n_features_in_: int

    @abstractmethod
    def fit(self, X: Any, y: Any = None, *, backgrounds: Any = None) -> Self:
        """Fit the components of a target against its backgrounds."""

    def fit_transform(self, X: Any, y: Any = None, *, backgrounds: Any = None) -> Array:
        """Fit, and return the scores of the target's rows; parameters as in :meth:`fit`."""
        return self.fit(X, y, backgrounds=backgrounds).transform(X)

    def transform(self, X: Any) -> Array:
        """Scores of rows on the components.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows of any dataset; they are centred and scaled as the target was. Columns of a table are matched by name.
            Sparse rows stay sparse. A dask array gives a dask array: nothing is computed (unless ``set_output`` asks for a
            table), and values that are not finite are not looked for.

        Returns
        -------
        scores : array of shape (n, k)
        """
        check_is_fitted(self)
        check_namespace(X, self.components_, f"{type(self).__name__}.transform")
        X = align_columns(X, getattr(self, "feature_names_in_", None), "X")
        weights = (self._fitted("components_") * inverse(self._fitted("scale_"))).T * self._score_scale()
        if is_dask(X):
            return self._transform_lazily(X, weights)
        X = self._validate(read_rows(X, "X", min_rows=1))
        mean = self._fitted("mean_")
        if is_array_api(X):
            return project_in_namespace(X, mean, weights)
        scores = project(X, mean, weights).astype(X.dtype, copy=False)
        if not np.isfinite(scores).all():
            raise_not_finite(X, "X")
        return scores

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

    def _transform_lazily(self, X: Any, weights: Array) -> Any:
        from ..operators.distributed import project_lazily

        array = read_dask(X, "X", lengths=None)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {array.shape}, but the model was fitted on {self.n_features_in_} features")
        scores = project_lazily(array, self._fitted("mean_"), weights, float_dtype(array.dtype))
        # A pandas or polars table that set_output asks for is in memory.
        return scores if _get_output_config("transform", self)["dense"] == "default" else scores.compute()

    def inverse_transform(self, Z: Any) -> Array:
        """Rows in feature space, in the units of the target, that have the given scores.

        Parameters
        ----------
        Z : array of shape (n, k)

        Returns
        -------
        X : array of shape (n, p)
        """
        check_is_fitted(self)
        Z = check_array(read_rows(Z, "Z", min_rows=1), dtype=float_dtypes(Z), estimator=self, input_name="Z")
        if Z.shape[1] != self._n_features_out:
            raise ValueError(f"Z has {Z.shape[1]} columns, but there are {self._n_features_out} components")
        # Components need not be orthogonal (cPCA++): take the row of smallest size that has the scores.
        components = self._fitted("components_").astype(float)
        inverse_components = np.linalg.solve(components @ components.T, components)
        scores = to_numpy(Z) / self._score_scale()
        rows = scores @ inverse_components * self._fitted("scale_") + self._fitted("mean_")
        return like(rows, Z, Z.dtype) if is_array_api(Z) else rows.astype(Z.dtype, copy=False)

    def _check_parameters(self) -> None:
        """Check the parameters that all estimators have; subclasses add theirs."""
        check_positive_int("n_components", self.n_components)
        check_bool("center", self.center)
        check_choice("scale", self.scale, (True, False, "target"))
        check_bool("whiten", self.whiten)
        check_choice("representation", self.representation, ("auto", *REPRESENTATIONS))

    def _hold(self, data: Datasets, k: int) -> Representation:
        """The data, standardised, in the representation that was asked for."""
        return build(
            data.arrays,
            data.labels,
            representation=self.representation,
            center=bool(self.center),
            scale=self.scale,
            n_empty=k,
        )

    def _score_scale(self) -> Array:
        """Factor on each score: 1, or one over the target's deviation along the component (1 where that is 0)."""
        if not self.whiten:
            return np.ones(self._n_features_out)
        deviation = np.sqrt(self._fitted("explained_variance_").astype(float))
        return np.divide(1.0, deviation, out=np.ones_like(deviation), where=deviation > 0)

    def _fitted(self, name: str) -> Array:
        """A fitted array in numpy, whatever namespace it is kept in."""
        return to_numpy(getattr(self, name))

    def _install(self, fitted: dict[str, Any]) -> None:
        """Replace everything fitted before by ``fitted``, in one step that cannot fail halfway."""
        parameters = {name: value for name, value in self.__dict__.items() if not _is_fitted_name(name)}
        self.__dict__ = {**parameters, **fitted}

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


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


def check_variance(pencil: Pencil) -> None:
    """Refuse a target in which nothing varies."""
    if pencil.target.trace <= 0:
        raise ValueError("the target X has no variance in any feature: there is nothing to find")


def warn_y(estimator: BaseEstimator, y: Any, *, plain_pca: bool) -> None:
    """Warn of ``fit(target, background)`` and ``fit(rows, labels)``: the second position is y, which is ignored.

    Pipelines, searches and checks of scikit-learn hand y to every step, which need not use it: they are not warned.
    """
    if y is None:
        return
    module, level = _caller(estimator)
    if module.split(".")[0] == "sklearn":
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


def warn_constant(n_constant: Sequence[int], names: Sequence[str]) -> None:
    """Warn of features that are constant in the target or a background and were set to 0."""
    told = [f"{n} in {label_of(name)}" for n, name in zip(n_constant, (None, *names), strict=True) if n]
    if told:
        warnings.warn(f"constant features were scaled to 0: {', '.join(told)}", UserWarning, stacklevel=3)


def _is_fitted_name(name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name == "_stream"
