"""Topographic maps, by MNE's own plotting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._optional import optional
from .._types import Array
from .recordings import mne_package


def plot_maps(
    values: Array,
    info: Any,
    *,
    components: Sequence[int] | None = None,
    axes: Any = None,
    colorbar: bool = True,
    show: bool = True,
    **options: Any,
) -> Any:
    """One map for each row of ``values`` (k, n_channels); the figure."""
    pyplot = optional("matplotlib.pyplot", "topographic maps need matplotlib", "plot")
    which = list(range(len(values))) if components is None else list(components)
    if axes is None:
        axes = pyplot.subplots(1, len(which), figsize=(2.3 * len(which), 2.5), squeeze=False, layout="constrained")[1]
    axes = np.ravel(axes)
    if len(axes) != len(which):
        raise ValueError(f"axes must be one for each of the {len(which)} maps; got {len(axes)}")
    for ax, i in zip(axes, which, strict=True):
        size = np.abs(values[i]).max()
        given = {"cmap": "RdBu_r", "vlim": (-size, size), "contours": 4, **options}
        image, _ = mne_package().viz.plot_topomap(values[i], info, axes=ax, show=False, **given)
        ax.set_title(f"UC{i + 1}")
        if colorbar:
            ax.figure.colorbar(image, ax=ax, shrink=0.6, format="%.2g")
    if show:
        pyplot.show()
    return axes[0].figure
