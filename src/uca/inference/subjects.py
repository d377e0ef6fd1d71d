"""Random halves, folds and resamples of subjects.

Promises: a subject is whole on one side of a split, in every dataset that it occurs in; subjects that occur in the
same datasets are dealt evenly, so that the halves of every dataset have as many subjects as can be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Array


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


def folds(subjects: Sequence[Array], n: int, rng: np.random.Generator) -> list[tuple[Array, ...]]:
    """For every one of ``n`` folds and every dataset, which rows are in the fold; every subject is in one of them."""
    everybody, pattern = patterns(subjects)
    order = rng.permutation(len(everybody))
    order = order[np.argsort([int(value) for value in pattern[order]], kind="stable")]
    return [tuple(np.isin(codes, everybody[order[fold::n]]) for codes in subjects) for fold in range(n)]


def _two_each(codes: Array, side: Array) -> bool:
    return min(len(np.unique(codes[side])), len(np.unique(codes[~side]))) >= 2


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


def _members(codes: Array, everybody: Array) -> tuple[Array, Array, Array]:
    """Rows ordered by subject, and where the rows of each of all subjects begin and end among them."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    return order, np.searchsorted(ordered, everybody, side="left"), np.searchsorted(ordered, everybody, side="right")


def _rows(drawn: Array, order: Array, starts: Array, ends: Array) -> Array:
    return np.concatenate([order[starts[i] : ends[i]] for i in drawn]).astype(np.intp)
