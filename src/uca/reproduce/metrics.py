"""How well two scores tell a label that the methods never saw."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, silhouette_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._threads import one_blas_thread
from .._types import Array

REPEATS = 10


def separation(scores: Array, positive: Array, groups: Array) -> dict[str, float]:
    """Silhouette, accuracy with random folds, and accuracy and AUC with folds that keep groups together.

    Scores are standardised. Folds are five, repeated over ten shuffles; out-of-fold decision values of a logistic
    regression are pooled within a shuffle. Rows of one group (one mouse, one person) are not independent: the figures with
    random folds are shown to be compared with those by group, not to be believed.
    """
    scores = StandardScaler().fit_transform(scores)
    with one_blas_thread():  # thousands of tiny fits
        by_row, by_group = (_repeat(scores, positive, kept) for kept in (None, groups))
    return {
        "silhouette": float(silhouette_score(scores, positive)),
        "accuracy, random folds": by_row[0],
        "accuracy, folds by group": by_group[0],
        "AUC, folds by group": by_group[1],
    }


def _repeat(scores: Array, positive: Array, groups: Array | None) -> tuple[float, float]:
    accuracies, aucs = [], []
    for seed in range(REPEATS):
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        decision = cross_val_predict(
            make_pipeline(StandardScaler(), LogisticRegression()),
            scores,
            positive,
            groups=groups,
            cv=kind(5, shuffle=True, random_state=seed),
            method="decision_function",
        )
        accuracies.append(np.mean((decision > 0) == positive))
        aucs.append(roc_auc_score(positive, decision))
    return float(np.mean(accuracies)), float(np.mean(aucs))
