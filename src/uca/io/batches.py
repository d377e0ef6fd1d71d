"""Parquet files that are larger than memory, read a few rows at a time.

Promises: columns are told apart by the rules of :func:`~.table.read_table`, from the types in the file and its first rows;
an id is unique in all rows. Beside a block of some megabytes, and pages of the file that pyarrow is decoding, only columns
that are asked for by name come into memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._guard import guarded, refusing
from .._labels import as_text
from .._readable import check_unique
from .._types import Array
from .columns import find_id
from .formats import Raw
from .parquet_text import check_text, open_parquet
from .table import Table, id_note, split

HEAD = 10_000  # rows that tell columns apart
ID_ROWS = 1 << 16  # rows of which ids are looked at together
BLOCK = 1 << 25  # bytes of numbers in a block


@dataclass(frozen=True)
class Batches:
    """A parquet file: its rows, its first ones as a table, and the column of ids, where there is one."""

    path: Path
    n_rows: int
    head: Table
    id: str | None

    def blocks(self, features: Sequence[str], others: Collection[str] = ()) -> Iterator[tuple[Array, dict[str, Array]]]:
        """Numbers (m, p) in the order of ``features``, and other columns as text, block by block."""
        rows = max(256, BLOCK // (8 * len(features)))
        with guarded(self.path, "parquet"):
            check_text(self.path, rows, others)
            yield from self._blocks(rows, features, others)

    def _blocks(
        self, rows: int, features: Sequence[str], others: Collection[str]
    ) -> Iterator[tuple[Array, dict[str, Array]]]:
        dtype = self.head.values.dtype
        with open_parquet(self.path) as file:
            for batch in file.iter_batches(rows, columns=[*features, *others]):
                values = np.empty((batch.num_rows, len(features)), dtype)
                for i, name in enumerate(features):
                    values[:, i] = batch.column(name).to_numpy(zero_copy_only=False)
                yield values, {name: as_text(batch.column(name).to_pandas()) for name in others}


def open_batches(path: Path, *, id: str | None, aside: Collection[str] = (), drop: Collection[str] = ()) -> Batches:
    """Look at a file: which columns are numbers, and which identifies rows."""
    with guarded(path, "parquet"):
        look = _look(path, id, (*aside, *drop))
    schema, found, index = look.schema, look.id, look.index
    notes = [id_note(found)] if found is not None and id is None else []
    if id is None and index:
        found = (schema.pandas_metadata or {}).get("index_columns", [None])[0]
    head = split(Raw(str(path), frame=look.frame), id=id if index else found or "none", aside=aside, drop=drop)
    numbers = [i for i, name in enumerate(head.features or ()) if _is_number(schema.field(name).type)]
    head = replace(head.take(numbers), notes=(*notes, *head.notes))
    return Batches(path, look.n_rows, head, None if found == "none" else found)


@dataclass(frozen=True)
class _Look:
    """What was seen of a file: its columns, its first rows, and the column of ids, or whether its index names rows."""

    schema: Any
    n_rows: int
    frame: Any
    id: str | None
    index: bool


def _look(path: Path, id: str | None, others: Collection[str]) -> _Look:
    import pyarrow

    with open_parquet(path) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        with refusing():
            check_unique(schema.names, "it")
        check_text(path, ID_ROWS)
        first = next(file.iter_batches(HEAD), None)
        frame = (schema.empty_table() if first is None else pyarrow.Table.from_batches([first])).to_pandas()
        index = type(frame.index).__name__ != "RangeIndex"
        kept = frame.drop(columns=[name for name in others if name in frame.columns])
        found = id if id is not None or index else _unique_id(file, kept)
        return _Look(schema, n_rows, frame, found, index)


def number_bytes(path: Path) -> float:
    """Bytes of the numbers of a file."""
    with open_parquet(path) as file:
        columns = sum(_is_number(field.type) for field in file.schema_arrow)
        return 8.0 * columns * float(file.metadata.num_rows)


def names_in(path: Path) -> list[str]:
    """All columns."""
    with guarded(path, "parquet"), open_parquet(path) as file:
        return list(file.schema_arrow.names)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _unique_id(file: Any, frame: Any) -> str | None:
    """The column that identifies rows, among those of the first rows, if it does so in all rows."""
    while (found := find_id(frame)) is not None:
        if _is_unique(file, found):
            return found
        frame = frame.drop(columns=found)
    return None


def _is_unique(file: Any, name: str) -> bool:
    """Whether a column has a value of its own in each row, found by 64-bit hashes: text of all rows may not fit."""
    from pandas.util import hash_array

    hashes = np.empty(file.metadata.num_rows, dtype=np.uint64)
    done = 0
    for batch in file.iter_batches(ID_ROWS, columns=[name]):
        column = batch.column(name)
        if column.null_count:
            return False
        values = column.to_numpy(zero_copy_only=False)
        hashes[done : done + len(values)] = hash_array(values, categorize=False)
        done += len(values)
    hashes.sort()
    return not bool((hashes[1:] == hashes[:-1]).any())
