"""Parquet files: how one is opened, and how much memory its text takes, found without taking that memory.

Promises: a value that stands in a dictionary once counts for every row that refers to it, so that a few bytes cannot stand
for gigabytes. Text is measured in the form of dictionaries, of which parts are held, a few rows at a time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .._claims import check_memory
from .._memory import fits

WINDOW = 1 << 16  # rows that are measured at once; where a value cannot be held as a dictionary:
FEW = 64
#: Encodings of text that are read as dictionaries; what is not among them repeats values in another way.
AS_DICTIONARY = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY"}


def open_source(path: Path, mode: str = "rb") -> Any:
    """A file of pyarrow's own. Any name will do: not UTF-8, or what would be taken for a URI.

    With a file object of Python threads of pyarrow may outlive the interpreter and abort the process at its end
    (https://github.com/apache/arrow/issues/50482).
    """
    import pyarrow

    return pyarrow.OSFile(os.fsencode(path), mode)


def open_parquet(path: Path, dictionaries: Collection[str] = ()) -> Any:
    """A file of which little is held while it is read; columns named in ``dictionaries`` come as such."""
    import pyarrow.parquet

    source, options = open_source(path), {"buffer_size": 1 << 16, "pre_buffer": False}
    return pyarrow.parquet.ParquetFile(source, read_dictionary=list(dictionaries) or None, **options)


def check_text(path: Path, rows: int | None = None, names: Collection[str] | None = None) -> None:
    """Refuse text that does not fit in memory: of all rows, or of as many as are held at once; of all columns, or some."""
    with open_parquet(path) as file:
        kinds = {field.name: field.type for field in file.schema_arrow}
        varying = [name for name, kind in kinds.items() if _varies(kind)]
        texts = [name for name in varying if _is_text(kinds[name])]
        plain = [name for name in texts if _encodings(file, name) <= AS_DICTIONARY]
        _check_lists(file, [name for name in varying if name not in texts])
    wanted = [name for name in varying if names is None or name in names]
    plain = [name for name in plain if name in wanted]
    if not fits(_most(path, plain, rows)):
        _measure(path, plain, rows, WINDOW, plain)
    _measure(path, [name for name in wanted if name not in plain], rows, FEW, ())


def _most(path: Path, names: list[str], rows: int | None) -> int:
    """Bytes that text can take at most: every row the longest value of a dictionary, and what stands outside of them."""
    total = 0
    with open_parquet(path, names) as file:
        for i in range(file.metadata.num_row_groups if names else 0):
            group = file.metadata.row_group(i)
            first = next(file.iter_batches(1, row_groups=[i], columns=names, use_threads=False), None)
            longest = 0 if first is None else sum(map(_longest, first.columns))
            if rows is None:
                total += group.num_rows * longest + group.total_byte_size
            else:
                total = max(total, rows * longest + (2 + rows // max(1, group.num_rows)) * group.total_byte_size)
    return total


def _longest(values: Any) -> int:
    from pyarrow import compute

    return compute.max(_lengths(values.dictionary)).as_py() or 0


def _measure(path: Path, names: list[str], rows: int | None, window: int, dictionaries: Collection[str]) -> None:
    """Read columns once, and stop where they do not fit."""
    together = None if rows is None else -(-rows // window)  # windows that are held at once
    total = 0
    for n_bytes in _sizes(path, names, window, dictionaries):
        total = total + n_bytes if together is None else max(total, together * n_bytes)
        check_memory(total, f"its text and lists unpack to more than {total:,} bytes")


def _varies(kind: Any) -> bool:
    """Whether values differ in length."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _varies(kind.value_type)
    return not (types.is_primitive(kind) or types.is_null(kind) or types.is_decimal(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return any(is_a(kind) for is_a in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))


def _encodings(file: Any, name: str) -> set[str]:
    """How the pages of a column are encoded.

    A row is read first: an index that is damaged raises an error there, and ends the process when it is asked.
    """
    found: set[str] = set()
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        if next(file.iter_batches(1, row_groups=[i], columns=[name], use_threads=False), None) is not None:
            found |= {code for j in _leaves(file, name) for code in group.column(j).encodings}
    return found


def _leaves(file: Any, name: str) -> list[int]:
    """Places of a column in the file: one, or for lists and structures those of their parts."""
    paths = [file.schema.column(i).path for i in range(file.metadata.num_columns)]
    return [i for i, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]


def _check_lists(file: Any, names: list[str]) -> None:
    """Refuse lists of more values than fit, by their numbers, which are asked after all was read without being held."""
    if not names or not file.metadata.num_rows:
        return
    file.scan_contents(names, batch_size=FEW)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    values = sum(
        group.column(i).num_values for name in names for i in _leaves(file, name) for group in groups if group.num_rows
    )
    check_memory(8 * values, f"its lists hold {values:,} values")


def _sizes(path: Path, names: list[str], rows: int, dictionaries: Collection[str]) -> Iterator[int]:
    """Bytes of some columns, a few rows at a time."""
    if not names:
        return
    with open_parquet(path, dictionaries) as file:
        for batch in file.iter_batches(rows, columns=names, use_threads=False):
            yield sum(map(text_bytes, batch.columns))


def text_bytes(values: Any) -> int:
    """Bytes of an array of pyarrow when each row holds a value of its own."""
    from pyarrow import compute, types

    if types.is_dictionary(values.type):
        lengths = _lengths(values.dictionary)
        lengths = None if lengths is None else compute.take(lengths, values.indices)
    else:
        lengths = _lengths(values)
    held = 0 if types.is_dictionary(values.type) else values.nbytes
    return max(held, 0 if lengths is None else compute.sum(lengths).as_py() or 0)


def _lengths(values: Any) -> Any:
    """Bytes of each value, where values differ in length."""
    from pyarrow import ArrowException, compute, types

    if types.is_primitive(values.type) or types.is_null(values.type):
        return None
    for measure, size in ((compute.binary_length, 1), (compute.list_value_length, 8)):
        try:
            return compute.multiply(compute.cast(measure(values), "int64"), size)
        except (ArrowException, NotImplementedError):  # values of another type
            continue
    return None
