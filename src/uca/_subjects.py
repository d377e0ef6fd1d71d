"""Random halves, folds and resamples of subjects, and two datasets dealt out anew.

Promises: a subject is whole on one side of a split, in every dataset that it occurs in; subjects that occur in the
same datasets are dealt evenly, so that the halves of every dataset have as many subjects as can be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._types import Array


def patterns(subjects: Sequence[Array]) -> tuple[Array, Array]:
    """Every subject, and the datasets that it occurs in (as the bits of a number)."""
    everybody = np.unique(np.concatenate(list(subjects)))
    pattern = np.zeros(len(everybody), dtype=object)
    for bit, codes in enumerate(subjects):
        pattern[np.isin(everybody, codes)] += 1 << bit
    return everybody, pattern


def halves(subjects: Sequence[Array], rng: np.random.Generator) -> tuple[Array, ...]:
    """For every dataset, which rows fall into the first of two halves."""
    everybody, pattern = patterns(subjects)
    for _ in range(100):
        order = rng.permutation(len(everybody))
        order = order[np.argsort([int(value) for value in pattern[order]], kind="stable")]
        chosen = everybody[order[rng.integers(2) :: 2]]
        sides = tuple(np.isin(codes, chosen) for codes in subjects)
        if all(_two_each(codes, side) for codes, side in zip(subjects, sides, strict=True)):
            return sides
    raise ValueError(
        "groups cannot be split so that every dataset has subjects on both sides: too few occur in the same datasets"
    )


def _two_each(codes: Array, side: Array) -> bool:
    return min(len(np.unique(codes[side])), len(np.unique(codes[~side]))) >= 2


def folds(subjects: Sequence[Array], n: int, rng: np.random.Generator) -> list[tuple[Array, ...]]:
    """For every one of ``n`` folds and every dataset, which rows fall into it; every row is in one fold.

    A dataset of fewer than ``n`` subjects has no rows in some folds, and never more than one subject in any. What subjects
    are called does not matter, only the order in which they occur.
    """
    subjects = _in_order(subjects)
    everybody, pattern = patterns(subjects)
    order = rng.permutation(len(everybody))
    order = order[np.argsort([int(value) for value in pattern[order]], kind="stable")]
    number = np.empty(len(everybody), dtype=int)
    number[order] = np.arange(len(everybody)) % n
    dealt = [number[np.searchsorted(everybody, codes)] for codes in subjects]
    return [tuple(part == i for part in dealt) for i in range(min(n, len(everybody)))]


def _in_order(subjects: Sequence[Array]) -> list[Array]:
    """Subjects numbered in the order in which they occur."""
    _, first, place = np.unique(np.concatenate(list(subjects)), return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))[place]
    return np.split(numbers, np.cumsum([len(codes) for codes in subjects])[:-1])


def resample(subjects: Sequence[Array], rng: np.random.Generator) -> tuple[Array, ...]:
    """For every dataset, rows of as many subjects as it has, drawn with replacement.

    A subject that is drawn twice brings all its rows twice, in every dataset that it occurs in. Every dataset has at least
    two different rows.
    """
    everybody, pattern = patterns(subjects)
    kinds = [np.flatnonzero(pattern == value) for value in dict.fromkeys(pattern.tolist())]
    members = [_members(codes, everybody) for codes in subjects]
    while True:
        drawn = np.concatenate([rng.choice(kind, size=len(kind)) for kind in kinds])
        rows = tuple(_rows(drawn, *parts) for parts in members)
        if all(len(np.unique(part)) >= 2 for part in rows):
            return rows


def deal(subjects: tuple[Array, Array], rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of two datasets dealt out anew: places in the stack of both, for the first and for the second.

    Each has as many subjects as before. A subject that occurs in one of them goes to either, with all its rows; the rows of
    one that occurs in both change sides together, or stay. Both have at least two rows.
    """
    first, second = (np.unique(codes) for codes in subjects)
    single = np.setxor1d(first, second)
    n_first = int(np.sum(np.isin(single, first)))
    codes = np.concatenate(subjects)
    is_second = np.repeat([False, True], [len(part) for part in subjects])
    paired = np.intersect1d(first, second)
    while True:
        to_first = rng.permutation(single)[:n_first]
        crossing = np.isin(codes, paired[rng.random(len(paired)) < 0.5])
        side = np.where(np.isin(codes, single), ~np.isin(codes, to_first), is_second ^ crossing)
        if min(np.sum(~side), np.sum(side)) >= 2:
            return np.flatnonzero(~side), np.flatnonzero(side)


def _members(codes: Array, everybody: Array) -> tuple[Array, Array, Array]:
    """Rows ordered by subject, and where the rows of each of all subjects begin and end among them."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    return order, np.searchsorted(ordered, everybody, side="left"), np.searchsorted(ordered, everybody, side="right")


def _rows(drawn: Array, order: Array, starts: Array, ends: Array) -> Array:
    return np.concatenate([order[starts[i] : ends[i]] for i in drawn]).astype(np.intp)
