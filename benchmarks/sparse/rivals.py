"""Other ways to a component of few features, each asked for the same number of them.

``elastic_net`` is sparse contrastive PCA as Boileau, Hejazi & Dudoit (2020) define it, for one component: the contrast
``A - gamma B`` with its negative eigenvalues set to 0, and the criterion of Zou, Hastie & Tibshirani (2006) on it,

    min_{a, b} (a - b)'C(a - b) + ridge |b|^2 + lasso |b|_1,   |a| = 1,

by turns in a and b; the lasso path ends where k features are active. The paper chooses gamma by the silhouettes of clusters,
whose number the user gives. Here there are none: the gamma that serves best is taken, which favours the method.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import lars_path_gram

from uca import UCA, SparseUCA

GAMMAS = np.append(0.0, np.geomspace(0.1, 1000.0, 20))
RIDGE = 1e-4  # of the mean eigenvalue
TURNS = 30
PENALTIES = np.geomspace(1e-3, 3.0, 25)

Vector = np.ndarray
Method = Callable[[np.ndarray, list[np.ndarray], int], list[Vector]]


def correlations(rows: np.ndarray) -> np.ndarray:
    return np.corrcoef(rows, rowvar=False)


def pooled(backgrounds: list[np.ndarray]) -> np.ndarray:
    return np.vstack(backgrounds)


def ours(target: np.ndarray, backgrounds: list[np.ndarray], k: int) -> list[Vector]:
    model = SparseUCA(1, n_nonzero=k, proof="none").fit(target, backgrounds=backgrounds)
    return [model.components_[0]]


def thresholded(target: np.ndarray, backgrounds: list[np.ndarray], k: int) -> list[Vector]:
    """The k largest entries of the dense component."""
    return [largest(UCA(1).fit(target, backgrounds=backgrounds).components_[0], k)]


def elastic_net(target: np.ndarray, backgrounds: list[np.ndarray], k: int) -> list[Vector]:
    """One vector for each gamma."""
    a, b = correlations(target), correlations(pooled(backgrounds))
    return [_sparse(_positive(a - gamma * b), k) for gamma in GAMMAS]


def gcpca(target: np.ndarray, backgrounds: list[np.ndarray], k: int) -> list[Vector]:
    """The package's sparse gcPCA, version 4, at each of its penalties; more than k features are cut to the k largest."""
    from generalized_contrastive_PCA import sparse_gcPCA

    model = sparse_gcPCA(method="v4", Ncalc=2, Nsparse=1, lasso_penalty=PENALTIES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(target, pooled(backgrounds))
    return [largest(np.asarray(loadings)[:, 0], k) for loadings in model.sparse_loadings_]


def largest(vector: Vector, k: int) -> Vector:
    """Cut to its k largest entries, with length 1."""
    cut = np.zeros(len(vector))
    chosen = np.argsort(-np.abs(vector), kind="stable")[:k]
    cut[chosen] = vector[chosen]
    length = float(np.linalg.norm(cut))
    return cut / length if length > 0 else cut


def _positive(contrast: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(contrast)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def _sparse(contrast: np.ndarray, k: int) -> Vector:
    ridge = RIDGE * max(float(np.trace(contrast)) / len(contrast), np.finfo(float).tiny)
    gram = contrast + ridge * np.eye(len(contrast))
    direction, found = np.linalg.eigh(contrast)[1][:, -1], np.zeros(len(contrast))
    for _ in range(TURNS):
        before = found
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = lars_path_gram(
                contrast @ direction, gram, n_samples=1, max_iter=k, method="lasso", return_path=False
            )[2]
        image = contrast @ found
        if not np.linalg.norm(image) > 0:
            break
        direction = image / np.linalg.norm(image)
        if np.linalg.norm(found - before) <= 1e-6 * np.linalg.norm(found):
            break
    return largest(found, k)


METHODS: dict[str, Method] = {
    "SparseUCA": ours,
    "UCA, cut to the k largest": thresholded,
    "elastic-net cPCA, best of 21 contrasts": elastic_net,
    "sparse gcPCA v4, best of 25 penalties": gcpca,
}
