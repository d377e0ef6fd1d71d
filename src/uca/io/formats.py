"""What a file format is, and what its reader returns.

A new format is a file beside this one with its :class:`Format`, and a line in ``readers.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy import sparse

from .._types import Array


@dataclass(frozen=True)
class Reading:
    """What the caller says of a file: words that mean missing, and whether it begins with names. Both concern text."""

    na: Sequence[str] = ()
    header: bool = True


@dataclass(frozen=True)
class Raw:
    """What a file holds: ``frame`` (a pandas table) or ``values`` (n, p), with what is known of rows and columns."""

    source: str
    frame: Any = None
    values: Any = None
    features: tuple[str, ...] | None = None
    ids: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All the columns that can be named: of the table, or those that describe the rows of a matrix."""
        return tuple(map(str, self.frame.columns if self.frame is not None else self.columns))


@dataclass(frozen=True)
class Format:
    """A file format: how names of its files end, what reads one, and the packages that takes, with their extra.

    An error of the reader's own speaks of the file as "it".
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[Path, Reading], Raw]
    needs: tuple[str, ...] = ()
    extra: str = "io"


def as_matrix(values: Any) -> Any:
    """A matrix of real numbers, dense or CSR."""
    if values.ndim != 2:
        raise ValueError(f"it holds an array of shape {values.shape}; rows x features is needed, so reshape it")
    if values.dtype.kind not in "iuf":
        raise ValueError(f"it holds values of type {values.dtype}, not real numbers")
    return sparse.csr_array(values) if sparse.issparse(values) else values
