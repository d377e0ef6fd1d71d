"""The settings: data inside wheels, and in UCA_DATA. What each is, and why, is in the docstring of the package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from uca.datasets import (
    ContrastiveDataset,
    DataNotFoundError,
    digits_on_grass,
    digits_on_grass_and_brick,
    load_london_faces,
    load_mice,
    london_study,
)
from uca.reproduce.mice import BACKGROUNDS

from .series import motions, speakers, stocks
from .setting import Draw, NotHereError, Setting, folder, rows_alone

GENES = 1_000
NEIGHBOURS = 4
HELPER_T = ("CD4+/CD25 T Reg", "CD4+/CD45RA+/CD25- Naive T", "CD4+/CD45RO+ Memory")
KILLER_T = ("CD8+ Cytotoxic T", "CD8+/CD45RA+ Naive Cytotoxic")


def mice(seed: int, target: tuple[str, ...], backgrounds: tuple[str, ...]) -> Draw:
    data = _mice()
    return Draw(data.rows(*target), *data.labels(*target), {name: data.rows(name) for name in backgrounds})


@cache
def _mice():
    try:
        return load_mice()
    except (DataNotFoundError, OSError) as error:
        raise NotHereError(str(error)) from error


def london(seed: int) -> Draw:
    try:
        study = london_study(load_london_faces(), lighting=False, random_state=seed)
    except DataNotFoundError as error:
        raise NotHereError(str(error)) from error
    return Draw(study.target, study.labels, study.person, dict(study.backgrounds))


@cache
def _blood() -> tuple[np.ndarray, np.ndarray]:
    """Log-expression and kinds of cell."""
    import anndata

    path = folder("scanpy") / "datasets" / "10x_pbmc68k_reduced.h5ad"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file has an old layout
        cells = anndata.read_h5ad(path)
    names = {**dict.fromkeys(HELPER_T, "CD4"), **dict.fromkeys(KILLER_T, "CD8"), "CD56+ NK": "NK", "CD19+ B": "B"}
    names |= {"CD14+ Monocyte": "monocyte", "Dendritic": "dendritic"}
    kinds = np.array([names.get(kind, "") for kind in cells.obs["bulk_labels"].astype(str)])
    return cells.raw.X.toarray().astype(float), kinds


def blood(seed: int, target: tuple[str, ...], backgrounds: dict[str, tuple[str, ...]]) -> Draw:
    values, kinds = _blood()
    chosen = np.isin(kinds, target)
    return rows_alone(
        values[chosen], kinds[chosen], {name: values[np.isin(kinds, of)] for name, of in backgrounds.items()}
    )


@cache
def _tumours() -> Draw:
    folder("infercnvpy")
    from benchmarks.single_cell import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an old layout here, too
        cells, which, normal = load()
    spread = np.vstack([cells, *normal.values()]).var(axis=0)
    most = np.sort(np.argsort(-spread, kind="stable")[:GENES])
    return rows_alone(cells[:, most], which, {name: part[:, most] for name, part in normal.items()})


def coffee(seed: int) -> Draw:
    path = folder("chemotools") / "datasets" / "data"
    spectra = np.loadtxt(path / "coffee_spectra.csv", delimiter=",", skiprows=1)
    spectra = (
        spectra[:, : spectra.shape[1] // NEIGHBOURS * NEIGHBOURS].reshape(len(spectra), -1, NEIGHBOURS).mean(axis=2)
    )
    countries = np.loadtxt(path / "coffee_labels.csv", dtype=str, skiprows=1)
    return _in_turn(spectra, countries, seed)


def wine(seed: int) -> Draw:
    return _in_turn(*load_wine(return_X_y=True), seed)


def _in_turn(values: np.ndarray, labels: np.ndarray, seed: int) -> Draw:
    """Each class is the background in turn, and the others are the target."""
    classes = np.unique(labels)
    away = labels == classes[seed % len(classes)]
    return rows_alone(values[~away], labels[~away], {"other": values[away]})


def digits(seed: int) -> Draw:
    values, labels = load_digits(return_X_y=True)
    pair = np.random.default_rng([seed, 2]).choice(10, 2, replace=False)
    chosen = np.isin(labels, pair)
    others = {str(digit): values[labels == digit] for digit in range(10) if digit not in pair}
    return rows_alone(values[chosen], labels[chosen], others)


def textures(seed: int, make: Callable[..., ContrastiveDataset]) -> Draw:
    folder("skimage")
    data = make(random_state=seed)
    return rows_alone(data.target, data.labels, dict(data.backgrounds))


def breast(seed: int) -> Draw:
    values, benign = load_breast_cancer(return_X_y=True)
    return _controls_halved(values, benign == 1, seed)


def patches(seed: int) -> Draw:
    folder("skimage")
    from skimage import data

    images = data.lfw_subset()
    return _controls_halved(images.reshape(len(images), -1).astype(float), np.arange(len(images)) >= 100, seed)


def _controls_halved(values: np.ndarray, control: np.ndarray, seed: int) -> Draw:
    """Half of the controls, drawn, are the background; the target has the other half and all cases."""
    controls = np.random.default_rng([seed, 3]).permutation(np.flatnonzero(control))
    away = np.isin(np.arange(len(values)), controls[: len(controls) // 2])
    labels = np.where(control, "control", "case")
    return rows_alone(values[~away], labels[~away], {"controls": values[away]})


SETTINGS = (
    Setting("mice, 1 background", "mixed", partial(mice, target=("c-SC-s", "t-SC-s"), backgrounds=("c-CS-s",))),
    Setting("mice, 3 backgrounds", "mixed", partial(mice, target=("c-CS-s", "t-CS-s"), backgrounds=BACKGROUNDS)),
    Setting("London faces", "common", london),
    Setting(
        "blood, myeloid",
        "common",
        partial(
            blood,
            target=("monocyte", "dendritic"),
            backgrounds={"T cells": ("CD4", "CD8"), "B cells": ("B",), "NK cells": ("NK",)},
        ),
        "scanpy",
    ),
    Setting(
        "blood, T and NK",
        "common",
        partial(
            blood,
            target=("CD4", "CD8", "NK"),
            backgrounds={"monocytes": ("monocyte",), "dendritic": ("dendritic",), "B cells": ("B",)},
        ),
        "scanpy",
    ),
    Setting("tumours", "common", lambda seed: _tumours(), "infercnvpy"),
    Setting("coffee", "common", coffee, "chemotools"),
    Setting("stocks", "common", stocks, "skfolio"),
    Setting("motions", "common", motions, "aeon"),
    Setting("speakers", "common", speakers, "aeon"),
    Setting("digits", "common", digits),
    Setting("digits on grass", "common", partial(textures, make=digits_on_grass), "skimage"),
    Setting("digits on grass, brick", "common", partial(textures, make=digits_on_grass_and_brick), "skimage"),
    Setting("wine", "mixed", wine),
    Setting("breast", "mixed", breast),
    Setting("faces among patches", "common", patches, "skimage"),
)
