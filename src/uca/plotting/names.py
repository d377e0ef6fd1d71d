"""Names beside points that do not overprint: where they stand is decided when the figure is drawn.

Sizes of text are known only then, and change with the size of the figure. Nearby places with few rows under them are
preferred; a thin line leads to a name that stands apart from its point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array
from .style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DISTANCES = np.array([3.0, 8.0, 14.0, 22.0, 32.0, 44.0, 58.0, 74.0, 92.0, 112.0, 140.0, 170.0])  # in points of type
ANGLES = np.deg2rad([0, 15, -15, 30, -30, 50, -50, 75, -75, 105, -105, 140, -140, 180])
TURN = 6.0  # cost of a turn by one radian, in points of distance
UNDER = 5.0  # cost of a row under a name
LED = 10.0  # distance from which a line leads to the name
AIR = 1.5  # around a name
ON_ARROW = 25  # points of an arrow, which count like rows
RASTER = 3.0  # cells in which rows are counted


def place_names(ax: Axes, tips: Array, names: Array, rows: Array) -> None:
    """Write ``names`` (k,) near the ``tips`` (k, 2) of arrows from 0.

    They are clear of one another and, where there is room, of ``rows`` (n, 2) and of the arrows.
    """
    from matplotlib.artist import Artist
    from matplotlib.patheffects import withStroke

    along = np.linspace(0.2, 1.0, ON_ARROW)[:, np.newaxis, np.newaxis] * tips
    rows = np.vstack([rows, along.reshape(-1, 2)])
    texts = [
        ax.text(x, y, name, ha="center", va="center", fontsize="small", zorder=5, in_layout=False)
        for (x, y), name in zip(tips, names, strict=True)
    ]
    lines = [ax.plot([], [], color=INK, lw=0.5, zorder=1.6, in_layout=False)[0] for _ in texts]
    for text in texts:
        text.set_path_effects([withStroke(linewidth=2.5, foreground=ax.get_facecolor())])

    class Arranger(Artist):
        """Draws nothing; what is drawn after it has its place by then."""

        def draw(self, renderer: Any) -> None:
            _arrange(ax, renderer, tips, rows, texts, lines)

    arranger = Arranger()
    arranger.set_zorder(-10)
    arranger.set_in_layout(False)
    ax.add_artist(arranger)


def _arrange(ax: Axes, renderer: Any, tips: Array, rows: Array, texts: list[Any], lines: list[Any]) -> None:
    scale = renderer.points_to_pixels(1.0)
    to_pixels, back = ax.transData, ax.transData.inverted()
    boxes = [text.get_window_extent(renderer) for text in texts]
    sizes = np.array([[box.width, box.height] for box in boxes]) / scale + 2 * AIR
    frame = ax.get_window_extent(renderer)
    corner = np.array([frame.x0, frame.y0])
    room = np.array([frame.width, frame.height]) / scale
    placed = np.vstack([np.zeros((1, 2)), tips, rows])
    origin, ends, obstacles = np.split((to_pixels.transform(placed) - corner) / scale, [1, 1 + len(tips)])
    centres = arrange(ends, sizes, origin[0], room, obstacles)
    for text, line, centre, size, end in zip(texts, lines, centres, sizes, ends, strict=True):
        text.set_position(back.transform(centre * scale + corner))
        edge = np.clip(end, centre - size / 2, centre + size / 2)
        led = np.linalg.norm(edge - end) > LED
        line.set_data(*(back.transform(np.array([end, edge]) * scale + corner).T if led else ([], [])))


def arrange(tips: Array, sizes: Array, origin: Array, room: Array, rows: Array) -> Array:
    """Centres (k, 2) of boxes of ``sizes`` (k, 2) near ``tips``, inside (0, 0) to ``room``; they overlap only if they must.

    Boxes prefer to lie beyond their tip as seen from ``origin``, near it, and over few ``rows``. Those of far tips choose
    first.
    """
    below = _Counts.of(rows, room)
    away = tips - origin
    lengths = np.linalg.norm(away, axis=1)
    centres, taken = np.empty_like(tips), np.empty((0, 4))
    for i in np.argsort(-lengths, kind="stable"):
        angle = float(np.arctan2(away[i, 1], away[i, 0]))
        found, cost = _near(tips[i], sizes[i], angle)
        elsewhere = _everywhere(sizes[i], room)
        found = np.vstack([found, elsewhere])
        cost = np.concatenate([cost, DISTANCES[-1] + np.linalg.norm(elsewhere - tips[i], axis=1)])
        inside = np.all((found >= sizes[i] / 2) & (found <= room - sizes[i] / 2), axis=1)
        edges = np.hstack([found - sizes[i] / 2, found + sizes[i] / 2])
        cost = cost + UNDER * below.inside(edges) + 1e6 * _overlap(edges, taken) + 1e9 * ~inside
        best = int(np.argmin(cost))
        centres[i] = found[best]
        taken = np.vstack([taken, edges[best]])
    return centres


def _near(tip: Array, size: Array, outward: float) -> tuple[Array, Array]:
    """Centres around a tip, and what they cost."""
    distance, turn = (grid.ravel() for grid in np.meshgrid(DISTANCES, ANGLES))
    towards = np.column_stack([np.cos(outward + turn), np.sin(outward + turn)])
    reach = np.min(size / 2 / np.maximum(np.abs(towards), 1e-9), axis=1)  # from the centre of a box to its edge
    return tip + towards * (distance + reach)[:, np.newaxis], distance + TURN * np.abs(turn)


def _everywhere(size: Array, room: Array) -> Array:
    """Centres of boxes side by side all over the Axes, for names that find no room nearby."""
    counts = np.maximum(1, np.floor(room / (size / 2))).astype(int)
    x, y = (np.linspace(s / 2, max(r - s / 2, s / 2), n) for s, r, n in zip(size, room, counts, strict=True))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _overlap(edges: Array, taken: Array) -> Array:
    """Area that each box shares with those that are taken."""
    low = np.maximum(edges[:, np.newaxis, :2], taken[:, :2])
    high = np.minimum(edges[:, np.newaxis, 2:], taken[:, 2:])
    return np.prod(np.maximum(high - low, 0.0), axis=2).sum(axis=1)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Rows counted in cells, summed from the corner: how many lie in a box is four numbers."""

    sums: Array

    @classmethod
    def of(cls, rows: Array, room: Array) -> _Counts:
        shape = np.maximum(1, np.ceil(room / RASTER)).astype(int)
        extent = [(0.0, float(RASTER * n)) for n in shape]
        counts = np.histogramdd(rows, bins=shape.tolist(), range=extent)[0]
        return cls(np.pad(counts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0))))

    def inside(self, edges: Array) -> Array:
        """Rows in each box (x0, y0, x1, y1)."""
        last = np.array(self.sums.shape) - 1
        x0, y0 = np.clip(np.floor(edges[:, :2] / RASTER).astype(int), 0, last).T
        x1, y1 = np.clip(np.ceil(edges[:, 2:] / RASTER).astype(int), 0, last).T
        return self.sums[x1, y1] - self.sums[x0, y1] - self.sums[x1, y0] + self.sums[x0, y0]
