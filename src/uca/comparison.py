"""PCA, cPCA, cPCA++ and UCA on the same data, side by side.

Promises: every method gets the same rows and the same scaling and none of them the labels; a method that cannot run says why
and does not stop the others. Which scaling is better depends on the units of the features: ``scale="both"`` shows every
method scaled and unscaled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ._labels import as_text
from ._pool import pool
from ._separation import agreement, judge, silhouette
from ._types import Array, Labels, Rows
from .estimators.base import ContrastiveTransformer, FitError
from .estimators.bounded import BoundedTransformer
from .estimators.registry import ESTIMATORS
from .estimators.sparse_uca import SparseUCA
from .estimators.uca import UCA
from .fitted import background_in_fit, check_background, scores_by
from .operators.statistics.blocks import divisor, sums_of_squares

BOTH = "both"
UNSCALED = ", unscaled"  # behind the name of a method, where both scalings are shown


@dataclass(frozen=True, repr=False)
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
    scale : bool or "target"
        What datasets were divided by, as in :class:`uca.UCA`. Variances are in units of that: compare them within one
        scaling.
    """

    method: str
    model: ContrastiveTransformer | None
    scores: Array | None
    metrics: dict[str, float] = field(default_factory=dict)
    note: str = ""
    scale: bool | str = True

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items()) or self.note
        return f"Compared({self.method!r}: {told})"


def compare(
    X: Rows,
    backgrounds: Mapping[str, Any],
    *,
    n_components: int = 2,
    scale: bool | str = True,
    labels: Labels | None = None,
    groups: Labels | None = None,
    n_nonzero: int | None = None,
    missing: str = "error",
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
    scale : bool, "target" or "both", default=True
        As in :class:`uca.UCA`. "both": every method with True, then every method with False, called "…, unscaled".
        Features in common units (log-expression, counts, pixels) tend to do better unscaled, mixed units need scaling.
    labels : sequence of shape (n,), optional
        What the scores are judged by. Rows with an empty or missing label are left out of that.
    groups : sequence of shape (n,), optional
        Rows that belong together (one animal, one person) and stay on one side of every fold.
    n_nonzero : int, optional
        Also :class:`uca.SparseUCA` with that many features per component; what it finds is not proven here.
    missing : {"error", "em"}, default="error"
        As in :class:`uca.UCA`.
    on_method : callable, optional
        Called with the name of each method before it runs.

    Returns
    -------
    results : tuple of Compared
    """
    if not backgrounds:
        raise ValueError("nothing to compare with: pass at least one background")
    results = []
    for how in (True, False) if scale == BOTH else (scale,):
        beside = scale == BOTH and how is False
        for method, model, given in _methods(dict(backgrounds), n_components, how, n_nonzero, missing):
            name = f"{method}{UNSCALED}" if beside else method
            if on_method is not None:
                on_method(name)
            found = _run(name, model, X, given, backgrounds, labels, groups, may_fail=beside)
            results.append(replace(found, scale=how))
    return tuple(results)


def separation(
    scores: Array, labels: Labels | None, groups: Labels | None = None, *, seed: int = 0
) -> dict[str, float]:
    """How well standardised scores tell labels: cross-validated AUC, adjusted Rand index of k-means, silhouette.

    The AUC is that of a logistic regression on out-of-fold probabilities, for more than two labels the mean of one against
    the rest. Where a label has too few rows (or groups) for two folds it is NaN.
    """
    labels = as_text(labels)
    known = labels != ""
    classes, y = np.unique(labels[known], return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"labels must have at least two different values; got {classes.tolist()}")
    scores = StandardScaler().fit_transform(np.asarray(scores, dtype=float)[known])
    judged = judge(scores, y, None if groups is None else as_text(groups)[known], seed=seed)
    return {
        "AUC": float("nan") if judged is None else judged.auc(),
        "ARI": agreement(scores, y, seed=seed),
        "silhouette": silhouette(scores, y),
    }


def _methods(
    backgrounds: dict[str, Any], k: int, scale: Any, n_nonzero: int | None, missing: str
) -> list[tuple[str, ContrastiveTransformer, Any]]:
    """PCA, then every estimator of the package, with backgrounds pooled, and split where it takes several."""
    several = len(backgrounds) > 1
    one = {"pooled": pool(backgrounds)} if several else backgrounds
    rows: list[tuple[str, ContrastiveTransformer, Any]] = [("PCA", UCA(k, scale=scale, missing=missing), None)]
    for kind in ESTIMATORS:
        name, make = kind.method_name, partial(kind, n_components=k, scale=scale, missing=missing)
        if kind is SparseUCA:
            if n_nonzero is None:
                continue
            name, make = f"{name} ({n_nonzero})", partial(make, n_nonzero=n_nonzero, proof="none")
        if kind.most_backgrounds == 1 or not several:
            rows.append((name, make(), one))
        else:
            rows += [(f"{name}, pooled", make(), one), (f"{name}, split", make(), backgrounds)]
    return rows


def _run(
    method: str,
    model: ContrastiveTransformer,
    X: Rows,
    given: Any,
    backgrounds: Mapping[str, Any],
    labels: Labels | None,
    groups: Labels | None,
    *,
    may_fail: bool,
) -> Compared:
    started = time.perf_counter()
    try:
        note = _fit(model, X, given)
    except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
        if isinstance(model, BoundedTransformer) and not may_fail:  # then it is wrong with the data, not with a method
            raise
        return Compared(method, None, None, note=f"could not run: {error}")
    seconds = time.perf_counter() - started
    scores = np.asarray(model.transform(X))
    metrics = {"target": float(model.explained_variance_[0])}
    metrics |= {name: _variance(model, rows, name) for name, rows in backgrounds.items()}
    if labels is not None:
        metrics |= separation(scores, labels, groups)
    return Compared(method, model, scores, {**metrics, "seconds": seconds}, note)


def _fit(model: ContrastiveTransformer, X: Rows, given: Any) -> str:
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
    own = background_in_fit(model, array)
    scores = scores_by(own.standard, model, own.rows)[:, :1]
    unknown = 0.0  # what filled gaps varies less than what they would hold
    if own.completed is not None:
        unknown = float(own.completed.along((model.components_[:1] * own.standard.factor).T).sum())
    return float((sums_of_squares(scores)[0] + unknown) / divisor(len(scores)))
