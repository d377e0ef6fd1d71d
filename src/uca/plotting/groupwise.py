"""Each group against all others: variance in the group and in its backgrounds, what is unique, and the leading features."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from .._optional import optional
from .._parameters import check_type
from ..groupwise import Each
from ..inference.outcome import p_text
from .style import GREYS, INK, axes, colour, entitle, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, ROW, REST = 9.0, 0.30, 1.7  # inches: of the figure, of a row, and of title, axis and legend
LEGEND_BELOW = 0.55  # inches below the axes
BETWEEN = 0.5  # rows between groups
WIDE = 30.0  # times: from there on variances are drawn on a logarithmic scale
SHOWN, LONGEST = 4, 42  # leading features that are named, and their letters
NAME = 28  # letters of a group
P_ENDS, NAMES_BEGIN = 58, 68  # points to the right of the axes
COMPONENT_ENDS = 36  # points to the left
BAND = "#E9F1F6"  # behind what is unique, as in the figure of a test


def each(result: Each, *, ax: Axes | None = None) -> Axes:
    """Variance of every component of every group, in the group and in the background that has most of it.

    One line a component. The filled point is the variance in the group, the open one the largest variance in a background,
    both in the rows of the fit; the short line is the largest to expect in new rows of a background (none where nothing can
    be predicted). Components that are unique by p-values adjusted across groups are coloured and stand on a shaded
    ground; all others are grey, dotted where they were not tested. On the right are the adjusted p-value and the leading
    features, which rise (+) or fall with the score. Where variances differ by more than 30 times, the axis is logarithmic.

    Parameters
    ----------
    result : Each
        From :func:`uca.each`.
    ax : matplotlib Axes, optional
        Where to draw, with room to the right; a new figure by default, as tall as the groups need.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_type(result, Each, "uca.each")
    places = _places(result)
    ax = axes(ax, _size(places))
    for group, rows in zip(result.groups, places, strict=True):
        for place, row in zip(rows, group.table, strict=True):
            _draw_row(ax, place, row)
            _write_beside(ax, place, row)
        if group.n_unique:
            ax.axhspan(rows[0] - 0.45, rows[group.n_unique - 1] + 0.45, color=BAND, lw=0, zorder=0)
        _write_name(ax, rows[0], group.name, bold=bool(group.n_unique))
    _name_components(ax, result, places)
    _scale(ax, result)
    ax.set_xlabel(f"variance{', each group standardised by its own SD' if result.parameters['scale'] is True else ''}")
    ax.grid(axis="x", color="#E4E4E4", lw=0.7)
    ax.set_axisbelow(True)
    open_frame(ax)
    ax.spines["left"].set_visible(False)
    others = "all others together" if result.pooled else "all others"
    entitle(ax, f"Each group against {others}: {_found(result)}", pad=14)
    _legend(ax, result)
    return ax


def picture(result: Each, dots: int = 150) -> bytes:
    """The figure as a PNG, drawn without a display; ``dots`` an inch."""
    figure = optional("matplotlib.figure", "plots need matplotlib", "plot").Figure(
        figsize=_size(_places(result)), layout="constrained"
    )
    each(result, ax=figure.subplots())
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=dots, metadata={"Software": None})
    return stream.getvalue()


def _size(places: list[list[float]]) -> tuple[float, float]:
    """Of a figure, in inches."""
    return WIDTH, max(REST + ROW * (places[-1][-1] + 1.0), 2.6)


def _places(result: Each) -> list[list[float]]:
    """Where the rows of each group stand, from the top."""
    out, place = [], 0.0
    for group in result.groups:
        out.append([place + i for i in range(len(group.table))])
        place += len(group.table) + BETWEEN
    return out


def _draw_row(ax: Axes, place: float, row: dict[str, Any]) -> None:
    if row["component"] is None:
        return
    unique, known = row["verdict"] == "unique", row["expected_variance"]
    shade = colour(0) if unique else GREYS[0]
    line = ":" if row["p"] is None else "-"
    ends = [row["target_variance"], row["background_variance"]]
    ax.plot(ends, [place, place], color=shade, lw=2.2 if unique else 1.2, ls=line, zorder=2)
    ax.plot(ends[1:], [place], "o", mfc="white", mec=shade, ms=6.5, mew=1.4, zorder=3)
    ax.plot(ends[:1], [place], "o", color=shade, ms=8, zorder=4)
    if known is not None and np.isfinite(known):
        ax.plot([known], [place], "|", color=shade, ms=11, mew=1.8, zorder=3)


def _write(ax: Axes, text: str, at: tuple[float, float], shift: tuple[float, float], **style: Any) -> None:
    """Text beside the axes: across them by share, down them by row."""
    where = {
        "xycoords": ax.get_yaxis_transform(),
        "textcoords": "offset points",
        "annotation_clip": False,
        "parse_math": False,
    }
    ax.annotate(text, at, xytext=shift, **{"va": "center", **where, **style})


def _write_beside(ax: Axes, place: float, row: dict[str, Any]) -> None:
    ink = {"color": INK if row["verdict"] == "unique" else GREYS[2], "fontsize": "small"}
    p = "not tested" if row["p_adjusted"] is None else p_text(row["p_adjusted"])
    _write(ax, p, (1.0, place), (P_ENDS, 0), ha="right", **ink)
    _write(ax, _short(row["leading_features"] or "not fitted"), (1.0, place), (NAMES_BEGIN, 0), **ink)


def _write_name(ax: Axes, place: float, name: str, *, bold: bool) -> None:
    text = name if len(name) <= NAME else f"{name[: NAME - 1]}…"
    _write(ax, text, (0.0, place), (-COMPONENT_ENDS, 0), ha="right", fontweight="bold" if bold else "normal")


def _short(features: str) -> str:
    """The first leading features that fit."""
    parts = features.split(", ")
    kept = parts[:SHOWN]
    while len(kept) > 1 and len(", ".join(kept)) > LONGEST:
        kept = kept[:-1]
    text = ", ".join(kept)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 4]}… {text[-1]}"
    return f"{text} …" if len(kept) < len(parts) else text


def _name_components(ax: Axes, result: Each, places: list[list[float]]) -> None:
    names = [row["component"] or "" for row in result.table]
    ax.set_yticks([place for rows in places for place in rows], names, fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(places[-1][-1] + 0.7, -0.7)


def _scale(ax: Axes, result: Each) -> None:
    keys = ("target_variance", "background_variance", "expected_variance")
    drawn = np.array([row[key] for row in result.table for key in keys if row[key] is not None], dtype=float)
    drawn = drawn[np.isfinite(drawn)]
    if drawn.min() > 0 and drawn.max() > WIDE * drawn.min():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlim(drawn.min() / 1.4, drawn.max() * 1.4)
    else:
        ax.set_xlim(0, 1.06 * drawn.max() or 1.0)


def _found(result: Each) -> str:
    tested = [group for group in result.groups if group.n_unique is not None]
    if not tested:
        return "not tested"
    n = sum(bool(group.n_unique) for group in tested)
    return f"unique components in {n} of {len(tested)} tested" if n else f"none shown unique, {len(tested)} tested"


def _legend(ax: Axes, result: Each) -> None:
    """What points and colours are, below the axes, and heads of the columns to the right."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    point: dict[str, Any] = {"color": INK, "ls": "none"}
    handles: list[Any] = [
        Line2D([], [], marker="o", ms=8, label="in the group", **point),
        Line2D([], [], marker="o", ms=6.5, mfc="white", mew=1.4, label="largest in a background", **point),
        Line2D([], [], marker="|", ms=11, mew=1.8, label="the same, expected in new rows", **point),
    ]
    if any(group.n_unique for group in result.groups):
        handles.append(Patch(fc=BAND, ec=colour(0), label=f"unique (adjusted p ≤ {result.alpha:g})"))
    below = ax.transAxes + ScaledTranslation(0, -LEGEND_BELOW, ax.figure.dpi_scale_trans)
    options: dict[str, Any] = {"frameon": False, "fontsize": "small", "borderaxespad": 0.0, "ncols": 2}
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=below, **options)
    for text, x, side in (("adjusted p", P_ENDS, "right"), ("leading features", NAMES_BEGIN, "left")):
        _write(ax, text, (1.0, -0.7), (x, 4), ha=side, va="bottom", fontsize="small", color=GREYS[2])
