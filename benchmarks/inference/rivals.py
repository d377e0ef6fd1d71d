"""Other ways to test: simple ones, and the contrastive dimension estimator and test of Hawke, Ma & Li (NeurIPS 2024).

The last is written from the paper's definition: the dimension unique to the foreground is the number of principal
angles between the two PCA subspaces that exceed a threshold, plus what the foreground's dimension has more than the
background's; the test compares the angles with those between resamples of the background, among which nothing is
unique. Dimensions of both datasets are estimated by parallel analysis (the paper takes them from an estimator of
intrinsic dimension). The method knows one background; several are pooled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.decomposition import PCA

from uca import UCA

ANGLE = 0.1  # 1 - cosine beyond which a principal angle counts
MOST = 10  # dimensions of a dataset


def f_test(target: np.ndarray, background: np.ndarray, rng: np.random.Generator) -> float:
    """The plain way: fit on half of the rows, scale the other half by the first, and compare variances by an F-test."""

    def halves(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = rng.permutation(rows)
        return rows[: len(rows) // 2], rows[len(rows) // 2 :]

    (fit_t, test_t), (fit_b, test_b) = halves(target), halves(background)
    direction = UCA(n_components=1, tol=1e-4).fit(fit_t, backgrounds=fit_b).components_[0]
    variances = [
        np.var(((test - fit.mean(axis=0)) / deviations(fit)) @ direction, ddof=1)
        for fit, test in ((fit_t, test_t), (fit_b, test_b))
    ]
    return float(stats.f.sf(variances[0] / variances[1], len(test_t) - 1, len(test_b) - 1))


def twice_median(z: np.ndarray) -> float:
    """Twice the median over splits of the largest p-value over hypotheses; z has shape (splits, hypotheses)."""
    return min(1.0, 2.0 * float(np.median(stats.norm.sf(z).max(axis=1))))


def standardised(rows: np.ndarray) -> np.ndarray:
    return (rows - rows.mean(axis=0)) / deviations(rows)


def deviations(rows: np.ndarray) -> np.ndarray:
    """Of each feature; 1 for a constant one."""
    found = rows.std(axis=0, ddof=1)
    return np.where(found > 0, found, 1.0)


def n_dimensions(rows: np.ndarray, rng: np.random.Generator, permutations: int = 20) -> int:
    """Parallel analysis: eigenvalues above the 95 % quantile of those of column-permuted rows; at least 1."""
    k = min(MOST, *rows.shape)
    own = PCA(k).fit(rows).explained_variance_
    null = [PCA(k).fit(rng.permuted(rows, axis=0)).explained_variance_ for _ in range(permutations)]
    above = own > np.quantile(null, 0.95, axis=0)
    return max(1, k if above.all() else int(np.argmin(above)))


def cosines(first: np.ndarray, second: np.ndarray, d_first: int, d_second: int) -> np.ndarray:
    """Cosines of the principal angles between two PCA subspaces, one for each dimension of the first."""
    found = np.zeros(d_first)
    values = np.linalg.svd(
        PCA(d_first).fit(first).components_ @ PCA(d_second).fit(second).components_.T, compute_uv=False
    )
    found[: len(values)] = values
    return found


@dataclass(frozen=True)
class ContrastiveDimension:
    """The estimate, and the p-value of "the foreground has nothing of its own"."""

    dimension: int
    pvalue: float


def contrastive_dimension(
    target: np.ndarray, background: np.ndarray, rng: np.random.Generator, resamples: int = 200
) -> ContrastiveDimension:
    target, background = standardised(target), standardised(background)
    d_target, d_background = n_dimensions(target, rng), n_dimensions(background, rng)
    own = cosines(target, background, d_target, d_background)
    null = []
    for _ in range(resamples):
        first, second = (background[rng.integers(len(background), size=n)] for n in (len(target), len(background)))
        null.append(np.sum(1 - cosines(first, second, d_target, d_background) ** 2))
    beyond = np.sum(np.asarray(null) >= np.sum(1 - own**2))
    return ContrastiveDimension(int(np.sum(own < 1 - ANGLE)), float((1 + beyond) / (1 + resamples)))
