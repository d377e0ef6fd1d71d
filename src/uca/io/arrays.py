"""Arrays of numpy, one or several in a file, dense or sparse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse

from .._types import Array
from .formats import Format, Raw, Reading, as_matrix


def _npy(path: Path, _: Reading) -> Raw:
    return Raw(str(path), values=as_matrix(np.load(path, mmap_mode="r", allow_pickle=False)))


def _npz(path: Path, _: Reading) -> Raw:
    with np.load(path, allow_pickle=False) as archive:
        if "format" in archive.files and "shape" in archive.files:
            return Raw(str(path), values=as_matrix(sparse.load_npz(path)))
        return from_arrays(str(path), {name: archive[name] for name in archive.files})


def from_arrays(source: str, arrays: Mapping[str, Array]) -> Raw:
    """The one matrix of numbers among named arrays; one-dimensional ones of its length describe its rows."""
    matrices = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "iuf"}
    name = "X" if "X" in matrices else next(iter(matrices), "")
    if not matrices or (len(matrices) > 1 and name != "X"):
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise ValueError(f"it should hold one matrix of numbers, or one called X; it holds {shapes or 'nothing'}")
    values = matrices[name]
    columns = {key: array for key, array in arrays.items() if array.shape == (len(values),)}
    ids = columns.pop("ids", columns.pop("id", None))
    return Raw(source, values=values, ids=None if ids is None else ids.astype(str).astype(object), columns=columns)


FORMATS = (Format("npy", (".npy",), _npy), Format("npz", (".npz",), _npz))
