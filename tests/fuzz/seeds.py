"""Small valid files of every format, made by the package and the libraries that it reads with.

Promises: a seed is the content of one file (bytes), or of the files of one folder by their names. The same version of the
libraries gives the same content, but for times that some of them write into a file.
"""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import mmwrite

import uca
from uca.io import Table, write_table
from uca.io.plain import FEWEST_ROWS

Content = bytes | dict[str, bytes]
NAMES = tuple(f"f{i}" for i in range(4))
ROWS = 12
MANY_ROWS = 2 * FEWEST_ROWS

#: Format -> packages without which it cannot be made or read.
NEEDS: dict[str, tuple[str, ...]] = {
    "csv": ("pandas",),
    "csv.gz": ("pandas",),
    "tsv": ("pandas",),
    "xlsx": ("pandas", "openpyxl", "python_calamine"),
    "ods": ("pandas", "odf", "python_calamine"),
    "parquet": ("pandas", "pyarrow"),
    "streamed": ("pandas", "pyarrow"),
    "feather": ("pandas", "pyarrow"),
    "npy": (),
    "npz": (),
    "mtx": (),
    "mtx.gz": (),
    "h5ad": ("anndata", "h5py"),
    "zarr": ("anndata", "zarr"),
    "skops": ("skops",),
    "moments": (),
}
ENDINGS = {"moments": "moments.npz", "streamed": "parquet"}  # which is read a few rows at a time


def possible() -> list[str]:
    """The formats whose packages are installed."""
    return [name for name, needs in NEEDS.items() if all(find_spec(package) for package in needs)]


def ending(name: str) -> str:
    """How files of a format end."""
    return "." + ENDINGS.get(name, name)


def table(n: int = ROWS) -> Table:
    """A table of numbers with ids and a column of text."""
    values = np.random.default_rng(0).normal(size=(n, len(NAMES))).round(3)
    kind = np.array(["a", "b"] * (n // 2), dtype=object)
    ids = np.array([f"m{i}" for i in range(n)], dtype=object)
    return Table("seed", values, NAMES, ids, {"kind": kind})


def counts() -> sparse.csr_array:
    """Sparse counts."""
    return sparse.csr_array(sparse.random(ROWS, 6, 0.4, "csr", np.float64, np.random.default_rng(1)))


def seeds(name: str) -> list[Content]:
    """Valid files of a format."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [content_of(path) for path in _MAKERS.get(name, _written)(Path(folder), name)]


def content_of(path: Path) -> Content:
    """A file, or the files of a folder."""
    if not path.is_dir():
        return path.read_bytes()
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def put(content: Content, path: Path) -> Path:
    """Write a seed, or what became of it."""
    if isinstance(content, bytes):
        path.write_bytes(content)
        return path
    for name, data in content.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return path


def _written(folder: Path, name: str) -> Iterator[Path]:
    path = folder / f"table{ending(name)}"
    write_table(path, table())
    yield path


def _text(folder: Path, name: str) -> Iterator[Path]:
    yield from _written(folder, name)
    text = 'id;"a;1";b\nx;1,5;"2"\ny;-0,25;NA\n"z\nz";3,125;4\n'
    other = folder / f"other{ending(name)}"
    data = text.encode("utf-16" if name == "tsv" else "utf-8")
    other.write_bytes(gzip.compress(data, mtime=0) if name.endswith("gz") else data)
    yield other
    many = folder / f"many{ending(name)}"  # so many rows that pyarrow reads them
    write_table(many, table(MANY_ROWS))
    yield many


def _npz(folder: Path, name: str) -> Iterator[Path]:
    yield from _written(folder, name)
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        path = folder / f"{kind}.npz"
        sparse.save_npz(path, counts().asformat(kind), compressed=kind != "csr")
        yield path


def _mtx(folder: Path, name: str) -> Iterator[Path]:
    yield from _written(folder, name)
    for field, symmetry, values in (
        ("real", "general", counts()),
        ("integer", "general", sparse.coo_array(np.arange(12).reshape(3, 4))),
        ("pattern", "general", counts()),
        ("real", "symmetric", counts().T @ counts()),
    ):
        text = io.BytesIO()
        mmwrite(text, sparse.coo_matrix(values), field=field, symmetry=symmetry, comment=" seed")
        data = text.getvalue()
        path = folder / f"{field}-{symmetry}{ending(name)}"
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith("gz") else data)
        yield path


def _parquet(folder: Path, name: str) -> Iterator[Path]:
    import pandas

    yield from _written(folder, name)
    frame = pandas.DataFrame({"k": ["a", None] * 6, "x": np.arange(12), "y": np.linspace(0, 1, 12)})
    for compression in (None, "gzip", "zstd"):
        path = folder / f"{compression}.parquet"
        frame.to_parquet(path, compression=compression)
        yield path


def _feather(folder: Path, name: str) -> Iterator[Path]:
    import pyarrow
    import pyarrow.feather

    yield from _written(folder, name)
    frame = pyarrow.table({"k": ["a", None] * 6, "x": np.arange(12.0), "y": np.linspace(0, 1, 12)})
    for compression in ("uncompressed", "zstd"):
        path = folder / f"{compression}.feather"
        pyarrow.feather.write_feather(frame, path, compression=compression)
        yield path
    path = folder / "stream.arrow"
    with pyarrow.ipc.new_stream(str(path), frame.schema) as stream:
        stream.write_table(frame)
    yield path


def _h5ad(folder: Path, name: str) -> Iterator[Path]:
    import anndata

    yield from _written(folder, name)
    for compression in (None, "gzip"):
        path = folder / f"sparse-{compression}.h5ad"
        anndata.AnnData(sparse.csr_matrix(counts())).write_h5ad(path, compression=compression)
        yield path


def _zarr(folder: Path, name: str) -> Iterator[Path]:
    import anndata
    import zarr

    yield from _written(folder, name)
    anndata.AnnData(sparse.csr_matrix(counts())).write_zarr(folder / "sparse.zarr")
    yield folder / "sparse.zarr"
    zarr.save(str(folder / "plain.zarr"), table().values)
    yield folder / "plain.zarr"


def _skops(folder: Path, name: str) -> Iterator[Path]:
    rng = np.random.default_rng(2)
    target, background = rng.normal(size=(20, 4)) * [3, 1, 1, 1], rng.normal(size=(20, 4))
    for kind in (uca.UCA, uca.CPCAPlusPlus):
        yield uca.save(kind().fit(target, backgrounds=background), folder / f"{kind.__name__}.skops")


def _moments(folder: Path, name: str) -> Iterator[Path]:
    path = folder / "seed.npz"
    uca.Moments.of(table().values).save(path)
    yield path


_MAKERS: dict[str, Callable[[Path, str], Iterator[Path]]] = {
    **dict.fromkeys(("csv", "csv.gz", "tsv"), _text),
    **dict.fromkeys(("mtx", "mtx.gz"), _mtx),
    "npz": _npz,
    **dict.fromkeys(("parquet", "streamed"), _parquet),
    "feather": _feather,
    "h5ad": _h5ad,
    "zarr": _zarr,
    "skops": _skops,
    "moments": _moments,
}


def members(data: bytes) -> dict[str, bytes]:
    """The files in a zip archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Files as a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()
