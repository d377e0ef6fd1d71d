"""How a file of text is written: its separator, its decimal mark, and its header, however long that is.

Promises: a comma is only taken for the decimal mark where some number can be read in no other way (``1,5``, ``0,125``).
``150,000`` alone is left as text, so that the caller is asked which it is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .advice import TableError
from .encodings import open_text

SAMPLE = 1 << 16  # characters of data looked at to find the decimal mark; at least one row
MOST_LINES = 100  # of one row; beyond, a quotation mark is only a mark
LONGEST_CELL = (1 << 31) - 1  # characters
SEPARATORS = ",;\t"
_DECIMAL = re.compile(r"^\s*[+-]?\d*([.,])\d+(?:[eE][+-]?\d+)?\s*$")
_MAYBE_THOUSANDS = re.compile(r"^\s*[+-]?[1-9]\d{0,2}[.,]\d{3}\s*$")  # or a number with three decimals
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    ``first_line`` is where its header begins, counted from 1, ``width`` the cells below it, and ``row_bytes`` about the
    length of a row.
    """

    separator: str
    decimal: str
    header: tuple[str, ...]
    first_line: int
    width: int
    row_bytes: int = 0


def find_dialect(path: Path, kind: str, encoding: str) -> Dialect:
    """The separator and the decimal mark.

    A semicolon or a tab that all rows have equally often is the separator: commas then belong to names or numbers. Else it
    is the comma, semicolon or tab that the header has most of. For "tsv" it is the tab if the header has one.
    """
    with open_text(path, encoding) as stream:
        records = _records(stream)
        first_line, head = next(records, (0, ""))
        if not head:
            raise TableError(f"{path} is empty")
        sample = _sample(records)
        separator = _separator([head, *sample], kind)
    text = io.StringIO("".join([head, *sample]), newline="")
    with cells_of_any_length():
        rows = list(csv.reader(text, delimiter=separator, skipinitialspace=True))
    cells = [cell for row in rows[1:] or rows for cell in row]
    comma = separator != "," and has_decimal_comma(cells)
    width, longest = len(rows[-1 if len(rows) == 1 else 1]), max(map(len, (head, *sample)))
    return Dialect(separator, "," if comma else ".", tuple(rows[0]), first_line, width, longest)


@contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Around Python's reader of rows: it has a limit for cells, which readers of the whole file do not have."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def has_decimal_comma(cells: Iterable[str]) -> bool:
    """Whether more numbers have a decimal comma than a decimal point; ``1,500`` may be thousands, and does not count."""
    found = (_DECIMAL.match(cell) for cell in cells if not _MAYBE_THOUSANDS.match(cell))
    marks = [match[1] for match in found if match is not None]
    return marks.count(",") > marks.count(".")


def _separator(rows: Sequence[str], kind: str) -> str:
    bare = [_QUOTED.sub("", row) for row in rows]
    if kind == "tsv" and "\t" in bare[0]:
        return "\t"
    for mark in "\t;":
        counts = {row.count(mark) for row in bare}
        if len(bare) > 1 and len(counts) == 1 and counts != {0}:
            return mark
    return max(SEPARATORS, key=bare[0].count)


def _records(stream: Any) -> Iterator[tuple[int, str]]:
    """Rows as text with the line they begin on, blank ones left out; a quoted cell may hold line ends."""
    held: list[str] = []
    begun, quotes = 0, 0
    for number, line in enumerate(stream, 1):
        if not held and not line.strip():
            continue
        begun = begun if held else number
        held.append(line)
        quotes += line.count('"')
        if quotes % 2 == 0 or len(held) == MOST_LINES:
            yield begun, "".join(held)
            held, quotes = [], 0
    if held:
        yield begun, "".join(held)


def _sample(records: Iterator[tuple[int, str]]) -> list[str]:
    sample: list[str] = []
    size = 0
    for _, record in records:
        sample.append(record)
        size += len(record)
        if size >= SAMPLE:
            break
    return sample
