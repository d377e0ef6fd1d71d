"""The data without the components: the corrected matrix.

With ``z = (x - mean_) / scale_`` a row on the scale of the fit, V_c, (c, p), the chosen components and ``s = V_c z`` the
scores of the row on them, what is left is

    x - scale_ * (G' s),

where G, (c, p), says how features follow the scores:

* ``along="components"``: ``G = (V_c V_c')^-1 V_c``. ``G' s`` is the orthogonal projection of z onto the space that the
  components span, so what is left is the row nearest to z whose scores are 0. Components that are not orthogonal
  (:class:`uca.SparseUCA`, :class:`uca.CPCAPlusPlus`) are taken together: it is their space that is left out.
* ``along="patterns"``: ``G = (V_c A V_c')^-1 V_c A`` with A the covariance of the target, the regression of the features on
  the scores. In the target of the fit, no feature is correlated with the scores any more.

Promises: what is left has scores of 0 on the chosen components (along patterns: if the target varies along each of them).
Features that were constant in the target, and rows at the mean of the target, stay as they are. Units, columns and kind of
table are those of the rows given. With all components, ``remove(X, m) + m.inverse_transform(m.transform(X)) - m.mean_ = X``.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._containers import float_dtype, get_columns, is_array_api, is_dask
from ._parameters import check_choice
from ._types import Array, Rows
from ._validation import align_columns, check_rows, raise_not_finite, read_dask
from .estimators.base import ContrastiveTransformer, component_names
from .estimators.gaps import refuse_infinite
from .fitted import check_fitted, takes_gaps, target_in_fit
from .operators.sources.chunks import project
from .operators.sources.namespace import check_namespace, like, to_numpy
from .operators.statistics.standard import inverse

ALONG = ("components", "patterns")
BLOCK_BYTES = 32_000_000  # of rows that are worked on at a time


def remove(
    X: Rows, model: ContrastiveTransformer, *, components: int | Sequence[int] | None = None, along: str = "components"
) -> Any:
    """The rows without the components of a fitted model, in the units of the rows.

    Parameters
    ----------
    X : array, table or dask array of shape (n, p)
        Rows of any dataset, with the features of the fit; columns of a table are matched by name. They are centred and
        scaled as the target was, as :meth:`uca.UCA.transform` does. Sparse rows are refused, because the result is dense.
        With a model that was fitted with ``missing="em"``, values may be missing: they count with their conditional means,
        and stay missing in the result.
    model : fitted UCA, SparseUCA, CPCA or CPCAPlusPlus
    components : int or sequence of int, optional
        Which components, counted from 0: ``0`` is UC1. Default: all.
    along : {"components", "patterns"}, default="components"
        "components" takes out the orthogonal projection onto the space of the components (on the scale of the fit): the
        smallest change after which all their scores are 0. Features that have a weight only to cancel a background are
        changed as well, against the score. "patterns" takes out what follows the scores in the target, by linear regression:
        no feature is correlated with the scores any more in the rows of the fit. It is the larger change; choose it where
        nothing that goes with the components is to be left. Without backgrounds (PCA) both are the same.

    Returns
    -------
    rest : array or table of shape (n, p)
        float32 for float32 rows, else float64. A pandas, polars or pyarrow table where X is one, with its columns in their
        order and its index; a dask array, not computed, for dask rows; an array of the namespace of X; else a numpy array.

    Notes
    -----
    ``remove(X, model) + model.inverse_transform(model.transform(X)) - model.mean_`` is X, up to rounding: the rest and the
    part of the components, both about the mean of the target. (Where values are missing it holds for those that are there.)
    For some of the components, or along patterns, the part is ``X - remove(X, model, ...)``.

    Examples
    --------
    >>> import numpy as np
    >>> import uca
    >>> rng = np.random.default_rng(0)
    >>> target, background = rng.normal(size=(100, 4)) * [3, 1, 1, 1], rng.normal(size=(80, 4))
    >>> model = uca.UCA(n_components=2).fit(target, backgrounds=background)
    >>> rest = uca.remove(target, model)
    >>> bool(np.abs(model.transform(rest)).max() < 1e-12)
    True
    >>> bool(np.allclose(rest + model.inverse_transform(model.transform(target)) - model.mean_, target))
    True
    """
    _refuse_pipeline(model)
    fitted = check_fitted(model, "model")
    check_choice("along", along, ALONG)
    check_namespace(X, model.components_, "uca.remove")
    part = _part_of(fitted, check_components(components, fitted), along)
    aligned = align_columns(X, getattr(fitted, "feature_names_in_", None), "X")
    if is_dask(aligned):
        return _remove_lazily(aligned, part, fitted.n_features_in_)
    rest = _rest(_read(fitted, aligned), part, fitted)
    if is_array_api(X):
        return like(rest, X, None if "int" in str(X.dtype) else X.dtype)  # type: ignore[union-attr]
    return _like_table(rest, aligned, X)


def check_components(components: Any, model: ContrastiveTransformer) -> Array:
    """Positions of the chosen components, each once and in order."""
    k = len(model.components_)
    if components is None:
        return np.arange(k)
    given: list[Any] = [components] if isinstance(components, numbers.Integral) else list(components)
    if not given:
        raise ValueError("components is empty: name at least one, or leave it out for all")
    if not all(isinstance(i, numbers.Integral) and not isinstance(i, (bool, np.bool_)) for i in given):
        raise TypeError(f"components must be integers, counted from 0; got {components!r}")
    if not all(0 <= i < k for i in given):
        first, last = component_names(model)[0], component_names(model)[-1]
        names = f"0 is {first}" if k == 1 else f"0 is {first}, {k - 1} is {last}"
        raise ValueError(f"components must lie between 0 and {k - 1} ({names}); got {components!r}")
    return np.unique(np.array(given, dtype=int))


@dataclass(frozen=True, eq=False)
class Part:
    """What is taken out of a row x: ``(x - mean) @ weights @ back``.

    Attributes
    ----------
    mean : array of shape (p,)
    weights : array of shape (p, c)
        They lead from rows to scores.
    back : array of shape (c, p)
        They lead from scores to features, in the user's units.
    """

    mean: Array
    weights: Array
    back: Array

    def rest(self, rows: Array, filled: Array) -> Array:
        """What is left of rows (n, p); ``filled`` are the same without gaps."""
        out = np.empty(rows.shape, float_dtype(rows.dtype))
        step = max(1, BLOCK_BYTES // (8 * rows.shape[1]))
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            out[block] = rows[block] - project(filled[block], self.mean, self.weights) @ self.back
        return out


def _part_of(model: ContrastiveTransformer, chosen: Array, along: str) -> Part:
    components, scale = model.components_[chosen].astype(float), model.scale_.astype(float)
    weights = (components * inverse(scale)).T
    if along == "components":
        # the pseudo-inverse, should two sparse components be one
        return Part(model.mean_.astype(float), weights, np.linalg.pinv(components).T * scale)
    patterns = getattr(model, "patterns_", None)
    if patterns is None:
        raise ValueError("this model has no patterns_: it was fitted by an older version of the package; fit it again")
    images = patterns[chosen].astype(float) * model.explained_variance_[chosen, np.newaxis].astype(float)  # V A
    own = images @ components.T
    followed = np.linalg.pinv((own + own.T) / 2.0, hermitian=True) @ images
    return Part(model.mean_.astype(float), weights, followed * scale)


def _read(model: ContrastiveTransformer, X: Any) -> Array:
    """Checked rows in memory, as a numpy array."""
    rows = check_rows(model, X, "X", min_rows=1, gaps=takes_gaps(model))
    if sparse.issparse(rows):
        raise TypeError(
            "X is sparse, and what is left of it is not: pass X.toarray() where that fits in memory, or some rows at a time"
        )
    _check_width(rows, model.n_features_in_)
    return to_numpy(rows) if is_array_api(rows) else np.asarray(rows)


def _check_width(rows: Any, p: int) -> None:
    if rows.shape[1] != p:
        raise ValueError(f"X has {rows.shape[1]} features, but the model was fitted on {p}")


def _rest(rows: Array, part: Part, model: ContrastiveTransformer) -> Array:
    filled = rows
    if takes_gaps(model) and np.isnan(rows).any():
        refuse_infinite(rows, "X")
        filled = target_in_fit(model, rows).rows
    rest = part.rest(rows, filled)
    if not np.isfinite(rest).all() and (filled is rows or not np.isfinite(rest[~np.isnan(rows)]).all()):
        raise_not_finite(rows, "X")
    return rest


def _remove_lazily(X: Any, part: Part, p: int) -> Any:
    array = read_dask(X, "X", lengths=None)
    _check_width(array, p)
    whole_rows, dtype = array.rechunk({1: -1}), float_dtype(array.dtype)
    return whole_rows.map_blocks(lambda chunk: _rest_of_chunk(chunk, part), dtype=dtype, meta=np.empty((0, 0), dtype))


def _rest_of_chunk(chunk: Any, part: Part) -> Array:
    rows = chunk.toarray() if hasattr(chunk, "toarray") else np.asarray(chunk)
    return part.rest(rows, rows)


def _like_table(rest: Array, aligned: Any, X: Any) -> Any:
    """The rest as a table of the kind of X, with its columns in their order; an array where X is one."""
    columns, kind = get_columns(X), type(X).__module__.split(".")[0]
    if columns is None or kind not in ("pandas", "polars", "pyarrow"):
        return rest
    in_fit = list(get_columns(aligned) or ())
    if kind == "pandas":
        return type(X)(rest, index=X.index, columns=in_fit)[columns]
    named: Any = {name: rest[:, in_fit.index(name)] for name in columns}
    table: Any = type(X)
    return table(named) if kind == "polars" else table.from_pydict(named)


def _refuse_pipeline(model: Any) -> None:
    if hasattr(model, "steps"):
        raise TypeError(
            "model is a pipeline, and its steps need not have a way back: pass the step with the components, and rows as it "
            "sees them, for instance uca.remove(pipeline[:-1].transform(X), pipeline[-1])"
        )
