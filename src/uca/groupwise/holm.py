"""p-values of several groups, adjusted together (Holm 1979).

In each group components are tested in order, and its p-values rise from component to component (the rule "stop at the first
that fails"). The adjusted p-value of a component is Holm's for its own p-value beside the *last* p-value of every other
group. With one component a group this is plain Holm. With several it is the closed test of all components of all groups by
Bonferroni: an intersection of hypotheses is rejected by the smallest of the p-values of the first component that it holds of
each group, times the number of groups in it. That is largest where the other groups come in with their last component alone.
So the chance of calling any component of any group unique that is not is at most the level, whatever the dependence between
the groups (which share rows: each is a background of the others), if each group's own test holds its level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Array


def holm(pvalues: Array) -> Array:
    """Holm's adjusted p-values, in the order given."""
    pvalues = np.asarray(pvalues, dtype=float)
    order = np.argsort(pvalues, kind="stable")
    times = len(pvalues) - np.arange(len(pvalues))
    out = np.empty(len(pvalues))
    out[order] = np.minimum(np.maximum.accumulate(times * pvalues[order]), 1.0)
    return out


def across_groups(pvalues: Sequence[Array]) -> list[Array]:
    """Adjusted p-values of each group, (k,); those given rise within each group."""
    last = np.array([own[-1] for own in pvalues])
    return [
        np.array([holm(np.append(np.delete(last, g), value))[-1] for value in own]) for g, own in enumerate(pvalues)
    ]
