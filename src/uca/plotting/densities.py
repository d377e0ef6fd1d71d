"""How scores are spread: densities along one component, or regions on two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._labels import check_labels
from .._types import Array, Backgrounds, Labels, Rows
from ..estimators.base import ContrastiveTransformer
from .checks import background_scores, check_component, check_model, check_pair, target_scores
from .groups import Group, background_groups, group_rows, is_scale
from .style import against, axes, component_label, entitle, legend_outside, limits, method, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_LINE, N_PLANE = 512, 128  # grid points along an axis
REACH = 4.0  # bandwidths that the grid extends beyond the data
MASSES = (0.9, 0.5)  # shares of the rows inside the outlines


def density(
    model: ContrastiveTransformer,
    X: Rows,
    *,
    labels: Labels | None = None,
    backgrounds: Backgrounds = None,
    components: int | tuple[int, int] = 0,
    background_units: str = "own",
    ax: Axes | None = None,
) -> Axes:
    """Density of scores along one component, or outlines on two that hold half and nine tenths of the rows.

    Gaussian kernels with Scott's bandwidth, on a fine grid: the time hardly depends on the number of rows, so this is
    the figure to use if a scatter would have too many points.

    Parameters
    ----------
    model, X, labels, backgrounds, background_units, ax
        As in :func:`uca.plotting.scores`; labels are groups, each with a density of its own. A single row, or equal scores,
        have no density and are refused.
    components : int or pair of int, default=0
        One component: curves. Two: outlines.

    Returns
    -------
    ax : matplotlib Axes
    """
    model = check_model(model)
    single = not isinstance(components, (Sequence, np.ndarray))
    chosen = [check_component(model, components, "components")] if single else list(check_pair(model, components))
    points = target_scores(model, X)[:, chosen].astype(float)
    others = background_scores(model, backgrounds, background_units)
    given = None if labels is None else check_labels(labels, len(points))
    if given is not None and is_scale(given):
        raise ValueError("labels holds many different numbers: densities need groups; cut the numbers into a few")
    sets = [(group, points[group.rows]) for group in group_rows(given, len(points))]
    sets += [
        (group, others[group.name][:, chosen].astype(float))
        for group in background_groups({name: len(s) for name, s in others.items()}, given is not None)
    ]
    for group, rows in sets:
        _check_spread(group, rows)
    ax = axes(ax)
    (_draw_curves if single else _draw_outlines)(ax, sets)
    ax.set_xlabel(component_label(model, chosen[0]))
    ax.set_ylabel("density" if single else component_label(model, chosen[1]))
    outlines = f"{method(model)} scores: outlines of 50 and 90 % of the rows"
    entitle(ax, f"{method(model)} densities{against(model)}" if single else outlines)
    open_frame(ax)
    if single and len(sets) > 1:
        legend_outside(ax)
    return ax


def _check_spread(group: Group, points: Array) -> None:
    if len(points) < 2 or np.any(np.ptp(points, axis=0) == 0):
        raise ValueError(
            f"{group.name!r} has {len(points)} rows with no spread along a component, so no density: "
            "leave the group out, or use plotting.scores"
        )


def _draw_curves(ax: Axes, sets: list[tuple[Group, Array]]) -> None:
    low, high = limits(np.vstack([points for _, points in sets]), 0.15)
    for group, points in sets:
        x, y = curve(points[:, 0], low, high)
        ax.plot(x, y, color=group.colour, ls=group.line, lw=1.6, label=group.name)
        if group.filled:
            ax.fill_between(x, y, color=group.colour, alpha=0.15, lw=0)
    ax.set(xlim=(low, high), ylim=(0, None))


def _draw_outlines(ax: Axes, sets: list[tuple[Group, Array]]) -> None:
    from matplotlib.lines import Line2D

    handles, corners = [], []
    for group, points in sets:
        x, y, z = surface(points)
        levels = mass_levels(z)
        if group.filled:
            ax.contourf(x, y, z, levels=[*levels, np.inf], colors=[group.colour] * 2, alpha=0.15)
        ax.contour(x, y, z, levels=levels, colors=group.colour, linestyles=group.line, linewidths=(0.9, 1.6))
        handles.append(Line2D([], [], color=group.colour, ls=group.line, label=group.name))
        inside = z >= levels[0]
        corners += [[x[inside.any(axis=0)][i], y[inside.any(axis=1)][i]] for i in (0, -1)]
    across, up = np.array(corners).T
    ax.set(xlim=limits(across), ylim=limits(up))
    if len(sets) > 1:
        legend_outside(ax, handles)


def bandwidth(points: Array) -> Array:
    """Scott's rule for each axis of points (n, d): deviation times ``n ** (-1 / (d + 4))``."""
    n, d = points.shape
    variances = np.atleast_1d(np.cov(points, rowvar=False).reshape(d, d).diagonal())
    return np.sqrt(variances) * n ** (-1.0 / (d + 4))


def curve(values: Array, low: float, high: float) -> tuple[Array, Array]:
    """Grid and density of values, on a grid that covers ``low`` to ``high`` and all of the kernels."""
    width = float(bandwidth(values[:, np.newaxis])[0])
    edges = _edges(min(low, values.min() - REACH * width), max(high, values.max() + REACH * width), N_LINE)
    return (edges[1:] + edges[:-1]) / 2, _smooth(np.histogram(values, edges)[0], [edges], [width])


def surface(points: Array) -> tuple[Array, Array, Array]:
    """Grid along both axes and density, (ny, nx), of points (n, 2)."""
    widths = bandwidth(points)
    edges = [_edges(c.min() - REACH * w, c.max() + REACH * w, N_PLANE) for c, w in zip(points.T, widths, strict=True)]
    z = _smooth(np.histogramdd(points, bins=edges)[0], edges, widths.tolist())
    x, y = ((e[1:] + e[:-1]) / 2 for e in edges)
    return x, y, z.T


def mass_levels(z: Array) -> list[float]:
    """Density at the outlines of the smallest regions that hold each share of the mass."""
    ordered = np.sort(z.ravel())[::-1]
    inside = np.cumsum(ordered) / ordered.sum()
    return [float(ordered[np.searchsorted(inside, mass)]) for mass in MASSES]


def _edges(low: float, high: float, n: int) -> Array:
    return np.linspace(low, high, n + 1)


def _smooth(counts: Array, edges: Sequence[Array], widths: Sequence[float]) -> Array:
    """Counts convolved with Gaussian kernels, normalised to a density."""
    from scipy.ndimage import gaussian_filter

    steps = [float(e[1] - e[0]) for e in edges]
    # A bin spreads its rows evenly, which adds step**2 / 12 to the variance of the kernel.
    sigmas = [np.sqrt(max((w / s) ** 2 - 1 / 12, 0.0)) for w, s in zip(widths, steps, strict=True)]
    smooth = gaussian_filter(counts.astype(float), sigmas, mode="constant", truncate=6.0)
    return smooth / (counts.sum() * np.prod(steps))
