"""One file as the user named it; wrong names of files are wrong usage."""

from __future__ import annotations

from pathlib import Path

from ..io import FORMATS, Raw, closest, format_of, locate, read_raw
from .options import Columns
from .program import usage_error


def read_one(path: Path, columns: Columns) -> Raw:
    """One file; wrong names of files are wrong usage."""
    place = locate(path)
    meant = "" if place.path.exists() else _meant(place.path)
    try:
        format_of(path)
    except ValueError as error:
        raise usage_error(f"{error}{meant}") from None
    if not place.path.exists():
        raise usage_error(f"{place.path} does not exist{meant}")
    return read_raw(
        path, na=columns.na, header=not columns.no_header, decimal=columns.decimal, thousands=columns.thousands
    )


def _meant(path: Path) -> str:
    """The file beside it that is called much the same."""
    near = closest(path.name, [other.name for other in path.parent.iterdir()]) if path.parent.is_dir() else None
    return f"; did you mean {str(path.with_name(near))!r}?" if near else ""


def stem(path: Path) -> str:
    """The name of a table: of its sheet where one is named, or of its file without the ending that tells its format."""
    place = locate(path)
    if place.sheet is not None:
        return place.sheet
    endings = [ending for ending in FORMATS if path.name.lower().endswith(ending)]
    return path.name[: -len(max(endings, key=len))] if endings else path.stem
