"""Rows by label: which are drawn together, in which colour and with which marker.

Labels with few different values are groups. Numbers with many different values are a scale of colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._missing import entries, where_missing, with_nan
from .._types import Array
from .style import GREYS, LINES, MARKERS, PALETTE, colour

MOST_GROUPS = len(PALETTE) * len(MARKERS)  # that colour and marker together tell apart
FEW = 8  # different values up to which fractions count as groups


@dataclass(frozen=True)
class Group:
    """Rows of one label, or of one dataset, and how they are drawn."""

    name: str
    rows: Array
    colour: str
    marker: str = "o"
    line: str = "-"
    filled: bool = True


def check_labels(labels: Any, n: int) -> Array:
    """Labels as an array of one entry a row."""
    array = np.asarray(labels)
    if isinstance(labels, np.ma.MaskedArray) or array.dtype.kind in "mM":
        array = with_nan(labels) if array.dtype.kind == "f" else entries(labels)
    if array.ndim != 1 or len(array) != n:
        raise ValueError(f"labels has shape {array.shape}, but X has {n} rows: give one label a row")
    return array


def is_scale(labels: Array) -> bool:
    """Whether labels are measurements, to be shown by a scale of colours."""
    if labels.dtype.kind not in "fiu":
        return False
    n_values = len(np.unique(labels[np.isfinite(labels)]))
    return n_values > (FEW if labels.dtype.kind == "f" else MOST_GROUPS)


def group_rows(labels: Array | None, n: int) -> list[Group]:
    """The target's rows as groups; one group called ``target`` without labels. Missing labels come last, in grey."""
    if labels is None:
        return [Group("target", np.arange(n), colour(0))]
    missing = where_missing(labels)
    names = np.array([str(label) for label in labels.tolist()], dtype=object)
    order = _in_order(labels[~missing])
    if len(order) > MOST_GROUPS:
        raise ValueError(
            f"labels has {len(order)} different values, more than the {MOST_GROUPS} that can be told apart: "
            "merge some, or pass numbers for a scale of colours"
        )
    groups = [
        Group(
            name,
            np.flatnonzero((names == name) & ~missing),
            colour(i),
            MARKERS[i // len(PALETTE)],
            LINES[i // len(PALETTE)],
        )
        for i, name in enumerate(order)
    ]
    if missing.any():
        groups.append(Group("no label", np.flatnonzero(missing), GREYS[1], "o", ":"))
    return groups


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


def _in_order(labels: Array) -> list[str]:
    """Different labels as text, sorted as what they are: numbers by size."""
    try:
        values = sorted(set(labels.tolist()))
    except TypeError:  # of several kinds
        values = sorted(set(labels.tolist()), key=str)
    return list(dict.fromkeys(str(value) for value in values))
