"""How figures look: one palette, legends outside the data, axes that say what they show.

Promises: matplotlib is imported when a figure is made, never before; the user's backend and rcParams stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._optional import optional
from .._types import Array
from ..estimators.base import ContrastiveTransformer, component_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours that colour-blind eyes tell apart (Okabe & Ito 2008), without yellow, which is faint on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREYS = ("#8A8A8A", "#B5B5B5", "#5E5E5E")  # backgrounds beside coloured labels
MARKERS = ("o", "^", "s", "D")
LINES = ("-", "--", "-.", ":")
INK = "#333333"
SEQUENTIAL, DIVERGING = "cividis", "PuOr"
RASTER_FROM = 5000  # points from which a scatter is an image inside a vector file

LARGE, SMALL = 26.0, 3.0  # areas of markers, in points squared


def pyplot() -> Any:
    """Matplotlib's pyplot, or an error that says how to get it."""
    return optional("matplotlib.pyplot", "plots need matplotlib", "plot")


def axes(ax: Any, size: tuple[float, float] = (5.6, 3.8)) -> Axes:
    """The given Axes, or those of a new figure that leaves room for a legend beside them."""
    kind = optional("matplotlib.axes", "plots need matplotlib", "plot").Axes
    if ax is None:
        ax = pyplot().subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, kind):
        raise TypeError(
            f"ax must be a matplotlib Axes or None; got {type(ax).__name__}. Pass one panel of plt.subplots"
        )
    return ax


def colour(i: int) -> str:
    """Colour of dataset or group ``i``; they repeat."""
    return PALETTE[i % len(PALETTE)]


def open_frame(ax: Axes) -> None:
    """Without the lines at the top and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def entitle(ax: Axes, text: str, pad: float | None = None) -> None:
    """A title, unless the user's Axes have one. It stands where ``ax.set_title`` puts it, which so replaces it."""
    if not any(ax.get_title(loc) for loc in ("left", "center", "right")):
        ax.set_title(text, fontsize="medium", pad=pad)


def method(model: ContrastiveTransformer) -> str:
    """What made the components: PCA where there was no background."""
    return type(model).__name__ if model.background_names_ else "PCA"


def against(model: ContrastiveTransformer) -> str:
    """``, target against control and vehicle``: for titles, short."""
    names = list(model.background_names_)
    if not names:
        return ""
    listed = " and ".join(names)
    return f", target against {listed if len(names) < 3 and len(listed) <= 30 else f'{len(names)} backgrounds'}"


def list_features(ax: Axes, names: Array, n_features: int, title: str) -> None:
    """Names of features down the side, the first on top, and a title that says so where they are not all."""
    ax.set_yticks(range(len(names)), names.tolist())
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)
    entitle(ax, title if len(names) == n_features else f"{title}: the {len(names)} largest of {n_features} features")
    open_frame(ax)
    ax.spines["left"].set_visible(False)


def legend_outside(ax: Axes, handles: Sequence[Any] | None = None, markerscale: float = 1.0) -> None:
    """A legend to the right of the Axes, of what is labelled or of the given handles."""
    found = ax.get_legend_handles_labels()[0] if handles is None else list(handles)
    if found:
        ax.legend(
            handles=found,
            loc="upper left",
            bbox_to_anchor=(1.02, 1.0),
            borderaxespad=0.0,
            frameon=False,
            markerscale=markerscale,
        )


def component_label(model: ContrastiveTransformer, i: int) -> str:
    """``UC1 (12.3 % of target variance)``."""
    return f"{component_names(model)[i]} ({percent(model, i)} of target variance)"


def percent(model: ContrastiveTransformer, i: int) -> str:
    """The share of the target's variance along a component."""
    return f"{100 * float(model.explained_variance_ratio_[i]):.1f} %"


def marker_area(n: int) -> float:
    """Area of a marker that lets ``n`` points be told apart."""
    return min(LARGE, max(SMALL, 8000.0 / max(n, 1)))


def limits(values: Array, margin: float = 0.05) -> tuple[float, float]:
    """Smallest and largest value with a margin on both sides."""
    low, high = float(values.min()), float(values.max())
    space = margin * (high - low) or 0.5
    return low - space, high + space
