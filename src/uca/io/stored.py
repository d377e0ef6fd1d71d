"""Dense matrices in h5ad and zarr stores of AnnData that are larger than memory, read a few rows at a time.

Promises: rows, names and what describes rows are those of :func:`~.table.read_table`. What describes rows comes into memory,
and beside it a block of X of some megabytes, or the rows of one chunk where these are more. A sparse X is read whole: it is
small for the number of its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .._guard import guarded, refusing
from .._labels import as_text
from .._readable import check_unique
from .._types import Array
from .batches import BLOCK, HEAD
from .formats import Raw, as_matrix
from .hdf5 import check_content, check_hdf5
from .table import Table, split
from .zarr_claims import check_arrays, check_zarr

ROW_NAMES = "obs_names"  # what ids are called where no column of obs is


@dataclass(frozen=True)
class StoredRows:
    """A store: its rows, its first ones as a table, where ids are, and all that describes rows, as text."""

    path: Path
    n_rows: int
    head: Table
    id: str | None
    columns: Mapping[str, Array]
    features: tuple[str, ...]

    def blocks(self, features: Sequence[str], others: Collection[str] = ()) -> Iterator[tuple[Array, dict[str, Array]]]:
        """Numbers (m, p) in the order of ``features``, and other columns as text, block by block."""
        place = {name: i for i, name in enumerate(self.features)}
        order = np.array([place[name] for name in features])
        dtype = self.head.values.dtype
        with guarded(self.path, kind_of(self.path)), _opened(self.path) as store:
            for here in _slices(store["X"], self.n_rows):
                values = np.asarray(store["X"][here]).astype(dtype, copy=False)[:, order]
                yield values, {name: self.columns[name][here] for name in others}


def is_stored(path: Path) -> bool:
    """Whether the end of the name is that of a store."""
    return path.suffix.lower() in (".h5ad", ".zarr")


def kind_of(path: Path) -> str:
    """What the format is called."""
    return path.suffix.lower().removeprefix(".")


def number_bytes(path: Path) -> float:
    """Bytes of the numbers of a dense X; 0 of any other."""
    with _opened(path) as store:
        x = _dense(store)
        return 0.0 if x is None else 8.0 * float(x.shape[0]) * float(x.shape[1])


def names_in(path: Path) -> list[str]:
    """What describes rows, and the features."""
    with guarded(path, kind_of(path)), _opened(path) as store:
        return [*map(str, _frame(store, "obs").columns), *map(str, _frame(store, "var").index)]


def open_stored(path: Path, *, id: str | None, drop: Collection[str] = ()) -> StoredRows:
    """Look at a store: names, what describes rows, and the first of them."""
    with guarded(path, kind_of(path)), _opened(path) as store:
        obs, features = _frame(store, "obs"), tuple(map(str, _frame(store, "var").index))
        x = _dense(store)
        assert x is not None
        with refusing():
            check_unique(features, "it")
            check_unique(list(map(str, obs.columns)), "it")
        values, n_rows = as_matrix(np.asarray(x[:HEAD])), int(x.shape[0])
    columns = {str(name): as_text(obs[name]) for name in obs.columns}
    ids = as_text(obs.index)
    first = {name: column[:HEAD] for name, column in columns.items()}
    notes = _check(path, path.stat().st_mtime_ns)
    raw = Raw(str(path), values=values, features=features, ids=ids[:HEAD], columns=first, notes=notes)
    head = split(raw, id=id, drop=drop)
    found = id if id in columns else ROW_NAMES if head.ids is not None else None
    return StoredRows(path, n_rows, head, found, columns | ({ROW_NAMES: ids} if found == ROW_NAMES else {}), features)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The store; it was checked, but for the size of X."""
    _check(path, path.stat().st_mtime_ns)
    if kind_of(path) == "h5ad":
        import h5py

        with h5py.File(path, "r") as file:
            yield file
    else:
        yield _zarr(path)


@lru_cache(maxsize=64)
def _check(path: Path, _changed: int) -> tuple[str, ...]:
    """Check a store, once: the whole file is looked at; what is said of absent chunks."""
    if kind_of(path) == "h5ad":
        import h5py

        check_hdf5(path)
        with h5py.File(path, "r") as file:
            check_content(file, but="X")
        return ()
    check_zarr(path, sizes=False)
    return check_arrays(path.absolute(), _zarr(path), deep=True, but="X")


def _zarr(path: Path) -> Any:
    import zarr

    return zarr.open_group(str(path.absolute()), mode="r")


def _frame(store: Any, name: str) -> Any:
    from anndata.io import read_elem

    return read_elem(store[name])


def _dense(store: Any) -> Any | None:
    """X, if the store is one of AnnData and X is dense."""
    if store.attrs.get("encoding-type") != "anndata" or "X" not in store:
        return None
    x = store["X"]
    return x if hasattr(x, "shape") and len(x.shape) == 2 and x.dtype.kind in "iuf" else None


def _slices(x: Any, n_rows: int) -> Iterator[slice]:
    """Blocks of rows that begin where chunks do."""
    rows = max(256, BLOCK // (8 * max(1, int(x.shape[1]))))
    chunk = int(x.chunks[0]) if getattr(x, "chunks", None) else 1
    rows = -(-rows // chunk) * chunk
    for start in range(0, n_rows, rows):
        yield slice(start, start + rows)
