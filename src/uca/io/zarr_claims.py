"""Stores of zarr, looked at before they are opened.

Promises: no array of a store that passes is decoded by unpickling, which runs code, and none claims more than fits in
memory. :func:`check_arrays` says the same of all arrays together once the store is open, refuses chunks that are larger than
they should be, and tells where chunks of the data are absent: zarr takes these for zeros, whoever removed them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._claims import check_memory
from .._guard import AGAIN, Refusal

ABOUT = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")  # files that describe a store
VALUE_BYTES = 8  # where the type does not tell
TEXT = "OT"  # kinds of types whose values have any length
GROWTH, SLACK = 8, 4096  # what filters may make of a chunk that cannot be compressed, and bytes beside it
INDEX_BYTES = 64  # of a chunk in a shard


def check_zarr(path: Path, *, sizes: bool = True) -> None:
    """Check what the files of a store say of its arrays; their ``sizes`` are left to :func:`check_arrays` if asked."""
    keys = ("shape", "chunks", "chunk_shape") if sizes else ("chunks", "chunk_shape")
    for name in ABOUT:
        for file in sorted(path.rglob(name)):
            try:
                described = json.loads(file.read_bytes())
            except (ValueError, RecursionError) as error:
                raise Refusal(f"{file.relative_to(path)} in it is damaged ({error}); {AGAIN}") from error
            for part, n_bytes in _parts({name: described}):
                _check_part(part, n_bytes, keys, str(file.relative_to(path)))


def _parts(described: Any) -> Iterator[tuple[dict[str, Any], int]]:
    """Every object in what was described, however deep, and the bytes of a value there.

    Attributes are the user's, and their ``shape`` is no array's.
    """
    todo = [(described, VALUE_BYTES)]
    while todo:
        part, n_bytes = todo.pop()
        if isinstance(part, dict):
            n_bytes = max(n_bytes, _value_bytes(part.get("dtype", part.get("data_type"))))
            yield part, n_bytes
            inner = [value for key, value in part.items() if key != "attributes" and not key.endswith(".zattrs")]
            todo += [(value, n_bytes) for value in inner]
        elif isinstance(part, list):
            todo += [(value, n_bytes) for value in part]


def _value_bytes(kind: Any) -> int:
    """The bytes of a value of a type that a store names, as far as it tells."""
    if isinstance(kind, dict):
        length = (kind.get("configuration") or {}).get("length_bytes", 0)
        return length if type(length) is int else 0
    if isinstance(kind, list):
        return sum(_value_bytes(field[1]) for field in kind if isinstance(field, list) and len(field) > 1)
    try:
        return int(np.dtype(kind).itemsize) if isinstance(kind, str) else 0
    except (TypeError, ValueError):
        return 0


def _check_part(part: dict[str, Any], n_bytes: int, keys: Sequence[str], name: str) -> None:
    for key in ("id", "name", "object_codec"):
        if "pickle" in str(part.get(key, "")).lower():
            raise Refusal(f"{name} in it asks for unpickling, which may run code: write it anew with numbers or text")
    for key in keys:
        sizes = part.get(key)
        if isinstance(sizes, list) and all(type(size) is int for size in sizes):
            if any(size < 0 for size in sizes):
                raise Refusal(f"{name} in it claims {sizes} values: it is damaged; {AGAIN}")
            check_memory(n_bytes * math.prod(sizes), f"{name} in it claims {sizes} values")


def check_arrays(path: Path, store: Any, *, deep: bool, but: str = "") -> tuple[str, ...]:
    """Check the arrays of a store, if ``deep`` of groups in it too; what is said of chunks that are absent.

    The array ``but`` need not fit in memory.
    """
    arrays = list(_arrays(store, deep))
    total = sum(array.size * array.dtype.itemsize for array in arrays if array.path != but)
    check_memory(total, f"its arrays claim {total:,} bytes together")
    notes = [_check_chunks(array, _stored(path / array.path)) for array in arrays]
    return tuple(note for note in notes if note)


def _arrays(store: Any, deep: bool) -> Iterator[Any]:
    if hasattr(store, "shape"):
        yield store
        return
    yield from (array for _, array in store.arrays())
    if deep:
        for _, group in store.groups():
            yield from _arrays(group, deep)


def _stored(folder: Path) -> list[int]:
    """The sizes of the chunks that are there."""
    files = (file for file in folder.rglob("*") if file.name not in ABOUT and not file.name.startswith("."))
    return [file.stat().st_size for file in files if file.is_file()]


def _check_chunks(array: Any, stored: list[int]) -> str | None:
    """Refuse a chunk that is larger than it should be; a note on those of the data that are absent."""
    outer = getattr(array, "shards", None) or array.chunks
    inner = math.prod(outer) // max(1, math.prod(array.chunks))
    most = GROWTH * math.prod(outer) * array.dtype.itemsize + INDEX_BYTES * inner + SLACK
    name = repr(array.path) if array.path else "the array"
    if array.dtype.kind not in TEXT and max(stored, default=0) > most:
        raise Refusal(
            f"{name} in it has a chunk of {max(stored):,} bytes, more than it can hold: it is damaged; {AGAIN}"
        )
    expected = math.prod(-(-n // size) for n, size in zip(array.shape, outer, strict=True))
    if not _is_data(array) or len(stored) >= expected:
        return None
    filled = array.fill_value or 0
    if not stored:
        raise Refusal(f"no chunk of {name} in it is there, and all its values would count as {filled}: {AGAIN}")
    return (
        f"{expected - len(stored):,} of {expected:,} chunks of {name} are absent, and their values count as {filled}, which "
        "is how such values may be stored; if they are others, copy the store again"
    )


def _is_data(array: Any) -> bool:
    """Whether an array is a matrix, or a part of X."""
    return array.path.startswith("X/") or ("/" not in array.path and len(array.shape) == 2)
