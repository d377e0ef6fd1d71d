"""Who is compared with whom, decided before anything is computed.

A group of one row is nobody's background. Where groups are tested against separate backgrounds, one that is too small for a
test is no background of the others, as no test with it can be made: unless all the others are too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..inference.sample import MIN_SUBJECTS
from .rows import RowsByGroup
from .settings import Settings


@dataclass(frozen=True)
class Plan:
    """What one group is compared with, by places of groups; why it cannot be fitted or tested, if so."""

    place: int
    backgrounds: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()
    failed: str = ""
    untested: str = ""


def plan(rows: RowsByGroup, settings: Settings) -> list[Plan]:
    """One plan a group."""
    fitted = [i for i, n in enumerate(rows.n_rows) if n >= 2]
    if len(fitted) < 2:
        raise ValueError(
            f"only {len(fitted)} of {len(rows.names)} groups has two rows or more: groups must be few, with several rows in "
            "each; is this the column of groups?"
        )
    large = [i for i in fitted if rows.counts[i] >= MIN_SUBJECTS]
    return [_plan_of(i, rows, settings, fitted, large) for i in range(len(rows.names))]


def _plan_of(i: int, rows: RowsByGroup, settings: Settings, fitted: list[int], large: list[int]) -> Plan:
    who = "rows" if rows.subjects is None else "subjects"
    if i not in fitted:
        told = "1 row: at least 2 are needed"
        return Plan(i, failed=told, untested=told)
    others = [j for j in fitted if j != i]
    untested = "" if settings.test else "no test was asked for"
    if settings.test and not settings.pooled:
        others = [j for j in large if j != i] or others
        if not set(large) - {i}:
            untested = f"no other group has {MIN_SUBJECTS} {who}, which a background of the test needs"
    if settings.test and settings.pooled and _pooled_count(rows, others) < MIN_SUBJECTS:
        untested = f"all other groups together have fewer than {MIN_SUBJECTS} {who}"
    if settings.test and i not in large:
        untested = f"{rows.counts[i]} {who}: at least {MIN_SUBJECTS} are needed, four on each side of a split"
    left = tuple(j for j in range(len(rows.names)) if j not in (i, *others))
    return Plan(i, tuple(others), left, untested=untested)


def _pooled_count(rows: RowsByGroup, others: Sequence[int]) -> int:
    if rows.subjects is None:
        return sum(rows.counts[j] for j in others)
    return len(np.unique(np.concatenate([rows.subjects[j] for j in others])))
