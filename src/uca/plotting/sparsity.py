"""Variance against the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..inference import SparsityPath
from .checks import check_result
from .style import GREYS, PALETTE, axes, entitle, legend_outside, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sparsity_path(found: SparsityPath, *, ax: Axes | None = None) -> Axes:
    """Target variance of the first component against its number of features: found, at most possible, and held out.

    Filled points are proven to be the best with that number of features. If rows were held out, the variance of the
    backgrounds there is drawn too, in units of its bound.

    Parameters
    ----------
    found : SparsityPath
        From :meth:`uca.SparseUCA.path`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_result(found, SparsityPath, "SparseUCA.path")
    ax = axes(ax, (6.4, 3.8))
    k = found.n_nonzero
    proven = np.array([certificate.status == "optimal" for certificate in found.certificates])
    if not proven.all():
        ax.fill_between(
            k, found.variance, found.upper, color=PALETTE[0], alpha=0.15, lw=0, label="up to the bound\non all choices"
        )
    ax.plot(k, found.variance, "-", color=PALETTE[0], lw=1.6, zorder=2)
    for chosen, face, name in ((proven, PALETTE[0], "target, proven best"), (~proven, "white", "target, best found")):
        if chosen.any():
            ax.plot(k[chosen], found.variance[chosen], "o", color=PALETTE[0], mfc=face, ms=6, label=name, zorder=3)
    if found.held_out is not None and found.held_out_background is not None:
        ax.plot(k, found.held_out, "s--", color=PALETTE[1], ms=5, lw=1.4, label="target, held out", zorder=3)
        there = found.bounds > 0
        excess = (found.held_out_background[:, there] / found.bounds[there]).max(axis=1, initial=0.0)
        ax.plot(k, excess, "^:", color=GREYS[2], ms=5, lw=1.2, label="background, held out\n(in units of its bound)")
        ax.axhline(1.0, color=GREYS[1], lw=0.8, zorder=0)
    ax.set_xticks(k if len(k) <= 12 else k[:: -(-len(k) // 12)])
    ax.set(xlabel="features of the component", ylabel="variance", ylim=(0, None))
    entitle(ax, "Variance against the number of features")
    open_frame(ax)
    legend_outside(ax)
    return ax
