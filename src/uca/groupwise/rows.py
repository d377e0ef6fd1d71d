"""One table and the group of each of its rows, checked.

Promises: every row has a group and, where subjects are told, a subject; groups are in order (numbers by size, text by
letter) and called by their text; rows of a group keep the kind of container that X was (a table stays a table with its
names, sparse stays sparse, dask stays lazy) and are copied once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._containers import get_columns, is_array_api, is_dask
from .._labels import CheckedLabels, check_labels, one_each
from .._missing import entries, is_missing
from .._types import Array
from .._validation import check_finite_rows, check_rows
from ..estimators.bounded import BoundedTransformer
from ..operators.gaps.estimate import has_gaps
from ..operators.representations.estimated import in_memory
from ..operators.sources.namespace import to_numpy


@dataclass(frozen=True, eq=False)
class RowsByGroup:
    """Rows of each group, in order.

    Attributes
    ----------
    names : tuple of str
        Of the groups.
    parts : tuple of arrays or tables
        Rows of each group.
    subjects : tuple of arrays, or None
        Subject of each row of each group; None where rows are independent.
    counts : tuple of int
        Independent subjects (or rows) of each group that have a value.
    features : list or None
        Names of the features, where they are known.
    label_name : str or None
        What the groups are called, where they came with a name.
    """

    names: tuple[str, ...]
    parts: tuple[Any, ...]
    subjects: tuple[Array, ...] | None
    counts: tuple[int, ...]
    features: list[Any] | None
    label_name: str | None

    @property
    def n_rows(self) -> tuple[int, ...]:
        """Rows of each group."""
        return tuple(int(part.shape[0]) for part in self.parts)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.parts[0].shape[1])


def rows_by_group(
    X: Any, groups: Any, subjects: Any, feature_names: Any, model: BoundedTransformer, *, lazy: bool
) -> RowsByGroup:
    """Check X and its labels, and part the rows; dask collections only where ``lazy``."""
    if is_dask(X) and not lazy:
        raise TypeError(
            "X is a dask collection; a test, and subjects, need rows in memory: pass X.compute(), or test=False without "
            "subjects"
        )
    X = to_numpy(X) if is_array_api(X) else X
    gaps = model.missing == "em"
    array = check_rows(model, X, "X", 2, gaps=gaps)
    check_finite_rows(array, "X", gaps=gaps)
    n, columns = int(array.shape[0]), get_columns(X)
    labels = _check_groups(X, groups, n)
    told = None if subjects is None else _check_subjects(X, subjects, n)
    rows = X if columns is not None and not is_dask(X) else array
    rows = rows.tocsr() if sparse.issparse(rows) else rows
    places = [np.flatnonzero(labels.codes == i) for i in range(len(labels.levels))]
    valued = _has_value(array) if gaps else np.ones(n, dtype=bool)
    count = [place[valued[place]] for place in places]
    return RowsByGroup(
        names=tuple(labels.levels),
        parts=tuple(_take(rows, place) for place in places),
        subjects=None if told is None else tuple(told[place] for place in places),
        counts=tuple(len(place) if told is None else len(set(told[place])) for place in count),
        features=_features(feature_names, columns, int(array.shape[1])),
        label_name=labels.name,
    )


def _check_groups(X: Any, groups: Any, n: int) -> CheckedLabels:
    """Two groups or more, one for each row."""
    if groups is None:
        raise ValueError("groups is None: pass one label for each row of X, the group that it belongs to")
    _check_sequence(X, "groups", groups, n)
    labels = check_labels(groups, n)
    if labels.values is not None:
        raise ValueError(
            f"groups has {len(np.unique(labels.values))} different numbers: they look like a measurement, not like groups. "
            "Cut them into ranges (pandas.cut), or pass names of groups as text: [str(g) for g in groups]"
        )
    if len(labels.levels) < 2:
        raise ValueError(
            f"groups has one group only ({labels.levels[0]!r}): at least two are needed, each the background of the other"
        )
    return labels


def _check_subjects(X: Any, subjects: Any, n: int) -> Array:
    _check_sequence(X, "subjects", subjects, n)
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(value, len(codes)) for value in entries(subjects)])


def _check_sequence(X: Any, name: str, values: Any, n: int) -> None:
    """One label for each row of X, none missing, in the order of X."""
    if isinstance(values, (str, bytes)):
        raise TypeError(
            f"{name} must hold one label for each row, got {values!r}; for a column of a table: "
            f"uca.each(table.drop(columns={values!r}), {'' if name == 'groups' else 'groups, subjects='}table[{values!r}])"
        )
    given = one_each(name, values, n)
    empty = [i for i, value in enumerate(given) if is_missing(value) or (isinstance(value, str) and not value.strip())]
    if empty:
        raise ValueError(
            f"{name} has {len(empty)} missing label{'' if len(empty) == 1 else 's'}, the first at row {empty[0]}: give "
            "every row one, or leave such rows out, for instance with keep = pandas.notna(labels), X[keep] and labels[keep]"
        )
    own: Any = getattr(X, "index", None)
    other: Any = getattr(values, "index", None)
    if hasattr(own, "equals") and hasattr(other, "equals") and not own.equals(other) and set(own) == set(other):
        raise ValueError(
            f"{name} has the row labels of X in another order, and rows are matched by place: pass {name}.loc[X.index], or "
            f"{name}.to_numpy() where the order is right"
        )


def _has_value(array: Any) -> Array:
    """Which rows have a value at all."""
    if not has_gaps(array):
        return np.ones(array.shape[0], dtype=bool)
    return np.asarray(~np.isnan(in_memory(array)).all(axis=1))


def _take(rows: Any, places: Array) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    return rows.take(places) if hasattr(rows, "column_names") else rows[places]  # the first is pyarrow's


def _features(names: Any, columns: Sequence[Any] | None, p: int) -> list[Any] | None:
    if names is not None:
        return one_each("feature_names", names, p, "feature").tolist()
    return None if columns is None else list(columns)
