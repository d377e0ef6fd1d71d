"""How well scores tell labels that no method was shown, by one classifier and one way of cross-validation.

A logistic regression is fitted on four folds of five and judged on the fifth. Folds hold each label in proportion; where
groups are given (one animal, one person), their rows are not independent and stay on one side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, roc_auc_score, silhouette_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ._threads import one_blas_thread
from ._types import Array

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Judged:
    """Classes ``y`` of rows, their ``chances`` (n, classes) by the regressions of the other folds, and each fold's rows."""

    y: Array
    chances: Array
    folds: Sequence[Array]

    @property
    def accuracy(self) -> float:
        """Share of the rows whose likeliest class is their own."""
        return float(np.mean(self.chances.argmax(axis=1) == self.y))

    def auc(self, rows: Array | slice = slice(None)) -> float:
        """Area under the ROC curve, of all rows or some; of more than two classes the mean of one against the rest."""
        chances = self.chances[rows, 1] if self.chances.shape[1] == 2 else self.chances[rows]
        return float(roc_auc_score(self.y[rows], chances, multi_class="ovr"))


def judge(
    scores: Array, y: Array, groups: Array | None = None, *, seed: int = 0, standardise: bool = False
) -> Judged | None:
    """Judge scores (n, k) by classes ``y`` (n,), counted from 0; None where a class has too few rows (or groups) for it.

    With ``standardise``, each regression standardises scores by the rows that it is fitted on.
    """
    units = [len(np.unique(groups[y == c])) if groups is not None else int(np.sum(y == c)) for c in np.unique(y)]
    folds = min(FOLDS, *units)
    if folds < 2:
        return None
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splits = list(kind(folds, shuffle=True, random_state=seed).split(scores, y, groups))
    if any(len(np.unique(y[train])) < len(units) for train, _ in splits):
        return None
    regression = make_pipeline(*[StandardScaler()] * standardise, LogisticRegression())
    with one_blas_thread():  # tiny fits
        chances = cross_val_predict(regression, scores, y, cv=splits, method="predict_proba")
    return Judged(y, chances, [rows for _, rows in splits])


def silhouette(scores: Array, y: Array) -> float:
    """Mean silhouette of the classes; NaN where every row has one of its own."""
    return float(silhouette_score(scores, y)) if len(np.unique(y)) < len(y) else float("nan")


def agreement(scores: Array, y: Array, *, seed: int = 0) -> float:
    """Adjusted Rand index of k-means, with as many clusters as there are classes."""
    with one_blas_thread():
        clusters = KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit_predict(scores)
    return float(adjusted_rand_score(y, clusters))
