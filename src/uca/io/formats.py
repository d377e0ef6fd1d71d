"""What a file format is, what its reader returns and what its writer takes.

A new format is a file beside this one with its :class:`Format`, and a line in ``readers.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy import sparse

from .._claims import check_sparse
from .._guard import Refusal
from .._types import Array


@dataclass(frozen=True)
class Reading:
    """What the caller says of a file.

    ``na`` are words that mean missing, ``header`` says whether it begins with names, ``decimal`` and ``thousands`` are
    the marks in its numbers: all concern text and spreadsheets. ``sheet`` is for files that hold several tables.
    """

    na: Sequence[str] = ()
    header: bool = True
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    def decimal_mark(self, found: str = ".") -> str:
        """The decimal mark: the one given, else one that is not the mark between thousands, else the one found."""
        if self.decimal is None and self.thousands in (",", "."):
            return "." if self.thousands == "," else ","
        return self.decimal or found


@dataclass(frozen=True)
class Raw:
    """What a file holds: ``frame`` (a pandas table) or ``values`` (n, p), with what is known of rows and columns.

    ``lines`` are the numbers of the rows as whoever opens the file sees them, and ``line_word`` what they are called.
    ``decimal`` is the mark in numbers that were left as text.
    """

    source: str
    frame: Any = None
    values: Any = None
    features: tuple[str, ...] | None = None
    ids: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lines: Sequence[int] | None = None
    line_word: str = "row"
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...]:
        """All the columns that can be named: of the table, or those that describe the rows of a matrix."""
        return tuple(map(str, self.frame.columns if self.frame is not None else self.columns))


@dataclass(frozen=True)
class Content:
    """What is written: a column of ids, columns of text, and numbers under their names."""

    ids: Sequence[str] | range
    features: tuple[str, ...]
    values: Array
    columns: Mapping[str, Array] = field(default_factory=dict)

    def frame(self) -> Any:
        """The content as a pandas table."""
        import pandas

        numbers = pandas.DataFrame(self.values, columns=list(self.features))
        texts = {key: list(column) for key, column in self.columns.items()}
        left = pandas.DataFrame({"id": list(map(str, self.ids)), **texts})
        return pandas.concat([left, numbers], axis=1)


@dataclass(frozen=True)
class Format:
    """A file format: how names of its files end, what reads and what writes one, and the packages that takes.

    An error of the reader's own is a ``Refusal`` that speaks of the file as "it". ``needs`` are the packages of the
    reader, ``write_needs`` those of the writer, and ``extra`` brings both; in a tuple of packages one of them is enough.
    ``folders`` says whether a folder can be one.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[Path, Reading], Raw]
    needs: tuple[str | tuple[str, ...], ...] = ()
    extra: str = "io"
    write: Callable[[Path, Content], None] | None = None
    write_needs: tuple[str, ...] = ()
    folders: bool = False


def as_matrix(values: Any) -> Any:
    """A matrix of real numbers, dense or CSR."""
    if values.ndim != 2:
        raise Refusal(f"it holds an array of shape {values.shape}; a table of rows x features is needed: reshape it")
    if values.dtype.kind not in "iuf":
        raise Refusal(f"it holds values of type {values.dtype}, not real numbers")
    if not sparse.issparse(values):
        return values
    check_sparse(values)
    return sparse.csr_array(values)
