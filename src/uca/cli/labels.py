"""Labels of the target's rows: a column of its table, or a file; found where none are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from .._labels import as_text
from .._readable import some
from .._types import Array
from ..io import Hint, Raw, Table, closest, find_labels, locate, row_names
from .options import Columns
from .program import usage_error
from .reading import read_one
from .safe import from_cell


def check_labels(labels: str | None, raw: Raw) -> None:
    """Refuse labels that are neither a column of the target nor a file, before anything else is said of the tables."""
    known = (*raw.names, *(raw.features or ()))
    if labels is None or labels in known or locate(labels).path.exists():
        return
    if labels in row_names(raw):
        told = f"--labels {labels}: {raw.source} has no such column, but a row of that name"
        raise usage_error(f"{told}: if features are rows, turn the files", (Hint("transpose", (True,)),))
    near = closest(labels, known)
    told = f"--labels {labels}: {raw.source} has no such column, and there is no such file"
    if near is None:
        raise usage_error(f"{told}; it has {some(raw.names)}" if raw.names else told)
    raise usage_error(f"{told}; did you mean {near!r}?", (Hint("labels", (near,)),))


def with_labels(
    target: Table, labels: str | None, columns: Columns, *, find: bool, groups: str | None
) -> tuple[Table, str | None]:
    """The target with its labels among its columns, and the name of that column."""
    if labels is None and not find:
        return target, None
    if labels is None:
        rest = {name: column for name, column in target.columns.items() if name != groups}
        found = find_labels(replace(target, columns=rest))
        note = () if found is None else (f"labels are in column {found!r} (--labels names another)",)
        return replace(target, notes=(*target.notes, *note)), found
    if labels in target.columns:
        return target, labels
    name, values = _label_file(Path(labels), target, columns)
    return replace(target, columns={**target.columns, name: values}), name


def _label_file(path: Path, target: Table, columns: Columns) -> tuple[str, Array]:
    """CheckedLabels from a file: matched by id where both have ids, else by order."""
    names, written = _text_columns(read_one(path, columns))
    restored = {name: _restored(column) for name, column in written.items()}
    known = set() if target.ids is None else set(target.ids)
    tries = ((name, held) for held in (written, restored) for name in names)  # ids as they stand come first
    ids, held = next(((name, held) for name, held in tries if known and known <= set(held[name])), (None, restored))
    rest = [name for name in names if name != ids]
    if len(rest) != 1:
        raise ValueError(f"{path} must hold one column of labels, and may hold one of ids; it has {', '.join(names)}")
    values = restored[rest[0]]
    if ids is not None and target.ids is not None:
        if len(set(held[ids])) < len(held[ids]):
            raise ValueError(f"{path} has ids more than once in column {ids!r}: make them unique")
        place = {key: i for i, key in enumerate(held[ids])}
        values = values[[place[key] for key in target.ids]]
    elif len(values) != len(target):
        raise ValueError(f"{path} has {len(values)} labels for {len(target)} rows, and no column with all their ids")
    return (rest[0] if rest[0] not in target.columns else f"{rest[0]} ({path.name})"), values


def _text_columns(raw: Raw) -> tuple[list[str], dict[str, Array]]:
    if raw.frame is None:
        columns = {name: as_text(column) for name, column in raw.columns.items()}
        if not columns and raw.values is not None and raw.values.shape[1] == 1:
            columns = {"label": as_text(np.asarray(raw.values).ravel())}
    else:
        frame = raw.frame if type(raw.frame.index).__name__ == "RangeIndex" else raw.frame.reset_index()
        columns = {str(name): as_text(frame[name]) for name in frame.columns}
    return list(columns), columns


def _restored(column: Array) -> Array:
    """Names as they were before a file of this program marked them as text."""
    return np.array([from_cell(str(entry)) for entry in column], dtype=object)
