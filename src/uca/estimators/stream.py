"""Moments gathered by ``partial_fit``, before they are solved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sklearn.exceptions import NotFittedError

from .._containers import is_array_api, is_dask
from .._memory import check_matrices_fit
from .._validation import Datasets, label_of, raise_not_finite
from ..operators.gaps.estimate import has_gaps
from ..operators.sources.distributed import DaskSource
from ..operators.statistics.moments import Moments


@dataclass
class Stream:
    """Moments of the target (key None) and of every background seen so far; ``like`` holds the features."""

    like: Datasets
    moments: dict[str | None, Moments] = field(default_factory=dict)

    def add(self, data: Datasets) -> Stream:
        """A stream with rows, or moments gathered elsewhere, added to each dataset; this one is not changed."""
        n_datasets = len(self.moments.keys() | data.tables.keys())
        check_matrices_fit(data.n_features, n_datasets, "partial_fit")
        grown = dict(self.moments)
        for name, rows in data.tables.items():
            new = rows.copy() if isinstance(rows, Moments) else _moments(rows, label_of(name))
            grown[name] = new.merge(self.moments[name]) if name in self.moments else new
        return Stream(Datasets({}, data.n_features, data.columns), grown)

    def names(self) -> tuple[str, ...]:
        """Names of the backgrounds, in order of arrival."""
        return tuple(name for name in self.moments if name is not None)

    def complete(self) -> list[Moments]:
        """Moments, target first; raises where a dataset has too few rows."""
        if None not in self.moments:
            raise NotFittedError("partial_fit has seen no target rows yet: call partial_fit(X) before using the model")
        order: list[str | None] = [None, *self.names()]
        for name in order:
            if self.moments[name].n < 2:
                raise NotFittedError(
                    f"{label_of(name)} has n_samples={self.moments[name].n} so far, a minimum of 2 is required: "
                    "add rows"
                )
        return [self.moments[name] for name in order]


GAPS = (
    "partial_fit takes complete rows, also with missing='em': drop those rows or features, fill the gaps, or pass all rows "
    "at once to fit with missing='em'."
)


def _moments(rows: Any, label: str) -> Moments:
    if is_dask(rows):
        return DaskSource([rows], [label]).moments()[0]
    try:
        return Moments.of(rows, label)
    except ValueError:
        if not is_array_api(rows) and has_gaps(rows):
            raise_not_finite(rows, label, advice=GAPS)
        raise
