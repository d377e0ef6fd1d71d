"""Rows of a target and its backgrounds in memory, and the subject that each row belongs to.

Promises: every value is finite, or missing where that was allowed; every row has a subject, an integer that is the same
wherever the user gave the same label, in whatever dataset; rows without labels are subjects of their own. Splits and
resamples move subjects, never single rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._containers import is_array_api, is_dask
from .._missing import entries, is_missing
from .._readable import refuse_anndata
from .._types import Array, Backgrounds, Groups, Rows
from .._validation import Datasets, check_datasets, label_of, name_backgrounds
from ..estimators.base import refit
from ..estimators.bounded import BoundedTransformer
from ..estimators.uca import UCA
from ..operators.contract.units import NO_FLOAT
from ..operators.gaps.estimate import has_gaps
from ..operators.representations.estimated import in_memory
from ..operators.representations.units import LARGEST_POWER, divided, like_powers
from ..operators.sources.namespace import to_numpy

ADVICE = (
    "Impute or drop those rows or features first, for instance with sklearn.impute.SimpleImputer; or pass "
    "model=UCA(missing='em') to a function that re-estimates in every part (all but choose_restriction, which needs "
    "complete rows)."
)
FEW_GROUPS = (
    " What these groups show can be described: uca.inference.leave_one_group_out(X, backgrounds, groups=...) gives scores "
    "by group and what stays when each is left out (single cells: uca.scverse.donors)."
)
MIN_SUBJECTS = 8  # in every dataset, where rows are split in halves: four on each side


@dataclass(frozen=True)
class Sample:
    """Target first, then the backgrounds.

    Attributes
    ----------
    arrays : tuple of arrays or CSR matrices
    names : tuple of str
        Names of the backgrounds.
    subjects : tuple of integer arrays
        The subject of each row of each dataset.
    grouped : bool
        Whether the user told subjects apart.
    columns : list or None
        Labels of the features.
    labels : tuple
        The user's label of subject 0, 1, …; subjects that are single rows without a label have negative numbers.
    """

    arrays: tuple[Any, ...]
    names: tuple[str, ...]
    subjects: tuple[Array, ...]
    grouped: bool
    columns: list[Any] | None
    labels: tuple[Any, ...] = ()

    @property
    def n_rows(self) -> tuple[int, ...]:
        """Rows of each dataset."""
        return tuple(array.shape[0] for array in self.arrays)

    @property
    def n_subjects(self) -> tuple[int, ...]:
        """Subjects of each dataset."""
        return tuple(len(np.unique(codes)) for codes in self.subjects)

    @property
    def incomplete(self) -> bool:
        """Whether values are missing."""
        return any(map(has_gaps, self.arrays))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.arrays[0].shape[1])

    def take(self, rows: Sequence[Array]) -> tuple[Any, ...]:
        """The chosen rows of every dataset."""
        return tuple(array[chosen] for array, chosen in zip(self.arrays, rows, strict=True))

    def codes(self, rows: Sequence[Array]) -> tuple[Array, ...]:
        """The subjects of the chosen rows of every dataset."""
        return tuple(codes[chosen] for codes, chosen in zip(self.subjects, rows, strict=True))

    def datasets(self, arrays: Sequence[Any]) -> Datasets:
        """Rows in place of all rows, as an estimator takes them when they are checked."""
        return Datasets(dict(zip((None, *self.names), arrays, strict=True)), self.n_features, self.columns)

    def in_moderate_units(self, scale: bool | str) -> tuple[Sample, int]:
        """The sample with columns divided by powers of two where squares would overflow or vanish.

        A model that scales sees no difference. In common units all are divided by the same power, which comes second: their
        variances are ``4 ** power`` times as large.
        """
        powers = like_powers(self.arrays, each_dataset=scale is True, each_feature=scale is not False)
        if powers is None:
            return self, 0
        common = int(powers[0][0]) if scale is False else 0
        if abs(2 * common) > LARGEST_POWER:
            raise OverflowError(NO_FLOAT)
        arrays = (divided(array, power) for array, power in zip(self.arrays, powers, strict=True))
        return replace(
            self, arrays=tuple(array.tocsr() if sparse.issparse(array) else array for array in arrays)
        ), common

    def fit(self, model: BoundedTransformer) -> BoundedTransformer:
        """Fit a model to all rows."""
        return model.fit(self.arrays[0], backgrounds=dict(zip(self.names, self.arrays[1:], strict=True)))

    def fit_part(self, model: BoundedTransformer, rows: Sequence[Array], what: str) -> BoundedTransformer:
        """Fit a model to some rows of every dataset; an error says which they are.

        What the fit tells of new rows and of means is left out.
        """
        try:
            return refit(model, self.datasets(self.take(rows)))
        except ValueError as error:  # bounds that no direction keeps there, a target that does not vary there
            raise type(error)(f"the model cannot be fitted to {what}: {error}") from error


def check_sample(
    X: Rows,
    backgrounds: Backgrounds,
    groups: Groups = None,
    *,
    min_subjects: int = MIN_SUBJECTS,
    gaps: bool = False,
) -> Sample:
    """Check rows and subjects; ``gaps`` lets missing values in, and leaves rows without any value out.

    ``groups`` labels subjects: one sequence for each dataset (a list, target first; or a dict by name, with ``"target"``),
    one for the target alone, or one for all rows stacked. None in place of a sequence: rows are independent. Every dataset
    must have ``min_subjects`` of them.
    """
    refuse_anndata(X, label_of(None))
    given = name_backgrounds(backgrounds)
    if not given:
        raise ValueError("backgrounds=None: uniqueness is relative to a background; pass at least one")
    for name, table in [(None, X), *given.items()]:
        if is_dask(table):
            raise TypeError(f"{label_of(name)} is a dask collection; inference needs rows in memory: pass .compute()")
    data = check_datasets(
        UCA(),
        _numpy(X),
        {name: _numpy(table) for name, table in given.items()},
        min_rows=2,
        gaps=gaps,
    )
    data.check_finite(gaps=gaps, advice=ADVICE)
    arrays = tuple(array.tocsr() if sparse.issparse(array) else np.asarray(array) for array in data.arrays)
    labels = _group_lists(groups, data.names, [array.shape[0] for array in arrays])
    subjects, known = _codes(labels, [array.shape[0] for array in arrays], data.labels)
    if gaps:
        arrays, subjects = _with_values(arrays, subjects)
    sample = Sample(arrays, data.names, subjects, any(part is not None for part in labels), data.columns, known)
    for n, label in zip(sample.n_subjects, data.labels, strict=True):
        if n < min_subjects:
            raise ValueError(
                f"{label} has {n} {'groups' if sample.grouped else 'rows'}; at least {min_subjects} are needed. "
                f"With fewer, nothing can be said beyond them.{FEW_GROUPS if sample.grouped else ''}"
            )
    return sample


def _with_values(arrays: Sequence[Any], subjects: Sequence[Array]) -> tuple[tuple[Any, ...], tuple[Array, ...]]:
    """Arrays with gaps as dense ones, without rows that have no value, and the subjects of the rows that stay."""
    out, codes = [], []
    for array, own in zip(arrays, subjects, strict=True):
        if has_gaps(array):
            rows = in_memory(array)
            there = ~np.isnan(rows).all(axis=1)
            array, own = rows[there], own[there]
        out.append(array)
        codes.append(own)
    return tuple(out), tuple(codes)


def _numpy(table: Any) -> Any:
    return to_numpy(table) if is_array_api(table) else table


def _group_lists(groups: Any, names: Sequence[str], n_rows: Sequence[int]) -> list[list[Any] | None]:
    """Labels for each dataset, or None for one whose rows are independent."""
    if groups is None:
        return [None] * len(n_rows)
    if isinstance(groups, str) or hasattr(groups, "columns"):
        raise TypeError("groups must hold labels of rows: a list with one sequence for each dataset, target first")
    if isinstance(groups, Mapping):
        if "target" in names:
            raise ValueError("a background is called 'target': give groups as a list, target first, not as a dict")
        named = {str(name): part for name, part in groups.items()}  # as names of backgrounds are
        unknown = sorted(set(named) - {"target", *names})
        if unknown:
            raise ValueError(f"groups names {unknown}, but the datasets are 'target' and {list(names)}")
        absent = [name for name in ("target", *names) if name not in named]
        if absent:
            raise ValueError(f"groups has no labels for {absent}: give them, or None where rows are independent")
        return [_listed(named[name]) for name in ("target", *names)]
    parts = _listed(groups) if hasattr(groups, "shape") else list(groups)
    assert parts is not None
    one_array = hasattr(groups, "shape")  # in which None is a label that is missing, not a dataset without labels
    if any((part is None and not one_array) or _is_sequence(part) for part in parts):
        if len(parts) == 2 and isinstance(parts[1], Mapping):  # the target's, and a dict like the backgrounds
            return _group_lists({"target": parts[0], **parts[1]}, names, n_rows)
        if len(parts) != len(n_rows):
            raise ValueError(
                f"groups has {len(parts)} sequences for {len(n_rows)} datasets: give one for the target and one for each "
                "background, in order; None where rows are independent"
            )
        return [_listed(part) for part in parts]
    if len(parts) == n_rows[0]:
        warnings.warn(
            "groups has labels for the target alone: rows of the backgrounds are taken as independent. Give a list with one "
            "sequence for each dataset, target first, and None where that is so",
            UserWarning,
            stacklevel=4,
        )
        return [parts, *[None] * (len(n_rows) - 1)]
    if len(parts) == sum(n_rows):
        stops = np.cumsum(n_rows).tolist()
        return [parts[stop - n : stop] for stop, n in zip(stops, n_rows, strict=True)]
    raise ValueError(
        f"groups has {len(parts)} labels; give one for each of the target's {n_rows[0]} rows, or of all {sum(n_rows)} rows, "
        "or a list with one sequence for each dataset"
    )


def _is_sequence(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and (hasattr(value, "__len__") or hasattr(value, "__iter__"))


def _listed(part: Any) -> list[Any] | None:
    if part is None:
        return None
    array = entries(part)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"groups must be one label per row; got an array of shape {array.shape}")
    return array.tolist()


def _codes(
    labels: Sequence[list[Any] | None], n_rows: Sequence[int], said: Sequence[str]
) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
    """The subject of every row, and the labels of subjects 0, 1, …"""
    known: dict[Any, int] = {}
    out, fresh = [], -1
    for part, n, label in zip(labels, n_rows, said, strict=True):
        if part is None:
            out.append(np.arange(fresh, fresh - n, -1))  # negative: no label has it
            fresh -= n
            continue
        if len(part) != n:
            raise ValueError(f"groups has {len(part)} labels for {label}, which has {n} rows: give one for each row")
        if any(map(is_missing, part)):
            raise ValueError(f"groups of {label} has missing labels: give every row a subject, or leave such rows out")
        out.append(np.array([known.setdefault(value, len(known)) for value in part]))
    _refuse_lookalikes(known)
    return tuple(out), tuple(known)


def _refuse_lookalikes(known: Iterable[Any]) -> None:
    """A number in one dataset and its text in another would be two subjects, though they look like one."""
    seen: dict[str, Any] = {}
    for value in known:
        other = seen.setdefault(str(value), value)
        if other is not value:
            raise ValueError(
                f"groups has the labels {other!r} and {value!r}, which look the same and are two subjects: give all labels "
                "as text, or all as numbers"
            )
