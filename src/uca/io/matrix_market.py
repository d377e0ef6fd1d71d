"""Matrix Market; with ``barcodes.tsv`` and ``features.tsv`` beside it, features are its rows and are turned."""

from __future__ import annotations

import gzip
import io
from contextlib import AbstractContextManager, nullcontext
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from .encodings import open_bytes
from .formats import Content, Format, Raw, Reading, as_matrix
from .gzipped import check_gzip, is_gzipped
from .market_header import Claim, check_market, without_plus
from .place import is_text


def _mtx(path: Path, _: Reading) -> Raw:
    claim = check_market(path, check_gzip(path) if is_gzipped(path) else path.stat().st_size)
    with _source(path, claim) as source:
        values = _parsed(source)
    cells, genes = (_beside(path, *names) for names in (("barcodes",), ("features", "genes")))
    if cells is not None and genes is not None and values.shape == (len(genes), len(cells)):
        note = "rows are the cells of barcodes.tsv, features those of features.tsv (the matrix was transposed)"
        ids = np.array(cells, dtype=object)
        return Raw(str(path), values=as_matrix(values.T), features=tuple(genes), ids=ids, notes=(note,))
    return Raw(str(path), values=as_matrix(values))


def _parsed(source: Any) -> Any:
    """A sparse array, or a matrix from versions of scipy that know nothing else."""
    from scipy.io import mmread

    return mmread(source, **({"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}))


def _source(path: Path, claim: Claim) -> AbstractContextManager[Any]:
    """What the parser reads: the file by its name, which is fastest, or a stream where the name is no UTF-8."""
    if claim.plus or not claim.ends:
        return _ended(path, claim.plus)
    return nullcontext(path) if is_text(path) else open_bytes(path)


def _ended(path: Path, plus: bool) -> io.BytesIO:
    """The content with an end of its last line, since a parser may read on from a number that ends with the file."""
    with open_bytes(path) as stream:
        text = stream.read() + b"\n"
    return io.BytesIO(without_plus(text) if plus else text)


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
