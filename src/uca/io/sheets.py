"""Spreadsheets before they are read: an archive that is whole, and an extent that fits in memory.

Promises: every file in the archive is unpacked once, in blocks, with its checksum, and sheets are XML to their end. A
sheet whose cells lie so far apart that the rectangle around them does not fit is refused: libraries hold the whole of it.
Sheets of Excel are recognised by their content, since they may lie anywhere and have any name.
"""

from __future__ import annotations

import re
import zipfile
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.parsers import expat

from .._claims import check_memory, check_zip
from .._guard import AGAIN, Refusal

BLOCK = 1 << 20
OVERLAP = 256  # bytes of a block that are looked at again, so that no name of a cell is cut
CELL_BYTES = 80  # of a cell in memory: in the library, and as an object of Python
CELLS = b"sheetData"  # what holds the cells of a sheet
BINARY = "xl/workbook.bin"
MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14  # of a sheet of Excel
_PLACE = re.compile(rb"\br\s*=\s*[\"']([A-Za-z]*)([0-9]+)[\"']")  # of a row or a cell
_FILLED = re.compile(rb"<(?:\w+:)?c\s[^<>]*?\br\s*=\s*[\"']([A-Za-z]+)([0-9]+)[\"'](?=[^<>]*(?<!/)>)")
_NAMELESS = re.compile(
    rb"<(?:\w+:)?c(?:\s(?![^<>]*\br\s*=)[^<>]*)?(?<!/)>"
)  # filled, and stands where the one before ends
_TAG = re.compile(rb"<table:(table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^<>]*?)(/?)>")
_ROWS = re.compile(rb"number-rows-repeated\s*=\s*[\"']([0-9]+)")
_COLUMNS = re.compile(rb"number-columns-repeated\s*=\s*[\"']([0-9]+)")


def check_book(path: Path) -> None:
    """Check a workbook of Excel or of OpenDocument."""
    with zipfile.ZipFile(path) as archive:
        check_zip(archive)
        if any(name.lower() == BINARY for name in archive.namelist()):
            raise Refusal("it is a binary workbook, whatever its name says: save it as .xlsx")
        for member in archive.infolist():
            with archive.open(member) as stream:
                rows, columns = _extent(iter(partial(stream.read, BLOCK), b""), member.filename)
            check_memory(CELL_BYTES * rows * columns, f"a sheet of it has {rows:,} rows and {columns:,} columns")


def _extent(blocks: Iterator[bytes], name: str) -> tuple[int, int]:
    """Rows and columns that a file of the archive describes, which is read to its end; none if it is no sheet."""
    if name == "content.xml":
        rows, columns = _open_document_extent(_well_formed(blocks, name))
    else:
        if name.lower().startswith("xl/") and name.lower().endswith(".xml"):
            blocks = _well_formed(blocks, name)
        rows, columns = _excel_extent(_from_sheet(blocks))
    deque(blocks, maxlen=0)  # what is left, for its checksum
    return rows, columns


def _from_sheet(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks of a file from where the cells of a sheet begin; none if it is no sheet."""
    before = b""
    for block in blocks:
        text = before + block
        if (place := text.find(CELLS)) >= 0:
            yield text[place:]
            yield from blocks
        before = text[-len(CELLS) :]


def _well_formed(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The blocks of an XML file, parsed on the way: a library may look for ever for the end of what has none."""
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_entities
    try:
        for block in blocks:
            parser.Parse(block, False)
            yield block
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise Refusal(f"{name} in it is damaged ({error}); {AGAIN}") from error


def _refuse_entities(*_: object) -> None:
    raise Refusal("it declares entities, which spreadsheets do not: they can unpack to any length; save it anew")


def _excel_extent(blocks: Iterator[bytes]) -> tuple[int, int]:
    """The last row and the last column of cells that hold something; colours alone take no memory."""
    last, named = (0, 0), (0, 0)
    before, nameless = b"", False
    for block in blocks:
        text = before + block
        last, named = _furthest(last, _FILLED.findall(text)), _furthest(named, _PLACE.findall(text))
        nameless = nameless or _NAMELESS.search(text) is not None
        before = block[-OVERLAP:]
    if named[0] > MOST_ROWS or named[1] > MOST_COLUMNS:
        raise Refusal(
            f"it has a cell in row {named[0]:,}, column {named[1]:,}, which no spreadsheet has: it is damaged; {AGAIN}"
        )
    return named if nameless else last


def _furthest(place: tuple[int, int], found: list[tuple[bytes, bytes]]) -> tuple[int, int]:
    """The last row and the last column of a place and of others."""
    rows = max([place[0], *(_number(number) for number in {number for _, number in found})])
    return rows, max([place[1], *map(_column, {letters for letters, _ in found})])


def _number(digits: bytes) -> int:
    return int(digits) if len(digits) < 12 else 10**12


def _column(letters: bytes) -> int:
    """The number of a column: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters.upper()[:8]:
        number = 26 * number + letter - 64
    return number


def _open_document_extent(blocks: Iterator[bytes]) -> tuple[int, int]:
    """The last row and column that hold something, of any sheet; rows and cells may be repeated."""
    rows = columns = row = column = repeated = 0
    for kind, attributes, is_empty in _tags(blocks):
        if kind == b"table":
            row = repeated = 0
        elif kind == b"table-row":
            row, column, repeated = row + repeated, 0, _first(_ROWS, attributes)
        else:
            column += _first(_COLUMNS, attributes)
            if not is_empty:
                rows, columns = max(rows, row + repeated), max(columns, column)
    return rows, columns


def _tags(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bytes, bool]]:
    """Tables, rows and cells in order: what it is, its attributes, and whether it has no content."""
    rest = b""
    for block in blocks:
        text = rest + block
        end = text.rfind(b"<")
        text, rest = text[:end], text[end:]
        for kind, attributes, closed in _TAG.findall(text):
            yield kind, attributes, bool(closed) and b"office:" not in attributes


def _first(pattern: re.Pattern[bytes], attributes: bytes) -> int:
    match = pattern.search(attributes)
    return 1 if match is None else _number(match[1])
