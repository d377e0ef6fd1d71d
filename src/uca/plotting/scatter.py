"""Score plots: rows of the target, and of its backgrounds, on two components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from .._labels import check_labels
from .._types import Array, Backgrounds, Labels, Rows
from ..estimators.base import ContrastiveTransformer
from .checks import background_scores, check_count, check_model, check_pair, feature_names, target_scores
from .groups import Group, background_groups, group_rows, without_label
from .style import INK, LARGE, RASTER_FROM, SEQUENTIAL, axes, component_label, legend_outside, marker_area, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROW = 0.85  # length of the longest arrow, as a share of the largest score
FAINT = "#DDDDDD"
STEEP = 0.5  # ratio below which a name stands above or below its arrow, not beside it
LINE_HEIGHT = 0.055  # of a feature's name, as a share of the height of the Axes


def scores(
    model: ContrastiveTransformer,
    X: Rows,
    *,
    labels: Labels | None = None,
    backgrounds: Backgrounds = None,
    components: tuple[int, int] = (0, 1),
    background_units: str = "own",
    ax: Axes | None = None,
) -> Axes:
    """Scatter of scores on two components.

    Parameters
    ----------
    model : fitted UCA, CPCA or CPCAPlusPlus
    X : array or table of shape (n, p)
        Rows of the target, or new rows like it.
    labels : array of shape (n,), optional
        What to colour by: groups, or a number for each row (a scale of colours).
    backgrounds : array, list or tuple of arrays, or dict of name -> array, optional
        Drawn with open markers: where the model works, they are narrow along the first component.
    components : pair of int, default=(0, 1)
        Counted from 0.
    background_units : {"own", "target"}, default="own"
        "own" centres and scales each background as the fit did, so that what is seen is ``background_variance_``.
        "target" uses the target's means and deviations, as ``model.transform`` does: differences of means show.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA, plotting
    >>> rng = np.random.default_rng(0)
    >>> target, control = rng.normal(size=(50, 4)), rng.normal(size=(40, 4))
    >>> model = UCA().fit(target, backgrounds={"control": control})
    >>> ax = plotting.scores(model, target, backgrounds={"control": control})  # doctest: +SKIP
    """
    model = check_model(model)
    pair = list(check_pair(model, components))
    points = target_scores(model, X)[:, pair]
    others = {name: s[:, pair] for name, s in background_scores(model, backgrounds, background_units).items()}
    given = None if labels is None else check_labels(labels, len(points))
    scale = None if given is None else given.values
    groups = group_rows(given, len(points)) if scale is None else []
    ax = axes(ax)
    area = marker_area(len(points) + sum(map(len, others.values())))
    if given is not None and scale is not None:
        _draw_scale(ax, points, scale, area, given.name)
    for group in groups:
        _draw_group(ax, points[group.rows], group, area)
    for group in background_groups({name: len(s) for name, s in others.items()}, given is not None):
        _draw_group(ax, others[group.name], group, area)
    ax.set(xlabel=component_label(model, pair[0]), ylabel=component_label(model, pair[1]))
    open_frame(ax)
    if given is not None or others:
        legend_outside(ax, markerscale=float(np.sqrt(LARGE / area)))
    return ax


def _draw_group(ax: Axes, points: Array, group: Group, area: float) -> None:
    ax.scatter(
        points[:, 0],
        points[:, 1],
        s=area,
        marker=group.marker,
        facecolors=group.colour if group.filled else "none",
        edgecolors="none" if group.filled else group.colour,
        linewidths=min(0.7, np.sqrt(area) / 8),
        alpha=0.8,
        zorder=3 if group.filled else 2,
        label=group.name,
        rasterized=len(points) > RASTER_FROM,
    )


def _draw_scale(ax: Axes, points: Array, values: Array, area: float, name: str | None) -> None:
    known = np.isfinite(values)
    drawn = ax.scatter(
        points[known, 0],
        points[known, 1],
        s=area,
        c=values[known],
        cmap=SEQUENTIAL,
        linewidths=0,
        alpha=0.9,
        zorder=3,
        rasterized=len(points) > RASTER_FROM,
    )
    ax.figure.colorbar(drawn, ax=ax, location="top", shrink=0.6, aspect=30, pad=0.02, label=name or "")
    if not known.all():
        _draw_group(ax, points[~known], without_label(np.flatnonzero(~known)), area)


def biplot(
    model: ContrastiveTransformer,
    X: Rows,
    *,
    labels: Labels | None = None,
    backgrounds: Backgrounds = None,
    components: tuple[int, int] = (0, 1),
    n_features: int = 8,
    feature_names: Any = None,
    background_units: str = "own",
    ax: Axes | None = None,
) -> Axes:
    """Scores with the loadings of the features that matter most as arrows.

    The arrows share one factor, chosen so that the longest reaches the outer points; their angles and relative lengths
    are those of the loadings. Both axes have the same unit.

    Parameters
    ----------
    model, X, labels, backgrounds, components, background_units, ax
        As in :func:`scores`.
    n_features : int, default=8
        How many arrows: the longest in the plane of the two components.
    feature_names : sequence of str, optional
        Names of all features; by default those of the fit.

    Returns
    -------
    ax : matplotlib Axes
    """
    model = check_model(model)
    names = _names(model, feature_names)
    count = check_count("n_features", n_features, len(names))
    pair = list(check_pair(model, components))
    ax = scores(
        model,
        X,
        labels=labels,
        backgrounds=backgrounds,
        components=components,
        background_units=background_units,
        ax=ax,
    )
    loadings = model.components_[pair].T.astype(float)
    lengths = np.linalg.norm(loadings, axis=1)
    chosen = np.argsort(-lengths, kind="stable")[:count]
    reach = np.abs(target_scores(model, X)[:, pair]).max()
    tips = loadings[chosen] * (ARROW * reach / max(lengths.max(), np.finfo(float).tiny))
    _draw_arrows(ax, tips, names[chosen])
    return ax


_names = feature_names  # the keyword of the same name hides it


def _draw_arrows(ax: Axes, tips: Array, names: Array) -> None:
    ax.axhline(0, color=FAINT, lw=0.8, zorder=0)
    ax.axvline(0, color=FAINT, lw=0.8, zorder=0)
    style = {"arrowstyle": "-|>", "color": INK, "lw": 1.0, "shrinkA": 0, "shrinkB": 0}
    for x, y in tips:
        ax.annotate("", (x, y), (0, 0), arrowprops=style, zorder=4)
    ax.update_datalim(1.15 * tips)
    ax.margins(0.1)
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    line = LINE_HEIGHT * float(np.ptp(ax.get_ylim()))
    steep = np.abs(tips[:, 0]) < STEEP * np.abs(tips[:, 1])
    right, up = tips[:, 0] >= 0, tips[:, 1] >= 0
    for where, align in (
        (~steep & right, "left"),
        (~steep & ~right, "right"),
        (steep & up, "center"),
        (steep & ~up, "center"),
    ):
        _write_names(ax, tips[where], names[where], align, line)


def _write_names(ax: Axes, tips: Array, names: Array, align: str, line: float) -> None:
    """Names at the tips of arrows, moved apart where they would overlap."""
    if align == "center":
        wanted = tips[:, 1] * 1.03 + 0.6 * line * np.sign(tips[:, 1])
        heights = np.sign(wanted) * stack(np.abs(wanted), line)
    else:
        wanted = tips[:, 1] * 1.03
        heights = spread(wanted, line)
    for (x, tip), y, goal, name in zip(tips, heights, wanted, names, strict=True):
        if abs(y - goal) > 0.5 * line:  # moved: a thin line says which arrow it belongs to
            ax.plot([x, x * 1.03], [tip, y], color=INK, lw=0.4, zorder=3)
        text = ax.text(x * 1.03, y, f" {name} ", ha=align, va="center", fontsize="small", zorder=5)
        text.set_bbox({"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 0.4})


def spread(positions: Array, distance: float) -> Array:
    """Positions moved apart as little as keeps every two of them at least ``distance`` apart, in the same order."""
    if len(positions) == 0:
        return positions
    order = np.argsort(positions, kind="stable")
    # Without the steps, "apart by distance" reads "not decreasing": isotonic regression.
    steps = distance * np.arange(len(positions))
    moved = np.empty(len(positions))
    moved[order] = isotonic_regression(positions[order].astype(float) - steps) + steps
    return moved


def stack(positions: Array, distance: float) -> Array:
    """The same, moved upwards only."""
    order = np.argsort(positions, kind="stable")
    steps = distance * np.arange(len(positions))
    moved = np.empty(len(positions))
    moved[order] = np.maximum.accumulate(positions[order] - steps) + steps
    return moved
