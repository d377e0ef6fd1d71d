"""The figures of docs/single-cell.md: four tumours against two kinds of normal cell, and how far the gain holds.

Needs scanpy, matplotlib, and the data inside infercnvpy's wheel (``pip install --no-deps infercnvpy``). Run from the root:
``python -m benchmarks.single_cell``. About five minutes on two cores; ``--quick`` takes fewer repetitions. Log-expression
stays in its own units (``scale=False``, the default of ``uca.scverse``); ``--scaled`` divides every group by its own SD.
"""

from __future__ import annotations

import argparse
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scanpy as sc
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from uca import UCA, pool

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"]
NORMAL = {"oligodendrocytes": "Oligodendrocytes (non-malignant)", "microglia": "Microglia/Macrophage"}


def load() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Malignant cells, their tumours, and the normal cells, on genes seen in each group."""
    spec = find_spec("infercnvpy")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the data is inside infercnvpy's wheel: pip install --no-deps infercnvpy")
    adata = sc.read_h5ad(Path(spec.submodule_search_locations[0]) / "datasets/data/oligodendroglioma.h5ad")
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    kinds = adata.obs["cell_type"].astype(str).to_numpy()
    values = adata.X.toarray().astype(float)
    malignant = np.char.startswith(kinds.astype("U"), "malignant")
    normal = {name: values[kinds == kind] for name, kind in NORMAL.items()}
    seen = (values[malignant] > 0).sum(axis=0) >= 10
    for part in normal.values():
        seen &= (part > 0).sum(axis=0) >= 5
    return values[malignant][:, seen], kinds[malignant], {name: part[:, seen] for name, part in normal.items()}


def quality(model: UCA, cells: np.ndarray, tumours: np.ndarray) -> list[float]:
    """Adjusted Rand index of k-means on three scores; balanced accuracy on two and on three."""
    z = model.transform(cells)
    z /= z.std(axis=0)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    accuracy = [
        cross_val_score(LogisticRegression(), z[:, :k], tumours, cv=folds, scoring="balanced_accuracy").mean()
        for k in (2, 3)
    ]
    return [adjusted_rand_score(tumours, KMeans(4, n_init=10, random_state=0).fit_predict(z)), *accuracy]


def subsets(
    cells: np.ndarray, tumours: np.ndarray, normal: dict[str, np.ndarray], scale: bool, repetitions: int
) -> None:
    """Draw 80 % of the cells of each tumour, again and again: how often is UCA ahead of PCA?"""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(repetitions):
        draw = [np.flatnonzero(tumours == t) for t in np.unique(tumours)]
        some = np.concatenate([rng.choice(rows, int(0.8 * len(rows)), replace=False) for rows in draw])
        given = {"PCA": None, "split": normal, "pooled": pool(normal)}
        models = [UCA(3, scale=scale).fit(cells[some], backgrounds=backgrounds) for backgrounds in given.values()]
        found.append([quality(model, cells[some], tumours[some]) for model in models])
    values = np.array(found)
    print(f"80 % of each tumour, {repetitions} draws        ARI(3)  accuracy(2)  accuracy(3)")
    for i, name in enumerate(("PCA", "UCA, split", "UCA, pooled")):
        ahead = (values[:, i] > values[:, 0]).mean(axis=0)
        print(f"{name:12} mean {values[:, i].mean(axis=0).round(3)}  ahead of PCA {ahead.round(2)}")


def shuffled(
    cells: np.ndarray, tumours: np.ndarray, normal: dict[str, np.ndarray], scale: bool, repetitions: int
) -> None:
    """Each gene permuted among the normal cells: nothing varies together, so nothing should be gained."""
    rng = np.random.default_rng(0)
    found = [
        quality(
            UCA(3, scale=scale).fit(
                cells, backgrounds={name: rng.permuted(part, axis=0) for name, part in normal.items()}
            ),
            cells,
            tumours,
        )
        for _ in range(repetitions)
    ]
    print(f"PCA of all malignant cells: {np.round(quality(UCA(3, scale=scale).fit(cells), cells, tumours), 3)}")
    print(f"shuffled backgrounds, {repetitions} times: {np.mean(found, axis=0).round(3)}")


def draw(cells: np.ndarray, tumours: np.ndarray, normal: dict[str, np.ndarray], scale: bool, path: Path) -> None:
    """Tumours in colour; normal cells, centred and scaled by themselves as the fit sees them, in black."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharex=True, sharey=True)
    models = {
        "PCA": UCA(2, scale=scale).fit(cells),
        "UCA, split": UCA(2, scale=scale).fit(cells, backgrounds=normal),
    }
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        z = model.transform(cells)
        for colour, tumour in zip(COLOURS, np.unique(tumours), strict=True):
            name = tumour.replace("malignant_", "tumour ")
            ax.scatter(*z[tumours == tumour].T, s=16, color=colour, label=name, alpha=0.85, linewidths=0)
        for marker, (name, part) in zip("x+", normal.items(), strict=True):
            own = UCA(1, scale=scale).fit(part)
            standard = (part - own.mean_) / np.where(own.scale_ > 0, own.scale_, 1)
            ax.scatter(*(standard @ model.components_.T).T, s=30, color="k", marker=marker, linewidths=1, label=name)
        ax.set(title=title, xlabel="component 1")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("component 2")
    axes[1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    fig.tight_layout()
    fig.savefig(path, dpi=110)
    print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--scaled", action="store_true", help="divide every group by its own SD")
    parser.add_argument("--out", type=Path, default=Path("docs/images/single-cell.png"), help="where the figure goes")
    arguments = parser.parse_args()
    data = load()
    draw(*data, arguments.scaled, arguments.out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # genes that are silent in a subset
        shuffled(*data, arguments.scaled, 2 if arguments.quick else 10)
        subsets(*data, arguments.scaled, 3 if arguments.quick else 50)


if __name__ == "__main__":
    main()
