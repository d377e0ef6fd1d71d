"""What the answer depends on: backgrounds, and single rows of the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from .._types import Array, Labels
from ..inference import BackgroundInfluence, RowLeverage
from ..inference.influence import TURNED
from .checks import check_place, check_result, row_names
from .style import GREYS, INK, PALETTE, axes, entitle, legend_outside, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 5  # rows that are named
VERDICTS = {"decisive": PALETTE[1], "counts": PALETTE[0], "redundant": GREYS[1], "replaceable": GREYS[0], "": GREYS[2]}


def influence(found: BackgroundInfluence, *, ax: Axes | None = None) -> Axes:
    """What happens without each background, and with all of them pooled.

    On the left, how much more target variance becomes attainable; on the right, how far the components rotate: the
    smallest cosine between the old space and the new one. A background is redundant if its multiplier is 0 in these rows,
    replaceable if leaving it out changes things no more than resampling rows does, decisive if it changes them more and the
    cosine falls below the dotted line (26 degrees), and counts otherwise.

    Parameters
    ----------
    found : BackgroundInfluence
        From :func:`uca.inference.background_influence`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. The two parts are its ``child_axes``.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_result(found, BackgroundInfluence, "background_influence")
    verdicts = [found.verdict(name) for name in found.background_names]
    where = "" if found.n_resamples else " in these rows"
    names = [f"without {n}\n{verdict}{where}" for n, verdict in zip(found.background_names, verdicts, strict=True)]
    table = found.table
    if len(table) > len(names):
        names, verdicts = [*names, "all pooled"], [*verdicts, ""]
    ax = axes(ax, (7.4, 1.2 + 0.55 * len(table)))
    ax.set_axis_off()
    left, right = ax.inset_axes((0.0, 0.0, 0.47, 1.0)), ax.inset_axes((0.53, 0.0, 0.47, 1.0))
    shades = [VERDICTS[verdict] for verdict in verdicts]
    _draw_gains(left, [100 * row["gain"] for row in table], shades)
    _draw_turns(right, [row["subspace cosine"] for row in table], shades)
    left.set_yticks(np.arange(len(table)), names)
    for text, shade in zip(left.get_yticklabels(), shades, strict=True):
        text.set_color(INK if shade in GREYS else shade)
    right.set_yticks([])
    for part in (left, right):
        part.set_ylim(len(table) - 0.5, -0.5)
        part.tick_params(axis="y", length=0)
        open_frame(part)
    entitle(ax, "What changes without each background")
    return ax


def _draw_gains(ax: Axes, gains: list[float], shades: list[str]) -> None:
    bars = ax.barh(np.arange(len(gains)), gains, height=0.55, color=shades)
    ax.bar_label(bars, [f"{gain:+.1f} %" for gain in gains], padding=3, fontsize="small", color=INK)
    ax.axvline(0, color=INK, lw=0.8)
    low, high = min(0.0, *gains), max(0.0, *gains)
    room = 0.26 * (high - low or 1.0)  # for the numbers
    ax.set_xlim(low - (room if low < 0 else 0.0), high + room)
    ax.set_xlabel("gain in attainable\nvariance (%)")
    ax.spines["left"].set_visible(False)


def _draw_turns(ax: Axes, cosines: list[float], shades: list[str]) -> None:
    places = np.arange(len(cosines))
    ax.hlines(places, 0, 1, color="#E4E4E4", lw=1.0, zorder=1)
    ax.axvline(TURNED, color=INK, lw=1.0, ls=":", zorder=2)
    ax.annotate("26°", (TURNED, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize="small")
    ax.scatter(cosines, places, s=55, c=shades, zorder=3, clip_on=False)
    ax.set_xlim(0, 1)
    ax.set_xlabel("cosine with the components\nof all backgrounds")
    ax.spines["left"].set_visible(False)


def leverage(
    found: RowLeverage,
    *,
    component: int = 0,
    ids: Labels | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Share of a component's target variance that is due to each row, largest first, compared with that of normal scores.

    The rows that together have half of it are coloured; where that is one row, or no more than one in twenty, the
    first five are named.

    Parameters
    ----------
    found : RowLeverage
        From :func:`uca.inference.row_leverage`.
    component : int, default=0
        Counted from 0.
    ids : sequence of length n, optional
        Names of the rows; numbers from 0 by default.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_result(found, RowLeverage, "row_leverage")
    n, k = found.leverage.shape
    i = check_place(component, k)
    names = row_names(ids, n)
    order = np.argsort(-found.leverage[:, i], kind="stable")
    shares, half = 100 * found.leverage[order, i], int(found.n_half[i])
    few = bool(found.few[i])
    usual = 100 * normal_leverage(n)
    half_usual = 1 + int(np.sum(np.cumsum(usual) < 50.0))
    ranks = np.arange(1, n + 1)
    ax = axes(ax, (6.6, 3.6))
    ax.plot(ranks, usual, color=INK, lw=1.2, ls="--", label=f"normal scores:\n{half_usual} rows have half", zorder=2)
    for here, shade, name in (
        (slice(0, half), PALETTE[1 if few else 0], f"{half} of {n} rows have half"),
        (slice(half, n), GREYS[1], "the other rows"),
    ):
        if len(ranks[here]):
            ax.vlines(ranks[here], 0, shares[here], color=shade, lw=0.8, alpha=0.6, zorder=1)
            ax.plot(ranks[here], shares[here], "o", color=shade, ms=4, label=name, zorder=3)
    for rank, row in enumerate(order[: min(half, MOST_NAMES)] if few else [], start=1):
        _write_name(ax, rank, shares[rank - 1], names[row])
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set(
        xlabel="row, by rank",
        ylabel=f"share of the target's variance\nalong {found.prefix}{i + 1} (%)",
        xlim=(0.8, 1.25 * n),
        ylim=(0, (1.2 if few else 1.08) * max(shares[0], usual[0])),  # room for names
    )
    entitle(ax, f"Leverage of single rows on {found.prefix}{i + 1}")
    open_frame(ax)
    legend_outside(ax)
    return ax


def _write_name(ax: Axes, rank: int, share: float, name: str) -> None:
    ax.annotate(
        name,
        (rank, share),
        xytext=(3, 4),
        textcoords="offset points",
        rotation=35,
        rotation_mode="anchor",
        fontsize="small",
        zorder=4,
    )


def normal_leverage(n: int) -> Array:
    """Leverage of ``n`` rows with normal scores, largest first, as it is in the middle of many samples; sums to 1."""
    squares = ndtri(0.5 + 0.5 * (n - np.arange(n) - 0.5) / n) ** 2
    return squares / squares.sum()
