"""Moments gathered by ``partial_fit``, before they are solved."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import NotFittedError

from .._validation import Datasets, label_of
from ..operators.moments import Moments


@dataclass
class Stream:
    """Moments of the target (key None) and of every background seen so far; ``like`` holds the features."""

    like: Datasets
    moments: dict[str | None, Moments] = field(default_factory=dict)
    dtypes: dict[str | None, np.dtype] = field(default_factory=dict)

    def add(self, data: Datasets) -> None:
        """Add rows to each dataset. Either all of them are added or, on error, none."""
        gathered = {name: Moments.of(rows, label_of(name)) for name, rows in data.tables.items()}
        for name, moments in gathered.items():
            self.dtypes[name] = np.result_type(self.dtypes.get(name, np.float32), data.tables[name].dtype)
            if name in self.moments:
                self.moments[name].merge(moments)
            else:
                self.moments[name] = moments

    def names(self) -> tuple[str, ...]:
        """Names of the backgrounds, in order of arrival."""
        return tuple(name for name in self.moments if name is not None)

    def complete(self) -> tuple[list[Moments], list[np.dtype]]:
        """Moments and data types, target first; raises where a dataset has too few rows."""
        if None not in self.moments:
            raise NotFittedError("partial_fit has seen no target rows yet: call partial_fit(X) before using the model")
        order: list[str | None] = [None, *self.names()]
        for name in order:
            if self.moments[name].n < 2:
                raise NotFittedError(
                    f"{label_of(name)} has n_samples={self.moments[name].n} so far, a minimum of 2 is required: "
                    "add rows"
                )
        return [self.moments[name] for name in order], [self.dtypes[name] for name in order]
