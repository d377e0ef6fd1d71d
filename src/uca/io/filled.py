"""Numbers in plain text, read piece by piece into one matrix.

A table of the whole file would take its memory twice, and time: memory that is used again for the next piece is not asked of
the system again. Cores share the pieces.

Promises: every cell is what pyarrow's reader of whole files makes of it. None where that cannot be told: where the rows of a
piece are not its lines. An error of pyarrow, where a column is not of the type that its first rows have, is the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._threads import in_lanes
from .._types import Array
from .layout import Piece

PIECE = 1 << 20  # bytes: a piece and its numbers fit into the caches of a core
MOST_OTHERS = 20  # columns that are not fractions; with more of them there is little to gain
KINDS = frozenset(("double", "int64", "string"))  # of columns that are read so


@dataclass(frozen=True)
class Filled:
    """``numbers`` (columns, n), how many cells are ``missing`` in each, and the other columns as a pyarrow table."""

    numbers: Array
    missing: Array
    others: Any


@dataclass(frozen=True)
class Plan:
    """How pieces are parsed: types of columns, lines before the first row, pyarrow's options, words for missing values."""

    kinds: Sequence[str]
    skipped: int
    parse: Any
    convert: Mapping[str, Any]
    words: Sequence[str]

    @property
    def fractions(self) -> list[int]:
        """Columns of the matrix."""
        return [i for i, kind in enumerate(self.kinds) if kind == "double"]

    @property
    def others(self) -> list[int]:
        """The rest."""
        return [i for i, kind in enumerate(self.kinds) if kind != "double"]


def suits(kinds: Sequence[str]) -> bool:
    """Whether columns of these types are read so."""
    n_others = sum(kind != "double" for kind in kinds)
    return KINDS.issuperset(kinds) and n_others <= min(MOST_OTHERS, len(kinds) - 1)


def fill(path: Path, pieces: Sequence[Piece], plan: Plan) -> Filled | None:
    """Read all pieces."""
    import pyarrow

    n_rows = sum(piece.n_lines for piece in pieces) - plan.skipped
    if n_rows < 1 or pieces[0].n_lines < plan.skipped:
        return None
    numbers = np.empty((len(plan.fractions), n_rows))
    others: list[Any] = [None] * len(pieces)

    def read(lane: Sequence[tuple[int, Piece]]) -> Array | None:
        reader = _Reader(path, plan)
        missing = np.zeros(len(numbers), dtype=int)
        for k, piece in lane:
            skip = 0 if k else plan.skipped
            start = piece.line + skip - plan.skipped
            found = reader.read(piece, skip, numbers[:, start : start + piece.n_lines - skip])
            if found is None:
                return None
            missing += found[0]
            others[k] = found[1]
        return missing

    counts = in_lanes(read, list(enumerate(pieces)))
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    return Filled(numbers, np.sum(known, axis=0), pyarrow.concat_tables(others))


class _Reader:
    """Reads pieces. To look for words in every cell takes a sixth of the time: it begins with the first one that is met."""

    def __init__(self, path: Path, plan: Plan):
        self._path, self._plan, self._words = path, plan, False

    def read(self, piece: Piece, skip: int, out: Array) -> tuple[Array, Any] | None:
        """Missing cells of each column of numbers, which go to ``out``, and the other columns; None for other rows."""
        import pyarrow

        with self._path.open("rb", buffering=0) as stream:
            stream.seek(piece.start)
            data = stream.read(piece.end - piece.start)
        if not self._words:
            with suppress(pyarrow.ArrowInvalid):
                found = self._placed(self._parsed(data, skip, [""]), out)
                if found is not None:
                    return found
            self._words = True
        return self._placed(self._parsed(data, skip, ["", *self._plan.words]), out)

    def _parsed(self, data: bytes, skip: int, null_values: Sequence[str]) -> Any:
        from pyarrow import BufferReader, csv

        names = [str(i) for i in range(len(self._plan.kinds))]
        types = dict(zip(names, self._plan.kinds, strict=True))
        read = csv.ReadOptions(column_names=names, skip_rows=skip, use_threads=False, block_size=len(data) + 1)
        convert = csv.ConvertOptions(**{**self._plan.convert, "null_values": null_values}, column_types=types)
        return csv.read_csv(BufferReader(data), read, self._plan.parse, convert)

    def _placed(self, table: Any, out: Array) -> tuple[Array, Any] | None:
        if table.num_rows != out.shape[1]:
            return None
        columns = [table.column(i) for i in self._plan.fractions]
        for column, row in zip(columns, out, strict=True):
            _copy(column, row)
            if np.isnan(row.min()) and np.isnan(row).sum() != column.null_count:  # a word that is read as no number
                return None
        return np.array([column.null_count for column in columns]), self._without_words(table.select(self._plan.others))

    def _without_words(self, table: Any) -> Any:
        from pyarrow import array, compute

        for i, column in enumerate(table.columns):
            if str(column.type) == "string":
                missing = compute.is_in(column, array(self._plan.words, "string"))
                table = table.set_column(i, table.field(i), compute.if_else(missing, None, column))
        return table


def _copy(column: Any, out: Array) -> None:
    done = 0
    for chunk in column.chunks:
        out[done : done + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        done += len(chunk)
