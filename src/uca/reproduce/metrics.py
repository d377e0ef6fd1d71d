"""How well the scores of two components tell a label, with and without keeping groups together."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._separation import judge, silhouette
from .._types import Array

REPEATS = 10


def separation(scores: Array, positive: Array, groups: Array) -> dict[str, float]:
    """Silhouette, accuracy with random folds, and accuracy and AUC with folds that keep groups together.

    Scores are standardised and judged over ten shuffles of the folds. Rows of one group (one mouse, one person) are not
    independent: figures with random folds are shown beside those by group, and are not to be believed.
    """
    scores, y = StandardScaler().fit_transform(scores), np.asarray(positive, dtype=int)
    by_row, by_group = (_repeat(scores, y, kept) for kept in (None, groups))
    return {
        "silhouette": silhouette(scores, y),
        "accuracy, random folds": by_row[0],
        "accuracy, folds by group": by_group[0],
        "AUC, folds by group": by_group[1],
    }


def _repeat(scores: Array, y: Array, groups: Array | None) -> tuple[float, float]:
    judged = [judge(scores, y, groups, seed=seed, standardise=True) for seed in range(REPEATS)]
    accuracies, aucs = zip(*((np.nan, np.nan) if j is None else (j.accuracy, j.auc()) for j in judged), strict=True)
    return float(np.mean(accuracies)), float(np.mean(aucs))
