"""Comma- and tab-separated text: which encoding, separator and decimal mark, and a header that means what it says.

Promises: the first row is never taken for names if it looks like data, duplicated names are refused and not renamed, and
only empty cells, the usual words for "missing" and those the caller names become missing values. Numbers are read to the
last digit. pyarrow reads what it reads as pandas does, where it is installed; pandas reads the rest.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .._guard import refusing
from .._readable import check_unique
from .advice import Hint, TableError
from .dialect import find_dialect
from .encodings import find_encoding
from .formats import Content, Format, Raw, Reading
from .lines import csv_text, lines
from .plain import read_plain
from .ragged import with_equal_rows


def _read(path: Path, options: Reading, kind: str) -> Raw:
    import pandas

    encoding = find_encoding(path)
    dialect = find_dialect(path, kind, encoding.name)
    _check_separated(dialect.header, dialect.width, path)
    decimal = options.decimal_mark(dialect.decimal)
    if options.header:
        check_header(dialect.header, str(path))
        check_width(dialect.header, dialect.width - 1, dialect.width, str(path))
    frame = read_plain(path, options, encoding.name, dialect, decimal)
    if frame is None:
        frame = pandas.read_csv(
            path.absolute(),  # file:x.csv would be taken for a URL
            sep=dialect.separator,
            decimal=decimal,
            thousands=options.thousands,
            header=0 if options.header else None,
            na_values=list(options.na),
            encoding=encoding.name,
            skipinitialspace=True,
            **_all_digits(pandas),
            low_memory=False,
        )
    begin = dialect.first_line + _lines_of(dialect.header) if options.header else dialect.first_line
    numbers = range(begin, begin + len(frame))
    frame = _without_blank(frame)
    return Raw(str(path), frame=frame, notes=encoding.notes, lines=numbers, line_word="line", decimal=decimal)


def _check_separated(header: Sequence[str], width: int, path: Path) -> None:
    """Refuse one column with blanks in its name where others are expected: columns are not separated by blanks."""
    if len(header) == width == 1 and len(header[0].split()) > 1:
        raise TableError(
            f"{path} has one column, {header[0].strip()!r}: columns are separated by commas, semicolons or tabs, not by "
            "blanks; save it as CSV"
        )


def _all_digits(pandas: Any) -> dict[str, str]:
    """Before version 3 the default parser of pandas may be off in the last digit; since then the option is going away."""
    return {"float_precision": "round_trip"} if int(pandas.__version__.split(".")[0]) < 3 else {}


def _lines_of(header: Sequence[str]) -> int:
    """Lines that a header takes: names may hold line ends."""
    return 1 + sum(name.count("\n") for name in header)


def _without_blank(frame: Any) -> Any:
    """The table without columns that have neither a name nor a value, as separators at the ends of lines make them."""
    unnamed = [i for i, name in enumerate(frame.columns) if str(name).startswith("Unnamed: ")]
    blank = [i for i in unnamed if frame.iloc[:, i].isna().all()]
    return frame.drop(columns=frame.columns[blank]) if blank else frame


def check_header(names: Sequence[str], source: str) -> None:
    """Refuse a first row that is data or a title, and names that are not unique."""
    filled = [name for name in names if name.strip()]
    check_width(filled, len(names) // 2, len(names), source)
    if _is_data(filled):
        raise TableError(
            f"the first row of {source} holds numbers, not names: add a row of names, or read it with ",
            Hint("header", (False,)),
            remedy=(Hint("header", (False,)),),
        )
    with refusing():
        check_unique(filled, "it")


def check_width(names: Sequence[str], needed: int, width: int, source: str) -> None:
    """Refuse a title in place of names: it has fewer of them than needed (the row names may have none)."""
    if names and len(names) < needed:
        raise TableError(
            f"the first row of {source} has {len(names)} name{'s' if len(names) > 1 else ''} for {width} columns, the first "
            f"{names[0]!r}: delete what is above the row of names"
        )


def _is_data(names: Sequence[str]) -> bool:
    """Whether a header is a row of numbers; 0, 1, 2, … and 1, 2, 3, … are names that programs give."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return bool(numbers) and not any(numbers == [float(i) for i in range(s, s + len(numbers))] for s in (0, 1))


def text_of(content: Content, separator: str = ",") -> str:
    """Rows under a header, numbers with all their digits."""
    header = csv_text(["id", *content.columns, *content.features], (), separator)
    return "".join([header, *lines([content.ids, *content.columns.values()], content.values, separator)])


def _write(path: Path, content: Content, separator: str) -> None:
    path.write_bytes(text_of(content, separator).encode())


def _write_gz(path: Path, content: Content, separator: str) -> None:
    path.write_bytes(gzip.compress(text_of(content, separator).encode(), mtime=0))


def _format(name: str, separator: str, *endings: str) -> tuple[Format, Format]:
    """A format of text, and the same compressed."""
    read = with_equal_rows(partial(_read, kind=name), name)
    packed = tuple(f"{ending}.gz" for ending in endings)
    return (
        Format(name, endings, read, ("pandas",), "cli", partial(_write, separator=separator)),
        Format(f"{name}.gz", packed, read, ("pandas",), "cli", partial(_write_gz, separator=separator)),
    )


FORMATS = (*_format("csv", ",", ".csv"), *_format("tsv", "\t", ".tsv", ".txt"))
