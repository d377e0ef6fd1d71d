"""Moments gathered by ``partial_fit``, before they are solved."""

from __future__ import annotations

from dataclasses import dataclass, field

from sklearn.exceptions import NotFittedError

from .._validation import Datasets, label_of
from ..operators.memory import check_matrices_fit
from ..operators.moments import Moments


@dataclass
class Stream:
    """Moments of the target (key None) and of every background seen so far; ``like`` holds the features."""

    like: Datasets
    moments: dict[str | None, Moments] = field(default_factory=dict)

    def add(self, data: Datasets) -> None:
        """Add rows, or moments gathered elsewhere, to each dataset. Either all are added or, on any error, none."""
        n_datasets = len(self.moments.keys() | data.tables.keys())
        check_matrices_fit(data.n_features, n_datasets, "partial_fit")
        grown = dict(self.moments)
        for name, rows in data.tables.items():
            new = rows.copy() if isinstance(rows, Moments) else Moments.of(rows, label_of(name))
            grown[name] = new.merge(self.moments[name]) if name in self.moments else new
        self.moments = grown

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
