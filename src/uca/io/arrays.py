"""Arrays of numpy, one or several in a file, dense or sparse."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._claims import check_npy, check_npz
from .._guard import AGAIN, Refusal
from .._types import Array
from .formats import Content, Format, Raw, Reading, as_matrix


def _npy(path: Path, _: Reading) -> Raw:
    with path.open("rb") as stream:
        check_npy(stream, path.stat().st_size)
    return Raw(str(path), values=as_matrix(np.load(path, mmap_mode="r", allow_pickle=False)))


def _npz(path: Path, _: Reading) -> Raw:
    check_npz(path)
    with np.load(path, allow_pickle=False) as archive:
        if "format" in archive.files and "shape" in archive.files:
            return Raw(str(path), values=as_matrix(sparse.load_npz(path)))
        return from_arrays(str(path), {name: archive[name] for name in archive.files})


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
    ids = columns.pop("ids", columns.pop("id", None))
    names = arrays.get("features")
    named = name == "X" and names is not None and names.shape == (values.shape[1],) and names.dtype.kind == "U"
    features = tuple(map(str, names)) if named and names is not None else None
    ids = None if ids is None else ids.astype(str).astype(object)
    return Raw(source, values=values, features=features, ids=ids, columns=columns)


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
