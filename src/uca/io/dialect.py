"""How a file of text is written: its separator, its decimal mark, and its header, however long that is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .advice import TableError
from .encodings import open_text

SAMPLE = 1 << 16  # characters of data looked at to find the decimal mark; at least one row
MOST_LINES = 100  # of one row; beyond, a quotation mark is only a mark
SEPARATORS = ",;\t"
_DECIMAL_COMMA = re.compile(r"^\s*[+-]?\d+,\d+\s*$")
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class Dialect:
    """How a file is written; ``first_line`` is where its header begins, counted from 1, ``width`` the cells below it."""

    separator: str
    decimal: str
    header: tuple[str, ...]
    first_line: int
    width: int


def find_dialect(path: Path, kind: str, encoding: str) -> Dialect:
    """The separator (comma, semicolon or tab, whichever the header has most of) and the decimal mark.

    For "tsv" it is the tab if the header has one.
    """
    with open_text(path, encoding) as stream:
        records = _records(stream)
        first_line, head = next(records, (0, ""))
        if not head:
            raise TableError(f"{path} is empty")
        bare = _QUOTED.sub("", head)
        separator = "\t" if kind == "tsv" and "\t" in bare else max(SEPARATORS, key=bare.count)
        sample = _sample(records)
    rows = list(
        csv.reader(io.StringIO("".join([head, *sample]), newline=""), delimiter=separator, skipinitialspace=True)
    )
    comma = separator != "," and any(_DECIMAL_COMMA.match(cell) for row in rows[1:] for cell in row)
    return Dialect(separator, "," if comma else ".", tuple(rows[0]), first_line, len(rows[-1 if len(rows) == 1 else 1]))


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
