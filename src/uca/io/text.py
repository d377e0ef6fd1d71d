"""Comma- and tab-separated text: which separator, which decimal mark, and a header that means what it says.

Promises: the first row is never taken for names if it looks like data, duplicated names are refused and not renamed, and
only empty cells, the usual words for "missing" and those the caller names become missing values.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .._readable import check_unique
from .advice import Hint, TableError
from .formats import Format, Raw, Reading

SAMPLE = 1 << 16  # characters looked at to find the separator
_DECIMAL_COMMA = re.compile(r"^\s*-?\d+,\d+\s*$")


@dataclass(frozen=True)
class Dialect:
    """How a file is written."""

    separator: str
    decimal: str
    header: tuple[str, ...]


def _read(path: Path, options: Reading, kind: str) -> Raw:
    import pandas

    dialect = find_dialect(path, kind)
    if options.header:
        _check_header(dialect.header, path)
    frame = pandas.read_csv(
        path,
        sep=dialect.separator,
        decimal=dialect.decimal,
        header=0 if options.header else None,
        na_values=list(options.na),
        encoding="utf-8-sig",
        skipinitialspace=True,
        **_all_digits(pandas),
        low_memory=False,
    )
    return Raw(str(path), frame=frame)


def _all_digits(pandas: Any) -> dict[str, str]:
    """Before version 3 the default parser of pandas may be off in the last digit; since then the option is going away."""
    return {"float_precision": "round_trip"} if int(pandas.__version__.split(".")[0]) < 3 else {}


def find_dialect(path: Path, kind: str) -> Dialect:
    """The separator (for csv: comma, semicolon or tab, whichever the header has most of) and the decimal mark."""
    try:
        with _open(path) as stream:
            lines = stream.read(SAMPLE).splitlines()
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise TableError(f"{path} is not text in UTF-8 ({error}): save it as UTF-8 {kind}") from None
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise TableError(f"{path} is empty")
    separator = "\t" if kind == "tsv" else max(",;\t", key=lines[0].count)
    rows = list(csv.reader(lines[:-1] or lines, delimiter=separator, skipinitialspace=True))  # the last may be cut
    comma = separator != "," and any(_DECIMAL_COMMA.match(cell) for row in rows[1:] for cell in row)
    return Dialect(separator, "," if comma else ".", tuple(rows[0]))


def _open(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _check_header(names: Sequence[str], path: Path) -> None:
    if _is_data([name for name in names if name.strip()]):
        raise TableError(
            f"the first row of {path} holds numbers, not names: add a row of names, or read it with ",
            Hint("header", (False,)),
        )
    check_unique(names, "it")


def _is_data(names: Sequence[str]) -> bool:
    """Whether a header is a row of numbers; 0, 1, 2, … and 1, 2, 3, … are names that programs give."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return bool(numbers) and not any(numbers == [float(i) for i in range(s, s + len(numbers))] for s in (0, 1))


FORMATS = (
    Format("csv", (".csv", ".csv.gz"), partial(_read, kind="csv"), ("pandas",), "cli"),
    Format("tsv", (".tsv", ".tsv.gz", ".txt"), partial(_read, kind="tsv"), ("pandas",), "cli"),
)
