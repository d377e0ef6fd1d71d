"""PCA, cPCA, cPCA++ and UCA on the same data, side by side.

Promises: every method gets the same rows and the same scaling and none of them the labels; a method that cannot run says why
and does not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, roc_auc_score, silhouette_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from ._missing import entries, is_missing
from ._pool import pool
from ._threads import one_blas_thread
from ._types import Array
from .estimators import ESTIMATORS
from .estimators.base import ContrastiveTransformer, FitError
from .estimators.uca import UCA
from .fitted import background_standard, check_background, scores_by
from .operators.statistics.blocks import divisor, sums_of_squares

FOLDS = 5


@dataclass(frozen=True)
class Compared:
    """One method on the data.

    Attributes
    ----------
    method : str
    model : fitted model, or None where the method could not run
    scores : array of shape (n, k), or None
        Scores of the target.
    metrics : dict of str -> float
        ``target`` and one entry a background: variance along the first component; ``AUC``, ``ARI`` and ``silhouette``
        where labels were given; ``seconds``.
    note : str
        What was chosen, or why the method could not run.
    """

    method: str
    model: ContrastiveTransformer | None
    scores: Array | None
    metrics: dict[str, float] = field(default_factory=dict)
    note: str = ""


def compare(
    X: Any,
    backgrounds: Mapping[str, Any],
    *,
    n_components: int = 2,
    scale: bool | str = True,
    labels: Any = None,
    groups: Any = None,
    on_method: Callable[[str], None] | None = None,
) -> tuple[Compared, ...]:
    """Fit PCA, cPCA with automatic alpha, cPCA++, and UCA with backgrounds pooled and split.

    Parameters
    ----------
    X : array or table of shape (n, p)
        The target.
    backgrounds : dict of name -> array or table
        Methods that take one background get them stacked.
    n_components : int, default=2
    scale : bool or "target", default=True
        As in :class:`uca.UCA`.
    labels : sequence of shape (n,), optional
        What the scores are judged by. Rows with an empty or missing label are left out of that.
    groups : sequence of shape (n,), optional
        Rows that belong together (one animal, one person) and stay on one side of every fold.
    on_method : callable, optional
        Called with the name of each method before it runs.

    Returns
    -------
    results : tuple of Compared
    """
    if not backgrounds:
        raise ValueError("nothing to compare with: pass at least one background")
    results = []
    for method, model, given in _methods(dict(backgrounds), n_components, scale):
        if on_method is not None:
            on_method(method)
        results.append(_run(method, model, X, given, backgrounds, labels, groups))
    return tuple(results)


def separation(scores: Array, labels: Any, groups: Any = None, *, seed: int = 0) -> dict[str, float]:
    """How well standardised scores tell labels: cross-validated AUC, adjusted Rand index of k-means, silhouette.

    The AUC is that of a logistic regression on out-of-fold probabilities, for more than two labels the mean of one against
    the rest. Where a label has too few rows (or groups) for two folds it is NaN.
    """
    labels = _text(labels)
    known = labels != ""
    classes, y = np.unique(labels[known], return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"labels must tell at least two kinds of rows apart; got {classes.tolist()}")
    scores = StandardScaler().fit_transform(np.asarray(scores, dtype=float)[known])
    kept = None if groups is None else _text(groups)[known]
    with one_blas_thread():
        clusters = KMeans(len(classes), n_init=10, random_state=seed).fit_predict(scores)
        return {
            "AUC": _auc(scores, y, kept, seed),
            "ARI": float(adjusted_rand_score(y, clusters)),
            "silhouette": float(silhouette_score(scores, y)) if len(classes) < len(y) else np.nan,
        }


def _text(values: Any) -> Array:
    return np.array(["" if is_missing(value) else str(value) for value in entries(values)])


def _auc(scores: Array, y: Array, groups: Array | None, seed: int) -> float:
    units = [len(np.unique(groups[y == c])) if groups is not None else int(np.sum(y == c)) for c in np.unique(y)]
    folds = min(FOLDS, *units)
    if folds < 2:
        return float("nan")
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splits = list(kind(folds, shuffle=True, random_state=seed).split(scores, y, groups))
    if any(len(np.unique(y[train])) < len(units) for train, _ in splits):
        return float("nan")
    chances = cross_val_predict(LogisticRegression(), scores, y, cv=splits, method="predict_proba")
    if len(units) == 2:
        return float(roc_auc_score(y, chances[:, 1]))
    return float(roc_auc_score(y, chances, multi_class="ovr"))


def _methods(backgrounds: dict[str, Any], k: int, scale: Any) -> list[tuple[str, ContrastiveTransformer, Any]]:
    """PCA, then every estimator of the package, with backgrounds pooled, and split where it takes several."""
    several = len(backgrounds) > 1
    one = {"pooled": _stack(list(backgrounds.values()))} if several else backgrounds
    rows: list[tuple[str, ContrastiveTransformer, Any]] = [("PCA", UCA(k, scale=scale), None)]
    for kind in ESTIMATORS:
        name, make = kind.method_name, partial(kind, n_components=k, scale=scale)
        if kind.most_backgrounds == 1 or not several:
            rows.append((name, make(), one))
        else:
            rows += [(f"{name}, pooled", make(), one), (f"{name}, split", make(), backgrounds)]
    return rows


def _stack(tables: Sequence[Any]) -> Any:
    return sparse.vstack(tables, format="csr") if any(map(sparse.issparse, tables)) else pool(*tables)


def _run(
    method: str,
    model: ContrastiveTransformer,
    X: Any,
    given: Any,
    backgrounds: Mapping[str, Any],
    labels: Any,
    groups: Any,
) -> Compared:
    started = time.perf_counter()
    try:
        note = _fit(model, X, given)
    except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
        if method.startswith(("PCA", "UCA")):  # what stops these is wrong with the data, not with a method
            raise
        return Compared(method, None, None, note=f"could not run: {error}")
    seconds = time.perf_counter() - started
    scores = np.asarray(model.transform(X))
    metrics = {"target": float(model.explained_variance_[0])}
    metrics |= {name: _variance(model, rows, name) for name, rows in backgrounds.items()}
    if labels is not None:
        metrics |= separation(scores, labels, groups)
    return Compared(method, model, scores, {**metrics, "seconds": seconds}, note)


def _fit(model: ContrastiveTransformer, X: Any, given: Any) -> str:
    """Fit, and say what was chosen; parameters are changed only where a method cannot run without."""
    try:
        model.fit(X, backgrounds=given)
    except FitError as error:
        model.set_params(**error.remedy).fit(X, backgrounds=given)
        return f"{', '.join(f'{name} {value}' for name, value in error.remedy.items())}: {error.reason}"
    return model.chosen()


def _variance(model: ContrastiveTransformer, rows: Any, name: str) -> float:
    """Variance of a background along the first component, standardised as the model standardises backgrounds."""
    array = check_background(model, rows, name)
    scores = scores_by(background_standard(model, array), model, array)[:, :1]
    return float(sums_of_squares(scores)[0] / divisor(len(scores)))
