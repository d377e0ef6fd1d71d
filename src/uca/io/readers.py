"""Files by the end of their name: the list of formats, and one function that reads them all.

Promises: what leaves this module is a :class:`Raw`: either a table of columns of any type, of which the numeric ones are yet
to be told from the rest, or a matrix of numbers with what its file knows of rows and columns. No file is unpickled.
Whatever a library raises becomes an error that names the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._guard import check_file, guarded
from .._optional import optional
from .._readable import check_unique
from . import arrays, arrow, excel, matrix_market, single_cell, text
from .advice import TableError
from .formats import Format, Raw, Reading
from .place import locate

#: End of the name -> format. A module a line.
FORMATS: dict[str, Format] = {
    ending: kind
    for kind in (
        *text.FORMATS,
        *excel.FORMATS,
        *arrow.FORMATS,
        *arrays.FORMATS,
        *matrix_market.FORMATS,
        *single_cell.FORMATS,
    )
    for ending in kind.endings
}


def read_raw(
    path: Any,
    *,
    na: Sequence[str] = (),
    header: bool = True,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Raw:
    """Read a file by the end of its name; the options concern text and spreadsheets."""
    place = locate(path)
    kind = format_of(path)
    if not place.path.exists():
        raise FileNotFoundError(f"{place.path} does not exist")
    _check_packages(kind)
    check_file(place.path, kind.name, folders=kind.folders)
    with guarded(path, kind.name, TableError):
        raw = kind.read(place.path, Reading(na, header, decimal, thousands, place.sheet))
    check_unique(raw.names, str(path))
    return raw if place.sheet is None else replace(raw, source=str(place))


def _check_packages(kind: Format) -> None:
    for package in kind.needs:
        if isinstance(package, tuple):
            present = next((name for name in package if find_spec(name) is not None), None)
            package = present or package[0]
        optional(package, f"this format needs {package.replace('_', '-')}", kind.extra)


def format_of(path: Any) -> Format:
    """The format that the end of a file's name stands for."""
    name = str(locate(path).path).lower().rstrip("/")
    for ending, kind in FORMATS.items():
        if name.endswith(ending):
            return kind
    if Path(name).suffix == ".xls":
        raise ValueError(f"{path}: this is the old format of Excel; save it as .xlsx")
    raise ValueError(f"{path}: the format is recognised by the end of the file name, one of {', '.join(FORMATS)}")
