"""Arrays of numpy, one or several in a file, dense or sparse.

Promises: an array is in memory unless it would take much of it; then its file is mapped. A mapped file that becomes shorter
ends the process that reads on: :func:`check_mapped` says so before.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._claims import check_npy, check_npz
from .._guard import AGAIN, Refusal
from .._memory import ALWAYS, available_bytes
from .._readable import listed
from .._types import Array
from .formats import Content, Format, Raw, Reading, as_matrix

TEXT = "UST"  # kinds of types that hold text
VALUE_BYTES = 8  # of a number once a model reads it
SHARE = 0.25  # of the free memory: larger arrays stay in their files


def _npy(path: Path, _: Reading) -> Raw:
    with path.open("rb") as stream:
        n_values = check_npy(stream, path.stat().st_size)
        if VALUE_BYTES * n_values <= max(ALWAYS, SHARE * available_bytes()):
            stream.seek(0)
            return Raw(str(path), values=as_matrix(np.load(stream, allow_pickle=False)))
    return Raw(str(path), values=as_matrix(np.load(path, mmap_mode="r", allow_pickle=False)))


def check_mapped(values: Any) -> None:
    """Raise where the file of a mapped array has become shorter than the array."""
    name = getattr(values, "filename", None) if isinstance(values, np.memmap) else None
    if name is not None and Path(name).stat().st_size < values.offset + values.nbytes:
        raise ValueError(
            f"{name} has become shorter since it was opened: it is being written, or was cut. Let nothing write to it while "
            "it is read, and try again"
        )


def _npz(path: Path, _: Reading) -> Raw:
    check_npz(path)
    with np.load(path, allow_pickle=False) as archive:
        if "format" in archive.files and "shape" in archive.files:
            return Raw(str(path), values=as_matrix(sparse.load_npz(path)))
        held = {name: archive[name] for name in archive.files}
    arrays = {name: array for name, array in held.items() if isinstance(array, np.ndarray)}
    raw = from_arrays(str(path), arrays)
    others = [repr(name) for name in held if name not in arrays]
    note = f"left out, because {'they are no arrays' if len(others) > 1 else 'it is no array'}: {listed(others)}"
    return replace(raw, notes=(*raw.notes, note)) if others else raw


def from_arrays(source: str, arrays: Mapping[str, Array]) -> Raw:
    """The one matrix of numbers among named arrays; one-dimensional ones of its length describe its rows."""
    for name, array in arrays.items():
        _check_letters(name, array)
    matrices = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "iuf"}
    name = "X" if "X" in matrices else next(iter(matrices), "")
    if not matrices or (len(matrices) > 1 and name != "X"):
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise Refusal(f"it should hold one matrix of numbers, or one called X; it holds {shapes or 'nothing'}")
    values = matrices[name]
    columns = {key: array for key, array in arrays.items() if array.shape == (len(values),)}
    features, notes = _names_of_columns(values, arrays, columns) if name == "X" else (None, [])
    ids = columns.pop("ids", columns.pop("id", None))
    if ids is None:
        _check_ids(values, arrays)
    ids = None if ids is None else ids.astype(str).astype(object)
    return Raw(source, values=values, features=features, ids=ids, columns=columns, notes=tuple(notes))


def _names_of_columns(
    values: Array, arrays: Mapping[str, Array], columns: Mapping[str, Array]
) -> tuple[tuple[str, ...] | None, list[str]]:
    """What ``features`` calls the columns of X; as many as there are rows describe these, and others are told."""
    names, wanted = arrays.get("features"), values.shape[1]
    if names is None:
        return None, []
    if names.dtype.kind in TEXT and names.shape == (wanted,):
        return tuple(map(str, names.astype(str))), []
    if names.dtype.kind not in TEXT:
        told = (
            f"'features' in it are not names: they are of type {names.dtype}; columns are told apart by their position"
        )
        return None, [told]
    if "features" in columns:
        return None, []
    raise Refusal(
        f"'features' in it should be the names of the {wanted:,} columns of X, and it has the shape {names.shape}: write "
        "all of them, or leave them out"
    )


def _check_ids(values: Array, arrays: Mapping[str, Array]) -> None:
    """Refuse a list of ids that is not one for each row."""
    for key in ("ids", "id"):
        if key in arrays and arrays[key].ndim == 1:
            raise Refusal(
                f"{key!r} in it should be the names of {len(values):,} rows, and it has the shape {arrays[key].shape}: "
                "write all of them, or leave them out"
            )


def _check_letters(name: str, array: Array) -> None:
    """Refuse text with numbers that stand for no letter: Python cannot show it."""
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        codes = np.ascontiguousarray(array).view(array.dtype.byteorder.replace("|", "=") + "u4")
        if codes.max() > sys.maxunicode:
            raise Refusal(f"the text in its array {name!r} is damaged; {AGAIN}")


def _write_npy(path: Path, content: Content) -> None:
    with path.open("wb") as stream:
        np.save(stream, content.values)


def _write_npz(path: Path, content: Content) -> None:
    arrays: dict[str, Any] = {name: np.array(list(map(str, column))) for name, column in content.columns.items()}
    arrays |= {"X": content.values, "ids": np.array(content.ids), "features": np.array(content.features)}
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


FORMATS = (Format("npy", (".npy",), _npy, write=_write_npy), Format("npz", (".npz",), _npz, write=_write_npz))
