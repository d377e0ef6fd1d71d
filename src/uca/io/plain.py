"""Plain text of many rows by pyarrow, which is several times as fast as pandas, where both are sure to read the same.

Promises: :func:`read_plain` returns the table that pandas' parser of all digits would, the same numbers bit by bit and the
same types of columns, or None where the two have, or may have, other rules; then pandas is asked. These are: marks between
thousands, encodings other than UTF-8, missing words that are numbers, rows of unequal length, hexadecimal numbers, numbers
beyond the largest float or the largest integer, signs before whole numbers, line ends of old Macs, and text that begins
with a space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._types import Array
from .dialect import Dialect
from .filled import PIECE, Filled, Plan, fill, suits
from .formats import Reading
from .gzipped import is_gzipped
from .layout import OLD_END, Layout, find_layout
from .place import is_text
from .words import MISSING_WORDS

BLOCK = 1 << 22  # bytes that are parsed at once, or
ROWS = 64  # as many rows, where rows are long
FEWEST_ROWS = 1000  # below, pyarrow is slower than pandas: each column costs it more
SAMPLE = 1 << 20  # bytes in which the types of columns are looked for first
LARGEST = 2.0**63  # whole numbers from here on are no integers
UTF8 = ("utf-8", "utf-8-sig")


def read_plain(path: Path, options: Reading, encoding: str, dialect: Dialect, decimal: str) -> Any:
    """The file as a pandas table, or None where pandas has to read it."""
    if find_spec("pyarrow") is None or not is_text(path) or not _suits(options, encoding, dialect, decimal):
        return None
    layout = find_layout(path, max(PIECE, ROWS * dialect.row_bytes))
    if layout.n_lines < FEWEST_ROWS or layout.marks & {b"0x", OLD_END}:
        return None
    import pyarrow

    try:
        return _read(path, options, dialect, decimal, layout)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError, pyarrow.ArrowNotImplementedError, OSError):
        return None


def _read(path: Path, options: Reading, dialect: Dialect, decimal: str, layout: Layout) -> Any:
    signs, header = b"+" in layout.marks, dialect.header if options.header else None
    rules = _rules(options, dialect, decimal, quotes=layout.last_quote >= 0)
    kinds = _first_kinds(path, dialect, rules)
    filled = _filled(path, kinds, dialect, rules, layout)
    if filled is None:
        table = _whole(path, kinds, dialect, rules)
        return _framed(table, header) if table.num_rows and _are_alike(table, decimal, signs=signs) else None
    if not all(_is_float(row, n, signs) for row, n in zip(filled.numbers, filled.missing, strict=True)):
        return None
    return _joined(filled, header) if _are_alike(filled.others, decimal, signs=signs) else None


def _suits(options: Reading, encoding: str, dialect: Dialect, decimal: str) -> bool:
    """Whether pyarrow has a rule for all that is asked for."""
    names = dialect.header if options.header else ()
    return (
        encoding in UTF8
        and options.thousands is None
        and decimal in (".", ",")
        and not any(_is_number(word) for word in options.na)
        and dialect.width > 1
        and len(dialect.header) == dialect.width
        and len(set(names)) == len(names)
        and not any(name.startswith("Unnamed: ") for name in names)
    )


def block_bytes(row_bytes: int) -> int:
    """How many bytes are parsed at once: enough rows, since every block is a piece of every column."""
    return min(max(BLOCK, ROWS * row_bytes), 1 << 30)


@dataclass(frozen=True)
class _Rules:
    """Options of pyarrow: how rows are parsed, what cells become, and whether the file names its columns."""

    parse: Any
    convert: Mapping[str, Any]
    words: Sequence[str]
    header: bool


def _rules(options: Reading, dialect: Dialect, decimal: str, *, quotes: bool) -> _Rules:
    from pyarrow import csv

    convert = {
        "strings_can_be_null": True,
        "quoted_strings_can_be_null": True,
        "true_values": ["True", "TRUE", "true"],
        "false_values": ["False", "FALSE", "false"],
        "decimal_point": decimal,
    }
    parse = csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=quotes)
    return _Rules(parse, convert, [*MISSING_WORDS, *options.na], options.header)


def _first_kinds(path: Path, dialect: Dialect, rules: _Rules) -> dict[str, str]:
    """Names and types of the columns by the first rows."""
    from pyarrow import csv

    size = max(SAMPLE, 4 * dialect.row_bytes)
    read = csv.ReadOptions(block_size=size, use_threads=False, autogenerate_column_names=not rules.header)
    convert = csv.ConvertOptions(**rules.convert, null_values=["", *rules.words])
    with csv.open_csv(path, read, rules.parse, convert) as reader:
        return {field.name: str(field.type) for field in reader.schema}


def _filled(path: Path, kinds: Mapping[str, str], dialect: Dialect, rules: _Rules, layout: Layout) -> Filled | None:
    """The file piece by piece, where it can be cut and columns are of one type in all rows."""
    import pyarrow

    types = [kind if kind in _NUMBERS else _STRING for kind in kinds.values()]
    skipped = dialect.first_line - 1 + rules.header
    if not suits(types) or is_gzipped(path) or any({"\n", "\r"} & set(name) for name in dialect.header):
        return None
    with path.open("rb") as stream:
        for _ in range(skipped):
            stream.readline()
        if stream.tell() <= layout.last_quote:
            return None
    with suppress(pyarrow.ArrowInvalid):
        return fill(path, layout.pieces, Plan(types, skipped, rules.parse, rules.convert, rules.words))
    return None


def _whole(path: Path, kinds: Mapping[str, str], dialect: Dialect, rules: _Rules) -> Any:
    """The file as a pyarrow table; what its first rows have no numbers for is text."""
    from pyarrow import csv

    text = {name: _STRING for name, kind in kinds.items() if kind not in _NUMBERS}
    read = csv.ReadOptions(block_size=block_bytes(dialect.row_bytes), autogenerate_column_names=not rules.header)
    convert = csv.ConvertOptions(**rules.convert, null_values=["", *rules.words], column_types=text)
    return csv.read_csv(path, read, rules.parse, convert)


_STRING = "string"
_NUMBERS = {"int64", "double", "bool", "null"}


def _are_alike(table: Any, decimal: str, *, signs: bool) -> bool:
    """Whether pandas would have read every column as it is here."""
    for column in table.columns:
        kind = str(column.type)
        if kind == _STRING:
            alike = _is_text(column, decimal)
        else:
            chunks = column.chunks if kind == "double" else []
            floats = ((chunk.to_numpy(zero_copy_only=False), chunk.null_count) for chunk in chunks)
            alike = kind in _NUMBERS and all(_is_float(values, missing, signs) for values, missing in floats)
        if not alike:
            return False
    return True


def _is_text(column: Any, decimal: str) -> bool:
    """Whether nobody takes the column for numbers, and no cell begins with a space."""
    from pyarrow import compute

    if compute.any(compute.starts_with(column, " ")).as_py():
        return False
    cells = (cell for chunk in column.chunks for cell in chunk.drop_null().to_pylist())
    return any(not _is_number(cell.replace(decimal, ".")) for cell in cells)


def _is_float(values: Array, missing: int, signs: bool) -> bool:
    """Whether all numbers are finite, and pandas would not find integers; so many cells are missing."""
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    if np.isnan(low):
        known = values[~np.isnan(values)]
        if len(values) - len(known) != missing:  # a word that pandas does not know
            return False
        low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    if np.isinf(low) or np.isinf(high):
        return False
    if max(-low, high) >= LARGEST and _begins_large(values):
        return False
    return not (signs and _is_whole(values))


def _begins_large(values: Array) -> bool:
    """Whether a number that may be too large for an integer stands before all that are not whole: pandas then reads text."""
    broken = np.flatnonzero(np.isfinite(values) & (np.floor(values) != values))
    begin = values[: broken[0]] if len(broken) else values
    return bool((np.abs(begin) >= LARGEST).any())


def _is_whole(values: Any) -> bool:
    """Whether all that is known is whole; the first rows rule out most."""
    return all(bool((np.isnan(part) | (np.floor(part) == part)).all()) for part in (values[:1000], values))


def _joined(filled: Filled, header: Sequence[str] | None) -> Any:
    """A pandas table around the matrix, which is not copied."""
    import pandas

    frame, places = pandas.DataFrame(filled.numbers.T, copy=False), [int(name) for name in filled.others.column_names]
    others = _framed(filled.others, None)
    for j, place in enumerate(places):
        frame.insert(place, f"other {j}", others.iloc[:, j])
    return _named(frame, header)


def _framed(table: Any, header: Sequence[str] | None) -> Any:
    """A pandas table with the names and types that pandas gives."""
    frame = table.to_pandas(self_destruct=True)
    for i, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            column = frame.iloc[:, i]
            missing = column.isna()
            if missing.all():
                frame.isetitem(i, np.full(len(frame), np.nan))
            elif missing.any():
                frame.isetitem(i, column.where(~missing, np.nan))
    return _named(frame, header)


def _named(frame: Any, header: Sequence[str] | None) -> Any:
    frame.columns = (
        range(len(frame.columns))
        if header is None
        else [name if name else f"Unnamed: {i}" for i, name in enumerate(header)]
    )
    return frame


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
