"""Components of image data drawn as images."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array
from ..estimators.base import ContrastiveTransformer, component_names
from .checks import check_component, check_count, check_model
from .style import DIVERGING, axes, entitle, method, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.12  # between images, as a share of their width or height
TITLE = 0.22  # above each row of images


def eigenimages(
    model: ContrastiveTransformer,
    image_shape: tuple[int, ...],
    *,
    components: Sequence[int] | None = None,
    n_columns: int = 4,
    ax: Axes | None = None,
) -> Axes:
    """Components as images, side by side in one Axes.

    Each image is scaled by its own largest absolute loading; white is 0. Loadings refer to standardised pixels.

    Parameters
    ----------
    model : fitted UCA, CPCA or CPCAPlusPlus
    image_shape : tuple of int
        Height and width, and 3 for colours: the shape in which a row of the data is an image.
    components : sequence of int, optional
        Which to draw, counted from 0; all by default.
    n_columns : int, default=4
        Images in a row.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    model = check_model(model)
    shape = _check_shape(image_shape, int(model.n_features_in_))
    chosen = _check_components(model, components)
    columns = check_count("n_columns", n_columns, len(chosen))
    rows = -(-len(chosen) // columns)
    height, width = shape[:2]
    across, down = width * (1 + GAP), height * (1 + TITLE)
    size = (1.6 * columns + 0.9, 1.6 * rows * down / across + 0.2)
    ax = axes(ax, size)
    for place, i in enumerate(chosen):
        left, top = across * (place % columns), down * (place // columns)
        drawn = _draw_image(ax, _image(model, i, shape), (left, left + width, top + height, top))
        ax.text(
            left + width / 2,
            top - 0.03 * height,
            f"{component_names(model)[i]} ({percent(model, i)})",
            ha="center",
            va="bottom",
            fontsize="small",
        )
    ax.set(
        xlim=(-0.02 * width, across * columns - GAP * width + 0.02 * width),
        ylim=(down * rows - TITLE * height * 0.9, -TITLE * height),
    )
    ax.set_aspect("equal")
    ax.set_axis_off()
    entitle(ax, f"{method(model)} components as images", pad=9)
    if len(shape) == 2:
        bar = ax.figure.colorbar(drawn, ax=ax, ticks=[-1, 0, 1], shrink=0.8, aspect=25, pad=0.02)
        bar.set_ticklabels(["-max", "0", "max"])
        bar.outline.set_visible(False)
    return ax


def _check_shape(image_shape: Any, p: int) -> tuple[int, ...]:
    sizes = tuple(image_shape) if isinstance(image_shape, (Sequence, np.ndarray)) else ()
    whole = all(isinstance(size, numbers.Integral) and int(size) > 0 for size in sizes)
    if not whole or len(sizes) not in (2, 3) or (len(sizes) == 3 and sizes[2] != 3):
        raise ValueError(f"image_shape must be (height, width) or (height, width, 3); got {image_shape!r}")
    if int(np.prod(sizes)) != p:
        raise ValueError(
            f"image_shape {sizes} has {int(np.prod(sizes))} values, but the model was fitted on {p} features"
        )
    return tuple(int(size) for size in sizes)


def _check_components(model: ContrastiveTransformer, components: Any) -> list[int]:
    if components is None:
        return list(range(model.components_.shape[0]))
    chosen = [check_component(model, i, "components") for i in np.atleast_1d(np.asarray(components)).tolist()]
    if not chosen:
        raise ValueError("components is empty: name at least one, or None for all")
    return chosen


def _image(model: ContrastiveTransformer, i: int, shape: tuple[int, ...]) -> Array:
    """Loadings of one component between -1 and 1, in the shape of an image."""
    values = model.components_[i].astype(float)
    return (values / np.abs(values).max()).reshape(shape)


def _draw_image(ax: Axes, image: Array, extent: tuple[float, float, float, float]) -> Any:
    if image.ndim == 3:
        return ax.imshow((image + 1) / 2, extent=extent, interpolation="nearest")
    return ax.imshow(image, cmap=DIVERGING, vmin=-1, vmax=1, extent=extent, interpolation="nearest")
