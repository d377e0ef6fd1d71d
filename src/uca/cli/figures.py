"""Figures that the program draws, by name: which function of :mod:`uca.plotting` draws one, and what it needs.

Promises: figures are drawn without a display and without touching the user's style. Components are counted from 1 here, as
they are named (UC1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import plotting
from .._optional import optional
from .._types import Array
from ..estimators.base import ContrastiveTransformer
from ..plotting.groups import MOST_GROUPS
from .inputs import Study

SIZE, DOTS = (7.0, 4.6), 150


@dataclass(frozen=True)
class Wanted:
    """What a figure is made of; ``study`` is None where only the model is at hand."""

    model: ContrastiveTransformer
    study: Study | None = None
    components: Sequence[int] = ()
    image_shape: tuple[int, int] | None = None
    feature_names: Sequence[str] | None = None

    @property
    def rows(self) -> dict[str, Any]:
        """The target, its backgrounds and its labels, as functions of plotting take them."""
        if self.study is None:
            return {}
        labels = None if self.study.labels is None else drawn_labels(self.study.labels)
        return {"X": self.study.target.data(), "backgrounds": self.study.background_data, "labels": labels}

    def pair(self) -> tuple[int, int]:
        """Two components, from 0."""
        first, second = self.components or (1, 2)
        return first - 1, second - 1

    def one(self) -> int:
        """One component, from 0."""
        return (self.components[0] if self.components else 1) - 1


def drawn_labels(labels: Array) -> Array | None:
    """Labels of a table as figures take them: empty ones are missing, numbers are numbers; None for too many groups."""
    known = [label for label in labels if label != ""]
    try:
        return np.array([np.nan if label == "" else float(label) for label in labels])
    except ValueError:
        few = len(set(known)) <= MOST_GROUPS
    return np.array([None if label == "" else label for label in labels], dtype=object) if few else None


@dataclass(frozen=True)
class Kind:
    """A kind of figure: what draws it, whether it needs the rows, and how many components may be named."""

    draw: Callable[[Wanted, Any], Any]
    needs_rows: bool
    components: int = 0


def _scores(wanted: Wanted, ax: Any) -> None:
    if len(wanted.model.components_) == 1:
        plotting.density(wanted.model, components=0, ax=ax, **wanted.rows)
    else:
        plotting.scores(wanted.model, components=wanted.pair(), ax=ax, **wanted.rows)


def _biplot(wanted: Wanted, ax: Any) -> None:
    plotting.biplot(wanted.model, components=wanted.pair(), feature_names=wanted.feature_names, ax=ax, **wanted.rows)


def _density(wanted: Wanted, ax: Any) -> None:
    plotting.density(wanted.model, components=wanted.one(), ax=ax, **wanted.rows)


def _loadings(wanted: Wanted, ax: Any, kind: str = "loadings") -> None:
    plotting.loadings(wanted.model, component=wanted.one(), kind=kind, feature_names=wanted.feature_names, ax=ax)


def _variance(wanted: Wanted, ax: Any) -> None:
    plotting.variance(wanted.model, ax=ax)


def _dual(wanted: Wanted, ax: Any) -> None:
    plotting.dual(wanted.model, ax=ax, **_without_labels(wanted))


def _without_labels(wanted: Wanted) -> dict[str, Any]:
    return {key: value for key, value in wanted.rows.items() if key != "labels"}


def _contrast_path(wanted: Wanted, ax: Any) -> None:
    plotting.contrast_path(wanted.model, component=wanted.one(), ax=ax, **_without_labels(wanted))


def _eigenimages(wanted: Wanted, ax: Any) -> None:
    if wanted.image_shape is None:
        raise ValueError("eigenimages need the height and width of the images: add --image-shape HxW")
    plotting.eigenimages(wanted.model, wanted.image_shape, ax=ax)


KINDS: dict[str, Kind] = {
    "scores": Kind(_scores, True, 2),
    "biplot": Kind(_biplot, True, 2),
    "density": Kind(_density, True, 1),
    "loadings": Kind(_loadings, False, 1),
    "patterns": Kind(partial(_loadings, kind="patterns"), False, 1),
    "variance": Kind(_variance, False),
    "contrast-path": Kind(_contrast_path, True, 1),
    "dual": Kind(_dual, True),
    "eigenimages": Kind(_eigenimages, False),
}
FIGURES = tuple(f"{name}.png" for name in KINDS)


def new_figure() -> Any:
    """A figure without a display; where matplotlib is not installed, an error says what installs it."""
    figure = optional("matplotlib.figure", "plots need matplotlib", "plot")
    return figure.Figure(figsize=SIZE, layout="constrained")


def draw(kind: str, wanted: Wanted, path: Path) -> None:
    """Draw a figure of a kind to a file; the end of its name is the format."""
    figure = new_figure()
    KINDS[kind].draw(wanted, figure.subplots())
    packed = {"pil_kwargs": {"compress_level": 3}} if path.suffix.lower() == ".png" else {}  # half the time of 6
    figure.savefig(path, dpi=DOTS, **packed)


def draw_scores(path: Path, model: ContrastiveTransformer, study: Study) -> list[str]:
    """The scores that ``uca fit`` draws; a note instead where they cannot be drawn."""
    try:
        draw("scores", Wanted(model, study, feature_names=study.target.features), path)
    except (ImportError, ValueError) as error:
        return [f"{path.name} was not written: {error}"]
    return []
