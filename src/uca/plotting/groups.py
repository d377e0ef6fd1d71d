"""Rows by label: which are drawn together, in which colour and with which marker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._labels import CheckedLabels
from .._types import Array
from .style import GREYS, LINES, MARKERS, PALETTE, colour

MOST_GROUPS = len(PALETTE) * len(MARKERS)  # that colour and marker together tell apart


@dataclass(frozen=True)
class Group:
    """Rows of one label, or of one dataset, and how they are drawn."""

    name: str
    rows: Array
    colour: str
    marker: str = "o"
    line: str = "-"
    filled: bool = True


def is_scale(labels: CheckedLabels) -> bool:
    """Whether labels are measurements, to be shown by a scale of colours."""
    return labels.values is not None


def group_rows(labels: CheckedLabels | None, n: int) -> list[Group]:
    """The target's rows as groups; one group called ``target`` without labels. Missing labels come last, in grey."""
    if labels is None:
        return [Group("target", np.arange(n), colour(0))]
    if len(labels.levels) > MOST_GROUPS:
        raise ValueError(
            f"labels has {len(labels.levels)} different values, more than the {MOST_GROUPS} that can be distinguished: "
            "merge some, or pass numbers for a scale of colours"
        )
    groups = [
        Group(
            name,
            np.flatnonzero(labels.codes == i),
            colour(i),
            MARKERS[i // len(PALETTE)],
            LINES[i // len(PALETTE)],
        )
        for i, name in enumerate(labels.levels)
    ]
    missing = np.flatnonzero(labels.codes < 0)
    return [*groups, without_label(missing)] if len(missing) else groups


def without_label(rows: Array) -> Group:
    """The rows that have no label."""
    return Group("no label", rows, GREYS[1], "o", ":")


def background_groups(sizes: dict[str, int], labelled: bool) -> list[Group]:
    """One group a background: grey beside coloured labels, else in the colours after the target's."""
    return [
        Group(
            name,
            np.arange(n),
            GREYS[i % len(GREYS)] if labelled else colour(i + 1),
            MARKERS[(i + 1) % len(MARKERS)],
            LINES[(i + 1) % len(LINES)],
            filled=False,
        )
        for i, (name, n) in enumerate(sizes.items())
    ]
