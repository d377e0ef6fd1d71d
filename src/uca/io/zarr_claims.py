"""Stores of zarr, looked at before they are opened.

Promises: no array of a store that passes is decoded by unpickling, which runs code, and none claims more than fits in
memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._claims import check_memory
from .._guard import AGAIN, Refusal

ABOUT = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")  # files that describe a store
VALUE_BYTES = 8


def check_zarr(path: Path) -> None:
    """Check what the files of a store say of its arrays."""
    for name in ABOUT:
        for file in sorted(path.rglob(name)):
            try:
                described = json.loads(file.read_bytes())
            except (ValueError, RecursionError) as error:
                raise Refusal(f"{file.relative_to(path)} in it is damaged ({error}); {AGAIN}") from error
            for part in _parts({name: described}):
                _check_part(part, str(file.relative_to(path)))


def _parts(described: Any) -> Iterator[dict[str, Any]]:
    """Every object in what was described, however deep; attributes are the user's, and their ``shape`` is no array's."""
    todo = [described]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            yield part
            todo += [value for key, value in part.items() if key != "attributes" and not key.endswith(".zattrs")]
        elif isinstance(part, list):
            todo += part


def _check_part(part: dict[str, Any], name: str) -> None:
    for key in ("id", "name", "object_codec"):
        if "pickle" in str(part.get(key, "")).lower():
            raise Refusal(f"{name} in it asks for unpickling, which may run code: write it anew with numbers or text")
    for key in ("shape", "chunks", "chunk_shape"):
        sizes = part.get(key)
        if isinstance(sizes, list) and all(type(size) is int for size in sizes):
            if any(size < 0 for size in sizes):
                raise Refusal(f"{name} in it claims {sizes} values: it is damaged; {AGAIN}")
            check_memory(VALUE_BYTES * math.prod(sizes), f"{name} in it claims {sizes} values")
