"""Tables to files, each in the format that the end of its name stands for.

Promises: a file is written whole or not at all, and a name whose format cannot be written is refused before anything is
computed (:func:`check_writable`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._files import new_path
from .._optional import optional
from .formats import Content, Format
from .readers import FORMATS, format_of
from .table import Table


def check_writable(path: Any) -> Format:
    """The format that a file is written in; one that cannot be written, or lacks its packages, is refused."""
    written = ", ".join(ending for ending, kind in FORMATS.items() if kind.write is not None)
    try:
        kind = format_of(path)
    except ValueError:
        kind = None
    if kind is None or kind.write is None:
        raise ValueError(f"{path}: the format is taken from the end of the file name; choose one of {written}")
    for package in kind.write_needs:
        optional(package, f"writing {kind.name} needs {package}", kind.extra)
    return kind


def write_table(path: Any, table: Table) -> None:
    """Write a table; rows without ids are numbered from 1.

    Parameters
    ----------
    path : path
        The end of its name is the format, as in :func:`read_table`. npy and mtx hold the numbers alone.
    table : Table
        Its values, under the names of its features, with its ids and its columns of text.
    """
    kind = check_writable(path)
    if kind.write is None:
        raise ValueError(f"{path}: {kind.name} cannot be written")
    names = table.features or tuple(f"feature{i + 1}" for i in range(table.values.shape[1]))
    ids = [str(i + 1) for i in range(len(table))] if table.ids is None else [str(i) for i in table.ids]
    values = table.values.toarray() if table.is_sparse else table.values
    with new_path(Path(path)) as place:
        kind.write(place, Content(ids, names, values, table.columns))
