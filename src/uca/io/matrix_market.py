"""Matrix Market; with ``barcodes.tsv`` and ``features.tsv`` beside it, features are its rows and are turned."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np

from .formats import Content, Format, Raw, Reading, as_matrix


def _mtx(path: Path, _: Reading) -> Raw:
    from scipy.io import mmread

    values = mmread(path)
    cells, genes = (_beside(path, *names) for names in (("barcodes",), ("features", "genes")))
    if cells is not None and genes is not None and values.shape == (len(genes), len(cells)):
        note = "rows are the cells of barcodes.tsv, features those of features.tsv (the matrix was transposed)"
        ids = np.array(cells, dtype=object)
        return Raw(str(path), values=as_matrix(values.T), features=tuple(genes), ids=ids, notes=(note,))
    return Raw(str(path), values=as_matrix(values))


def _beside(path: Path, *names: str) -> list[str] | None:
    """First column of a list of names that stands beside a matrix."""
    for name in names:
        for ending in (".tsv", ".tsv.gz"):
            place = path.with_name(name + ending)
            if place.is_file():
                content = gzip.decompress(place.read_bytes()) if ending.endswith(".gz") else place.read_bytes()
                return [line.split("\t")[0] for line in content.decode().splitlines() if line]
    return None


def _text(content: Content) -> bytes:
    from scipy.io import mmwrite

    text = io.BytesIO()
    mmwrite(text, content.values, precision=17)
    return text.getvalue()


def _write(path: Path, content: Content) -> None:
    path.write_bytes(_text(content))


def _write_gz(path: Path, content: Content) -> None:
    path.write_bytes(gzip.compress(_text(content), mtime=0))


FORMATS = (Format("mtx", (".mtx",), _mtx, write=_write), Format("mtx.gz", (".mtx.gz",), _mtx, write=_write_gz))
