"""Counts before UCA: log1p beside Pearson residuals, on simulated counts with a planted programme and on real cells.

``python -m benchmarks.counts`` prints the tables of ``docs/counts.md``; ``--seeds 5`` is quick. The cells come inside the
wheel of infercnvpy and are left out where it is not installed.

The law: counts are negative binomial with dispersion 0.2, 400 genes, 300 cells in target and background. Gene means and cell
depths are lognormal. Two programmes of 60 genes vary in both groups. One programme of 20 genes is on in 40 % of the
target's cells (a factor of ``FOLD``), and never in the background. Measured, along UC1: how well the score tells cells that
have the programme (area under the ROC curve), and how many of the 20 genes that follow the score most belong to it.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import roc_auc_score

import uca

GENES, CELLS, SHARED, PLANTED = 400, 300, 60, 20
FOLD, DISPERSION, THETA = 2.5, 0.2, 100.0


class LogCounts(TransformerMixin, BaseEstimator):
    """Counts of a cell brought to the median total of the target, then ``log(1 + x)``."""

    def fit(self, X, y=None):
        self.total_ = np.median(X.sum(axis=1))
        return self

    def transform(self, X):
        return np.log1p(X * (self.total_ / np.maximum(X.sum(axis=1, keepdims=True), 1)))


class PearsonResiduals(TransformerMixin, BaseEstimator):
    """``(x - mu) / sqrt(mu + mu^2 / theta)``, clipped at the root of the number of cells (Lause, Berens & Kobak 2021).

    ``mu`` is the total of the cell times the share of the gene: that of the target, or with ``own=True`` of the dataset.
    """

    def __init__(self, own=False):
        self.own = own

    def fit(self, X, y=None):
        self.shares_, self.limit_ = X.sum(axis=0) / X.sum(), np.sqrt(len(X))
        return self

    def transform(self, X):
        shares = X.sum(axis=0) / X.sum() if self.own else self.shares_
        mu = X.sum(axis=1, keepdims=True) * shares
        spread = np.sqrt(mu + mu**2 / THETA)
        found = np.divide(X - mu, spread, out=np.zeros_like(mu), where=spread > 0)
        return found.clip(-self.limit_, self.limit_)


WAYS = {
    "log1p, `scale=False`": (LogCounts(), False),
    "log1p, `scale=True`": (LogCounts(), True),
    "Pearson (target's shares), `scale=False`": (PearsonResiduals(), False),
    "Pearson (own shares), `scale=False`": (PearsonResiduals(own=True), False),
    "Pearson (own shares), `scale=True`": (PearsonResiduals(own=True), True),
}
SETTINGS = {
    "3 counts a gene": {"depth": 3.0, "background_depth": 3.0, "common": False},
    "0.5 counts a gene": {"depth": 0.5, "background_depth": 0.5, "common": False},
    "3, background 0.5": {"depth": 3.0, "background_depth": 0.5, "common": False},
    "0.5, background 3": {"depth": 0.5, "background_depth": 3.0, "common": False},
    "3, programme in frequent genes": {"depth": 3.0, "background_depth": 3.0, "common": True},
}


def draw(seed: int, *, depth: float, background_depth: float, common: bool):
    """Counts of target and background, which cells have the programme, and which genes make it."""
    rng = np.random.default_rng(seed)
    means = np.exp(rng.normal(0, 1.2, GENES))
    means /= means.mean()
    order = np.argsort(-means)[: GENES // 4] if common else np.arange(GENES)
    planted = rng.choice(order, PLANTED, replace=False)
    rest = np.setdiff1d(np.arange(GENES), planted)
    shared = np.zeros((2, GENES))
    for row in shared:
        row[rng.choice(rest, SHARED, replace=False)] = 0.6
    state = rng.random(CELLS) < 0.4

    def counts(size: float, on) -> np.ndarray:
        logs = np.log(size * means) + rng.normal(0, 0.4, (CELLS, 1)) + rng.normal(size=(CELLS, 2)) @ shared
        logs[:, planted] += np.log(FOLD) * np.asarray(on, dtype=float)[:, np.newaxis]
        rates = np.exp(logs) * rng.gamma(1 / DISPERSION, DISPERSION, (CELLS, GENES))
        return rng.poisson(rates).astype(float)

    target, background = counts(depth, state), counts(background_depth, np.zeros(CELLS))
    seen = ((target > 0).sum(axis=0) >= 10) & ((background > 0).sum(axis=0) >= 10)
    return target[:, seen], background[:, seen], state, np.isin(np.flatnonzero(seen), planted)


def measure(target, background, state, planted, step, scale) -> tuple[float, float, float]:
    """Area under the curve of UC1 and of PC1, and the share of planted genes among those that follow UC1 most."""
    pipeline = uca.ContrastivePipeline([("counts", step), ("uca", uca.UCA(n_components=1, scale=scale))])
    plain = uca.ContrastivePipeline([("counts", step), ("uca", uca.UCA(n_components=1, scale=scale))])
    scores = pipeline.fit(target, backgrounds={"control": background}).transform(target)[:, 0]
    area, pca = (_area(state, z) for z in (scores, plain.fit(target).transform(target)[:, 0]))
    follows = np.argsort(-np.abs(pipeline["uca"].pattern_correlations_[0]))[: planted.sum()]
    return area, pca, float(planted[follows].mean())


def _area(state, scores) -> float:
    area = roc_auc_score(state, scores)
    return float(max(area, 1 - area))


def simulated(seeds: int) -> None:
    """Means over seeds, with the standard error of the mean."""
    print(f"Simulated, {seeds} seeds: AUC of UC1 (of PC1 without background) / planted genes among the leading 20\n")
    print(f"| | {' | '.join(SETTINGS)} |")
    print(f"|{'---|' * (1 + len(SETTINGS))}")
    for name, (step, scale) in WAYS.items():
        cells = []
        for setting in SETTINGS.values():
            found = np.array([measure(*draw(seed, **setting), step, scale) for seed in range(seeds)])
            (area, pca, genes), error = found.mean(axis=0), found[:, 0].std(ddof=1) / np.sqrt(seeds)
            cells.append(f"{area:.2f} ± {error:.2f} ({pca:.2f}) / {100 * genes:.0f} %")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def cells() -> None:
    """Malignant cells of four tumours against two kinds of normal cell: which tumour is a cell of?"""
    spec = find_spec("infercnvpy")
    if spec is None:
        print("\nThe cells need infercnvpy: pip install --no-deps infercnvpy")
        return
    import anndata
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

    adata = anndata.read_h5ad(Path(spec.submodule_search_locations[0]) / "datasets/data/oligodendroglioma.h5ad")
    X = adata.X.toarray() if sparse.issparse(adata.X) else np.asarray(adata.X)
    kinds = adata.obs["cell_type"].astype(str).to_numpy()
    malignant = np.char.startswith(kinds.astype(str), "malignant")
    normal = {"oligodendrocytes": "Oligodendrocytes (non-malignant)", "microglia": "Microglia/Macrophage"}
    seen = ((X[malignant] > 0).sum(axis=0) >= 10) & np.all(
        [(X[kinds == kind] > 0).sum(axis=0) >= 5 for kind in normal.values()], axis=0
    )
    X = X[:, seen].astype(float)
    whole = np.mean(np.round(X) == X)
    print(
        f"\nOligodendroglioma: {malignant.sum()} malignant cells, {seen.sum()} genes; {100 * whole:.0f} % whole numbers\n"
    )
    print("| | 2 scores | 3 | 5 | PCA: 2 | 3 | 5 |")
    print("|---|---|---|---|---|---|---|")
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    backgrounds = {name: X[kinds == kind] for name, kind in normal.items()}
    for name, (step, scale) in WAYS.items():
        pipeline = uca.ContrastivePipeline([("counts", step), ("uca", uca.UCA(n_components=5, scale=scale))])
        row = []
        for given in (backgrounds, None):
            z = pipeline.fit(X[malignant], backgrounds=given).transform(X[malignant])
            z = z / z.std(axis=0)
            row += [
                cross_val_score(
                    LogisticRegression(), z[:, :k], kinds[malignant], cv=folds, scoring="balanced_accuracy"
                ).mean()
                for k in (2, 3, 5)
            ]
        print(f"| {name} | {' | '.join(f'{value:.2f}' for value in row)} |", flush=True)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", uca.NewRowsWarning)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    simulated(arguments.seeds)
    cells()
