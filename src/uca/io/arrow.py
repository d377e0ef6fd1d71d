"""Parquet, Feather and Arrow: tables with names and types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._claims import check_memory
from .._guard import AGAIN, Refusal, refusing
from .._readable import check_unique
from .arrow_claims import check_stream
from .formats import Content, Format, Raw, Reading
from .parquet_text import check_text, open_parquet, open_source, text_bytes

ARROW, OLD = b"ARROW1", b"FEA1"  # how files begin; streams have no such mark


def _parquet(path: Path, _: Reading) -> Raw:
    """A file, or a folder of them."""
    import pyarrow.fs
    import pyarrow.parquet

    if path.is_file():
        _check_parquet(path)
        return Raw(str(path), frame=pyarrow.parquet.read_table(open_source(path)).to_pandas())
    for part in _parts(path):
        _check_parquet(part)
    table = pyarrow.parquet.read_table(str(path), filesystem=pyarrow.fs.LocalFileSystem())
    return Raw(str(path), frame=table.to_pandas())


def _parts(folder: Path) -> list[Path]:
    """The files of a folder that pyarrow reads."""
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return [folder / path for path in found if not any(part.startswith(("_", ".")) for part in path.parts)]


def _check_parquet(path: Path) -> None:
    with open_parquet(path) as file:
        names, about = file.schema_arrow.names, file.metadata
    with refusing():
        check_unique(names, "it")
    _check_size(about)
    check_text(path)


def _check_size(about: Any) -> None:
    """Refuse what does not fit in memory: few bytes can stand for many rows."""
    rows, columns = about.num_rows, about.num_columns
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    packed = sum(group.total_byte_size for group in groups)
    check_memory(max(8 * rows * columns, packed), f"it claims {rows:,} rows and {columns:,} columns")


def _arrow(path: Path, _: Reading) -> Raw:
    """Feather and Arrow files, and Arrow streams."""
    import pyarrow.feather

    with open_source(path) as source:
        begin = source.read(len(ARROW))
    if begin.startswith(OLD):
        with open_source(path) as source:
            table = pyarrow.feather.read_table(source)
    else:
        table = _stream(path, is_file=begin == ARROW)
    table.validate(full=True)  # what is read is trusted otherwise, and a wild offset ends the process
    text = sum(text_bytes(chunk) for column in table.columns for chunk in column.chunks)
    check_memory(text, f"its columns unpack to {text:,} bytes")
    return Raw(str(path), frame=table.to_pandas())


def _stream(path: Path, *, is_file: bool) -> Any:
    """The batches of a stream; a file is a stream between a mark and a list of its batches.

    What is measured is what is read, whatever the list says; it is compared with the batches that are there.
    """
    from pyarrow import ipc

    begin, expected = (8, None) if is_file else (0, None)
    if is_file:
        with open_source(path) as source:
            expected = ipc.open_file(source).num_record_batches
    with open_source(path) as source:
        source.seek(begin)
        found = check_stream(source).batches
        if expected is not None and found != expected:
            raise Refusal(f"it is damaged: it lists {expected:,} batches of rows, and {found:,} are there; {AGAIN}")
        source.seek(begin)
        with ipc.open_stream(source) as stream:
            return stream.read_all()


def _write_parquet(path: Path, content: Content) -> None:
    with open_source(path, "wb") as sink:
        content.frame().to_parquet(sink, engine="pyarrow", index=False)


def _write_feather(path: Path, content: Content) -> None:
    content.frame().to_feather(path)


NEEDS = ("pyarrow", "pandas")
FORMATS = (
    Format("parquet", (".parquet",), _parquet, NEEDS, write=_write_parquet, write_needs=NEEDS, folders=True),
    Format("feather", (".feather", ".arrow"), _arrow, NEEDS, write=_write_feather, write_needs=NEEDS),
)
