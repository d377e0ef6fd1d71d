"""Held-out AUC and clustering of scores, and intervals over splits."""

from __future__ import annotations

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression

from uca._separation import Judged, agreement

from .setting import HELD_OUT

METRICS = ("AUC", "ARI", "ARI, raw")
LEVEL = 0.95


def figure(metric: str, k: int) -> str:
    """The name of a metric on k components."""
    return f"{metric} on {k}"


def judge(fitted: np.ndarray, held: np.ndarray, labels: np.ndarray, held_labels: np.ndarray) -> dict[str, float]:
    """Scores of the rows of the fit and of the held-out rows, with their labels."""
    classes, y = np.unique(labels, return_inverse=True)
    held_y = np.searchsorted(classes, held_labels)
    mean, sd = fitted.mean(axis=0), fitted.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    regression = LogisticRegression(max_iter=1000).fit((fitted - mean) / sd, y)
    chances = regression.predict_proba((held - mean) / sd)
    return {
        "AUC": Judged(held_y, chances, []).auc(),
        "ARI": agreement((held - mean) / sd, held_y),
        "ARI, raw": agreement(held, held_y),
    }


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean over splits and half the width of its interval; splits share rows (Nadeau & Bengio 2003)."""
    n = len(values)
    if n < 2:
        return float(np.mean(values)), float("nan")
    shared = HELD_OUT / (1 - HELD_OUT)
    error = np.sqrt(np.var(values, ddof=1) * (1 / n + shared))
    return float(np.mean(values)), float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * error)
