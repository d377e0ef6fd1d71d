"""Comma- and tab-separated text: which separator, which decimal mark, and a header that means what it says.

Promises: the first row is never taken for names if it looks like data, duplicated names are refused and not renamed, and
only empty cells, the usual words for "missing" and those the caller names become missing values.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLE = 1 << 16  # characters looked at to find the separator
_DECIMAL_COMMA = re.compile(r"^\s*-?\d+,\d+\s*$")


@dataclass(frozen=True)
class Dialect:
    """How a file is written."""

    separator: str
    decimal: str
    header: tuple[str, ...]


def read_text(path: Path, kind: str, *, na: Sequence[str] = (), header: bool = True) -> Any:
    """A text file as a pandas table; ``kind`` is "csv" or "tsv", ``na`` names more words for missing values."""
    import pandas

    dialect = find_dialect(path, kind)
    if header:
        _check_header(dialect.header, path)
    try:
        return pandas.read_csv(
            path,
            sep=dialect.separator,
            decimal=dialect.decimal,
            header=0 if header else None,
            na_values=list(na),
            encoding="utf-8-sig",
            skipinitialspace=True,
            **_all_digits(pandas),
            low_memory=False,
        )
    except (pandas.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as {kind}: {' '.join(str(error).split())}") from None


def _all_digits(pandas: Any) -> dict[str, str]:
    """Before version 3 the default parser of pandas may be off in the last digit; since then the option is going away."""
    return {"float_precision": "round_trip"} if int(pandas.__version__.split(".")[0]) < 3 else {}


def find_dialect(path: Path, kind: str) -> Dialect:
    """The separator (for csv: comma, semicolon or tab, whichever the header has most of) and the decimal mark."""
    try:
        with _open(path) as stream:
            lines = stream.read(SAMPLE).splitlines()
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path} is not text in UTF-8 ({error}): save it as UTF-8 {kind}") from None
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise ValueError(f"{path} is empty")
    separator = "\t" if kind == "tsv" else max(",;\t", key=lines[0].count)
    rows = list(csv.reader(lines[:-1] or lines, delimiter=separator, skipinitialspace=True))  # the last may be cut
    comma = separator != "," and any(_DECIMAL_COMMA.match(cell) for row in rows[1:] for cell in row)
    return Dialect(separator, "," if comma else ".", tuple(rows[0]))


def _open(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _check_header(names: Sequence[str], path: Path) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{path} has duplicated column names ({', '.join(map(repr, repeated[:5]))}): make them unique")
    if _is_data([name for name in names if name.strip()]):
        raise ValueError(
            f"the first row of {path} holds numbers, not names: add a row of names, or read it with --no-header "
            "(header=False)"
        )


def _is_data(names: Sequence[str]) -> bool:
    """Whether a header is a row of numbers; 0, 1, 2, … and 1, 2, 3, … are names that programs give."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return bool(numbers) and not any(numbers == [float(i) for i in range(s, s + len(numbers))] for s in (0, 1))
