"""From what the user typed to checked tables: a target, named backgrounds, ids and labels.

Two forms: files of their own, or one file with a column that tells groups apart. What was found, set aside or filled is in
``notes``. A file that is not there, or an option that contradicts another, is wrong usage; content is data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from .._labels import as_text
from .._types import Array
from ..io import FORMATS, Raw, Table, find_labels, format_of, handle_missing, match_features, read_raw, split
from .options import Columns, Tables
from .program import in_options, usage_error


@dataclass(frozen=True)
class Request:
    """What to read and how; ``labels`` and ``groups`` are as the options of these names."""

    tables: Tables
    columns: Columns
    labels: str | None = None
    groups: str | None = None
    find_labels: bool = True  # look for labels where none are named

    def __post_init__(self) -> None:
        if self.groups is not None and self.groups in (self.tables.by, self.columns.id, *self.columns.drop):
            raise usage_error(f"--groups {self.groups}: --by, --id or --drop names that column too; name another")


@dataclass(frozen=True)
class Study:
    """Checked tables with the same features, without missing values unless these are left to the model."""

    target: Table
    backgrounds: dict[str, Table]
    labels: Array | None
    label_name: str | None
    notes: tuple[str, ...]

    @property
    def tables(self) -> list[Table]:
        """The target, then the backgrounds."""
        return [self.target, *self.backgrounds.values()]

    @property
    def background_data(self) -> dict[str, Any]:
        """Backgrounds as a model takes them."""
        return {name: table.data() for name, table in self.backgrounds.items()}

    @property
    def sources(self) -> dict[str, Any]:
        """Files and their rows, for JSON."""
        target, *others = ({"source": table.source, "rows": len(table)} for table in self.tables)
        return {"target": target, "background_sources": dict(zip(self.backgrounds, others, strict=True))}

    def groups(self, column: str | None) -> list[Array] | None:
        """The entries of a column for the target and each background, which must all have it; None for no column."""
        return None if column is None else [_entries(table, column) for table in self.tables]


def _entries(table: Table, column: str) -> Array:
    if column not in table.columns:
        raise usage_error(f"{table.source} has no column {column!r} for --groups; every table must have it")
    entries = table.columns[column]
    empty = int((entries == "").sum())
    if empty:
        raise ValueError(
            f"{table.source} has {empty} rows without a value in column {column!r} (--groups): give every row a subject, or "
            "leave such rows out"
        )
    return entries


def read_study(request: Request) -> Study:
    """Read, match and complete the tables that a request names."""
    target, backgrounds = _by_column(request) if request.tables.by is not None else _by_file(request)
    target, name = _with_labels(target, request)
    tables = {"target": target, **{f"background {key}": table for key, table in backgrounds.items()}}
    tables = handle_missing(tables, request.columns.missing)
    target, *others = tables.values()
    notes = [
        f"{table.source}: {note}" if table.source not in note else note
        for table in tables.values()
        for note in map(in_options, table.notes)
    ]
    labels = None if name is None else target.columns[name]
    return Study(target, dict(zip(backgrounds, others, strict=True)), labels, name, tuple(dict.fromkeys(notes)))


def read_one(path: Path, columns: Columns) -> Raw:
    """One file; wrong names of files are wrong usage."""
    try:
        format_of(path)
    except ValueError as error:
        raise usage_error(str(error)) from None
    if not path.exists():
        raise usage_error(f"{path} does not exist")
    return read_raw(path, na=columns.na, header=not columns.no_header)


def _by_file(request: Request) -> tuple[Table, dict[str, Table]]:
    columns, files = request.columns, _named_files(request.tables.background)
    raws = [read_one(path, columns) for path in (request.tables.table, *files.values())]
    aside = [name for name in (request.labels,) if name is not None and name in raws[0].names]
    aside += [] if request.groups in (None, *aside) else [str(request.groups)]
    _check_named([*columns.drop, *([] if columns.id in (None, "none") else [str(columns.id)])], raws)
    tables = [
        split(
            raw,
            id=columns.id if columns.id == "none" or columns.id in raw.names else None,
            aside=_present(aside, raw),
            drop=_present(columns.drop, raw),
        )
        for raw in raws
    ]
    target, *others = tables
    return target, {name: match_features(table, target) for name, table in zip(files, others, strict=True)}


def _named_files(given: Sequence[str]) -> dict[str, Path]:
    """Backgrounds by name: ``NAME=FILE``, or the file's name without its ending."""
    files: dict[str, Path] = {}
    for text in given:
        name, equals, rest = text.partition("=")
        path = Path(rest) if equals and name and not Path(text).exists() else Path(text)
        key = name if str(path) != text and equals else stem(path)
        if key in files:
            raise usage_error(f"two backgrounds are called {key!r}; name them with -b NAME=FILE")
        files[key] = path
    return files


def stem(path: Path) -> str:
    """The name of a file without the ending that tells its format."""
    endings = [ending for ending in FORMATS if path.name.lower().endswith(ending)]
    return path.name[: -len(max(endings, key=len))] if endings else path.stem


def _present(names: Sequence[str], raw: Raw) -> list[str]:
    return [name for name in names if name in raw.names or name in (raw.features or ())]


def _check_named(names: Sequence[str], raws: Sequence[Raw]) -> None:
    """A column that is named must be in one file at least."""
    for name in names:
        if not any(_present([name], raw) for raw in raws):
            close = get_close_matches(name, raws[0].names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise usage_error(f"no file has a column {name!r}{hint}")


def _by_column(request: Request) -> tuple[Table, dict[str, Table]]:
    raw = read_one(request.tables.table, request.columns)
    by = str(request.tables.by)
    named = [by, *([request.groups] if request.groups else [])]
    _check_named([*named, *request.columns.drop], [raw])
    aside = _present([*named, *([request.labels] if request.labels else [])], raw)
    table = split(raw, id=request.columns.id, aside=dict.fromkeys(aside), drop=request.columns.drop)
    groups = table.columns[by]
    table = replace(
        table, columns={name: column for name, column in table.columns.items() if name != by or name == request.labels}
    )
    target = _group(table, groups, str(request.tables.target), by)
    backgrounds: dict[str, Table] = {}
    for text in request.tables.background:
        name, equals, value = text.partition("=")
        name, value = (name, value) if equals and text not in groups else (text, text)
        if value == request.tables.target:
            raise usage_error(f"{value!r} is the target; a background must be another group")
        if name in backgrounds:
            raise usage_error(f"two backgrounds are called {name!r}")
        backgrounds[name] = replace(_group(table, groups, value, by), notes=())
    return target, backgrounds


def _group(table: Table, groups: Array, value: str, by: str) -> Table:
    rows = groups == value
    if rows.sum() < 2:
        known = sorted(set(groups) - {""})
        listed = ", ".join(map(repr, known[:10])) + (" …" if len(known) > 10 else "")
        raise ValueError(
            f"column {by!r} has {int(rows.sum())} rows with {value!r}, at least 2 are needed; it has {listed}"
        )
    return table.rows(np.flatnonzero(rows))


def _with_labels(target: Table, request: Request) -> tuple[Table, str | None]:
    """The target with its labels among its columns, and the name of that column."""
    if request.groups is not None and request.groups not in target.columns:
        raise usage_error(f"{target.source} has no column {request.groups!r} for --groups")
    if request.labels is None and not request.find_labels:
        return target, None
    if request.labels is None:
        rest = {name: column for name, column in target.columns.items() if name != request.groups}
        found = find_labels(replace(target, columns=rest))
        note = () if found is None else (f"labels are in column {found!r} (--labels names another)",)
        return replace(target, notes=(*target.notes, *note)), found
    if request.labels in target.columns:
        return target, request.labels
    if not Path(request.labels).exists():
        raise usage_error(f"--labels {request.labels}: neither a file nor a column of {target.source}")
    name, values = _label_file(Path(request.labels), target, request)
    return replace(target, columns={**target.columns, name: values}), name


def _label_file(path: Path, target: Table, request: Request) -> tuple[str, Array]:
    """CheckedLabels from a file: matched by id where both have ids, else by order."""
    raw = read_one(path, request.columns)
    names, columns = _text_columns(raw)
    known = set() if target.ids is None else set(target.ids)
    ids = next((name for name in names if known and known <= set(columns[name])), None)
    rest = [name for name in names if name != ids]
    if len(rest) != 1:
        raise ValueError(f"{path} must hold one column of labels, and may hold one of ids; it has {', '.join(names)}")
    values = columns[rest[0]]
    if ids is not None and target.ids is not None:
        if len(set(columns[ids])) < len(columns[ids]):
            raise ValueError(f"{path} has ids more than once in column {ids!r}: make them unique")
        place = {key: i for i, key in enumerate(columns[ids])}
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
