"""Words that tables of the program and of the report share."""

from __future__ import annotations


def unique_or_not(i: int, n_unique: int) -> str:
    """Whether component ``i`` is unique, where the first ``n_unique`` are.

    A test that does not reject shows nothing, and what comes after the first such component is not judged.
    """
    if i < n_unique:
        return "yes"
    return "not shown" if i == n_unique else "not judged"
