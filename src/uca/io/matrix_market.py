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
from .market_names import names_beside
from .place import is_text


def _mtx(path: Path, _: Reading) -> Raw:
    claim = check_market(path, check_gzip(path) if is_gzipped(path) else path.stat().st_size)
    with _source(path, claim) as source:
        values = _parsed(source)
    names = names_beside(path, values.shape)
    values = values.T if names.turned else values
    ids = None if names.rows is None else np.array(names.rows, dtype=object)
    return Raw(str(path), values=as_matrix(values), features=names.columns, ids=ids, notes=names.notes)


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
