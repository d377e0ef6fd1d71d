"""Spreadsheets: ``.xlsx``, ``.xlsm`` and ``.ods``, one sheet of them.

Promises: cells mean what they mean in text files (the same words are missing), numbers that were stored as text are read as
numbers and that is said, and so are the sheet that was taken and names that are dates. A formula counts as its last result.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._labels import as_text
from .._readable import listed
from .advice import TableError
from .formats import Content, Format, Raw, Reading
from .names import closest
from .sheets import check_book
from .text import check_header
from .words import ERROR_WORDS, MISSING_WORDS

Cells = list[list[Any]]
_CODE = re.compile(r"0\d")  # 007 is a code
_BEGIN = set("0123456789.")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # what XML has no way to write


def _read(path: Path, options: Reading) -> Raw:
    if not zipfile.is_zipfile(path):
        raise TableError(
            f"{path} is not a spreadsheet, whatever its name says: if it is text, call it .csv or .tsv; if Excel opens it, "
            "save it there as .xlsx"
        )
    check_book(path)
    names, cells_of = _open(path)
    sheet, notes = _choose(path, names, cells_of, options.sheet)
    numbered = [(number, row) for number, row in enumerate(cells_of(sheet), 1) if any(map(_is_filled, row))]
    if not numbered:
        raise TableError(f"sheet {sheet!r} of {path} is empty")
    header = _names(numbered[0][1], f"sheet {sheet!r} of {path}") if options.header else None
    body = numbered[1:] if options.header else numbered
    frame, told = _frame([row for _, row in body], header, options)
    mark = options.decimal_mark()
    told += [] if header is None else _dates(numbered[0][1])
    return Raw(str(path), frame=frame, notes=(*notes, *told), lines=[number for number, _ in body], decimal=mark)


def _open(path: Path) -> tuple[list[str], Callable[[str], Cells]]:
    """Names of the sheets, and what reads one; python-calamine where it is installed, since it takes a tenth of the time."""
    if find_spec("python_calamine") is not None:
        import python_calamine

        with path.open("rb") as stream:  # by its name it finds none that is not UTF-8
            book = python_calamine.CalamineWorkbook.from_filelike(stream)
        return book.sheet_names, lambda sheet: book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    import openpyxl

    slow = openpyxl.load_workbook(path, read_only=True, data_only=True)
    sheets = [sheet.title for sheet in slow.worksheets]
    return sheets, lambda sheet: [list(row) for row in slow[sheet].iter_rows(values_only=True)]


def _choose(
    path: Path, names: Sequence[str], cells_of: Callable[[str], Cells], wanted: str | None
) -> tuple[str, list[str]]:
    """The sheet that is named, or the first that holds something, with a note where there are others."""
    told = listed([repr(name) for name in names])
    if wanted is not None:
        if wanted in names:
            return wanted, []
        near = closest(wanted, names)
        hint = f"; did you mean {f'{path}:{near}'!r}?" if near else ""
        raise TableError(f"{path} has no sheet {wanted!r}: it has {told}{hint}")
    if len(names) == 1:
        return names[0], []
    first = next((name for name in names if any(any(map(_is_filled, row)) for row in cells_of(name))), names[0])
    example = next(name for name in names if name != first)
    return first, [f"sheet {first!r} is read, of {told}; name another as {f'{path}:{example}'!r}"]


def _is_filled(cell: Any) -> bool:
    return cell is not None and cell != ""


def _names(row: Sequence[Any], source: str) -> list[str]:
    names = [str(name).strip() for name in as_text(row)]
    check_header(names, source)
    return names


def _dates(row: Sequence[Any]) -> list[str]:
    """Excel makes dates of some names, SEPT2 for instance."""
    dates = [str(cell) for cell in row if isinstance(cell, date)]
    if not dates:
        return []
    return [f"names that the spreadsheet holds as dates: {listed(dates)}; were they gene names, such as SEPT2?"]


def _frame(rows: Cells, header: list[str] | None, options: Reading) -> tuple[Any, list[str]]:
    """The cells below the names as a table, a column at a time; and what was stored as text and is a number."""
    import pandas

    width = max([len(header or ()), *map(len, rows)])
    names = (
        [*(header or ()), *[""] * (width - len(header or ()))] if header is not None else list(map(str, range(width)))
    )
    missing = MISSING_WORDS | ERROR_WORDS | set(options.na)
    columns: dict[str, Any] = {}
    converted: list[str] = []
    for i, name in enumerate(names):
        cells = np.array([_value(row[i], missing) if i < len(row) else None for row in rows], dtype=object)
        if not name and all(cell is None for cell in cells):
            continue
        name = name or f"Unnamed: {i}"
        numbers, had_text = _numbers(cells, options)
        columns[name] = cells if numbers is None else numbers
        converted += [repr(name)] if had_text else []
    notes = [f"numbers that are stored as text were read as numbers: column {listed(converted)}"] if converted else []
    return pandas.DataFrame(columns, index=range(len(rows))), notes


def _value(cell: Any, missing: set[str] | frozenset[str]) -> Any:
    """A cell, None where it is missing; text without blanks around it."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    return None if not text or text in missing else text


def _numbers(cells: Any, options: Reading) -> tuple[Any, bool]:
    """A column as numbers, if it holds nothing else; whether some were text. Codes such as 007 are no numbers."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float}:
        whole = bool(kinds) and all(cell is not None and float(cell).is_integer() for cell in cells)
        return (cells.astype(float).astype(np.int64) if whole and _fits(cells) else cells.astype(float)), False
    if not kinds <= {int, float, str}:
        return None, False
    out = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if cell is not None:
            number = _number(cell, options) if isinstance(cell, str) else float(cell)
            if number is None:
                return None, False
            out[i] = number
    return out, True


def _fits(cells: Any) -> bool:
    return all(abs(cell) < 2**53 for cell in cells)


def _number(text: str, options: Reading) -> float | None:
    plain = text.replace(options.thousands, "") if options.thousands else text
    plain = plain.replace(options.decimal_mark(), ".")
    digits = plain.lstrip("+-")
    if _CODE.match(digits) or digits[:1] not in _BEGIN:
        return None
    try:
        return float(plain) if "_" not in plain else None
    except ValueError:
        return None


def _write(path: Path, content: Content, engine: str) -> None:
    """Write a sheet: in memory first, because writers of archives try again after a full disk, when they are forgotten."""
    import pandas

    whole = io.BytesIO()
    with pandas.ExcelWriter(whole, engine=engine) as book:
        _writable(content).frame().to_excel(book, index=False, sheet_name="scores")
    path.write_bytes(whole.getvalue())


def _writable(content: Content) -> Content:
    """The content without the characters that a spreadsheet cannot hold; that some were replaced is a warning."""
    found: list[str] = []

    def plain(value: Any) -> Any:
        if not isinstance(value, str) or not _UNWRITABLE.search(value):
            return value
        found.append(value)
        return _UNWRITABLE.sub("?", value)

    columns = {
        plain(name): np.array(list(map(plain, column)), dtype=object) for name, column in content.columns.items()
    }
    ids, features = list(map(plain, map(str, content.ids))), tuple(map(plain, content.features))
    if found:
        warnings.warn(
            f"control characters that a spreadsheet cannot hold were replaced by '?': {listed(list(map(repr, found)), 3)}",
            UserWarning,
            stacklevel=5,
        )
    return Content(ids, features, content.values, columns)


def _write_xlsx(path: Path, content: Content) -> None:
    _write(path, content, "openpyxl")


def _write_ods(path: Path, content: Content) -> None:
    _write(path, content, "odf")


NEEDS = ("pandas", ("python_calamine", "openpyxl"))
FORMATS = (
    Format("xlsx", (".xlsx",), _read, NEEDS, "excel", _write_xlsx, ("pandas", "openpyxl")),
    Format("xlsm", (".xlsm",), _read, NEEDS, "excel"),
    Format("ods", (".ods",), _read, ("pandas", "python_calamine"), "excel", _write_ods, ("pandas", "odf")),
)
