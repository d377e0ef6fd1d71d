"""One reader a file format, chosen by the end of the file's name.

Promises: what leaves this module is a :class:`Raw`: either a table of columns of any type, of which the numeric ones are yet
to be told from the rest, or a matrix of numbers with what its file knows of rows and columns. No file is unpickled.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._readable import check_unique
from .._types import Array
from .text import read_text


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


def read_raw(path: Any, *, na: Sequence[str] = (), header: bool = True) -> Raw:
    """Read a file by the end of its name; ``na`` and ``header`` concern text files."""
    path = Path(path)
    kind = format_of(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if kind in ("csv", "tsv"):
        _need("pandas", "cli")
        return Raw(str(path), frame=read_text(path, kind, na=na, header=header))
    try:
        raw = READERS[kind](path)
    except (ImportError, OSError, MemoryError):
        raise
    except Exception as error:  # each library has its own errors for a file that is not what its name says
        raise ValueError(f"{path} cannot be read as {kind}: {' '.join(str(error).split())}") from error
    check_unique(raw.names, str(path))
    return raw


def format_of(path: Any) -> str:
    """The format that the end of a file's name stands for."""
    name = str(path).lower().rstrip("/")
    for ending, kind in FORMATS.items():
        if name.endswith(ending):
            return kind
    raise ValueError(f"{path}: the format is told by the end of the name, one of {', '.join(FORMATS)}")


def _need(package: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        what = package.split(".")[0]
        raise ImportError(f"this format needs {what}: pip install 'unique-component-analysis[{extra}]'") from error


def _parquet(path: Path) -> Raw:
    _need("pyarrow", "io")
    if path.is_file():  # and not a folder of them; the reader's own error would not say what to do
        check_unique(_need("pyarrow.parquet", "io").read_schema(path).names, "it")
    return Raw(str(path), frame=_need("pandas", "io").read_parquet(path, engine="pyarrow"))


def _arrow(path: Path) -> Raw:
    """Feather and Arrow files, and Arrow streams."""
    pyarrow = _need("pyarrow", "io")
    _need("pandas", "io")
    feather = _need("pyarrow.feather", "io")
    try:
        table = feather.read_table(path)
    except pyarrow.ArrowInvalid:
        with _need("pyarrow.ipc", "io").open_stream(path) as stream:
            table = stream.read_all()
    return Raw(str(path), frame=table.to_pandas())


def _npy(path: Path) -> Raw:
    return Raw(str(path), values=_matrix(np.load(path, mmap_mode="r", allow_pickle=False)))


def _npz(path: Path) -> Raw:
    with np.load(path, allow_pickle=False) as archive:
        if "format" in archive.files and "shape" in archive.files:
            return Raw(str(path), values=_matrix(sparse.load_npz(path)))
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


def _mtx(path: Path) -> Raw:
    """Matrix Market; with ``barcodes.tsv`` and ``features.tsv`` beside it, features are its rows and are turned."""
    from scipy.io import mmread

    values = mmread(path)
    cells, genes = (_beside(path, *names) for names in (("barcodes",), ("features", "genes")))
    if cells is not None and genes is not None and values.shape == (len(genes), len(cells)):
        note = "rows are the cells of barcodes.tsv, features those of features.tsv (the matrix was turned)"
        return Raw(
            str(path), values=_matrix(values.T), features=tuple(genes), ids=np.array(cells, dtype=object), notes=(note,)
        )
    return Raw(str(path), values=_matrix(values))


def _beside(path: Path, *names: str) -> list[str] | None:
    """First column of a list of names that stands beside a matrix."""
    for name in names:
        for ending in (".tsv", ".tsv.gz"):
            place = path.with_name(name + ending)
            if place.is_file():
                text = _text(place)
                return [line.split("\t")[0] for line in text.splitlines() if line]
    return None


def _text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


def _h5ad(path: Path) -> Raw:
    return from_anndata(str(path), _need("anndata", "io").read_h5ad(path))


def _zarr(path: Path) -> Raw:
    """An AnnData store, one array, or a group that holds one matrix."""
    store = _need("zarr", "io").open(str(path), mode="r")
    if store.attrs.get("encoding-type") == "anndata":
        return from_anndata(str(path), _need("anndata", "io").read_zarr(path))
    if hasattr(store, "shape"):
        return Raw(str(path), values=_matrix(np.asarray(store[...])))
    return from_arrays(str(path), {name: np.asarray(array[...]) for name, array in store.arrays()})


def from_anndata(source: str, data: Any) -> Raw:
    """``X`` of an AnnData object; columns of ``obs`` describe rows and are never features."""
    if data.X is None:
        raise ValueError("it has no X")
    columns = {str(name): np.asarray(data.obs[name].astype(object)) for name in data.obs.columns}
    return Raw(
        source,
        values=_matrix(data.X),
        features=tuple(map(str, data.var_names)),
        ids=np.asarray(data.obs_names, dtype=object),
        columns=columns,
    )


def _matrix(values: Any) -> Any:
    if values.ndim != 2:
        raise ValueError(f"it holds an array of shape {values.shape}; rows x features is needed, so reshape it")
    if values.dtype.kind not in "iuf":
        raise ValueError(f"it holds values of type {values.dtype}, not real numbers")
    return sparse.csr_array(values) if sparse.issparse(values) else values


READERS: dict[str, Callable[[Path], Raw]] = {
    "parquet": _parquet,
    "feather": _arrow,
    "npy": _npy,
    "npz": _npz,
    "mtx": _mtx,
    "h5ad": _h5ad,
    "zarr": _zarr,
}
#: End of the name -> format.
FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".txt": "tsv",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "mtx",
    ".mtx.gz": "mtx",
    ".h5ad": "h5ad",
    ".zarr": "zarr",
}
