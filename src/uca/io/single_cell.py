"""AnnData in h5ad and zarr files, and plain zarr arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._guard import Refusal
from .._optional import optional
from .arrays import from_arrays
from .formats import Content, Format, Raw, Reading, as_matrix
from .hdf5 import check_content, check_hdf5
from .zarr_claims import check_arrays, check_zarr


def _h5ad(path: Path, _: Reading) -> Raw:
    import anndata
    import h5py

    check_hdf5(path)
    with h5py.File(path, "r") as file:
        check_content(file)
    with _names_are_checked_later():
        return from_anndata(str(path), anndata.read_h5ad(path))


@contextmanager
def _names_are_checked_later() -> Iterator[None]:
    """Around readers of anndata, which warn of names that occur twice: of features it will be an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(Variable|Observation) names are not unique")
        yield


def _zarr(path: Path, _: Reading) -> Raw:
    """An AnnData store, one array, or a group that holds one matrix."""
    import zarr

    check_zarr(path)
    whole = path.absolute()  # file:t.zarr is no URL
    store: Any = zarr.open(str(whole), mode="r")
    if store.attrs.get("encoding-type") == "anndata":
        anndata = optional("anndata", "this format needs anndata", "io")
        notes = check_arrays(whole, store, deep=True)
        with _names_are_checked_later():
            raw = from_anndata(str(path), anndata.read_zarr(whole))
        return replace(raw, notes=(*notes, *raw.notes))
    notes = check_arrays(whole, store, deep=False)
    if hasattr(store, "shape"):
        return Raw(str(path), values=as_matrix(np.asarray(store[...])), notes=notes)
    raw = from_arrays(str(path), {name: np.asarray(array[...]) for name, array in store.arrays()})
    return replace(raw, notes=(*notes, *raw.notes))


def from_anndata(source: str, data: Any) -> Raw:
    """``X`` of an AnnData object; columns of ``obs`` describe rows and are never features."""
    if data.X is None:
        raise Refusal("it has no X")
    columns = {str(name): np.asarray(data.obs[name].astype(object)) for name in data.obs.columns}
    return Raw(
        source,
        values=as_matrix(data.X),
        features=tuple(map(str, data.var_names)),
        ids=np.asarray(data.obs_names, dtype=object),
        columns=columns,
    )


def _as_anndata(content: Content) -> Any:
    import anndata
    import pandas

    def names(values: Any) -> Any:
        return pandas.Index(list(map(str, values)), dtype=object)  # which every version of anndata writes

    obs = pandas.DataFrame(index=names(content.ids))
    for key, column in content.columns.items():
        obs[key] = pandas.Series(list(column), index=obs.index, dtype=object)
    return anndata.AnnData(content.values, obs=obs, var=pandas.DataFrame(index=names(content.features)))


def _write_h5ad(path: Path, content: Content) -> None:
    _as_anndata(content).write_h5ad(path)


def _write_zarr(path: Path, content: Content) -> None:
    _as_anndata(content).write_zarr(path.absolute())


FORMATS = (
    Format("h5ad", (".h5ad",), _h5ad, ("anndata", "h5py"), write=_write_h5ad, write_needs=("anndata",)),
    Format("zarr", (".zarr",), _zarr, ("zarr",), write=_write_zarr, write_needs=("anndata", "zarr"), folders=True),
)
