"""Files that are larger than memory: whether they are, and how to open them. A kind of file is a module and a line here.

Promises: a file is opened so that its rows come a few at a time (``blocks``), with its first rows as a table (``head``), the
number of its rows and the column of its ids; all kinds alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .._memory import available_bytes
from .._types import Array
from . import batches, stored
from .table import Table

LIMIT = 4e9  # bytes of numbers that are read at once at most, or
SHARE = 0.25  # of the free memory: a table is copied while columns are told apart


class RowFile(Protocol):
    """A file that is read a few rows at a time."""

    @property
    def path(self) -> Path: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def head(self) -> Table: ...
    @property
    def id(self) -> str | None: ...
    def blocks(
        self, features: Sequence[str], others: Collection[str] = ()
    ) -> Iterator[tuple[Array, dict[str, Array]]]: ...


def too_large(paths: Sequence[Path]) -> bool:
    """Whether all files can be read a few rows at a time, and their numbers together are too many to be read at once."""
    if not all(_is_known(path) for path in paths):
        return False
    try:
        sizes = [(stored if stored.is_stored(path) else batches).number_bytes(path) for path in paths]
    except (ImportError, OSError, ValueError, KeyError):  # the reader says what is wrong
        return False
    return all(sizes) and sum(sizes) > min(LIMIT, SHARE * available_bytes())


def names_in(path: Path) -> list[str]:
    """All the columns that can be named."""
    return stored.names_in(path) if stored.is_stored(path) else batches.names_in(path)


def open_rows(path: Path, *, id: str | None, aside: Collection[str] = (), drop: Collection[str] = ()) -> RowFile:
    """Look at a file; columns ``aside`` are no features, those to ``drop`` are forgotten."""
    if stored.is_stored(path):
        return stored.open_stored(path, id=id, drop=drop)
    return batches.open_batches(path, id=id, aside=aside, drop=drop)


def _is_known(path: Path) -> bool:
    return path.exists() if stored.is_stored(path) else path.suffix.lower() == ".parquet" and path.is_file()
