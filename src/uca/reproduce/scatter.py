"""A grid of score plots, one panel a method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._types import Array
from .outcome import Row, pyplot

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe & Ito
MARKERS = ("o", "^", "s", "D")


def scatter_grid(
    scores: Mapping[str, Array],
    labels: Array,
    captions: Mapping[str, str],
    *,
    columns: int = 4,
    shapes: Array | None = None,
) -> Any:
    """Figure of scores coloured by label (and marked by ``shapes``), with a caption under each title."""
    plt = pyplot()
    n_rows = -(-len(scores) // columns)
    figure, axes = plt.subplots(
        n_rows, columns, figsize=(3.1 * columns, 3.2 * n_rows), layout="constrained", squeeze=False
    )
    shapes = np.zeros(len(labels), dtype=int) if shapes is None else shapes
    for axis, (method, values) in zip(axes.flat, scores.items(), strict=False):
        for i, label in enumerate(np.unique(labels)):
            for j, shape in enumerate(np.unique(shapes)):
                rows = (labels == label) & (shapes == shape)
                axis.scatter(*values[rows].T, s=9, alpha=0.7, c=COLOURS[i], marker=MARKERS[j], linewidths=0)
        axis.set_title(f"{method}\n{captions.get(method, '')}", fontsize=9)
        axis.set(xticks=[], yticks=[], xlabel="component 1", ylabel="component 2")
    for axis in axes.flat[len(scores) :]:
        axis.set_axis_off()
    marks = [("o", colour, label) for colour, label in zip(COLOURS, np.unique(labels), strict=False)]
    if len(np.unique(shapes)) > 1:
        marks += [(marker, "gray", shape) for marker, shape in zip(MARKERS, np.unique(shapes), strict=False)]
    handles = [plt.Line2D([], [], ls="", marker=marker, c=c, label=str(text)) for marker, c, text in marks]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def plotted_rows(scores: Mapping[str, Array], extra: Mapping[str, Array]) -> list[Row]:
    """Every plotted number as rows of a table."""
    return [
        {"method": method, "row": i, **{name: str(v[i]) for name, v in extra.items()}, "x": float(x), "y": float(y)}
        for method, points in scores.items()
        for i, (x, y) in enumerate(points)
    ]
