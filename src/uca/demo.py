"""The demo: what PCA does not see and UCA does, on data inside wheels. Run ``python -m uca.demo``.

Two stories, each repeated over seeds: digits hidden under one texture, and under two textures with one background each.
The score is the cross-validated AUC of the digit's label, which no method was told, on two components.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit
from scipy.stats import gaussian_kde

from ._optional import optional
from ._separation import judge
from ._types import Array
from .datasets import ContrastiveDataset, digits_on_grass, digits_on_grass_and_brick
from .estimators.uca import UCA
from .inference import UniquenessTest, background_influence, uniqueness_test

REACH = 4.0  # of the axis on which digits are told apart, in deviations
COLOURS = ("#0072B2", "#D55E00")  # blue and vermilion, told apart by colour-blind eyes


CAPTION = (
    "What is large is the texture;\nwhat is unique is the digit.\n\n"
    "Left: patches as the methods see them.\nThen, for each method, its two\n"
    "components and the scores of the target.\n\n"
    "No method is shown the labels.\nAUC: how well the two scores tell\nthem apart, cross-validated.\n\n"
    "Below: held-out rows along the line\nthat tells the digits apart best."
)


@dataclass(frozen=True)
class Fit:
    """One method on one dataset."""

    method: str
    model: UCA
    scores: Array
    auc: float


def fit_all(data: ContrastiveDataset, seed: int = 0) -> list[Fit]:
    """PCA, UCA with each background alone and, for several backgrounds, pooled and split."""
    choices: dict[str, Any] = {"PCA": None}
    choices |= {f"UCA, {name} only": {name: rows} for name, rows in data.backgrounds.items()}
    if len(data.backgrounds) > 1:
        choices["UCA, pooled"] = np.vstack(list(data.backgrounds.values()))
        choices["UCA, split"] = dict(data.backgrounds)
    fits = []
    for method, backgrounds in choices.items():
        model = UCA(scale=False).fit(data.target, backgrounds=backgrounds)
        scores = model.transform(data.target)
        fits.append(Fit(method, model, scores, label_auc(scores, data.labels, seed)))
    return fits


def label_auc(scores: Array, labels: Array, seed: int) -> float:
    """Five-fold cross-validated AUC of a linear classifier on the scores, mean of the folds."""
    judged = judge(scores, np.unique(labels, return_inverse=True)[1], seed=seed)
    return float("nan") if judged is None else float(np.mean([judged.auc(rows) for rows in judged.folds]))


def along_best_line(scores: Array, labels: Array, seed: int = 0) -> Array:
    """What the AUC judges: log-odds of held-out rows, centred, in units of their deviation within a label."""
    y = np.unique(labels, return_inverse=True)[1]
    judged = judge(scores, y, seed=seed)
    assert judged is not None  # the demo has many rows of each digit
    odds = logit(judged.chances[:, 1])
    within = np.sqrt(np.mean([odds[y == c].var() for c in (0, 1)]))
    return (odds - odds.mean()) / within


def repeat(make: Callable[..., ContrastiveDataset], n_seeds: int) -> dict[str, Array]:
    """AUC of each method, one number a seed."""
    runs = [fit_all(make(random_state=seed), seed) for seed in range(n_seeds)]
    return {fit.method: np.array([run[i].auc for run in runs]) for i, fit in enumerate(runs[0])}


def print_table(title: str, aucs: dict[str, Array]) -> None:
    """One story as text."""
    n_seeds = len(aucs["PCA"])
    print(f"\n{title}\n{'method':<18}  AUC of the digit, mean over {n_seeds} seeds (smallest to largest)")
    for method, values in aucs.items():
        print(f"{method:<18}  {values.mean():.2f}  ({values.min():.2f} to {values.max():.2f})")
    if "UCA, split" in aucs:
        others = np.array([values for method, values in aucs.items() if method != "UCA, split"])
        pooled, best = (int(np.sum(aucs["UCA, split"] > rest)) for rest in (aucs["UCA, pooled"], others.max(axis=0)))
        print(f"split is ahead of pooled on {pooled} of {n_seeds} seeds, and ahead of every other method on {best}")


def is_it_real(data: ContrastiveDataset) -> dict[str, UniquenessTest]:
    """The test on digits over grass, and on grass without digits."""
    grass = digits_on_grass(random_state=1, n_background=len(data.target)).backgrounds["grass"]
    targets = {data.description: data.target, "grass without digits": grass}
    return {
        name: uniqueness_test(target, data.backgrounds, n_components=2, model=UCA(scale=False))
        for name, target in targets.items()
    }


def draw(stories: Sequence[ContrastiveDataset], path: Path) -> None:
    """One figure: sample images, and for each method its two components as images beside the scores."""
    optional("matplotlib", "the figure needs matplotlib", "demo").use("Agg")
    import matplotlib.pyplot as plt

    shown = [
        [fit for fit in fit_all(data) if "only" not in fit.method or len(data.backgrounds) == 1] for data in stories
    ]
    columns = 1 + max(len(fits) for fits in shown)
    figure = plt.figure(figsize=(3.3 * columns, 4.4 * len(stories)), layout="constrained")
    panels = figure.subfigures(len(stories), columns, wspace=0.03, hspace=0.05, squeeze=False)
    for data, fits, row in zip(stories, shown, panels, strict=True):
        _draw_samples(row[0], data)
        for fit, panel in zip(fits, row[1:], strict=False):
            _draw_fit(panel, fit, data)
        for panel in row[1 + len(fits) :]:
            panel.text(0.08, 0.5, CAPTION, va="center", fontsize=10, linespacing=1.6, color="#444444")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _draw_samples(panel: Any, data: ContrastiveDataset) -> None:
    """Rows of patches: target, then backgrounds."""
    tables = {"target": data.target, **data.backgrounds}
    names = ["target"] * max(1, 3 - len(data.backgrounds)) + list(data.backgrounds)
    axes = panel.subplots(len(names), 4)
    rng = np.random.default_rng(0)
    for name, row in zip(names, axes, strict=True):
        for axis, i in zip(row, rng.permutation(len(tables[name])), strict=False):
            axis.imshow(tables[name][i].reshape(data.image_shape), cmap="gray")
            axis.set(xticks=[], yticks=[])
        row[0].set_ylabel(name)
    panel.suptitle(data.description, fontsize=10)


def _draw_fit(panel: Any, fit: Fit, data: ContrastiveDataset) -> None:
    axes = panel.subplot_mosaic(
        [["one", "scores", "scores"], ["two", "scores", "scores"], ["line", "line", "line"]], height_ratios=(1, 1, 0.75)
    )
    for name, component in zip(("one", "two"), fit.model.components_, strict=True):
        limit = np.abs(component).max()
        axes[name].imshow(component.reshape(data.image_shape), cmap="PuOr", vmin=-limit, vmax=limit)
        axes[name].set(xticks=[], yticks=[], ylabel=f"component {1 if name == 'one' else 2}")
    for colour, label in zip(COLOURS, np.unique(data.labels), strict=True):
        rows = data.labels == label
        axes["scores"].scatter(*fit.scores[rows].T, s=6, c=colour, alpha=0.7)
    axes["scores"].set(xticks=[], yticks=[], xlabel="score 1", ylabel="score 2")
    _draw_line(axes["line"], fit, data)
    panel.suptitle(f"{fit.method}: AUC {fit.auc:.2f}", fontsize=10)


def _draw_line(ax: Any, fit: Fit, data: ContrastiveDataset) -> None:
    """How each digit is spread along the line that tells them apart, and how far apart they are; the same axis for all."""
    places = along_best_line(fit.scores, data.labels)
    x, means = np.linspace(-REACH, REACH, 201), []
    for colour, label in zip(COLOURS, np.unique(data.labels), strict=True):
        own = places[data.labels == label]
        density = gaussian_kde(own)(x)
        ax.fill_between(x, density, color=colour, alpha=0.35, lw=0)
        ax.plot(x, density, color=colour, lw=1.5, label=f"digit {label}")
        ax.axvline(own.mean(), color=colour, lw=1, ls="--")
        means.append(own.mean())
    ax.set(xlim=(-REACH, REACH), ylim=(0, 0.62), yticks=[])
    ax.set_xlabel(f"along the best line: means {abs(means[1] - means[0]):.1f} SD apart", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.legend(loc="upper left", frameon=False, fontsize=8, handlelength=1.2, borderaxespad=0.1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables and save the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="repetitions (default 20)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the figure (default: out)")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    stories = (("(a) one background", digits_on_grass), ("(b) two backgrounds", digits_on_grass_and_brick))
    for title, make in stories:
        print_table(f"{title}: {make(random_state=0).description}", repeat(make, options.seeds))
    data = digits_on_grass_and_brick(random_state=0)
    two = fit_all(data)[-1]
    print(f"\nThe model behind 'UCA, split', seed 0:\n\n{two.model.summary()}")
    print("\nIs it real? Components on held-out rows (uca.inference.uniqueness_test):")
    split = uniqueness_test(data.target, data.backgrounds, n_components=2, model=two.model)
    for name, test in {**is_it_real(digits_on_grass(random_state=0)), data.description: split}.items():
        print(f"- {name}: {test.sentence}")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "uca-demo.png"
    draw([make(random_state=0) for _, make in stories], path)
    page = two.model.report(
        options.out / "report.html",
        data.target,
        backgrounds=data.backgrounds,
        labels=data.labels,
        label_name="digit",
        image_shape=data.image_shape,
        title=f"{data.description[0].upper()}{data.description[1:]}",
        test=split,
        influence=background_influence(data.target, data.backgrounds, model=two.model),
    )
    print(f"\nFigure: {path}\nReport: {page}, open it in a browser")


if __name__ == "__main__":
    main()
