"""Rows of text files that have more or fewer cells than there are columns: told by line, never passed over.

Promises: a row with more cells than columns is an error that gives its line. Rows with fewer are told in a note, as cells
that are missing, in files that are not large; if the last line is one and has no end, the file is cut short, and that is an
error.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._guard import AGAIN
from .._readable import listed
from .advice import TableError
from .dialect import Dialect, cells_of_any_length, find_dialect
from .encodings import find_encoding, open_text
from .formats import Raw, Reading

MOST_SCANNED = 1 << 26  # bytes of a file that is read once more to find rows with fewer cells
MOST_TOLD = 5


@dataclass(frozen=True)
class Rows:
    """Lines of rows that are longer and shorter than the columns are many, with their numbers of cells."""

    width: int
    longer: list[tuple[int, int]]
    shorter: list[tuple[int, int]]
    last_line: int
    ends: bool


def with_equal_rows(read: Callable[[Path, Reading], Raw], kind: str) -> Callable[[Path, Reading], Raw]:
    """A reader of text that tells where rows are of unequal length."""

    def checked(path: Path, options: Reading) -> Raw:
        from pandas.errors import ParserError

        try:
            raw = read(path, options)
        except ParserError:
            _refuse_longer(path, _rows(path, kind))
            raise
        return _with_shorter(raw, path, kind)

    return checked


def _rows(path: Path, kind: str) -> Rows:
    """Look at all rows of a file; blank lines are none."""
    encoding = find_encoding(path).name
    dialect = find_dialect(path, kind, encoding)
    width, fewest = _widths(dialect)
    longer, shorter = [], []
    line, text = 0, ""
    with open_text(path, encoding) as stream, cells_of_any_length():
        lines = _Remembered(stream)
        reader = csv.reader(lines, delimiter=dialect.separator, skipinitialspace=True)
        for row in reader:
            begun, line = line + 1, reader.line_num
            if len(row) > width:
                longer.append((begun, len(row)))
            elif row and len(row) < fewest:
                shorter.append((begun, len(row)))
        text = lines.last
    return Rows(width, longer, shorter, line, text.endswith(("\n", "\r")))


def _widths(dialect: Dialect) -> tuple[int, int]:
    """How many columns there are, and the fewest cells of a row that is whole.

    A header of R has no name for the names of rows; other headers may have names that no row has a cell for.
    """
    names, cells = len(dialect.header), dialect.width
    width = max(names, cells)
    return width, width if names == cells - 1 else min(names, cells)


class _Remembered:
    """The lines of a stream; ``last`` is the one that was given last."""

    def __init__(self, stream: Any):
        self._lines, self.last = iter(stream), ""

    def __iter__(self) -> _Remembered:
        return self

    def __next__(self) -> str:
        self.last = next(self._lines)
        return self.last


def _refuse_longer(path: Path, rows: Rows) -> None:
    if rows.longer:
        line, cells = rows.longer[0]
        more = f", and so have {len(rows.longer) - 1} other lines" if len(rows.longer) > 1 else ""
        raise TableError(
            f"line {line} of {path} has {cells} cells, more than its {rows.width} columns{more}: is a separator in a text "
            "that is not in quotation marks, or a decimal comma? Correct the line"
        )


def _with_shorter(raw: Raw, path: Path, kind: str) -> Raw:
    """The table with a note on rows that have fewer cells; a file that ends in one without a line end is refused."""
    frame = raw.frame
    if len(frame) == 0 or len(frame.columns) < 2 or not frame.iloc[:, -1].isna().any():
        return raw
    if path.stat().st_size > MOST_SCANNED:
        _check_last(path, kind)
        return raw
    rows = _rows(path, kind)
    if not rows.shorter:
        return raw
    line, cells = rows.shorter[-1]
    if line == rows.last_line and not rows.ends:
        raise _cut_short(path, line, cells, rows.width)
    told = listed([str(line) for line, _ in rows.shorter], MOST_TOLD)
    note = f"rows with fewer cells than there are columns, whose last cells count as missing: line {told}"
    return replace(raw, notes=(*raw.notes, note))


def _check_last(path: Path, kind: str) -> None:
    """Refuse a file that ends inside its last row; of a row of several lines nothing is known."""
    encoding = find_encoding(path).name
    dialect = find_dialect(path, kind, encoding)
    width, fewest = _widths(dialect)
    with open_text(path, encoding) as stream, cells_of_any_length():
        ((line, text),) = deque(enumerate(stream, 1), maxlen=1)
        row = next(csv.reader([text], delimiter=dialect.separator, skipinitialspace=True))
    if not text.endswith(("\n", "\r")) and text.count('"') % 2 == 0 and len(row) < fewest:
        raise _cut_short(path, line, len(row), width)


def _cut_short(path: Path, line: int, cells: int, width: int) -> TableError:
    return TableError(
        f"{path} is cut short: its last line, {line}, ends after {cells} of {width} cells, perhaps inside a "
        f"number; {AGAIN}, or delete the line"
    )
