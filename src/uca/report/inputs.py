"""What a report is about, checked: rows, names, labels and ids that fit one another and the model.

Promises: what leaves here has one label and one id for each row, one name for each feature, and the backgrounds of the
model in its order (or none).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._containers import is_array_api, is_dask
from .._labels import CheckedLabels, check_labels, one_each
from .._types import Backgrounds, Labels, Rows
from .._validation import (
    Datasets,
    check_datasets,
    get_columns,
)
from ..estimators.bounded import BoundedTransformer
from ..fitted import in_order_of_fit, takes_gaps
from ..operators.sources.namespace import to_numpy


@dataclass(frozen=True)
class Inputs:
    """Target first, then backgrounds: arrays, names and ids of each; labels and features of the target."""

    arrays: tuple[Any, ...]
    names: tuple[str, ...]
    ids: tuple[list[str] | None, ...]
    labels: CheckedLabels | None
    features: list[str]
    image_shape: tuple[int, int] | None

    @property
    def n_rows(self) -> tuple[int, ...]:
        """Rows of each dataset."""
        return tuple(array.shape[0] for array in self.arrays)


def check_inputs(
    model: BoundedTransformer,
    X: Rows,
    *,
    backgrounds: Backgrounds,
    labels: Labels | None,
    label_name: str | None,
    ids: Labels | None,
    feature_names: Any,
    image_shape: Any,
) -> Inputs:
    """Check everything that the user hands to a report, against the fitted model and against one another."""
    given = {} if backgrounds is None else in_order_of_fit(model, backgrounds)
    labels, ids = _in_memory(labels), _in_memory(ids)
    tables = {name: to_numpy(table) if is_array_api(table) else table for name, table in given.items()}
    X = to_numpy(X) if is_array_api(X) else X
    fitted_names = getattr(model, "feature_names_in_", None)
    columns = get_columns(X) if fitted_names is None else list(fitted_names)
    like = Datasets({}, model.n_features_in_, columns)
    data = check_datasets(model, X, tables or None, min_rows=1, like=like, gaps=takes_gaps(model))
    data.check_finite(gaps=takes_gaps(model))
    n, shape = data.arrays[0].shape[0], check_image_shape(image_shape, data.n_features)
    return Inputs(
        arrays=data.arrays,
        names=("target", *data.names),
        ids=(_ids(X, ids, n), *(_ids(table, None, 0) for table in tables.values())),
        labels=None if labels is None else _named(check_labels(labels, n), label_name),
        features=_features(feature_names, columns, data.n_features, shape),
        image_shape=shape,
    )


def _in_memory(values: Any) -> Any:
    return values.compute() if is_dask(values) else values


def _named(labels: CheckedLabels, name: str | None) -> CheckedLabels:
    return labels if name is None else replace(labels, name=str(name))


def check_image_shape(shape: Any, p: int) -> tuple[int, int] | None:
    """Height and width of an image of ``p`` pixels."""
    if shape is None:
        return None
    try:
        height, width = (operator.index(side) for side in shape)
    except (TypeError, ValueError):
        raise ValueError(f"image_shape must be (height, width); got {shape!r}") from None
    if height < 1 or width < 1 or height * width != p:
        raise ValueError(f"image_shape {height} x {width} has {height * width} pixels, but there are {p} features")
    return height, width


def _features(names: Any, columns: Sequence[Any] | None, p: int, shape: tuple[int, int] | None) -> list[str]:
    if names is not None:
        return [plain(name) for name in one_each("feature_names", names, p, "feature")]
    if columns is not None:
        return [plain(name) for name in columns]
    if shape is not None:
        return [f"row {i}, column {j}" for i in range(shape[0]) for j in range(shape[1])]
    return [f"x{i}" for i in range(p)]


def _ids(table: Any, ids: Labels | None, n: int) -> list[str] | None:
    """Names of rows: given, or the index of a table that has one; None stands for the row numbers."""
    if ids is not None:
        return [plain(value) for value in one_each("ids", ids, n)]
    index = getattr(table, "index", None)
    # The index of a dask collection is often the row numbers of each chunk, and not at hand.
    if is_dask(table) or index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [plain(value) for value in index]


def plain(value: Any) -> str:
    """A value as text that can be written in any encoding of Unicode."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
