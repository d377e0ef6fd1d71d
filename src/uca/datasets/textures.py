"""Digits laid over photographs of textures: a target with a known secret, from data inside wheels.

The digits are scikit-learn's (8 x 8, UCI, CC BY 4.0), the textures scikit-image's ``grass`` and ``brick`` (512 x 512,
CC0). Target patches come from the left half of a photograph and background patches from the right half, so they share
no pixel. Textures have unit spread and digits half of it: what is large is the texture, what is unique is the digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

from .._optional import optional
from .._types import Array

SIDE = 8
DIGIT_SPREAD = 0.5


@dataclass(frozen=True)
class ContrastiveDataset:
    """A target, its backgrounds, and the labels that are unique to the target.

    Attributes
    ----------
    target : array of shape (n, p)
    labels : array of shape (n,)
    backgrounds : mapping of name -> array of shape (n_j, p)
    image_shape : tuple of int
        Shape in which a row is an image.
    description : str
    """

    target: Array
    labels: Array
    backgrounds: Mapping[str, Array]
    image_shape: tuple[int, int]
    description: str


def digits_on_grass(*, n_background: int = 1000, random_state: Any = 0) -> ContrastiveDataset:
    """Digits 0 and 1 laid over grass; background: other grass."""
    rng = check_random_state(random_state)
    images, labels = _digits(0, 1)
    grass = _texture("grass")
    return ContrastiveDataset(
        target=images + _patches(grass, len(images), rng, half="left"),
        labels=labels,
        backgrounds={"grass": _patches(grass, n_background, rng, half="right")},
        image_shape=(SIDE, SIDE),
        description="digits 0 and 1 over grass",
    )


def digits_on_grass_and_brick(*, n_grass: int = 150, n_brick: int = 1850, random_state: Any = 0) -> ContrastiveDataset:
    """Digits 3 and 8 laid over grass plus brick; backgrounds: a little grass alone and much brick alone."""
    rng = check_random_state(random_state)
    images, labels = _digits(3, 8)
    grass, brick = _texture("grass"), _texture("brick")
    target = images + _patches(grass, len(images), rng, half="left") + _patches(brick, len(images), rng, half="left")
    return ContrastiveDataset(
        target=target,
        labels=labels,
        backgrounds={
            "grass": _patches(grass, n_grass, rng, half="right"),
            "brick": _patches(brick, n_brick, rng, half="right"),
        },
        image_shape=(SIDE, SIDE),
        description="digits 3 and 8 over grass + brick",
    )


def _digits(*classes: int) -> tuple[Array, Array]:
    images, labels = load_digits(return_X_y=True)
    chosen = np.isin(labels, classes)
    images = images[chosen]
    return DIGIT_SPREAD * (images - images.mean()) / images.std(), labels[chosen]


def _texture(name: str) -> Array:
    data = optional("skimage.data", "the textures come with scikit-image", "demo")
    image = getattr(data, name)().astype(float)
    return (image - image.mean()) / image.std()


def _patches(image: Array, n: int, rng: np.random.RandomState, *, half: str) -> Array:
    middle = image.shape[1] // 2
    part = image[:, :middle] if half == "left" else image[:, middle:]
    windows = np.lib.stride_tricks.sliding_window_view(part, (SIDE, SIDE))
    rows, columns = (rng.randint(limit, size=n) for limit in windows.shape[:2])
    return windows[rows, columns].reshape(n, SIDE * SIDE)
