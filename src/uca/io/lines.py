"""Rows of ids, columns of text and numbers as lines of separated text.

Promises: the text is that of Python's ``csv`` module with all digits of every number, and cells that hold the end of a line,
CR or LF, are quoted. pyarrow makes it, several times as fast, where it is installed, there are many rows and no cell needs
quotation marks; cells of numbers that pyarrow would write in another way (``1`` for ``1.0``) are written by Python.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from .._types import Array

FEWEST_ROWS = 1000  # below, importing pyarrow takes longer
BLOCK = 100_000  # rows of one piece of text, or fewer:
MOST_CELLS = 5_000_000  # pyarrow holds at most 2 GB of text in an array
SMALLEST, LARGEST = 1e-4, 1e10  # between them pyarrow and Python write a number that is not whole in the same way


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]], separator: str = ",") -> str:
    """Rows under a header, as CSV."""
    text = io.StringIO()
    # Before version 3.13 Python quotes cells for the characters of the end of a line alone, and \r ends a line as well.
    writer = csv.writer(_Lines(text), lineterminator="\r\n", delimiter=separator)
    if header:
        writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


class _Lines:
    """Takes rows that end with CR LF, and writes them with LF."""

    def __init__(self, text: io.StringIO):
        self._text = text

    def write(self, row: str) -> None:
        self._text.write(f"{row[:-2]}\n")


def lines(left: Sequence[Any], values: Array, separator: str = ",") -> Iterator[str]:
    """Text of all rows in pieces, each of whole lines: the columns on the left, then the numbers (n, k)."""
    block = max(1, min(BLOCK, MOST_CELLS // max(1, values.shape[1])))
    for start in range(0, len(values), block):
        part = slice(start, start + block)
        columns, numbers = [column[part] for column in left], np.asarray(values[part])
        text = _by_pyarrow(columns, numbers, separator) if len(values) >= FEWEST_ROWS else None
        yield csv_text((), zip(*columns, *numbers.T.tolist(), strict=True), separator) if text is None else text


def _by_pyarrow(left: Sequence[Any], values: Array, separator: str) -> str | None:
    """The lines, or None where the csv module has to write them."""
    if find_spec("pyarrow") is None or values.dtype.kind != "f" or len(left) + values.shape[1] < 2:
        return None
    import pyarrow
    from pyarrow import compute

    try:
        texts = [_text_cells(column) for column in left]
    except (pyarrow.ArrowException, UnicodeError, TypeError):
        return None
    special = f'["\r\n{separator}]'
    words = [text for text, column in zip(texts, left, strict=True) if not isinstance(column, range)]
    if any(text.null_count or compute.any(compute.match_substring_regex(text, special)).as_py() for text in words):
        return None
    numbers = [_number_cells(column) for column in np.asarray(values, dtype=float).T]
    try:
        rows = compute.binary_join_element_wise(*texts, *numbers, separator)
        whole = pyarrow.ListArray.from_arrays([0, len(rows)], rows)
        return f"{compute.binary_join(whole, chr(10))[0].as_py()}\n"
    except pyarrow.ArrowCapacityError:  # texts of megabytes
        return None


def _text_cells(column: Sequence[Any]) -> Any:
    """A column of text, or of the numbers of rows."""
    import pyarrow
    from pyarrow import compute

    if isinstance(column, range):
        return compute.cast(pyarrow.array(np.asarray(column)), pyarrow.string())
    return pyarrow.array(column, pyarrow.string())


def _number_cells(column: Array) -> Any:
    """A column of numbers, each as Python writes it."""
    import pyarrow
    from pyarrow import compute

    cells = compute.cast(pyarrow.array(column), pyarrow.string())
    size = np.abs(column)
    odd = ~((size >= SMALLEST) & (size < LARGEST)) | (column == np.floor(column))
    if not odd.any():
        return cells
    written = pyarrow.array([repr(number) for number in column[odd].tolist()], pyarrow.string())
    return compute.replace_with_mask(cells, odd, written)
