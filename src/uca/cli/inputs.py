"""From what the user typed to checked tables: a target, named backgrounds, ids and labels; or one table with its groups.

Two forms: files of their own, or one file with a column that tells groups apart. What was found, set aside or filled is in
``notes``. A file that is not there, or an option that contradicts another, is wrong usage; content is data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._readable import listed, some
from .._types import Array
from ..io import (
    Advice,
    Hint,
    Raw,
    Table,
    closest,
    handle_missing,
    locate,
    match_features,
    row_names,
    set_empty_aside,
    split,
    turn,
    turn_where_needed,
)
from .labels import check_labels, with_labels
from .options import Columns, Tables
from .program import in_options, usage_error
from .reading import read_one, stem
from .safe import encodable


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

    @contextmanager
    def told_of_columns(self) -> Iterator[None]:
        """Around work on the tables: an error takes along which columns were set aside as not numbers, the likely cause."""
        try:
            yield
        except Exception as error:
            for table in self.tables:
                for found in list(table.spoiled.values())[:1]:
                    told = f"{table.source}: set aside {some(list(table.spoiled))}, the first because "
                    error.add_note(in_options(Advice(told, found.told, ". ", found.advice)))
            raise

    @property
    def sources(self) -> dict[str, Any]:
        """Files and their rows, for JSON."""
        target, *others = ({"source": table.source, "rows": len(table)} for table in self.tables)
        return {"target": target, "background_sources": dict(zip(self.backgrounds, others, strict=True))}

    def groups(self, column: str | None) -> list[Array] | None:
        """The entries of a column for the target and each background, which must all have it; None for no column."""
        return None if column is None else [entries_of(table, column) for table in self.tables]


def entries_of(table: Table, column: str, option: str = "--groups") -> Array:
    """A column that an option names, with a value in every row."""
    if column not in table.columns:
        raise usage_error(f"{table.source} has no column {column!r} for {option}; every table must have it")
    entries = table.columns[column]
    empty = int((entries == "").sum())
    if empty:
        raise ValueError(
            f"{table.source} has {empty} rows without a value in column {column!r} ({option}): give every row a "
            f"{'group' if option == '--by' else 'subject'}, or leave such rows out"
        )
    return entries


def read_study(request: Request) -> Study:
    """Read, match and complete the tables that a request names."""
    target, backgrounds = _by_column(request) if request.tables.by is not None else _by_file(request)
    if request.groups is not None and request.groups not in target.columns:
        raise usage_error(f"{target.source} has no column {request.groups!r} for --groups")
    target, name = with_labels(target, request.labels, request.columns, find=request.find_labels, groups=request.groups)
    tables = {"target": target, **{f"background {key}": table for key, table in backgrounds.items()}}
    own = [own_background(target, table, key) for key, table in backgrounds.items() if _same_rows(target, table)]
    tables = handle_missing(tables, request.columns.missing)
    target, *others = tables.values()
    notes = notes_of(list(tables.values()))
    labels = None if name is None else target.columns[name]
    said = tuple(dict.fromkeys([*own, *notes]))
    return Study(target, dict(zip(backgrounds, others, strict=True)), labels, name, said)


def notes_of(tables: Sequence[Table]) -> list[str]:
    """The notes of tables, each once, after the files it is said of."""
    said: dict[str, list[str]] = {}
    for table in tables:
        for note in map(in_options, table.notes):
            sources = said.setdefault(note, [])
            sources += [] if table.source in note or table.source in sources else [table.source]
    return [f"{listed(sources, 3)}: {note}" if sources else note for note, sources in said.items()]


def own_background(target: Table, table: Table, key: str) -> str:
    """What is said where a background holds the rows of the target."""
    what = "is the target itself" if table.source == target.source else f"({table.source}) holds the rows of the target"
    return (
        f"the background {key!r} {what}: what varies in the target varies in it as well, so no component is unique; name "
        "another table with -b"
    )


def _same_rows(one: Table, other: Table) -> bool:
    """Whether two tables hold the same numbers in the same order."""
    if one.is_sparse or other.is_sparse:
        return False
    return one.values.shape == other.values.shape and np.array_equal(one.values, other.values, equal_nan=True)


def _by_file(request: Request) -> tuple[Table, dict[str, Table]]:
    columns, files = request.columns, named_files(request.tables.background)
    raws = [read_one(path, columns) for path in (request.tables.table, *files.values())]
    raws = turn_where_needed(raws) if columns.transpose else raws
    check_labels(request.labels, raws[0])
    aside = [name for name in (request.labels,) if name is not None and name in raws[0].names]
    aside += [] if request.groups in (None, *aside) else [str(request.groups)]
    check_named([*columns.drop, *([] if columns.id in (None, "none") else [str(columns.id)])], raws)
    tables = [
        split(
            raw,
            id=columns.id if columns.id == "none" or columns.id in raw.names else None,
            aside=_present(aside, raw),
            drop=_present(columns.drop, raw),
        )
        for raw in raws
    ]
    target, *others = set_empty_aside({str(i): table for i, table in enumerate(tables)}).values()
    return target, {name: match_features(table, target) for name, table in zip(files, others, strict=True)}


def named_files(given: Sequence[str], folder: Path = Path()) -> dict[str, Path]:
    """Backgrounds by name: ``NAME=FILE``, or the file's name without its ending.

    What exists as typed, seen from the ``folder`` where it was typed, is a file.
    """
    files: dict[str, Path] = {}
    for text in given:
        name, equals, rest = text.partition("=")
        is_named = bool(equals and name) and not locate(folder / text).path.exists()
        path = Path(rest if is_named else text)
        key = encodable(name if is_named else stem(path))
        if key in files:
            raise usage_error(f"two backgrounds are called {key!r}; name them with -b NAME=FILE")
        files[key] = path
    return files


def _present(names: Sequence[str], raw: Raw) -> list[str]:
    return [name for name in names if name in raw.names or name in (raw.features or ())]


def check_named(names: Sequence[str], raws: Sequence[Raw]) -> None:
    """A column that is named must be in one file at least."""
    for name in names:
        if not any(_present([name], raw) for raw in raws):
            if any(name in row_names(raw) for raw in raws):
                told = (
                    f"no file has a column {name!r}, but a row has that name: if features are rows, transpose the files"
                )
                raise usage_error(told, (Hint("transpose", (True,)),))
            near = closest(name, raws[0].names)
            raise usage_error(f"no file has a column {name!r}{f'; did you mean {near!r}?' if near else ''}")


def _by_column(request: Request) -> tuple[Table, dict[str, Table]]:
    raw = read_one(request.tables.table, request.columns)
    raw = turn(raw) if request.columns.transpose else raw
    by = str(request.tables.by)
    check_labels(request.labels, raw)
    named = [by, *([request.groups] if request.groups else [])]
    check_named([*named, *request.columns.drop], [raw])
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
    target, *others = set_empty_aside({"": target, **backgrounds}).values()
    return target, dict(zip(backgrounds, others, strict=True))


def _group(table: Table, groups: Array, value: str, by: str) -> Table:
    rows = groups == value
    if rows.sum() < 2:
        known = listed(list(map(repr, sorted(set(groups) - {""}))), 10)
        raise ValueError(
            f"column {by!r} has {int(rows.sum())} rows with {value!r}, at least 2 are needed; it has {known}"
        )
    return table.rows(np.flatnonzero(rows))
