"""Faces: two expressions that are unique to the target, and identity and lighting that everybody has.

The London set (DeBruine & Jones 2017, figshare 5047666, CC BY 4.0): 101 people, neutral and smiling, 64 x 64 grey. Where
it is absent, parametric faces stand in; they say that they are synthetic.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._claims import check_npz
from .._guard import Refusal, guarded
from .._types import Array
from .files import find
from .textures import ContrastiveDataset

NAME = "london_faces_64.npz"
HOW = (
    "It is a grey 64 x 64 version of the Face Research Lab London Set (figshare 5047666), arrays images, person and "
    f"expression; pass its path or put {NAME} into a folder named by UCA_DATA."
)
LOWER = (slice(32, 64), slice(8, 56))  # the half of the face where a smile is; identity is too rich on the whole face
IMAGE_SHAPE = (16, 24)
LIGHT = 0.7  # spread of the lighting gradient, in units of the contrast of an image


@dataclass(frozen=True)
class LondonFaces:
    """Images (n, 64, 64) in 0..255, person ids and expressions (``"neutral"`` or ``"smiling"``), each (n,)."""

    images: Array
    person: Array
    expression: Array


@dataclass(frozen=True)
class FaceStudy(ContrastiveDataset):
    """A contrastive dataset of faces; ``person`` says which rows belong together, ``synthetic`` whether they are drawn."""

    person: Array
    synthetic: bool


def load_london_faces(path: str | os.PathLike[str] | None = None) -> LondonFaces:
    """Load the London faces.

    Parameters
    ----------
    path : path, optional
        The file or its folder. Without it: the folder in ``UCA_DATA``, then the cache.
    """
    file = find(NAME, path, how=HOW)
    with guarded(file, "the London set"):
        check_npz(file)
        with np.load(file, allow_pickle=False) as stored:
            missing = {"images", "person", "expression"} - set(stored.files)
            if missing:
                raise Refusal(f"it lacks {sorted(missing)}. {HOW}")
            faces = LondonFaces(stored["images"], stored["person"], stored["expression"])
    if faces.images.shape != (len(faces.person), 64, 64) or set(faces.expression.tolist()) != {"neutral", "smiling"}:
        raise ValueError(f"{file} is not the London set: images {faces.images.shape}. {HOW}")
    return faces


def london_study(faces: LondonFaces, *, lighting: bool = True, random_state: Any = 0) -> FaceStudy:
    """Target: half of the people, both expressions. Backgrounds: the *other* people's neutral faces, and lighting alone.

    Using the same people's neutral photographs as background would look better and be leakage.
    """
    rng = check_random_state(random_state)
    people = rng.permutation(np.unique(faces.person))
    in_target = np.isin(faces.person, people[: len(people) // 2])
    lower = faces.images[:, *LOWER].astype(float)
    rows = _contrast_normalised(lower.reshape(-1, 16, 2, 24, 2).mean(axis=(2, 4)).reshape(len(lower), -1))
    neutral = rows[~in_target & (faces.expression == "neutral")]
    return _study(
        rows[in_target], faces.expression[in_target], faces.person[in_target], neutral, lighting, rng, synthetic=False
    )


def synthetic_study(*, n_people: int = 100, lighting: bool = True, random_state: Any = 0) -> FaceStudy:
    """The same story on parametric faces: identity in all datasets, the smile only in the target."""
    rng = check_random_state(random_state)
    identities = rng.standard_normal((n_people, 6))
    target = np.arange(n_people // 2)
    smiles = np.tile([0.0, 1.0], len(target))
    person = np.repeat(target, 2)
    rows = np.stack([_draw_face(identities[i], smile, rng) for i, smile in zip(person, smiles, strict=True)])
    others = np.stack([_draw_face(identities[i], 0.0, rng) for i in range(n_people // 2, n_people)])
    expression = np.where(smiles > 0, "smiling", "neutral")
    return _study(
        _contrast_normalised(rows), expression, person, _contrast_normalised(others), lighting, rng, synthetic=True
    )


def _study(
    target: Array, labels: Array, person: Array, neutral: Array, lighting: bool, rng: Any, *, synthetic: bool
) -> FaceStudy:
    backgrounds = {"identity": neutral}
    if lighting:
        target = target + _lights(len(target), rng)
        noise = 0.05 * rng.standard_normal((len(neutral), target.shape[1]))
        backgrounds["lighting"] = neutral.mean(axis=0) + _lights(len(neutral), rng) + noise
    kind = "synthetic faces" if synthetic else "London faces"
    return FaceStudy(
        target=target,
        labels=labels,
        backgrounds=backgrounds,
        image_shape=IMAGE_SHAPE,
        description=f"{kind}, lower half" + (", lit from the side" if lighting else ""),
        person=person,
        synthetic=synthetic,
    )


def _contrast_normalised(rows: Array) -> Array:
    return (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)


def _lights(n: int, rng: Any) -> Array:
    """Side lighting: a gradient across the image, of random strength and sign."""
    gradient = np.tile(np.linspace(-1, 1, IMAGE_SHAPE[1]), IMAGE_SHAPE[0])
    return LIGHT * rng.standard_normal((n, 1)) * gradient


def _draw_face(identity: Array, smile: float, rng: Any) -> Array:
    """Lower half of a face on a 16 x 24 grid: nose, mouth that curves with the smile, cheeks and chin of the identity."""
    y, x = np.mgrid[0 : IMAGE_SHAPE[0], 0 : IMAGE_SHAPE[1]].astype(float)
    x = (x - 11.5) / (11.5 * (1 + 0.06 * identity[0]))
    y = y / 15
    face = np.clip(1.2 - (np.abs(x) ** 2.4 + 0.55 * np.maximum(y - 0.3, 0) ** (2 + 0.2 * identity[1])), 0, 1)
    nose = np.exp(-((x / (0.16 + 0.02 * identity[2])) ** 2) - ((y - 0.1) / 0.18) ** 2)
    middle = 0.52 + 0.03 * identity[3] + smile * (0.06 - 0.28 * x**2)
    width = 0.42 * (1 + 0.08 * identity[4]) * (1 + 0.2 * smile)
    mouth = np.exp(-(((y - middle) / 0.06) ** 2)) * (np.abs(x) < width)
    shade = 0.15 * identity[5] * np.exp(-((y - 0.8) ** 2) / 0.05)
    image = face + 0.4 * nose - 0.8 * mouth + shade
    return np.asarray(image + 0.04 * rng.standard_normal(image.shape)).ravel()
