"""Figure 3 of the paper and its supplement: eigenfaces of an emotion, and what stands in where KDEF is not at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import gaussian_kde

from .._pool import pool
from .._types import Array
from ..datasets import DataNotFoundError, load_kdef, load_london_faces, london_study, synthetic_study
from ..datasets.kdef import EMOTIONS, IMAGE_SHAPE, NEGATIVE
from ..estimators.uca import UCA
from .metrics import separation
from .outcome import Outcome, pyplot
from .scatter import COLOURS, plotted_rows, scatter_grid

N_EIGENFACES = 5
SPLITS = 20


@dataclass(frozen=True)
class Study:
    """One target of faces with its backgrounds; ``positive`` is what the figures look for."""

    title: str
    target: Array
    labels: Array
    positive: Array
    person: Array
    backgrounds: dict[str, Array]
    image_shape: tuple[int, int]
    scale: bool | str
    notes: list[str]


def faces(
    data: Path | None = None, kdef: Path | None = None, emotion: str = "AF", quick: bool = False, **_: Any
) -> Outcome:
    """Mean faces, scores, eigenfaces and densities for PCA, single, pooled and split backgrounds."""
    study = _kdef(kdef, emotion) if kdef is not None else _stand_in(data)
    models = {
        method: UCA(N_EIGENFACES, scale=study.scale).fit(study.target, backgrounds=backgrounds)
        for method, backgrounds in _choices(study, singles=kdef is None).items()
    }
    scores = {method: model.transform(study.target)[:, :2] for method, model in models.items()}
    table = [
        {"method": method, **separation(values, study.positive, study.person)} for method, values in scores.items()
    ]
    captions = {str(row["method"]): f"AUC by person {row['AUC, folds by group']:.2f}" for row in table}
    outcome = Outcome(
        "faces",
        study.title,
        table=table,
        plotted=plotted_rows(scores, {"label": study.labels, "person": study.person}),
        notes=study.notes + ([] if kdef is not None or quick else [_over_splits(data)]),
        figures={
            "-means": _images(_means(study), study),
            "-scores": scatter_grid(scores, study.labels, captions, columns=min(5, len(scores)), shapes=_sign(study)),
            "-eigenfaces": _images(_eigenfaces(models), study, diverging=True),
            "-densities": _densities(scores, study),
        },
    )
    for figure in outcome.figures.values():
        figure.suptitle(study.title, fontsize=10)
    return outcome


def _kdef(path: Path, emotion: str) -> Study:
    loaded = load_kdef(path)
    target, emotions, actors, backgrounds = loaded.study(emotion)
    told = [f"{len(target)} target images, backgrounds { {k: len(v) for k, v in backgrounds.items()} }"]
    if loaded.skipped:
        listed = "; ".join(loaded.skipped[:5])
        told.append(f"{len(loaded.skipped)} files skipped: {listed}{' …' if len(loaded.skipped) > 5 else ''}")
    return Study(
        f"KDEF, final session, against practice session without {EMOTIONS[emotion]!r}",
        target,
        np.array([EMOTIONS[code] for code in emotions]),
        emotions == emotion,
        actors,
        backgrounds,
        IMAGE_SHAPE,
        True,
        told,
    )


def _stand_in(data: Path | None) -> Study:
    """London faces where they are found, else drawn ones, said so in the title of every figure."""
    try:
        study = london_study(load_london_faces(data))
        note = "KDEF was not given (--kdef PATH): London faces stand in."
    except DataNotFoundError as error:
        study = synthetic_study()
        note = f"Neither KDEF nor the London faces are at hand: SYNTHETIC faces stand in. {error}"
    return Study(
        ("SYNTHETIC faces (drawn, not photographed): " if study.synthetic else "") + study.description,
        study.target,
        study.labels,
        study.labels == "smiling",
        study.person,
        dict(study.backgrounds),
        study.image_shape,
        "target",
        [note],
    )


def _choices(study: Study, singles: bool) -> dict[str, Any]:
    chosen: dict[str, Any] = {"PCA": None}
    if singles:
        chosen |= {f"UCA, {name}": {name: rows} for name, rows in study.backgrounds.items()}
    return chosen | {"UCA, pooled": pool(study.backgrounds), "UCA, split": dict(study.backgrounds)}


def _over_splits(data: Path | None) -> str:
    """AUC of each choice of backgrounds over many splits of the people, for the stand-ins."""
    try:
        london = load_london_faces(data)
        studies = [london_study(london, random_state=seed) for seed in range(SPLITS)]
    except DataNotFoundError:
        studies = [synthetic_study(random_state=seed) for seed in range(SPLITS)]
    values: dict[str, list[float]] = {}
    for study in studies:
        choices: dict[str, Any] = {"PCA": None, **study.backgrounds, "pooled": pool(study.backgrounds)}
        choices["split"] = dict(study.backgrounds)
        for method, backgrounds in choices.items():
            scores = UCA(scale="target").fit_transform(study.target, backgrounds=backgrounds)
            auc = separation(scores, study.labels == "smiling", study.person)["AUC, folds by group"]
            values.setdefault(method, []).append(auc)
    told = ", ".join(f"{method} {np.mean(v):.2f} (sd {np.std(v):.2f})" for method, v in values.items())
    return f"AUC by person over {SPLITS} splits of the people: {told}."


def _sign(study: Study) -> Array | None:
    """Marker shapes: negative against non-negative emotions, where labels are emotions."""
    negative = {EMOTIONS[code] for code in NEGATIVE}
    if not set(study.labels.tolist()) <= set(EMOTIONS.values()) or len(set(study.labels.tolist())) < 3:
        return None
    return np.where(np.isin(study.labels, list(negative)), "negative", "non-negative")


def _means(study: Study) -> dict[str, list[Array]]:
    means = {
        f"target: {label}": [study.target[study.labels == label].mean(axis=0)] for label in np.unique(study.labels)
    }
    return means | {f"background: {name}": [rows.mean(axis=0)] for name, rows in study.backgrounds.items()}


def _eigenfaces(models: dict[str, UCA]) -> dict[str, list[Array]]:
    return {method: list(model.components_) for method, model in models.items()}


def _images(rows: dict[str, list[Array]], study: Study, *, diverging: bool = False) -> Any:
    """Images in a grid; a list of one image a name is laid out in one row."""
    single = all(len(images) == 1 for images in rows.values())
    n_rows, n_columns = (1, len(rows)) if single else (len(rows), max(map(len, rows.values())))
    aspect = study.image_shape[0] / study.image_shape[1]
    figure, axes = pyplot().subplots(
        n_rows,
        n_columns,
        figsize=(1.8 * n_columns, (1.8 * aspect + 0.25) * n_rows + 0.4),
        layout="constrained",
        squeeze=False,
    )
    for i, (name, images) in enumerate(rows.items()):
        for j, image in enumerate(images):
            axis = axes[0, i] if single else axes[i, j]
            limit = np.abs(image).max()
            limits = {"vmin": -limit, "vmax": limit} if diverging else {}
            axis.imshow(image.reshape(study.image_shape), cmap="PuOr" if diverging else "gray", **limits)
            axis.set(xticks=[], yticks=[])
            if single or j == 0:
                axis.set_title(name if single else "", fontsize=8)
                axis.set_ylabel("" if single else name, fontsize=8)
            if not single and i == 0:
                axis.set_title(f"component {j + 1}", fontsize=8)
    return figure


def _densities(scores: dict[str, Array], study: Study) -> Any:
    """Densities of component 2 by label (the supplement's figure)."""
    figure, axes = pyplot().subplots(
        1, len(scores), figsize=(3.1 * len(scores), 2.9), layout="constrained", squeeze=False
    )
    for axis, (method, values) in zip(axes.flat, scores.items(), strict=True):
        grid = np.linspace(values[:, 1].min(), values[:, 1].max(), 200)
        for colour, label in zip(COLOURS, np.unique(study.labels), strict=False):
            axis.plot(grid, gaussian_kde(values[study.labels == label, 1])(grid), color=colour, label=str(label))
        axis.set(title=method, xlabel="component 2", yticks=[])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure
