"""Parquet, Feather and Arrow: tables with names and types."""

from __future__ import annotations

from pathlib import Path

from .._readable import check_unique
from .formats import Content, Format, Raw, Reading


def _parquet(path: Path, _: Reading) -> Raw:
    import pandas
    import pyarrow.parquet

    if path.is_file():  # and not a folder of them; the reader's own error would not say what to do
        check_unique(pyarrow.parquet.read_schema(path).names, "it")
    return Raw(str(path), frame=pandas.read_parquet(path, engine="pyarrow"))


def _arrow(path: Path, _: Reading) -> Raw:
    """Feather and Arrow files, and Arrow streams."""
    import pyarrow.feather
    import pyarrow.ipc

    try:
        table = pyarrow.feather.read_table(path)
    except pyarrow.ArrowInvalid:
        with pyarrow.ipc.open_stream(path) as stream:
            table = stream.read_all()
    return Raw(str(path), frame=table.to_pandas())


def _write_parquet(path: Path, content: Content) -> None:
    content.frame().to_parquet(path, engine="pyarrow", index=False)


def _write_feather(path: Path, content: Content) -> None:
    content.frame().to_feather(path)


NEEDS = ("pyarrow", "pandas")
FORMATS = (
    Format("parquet", (".parquet",), _parquet, NEEDS, write=_write_parquet, write_needs=NEEDS),
    Format("feather", (".feather", ".arrow"), _arrow, NEEDS, write=_write_feather, write_needs=NEEDS),
)
