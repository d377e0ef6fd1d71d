"""Files that look odd and are whole: checks against damage must let them pass."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from commands import good
from needs import Optional
from scipy import sparse

from uca import _memory
from uca.cli.safe import as_cell, from_cell
from uca.io import FORMATS, Table, lines, parquet_text, read_table, write_table
from uca.io.writers import check_writable

anndata, openpyxl = Optional("anndata"), Optional("openpyxl")


def test_h5ad_with_a_none(tmp_path, rng):
    """As scanpy's log1p leaves it."""
    cells = anndata.AnnData(rng.random((20, 5)))
    cells.uns["log1p"] = {"base": None}
    cells.write_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(read_table(tmp_path / "cells.h5ad").values, cells.X)


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
def test_zarr_with_a_large_sparse_matrix_and_any_attribute(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    cells = anndata.AnnData(sparse.random(3000, 20, 0.01, format="csr", random_state=0))
    cells.obsp["connectivities"] = sparse.eye(3000, format="csr")
    cells.write_zarr(tmp_path / "cells.zarr")
    zarr.open_group(str(tmp_path / "cells.zarr"), mode="a").attrs["name"] = "pickled cucumbers"
    monkeypatch.setattr(_memory, "ALWAYS", 2.0**20)
    monkeypatch.setattr("uca._memory.available_bytes", lambda: 8e6)  # a dense 3 000 x 3 000 matrix takes 72 MB
    assert read_table(tmp_path / "cells.zarr").values.shape == (3000, 20)


def test_coloured_cells_far_away_take_no_memory(tmp_path):
    pytest.importorskip("python_calamine", reason="python-calamine is not installed")
    from openpyxl.styles import PatternFill

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["a", "b"])
    for i in range(9):
        sheet.append([i * 0.5, i * i * 0.25])
    for place in ("A1048576", "ZZ1"):
        sheet[place].fill = PatternFill("solid", fgColor="FFFF00")
    book.save(tmp_path / "book.xlsx")
    assert read_table(tmp_path / "book.xlsx").values.shape == (9, 2)


@pytest.mark.parametrize("n", [50, 3000])
def test_gzip_with_padding(tmp_path, rng, n):
    values = rng.random((n, 2))
    text = "a,b\n" + "".join(f"{x!r},{y!r}\n" for x, y in values.tolist())
    (tmp_path / "padded.csv.gz").write_bytes(gzip.compress(text.encode()) + bytes(512))
    np.testing.assert_array_equal(read_table(tmp_path / "padded.csv.gz").values, values)


def test_a_small_file_is_read_where_no_memory_seems_left(tmp_path, monkeypatch):
    (tmp_path / "small.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    monkeypatch.setattr(_memory, "available_bytes", lambda: 0.0)
    assert read_table(tmp_path / "small.csv.gz").values.tolist() == [[1, 2], [3, 4]]


def test_files_in_memory_count_as_free(tmp_path, monkeypatch):
    """Of a group whose 8 GB are full of files that were read."""
    for name in ("memory.max", "memory.current"):
        (tmp_path / name).write_text(str(8 << 30))
    (tmp_path / "memory.stat").write_text(f"anon 5\ninactive_file {6 << 30}\n")
    paths = _memory.Path
    monkeypatch.setattr(_memory, "Path", lambda place: tmp_path if place == "/sys/fs/cgroup" else paths(place))
    assert _memory._left_in_group() == [float(6 << 30)]


def test_a_header_of_r_does_not_hide_a_cut(tmp_path):
    whole = '"a","b","c"\n"r1",1.5,2.25,3.125\n"r2",5.125,6.375,7.5\n'
    (tmp_path / "whole.csv").write_text(whole)
    assert read_table(tmp_path / "whole.csv").values.tolist() == [[1.5, 2.25, 3.125], [5.125, 6.375, 7.5]]
    (tmp_path / "cut.csv").write_text(whole[: whole.index("75,7.5")])
    with pytest.raises(ValueError, match=r"cut\.csv is cut short: its last line, 3, ends after 3 of 4 cells"):
        read_table(tmp_path / "cut.csv")


def test_matrix_market_with_a_long_comment(tmp_path):
    text = "%%MatrixMarket matrix coordinate real general\n%" + "x" * 9000 + "\n%\n3 2 2\n1 1 5\n3 2 7\n"
    (tmp_path / "long.mtx").write_text(text)
    np.testing.assert_array_equal(read_table(tmp_path / "long.mtx").values.toarray(), [[5, 0], [0, 0], [0, 7]])


def test_a_measurement_with_one_odd_blank_is_no_id(tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["weight", "length"]).astype(str)
    frame.loc[7, "weight"] += "\u00a0"
    frame.to_csv(tmp_path / "blank.csv", index=False)
    table = read_table(tmp_path / "blank.csv")
    assert table.ids is None
    assert any("column 'weight' is set aside" in note for note in table.notes)


def test_more_text_than_an_array_of_pyarrow_holds(monkeypatch, rng):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import compute

    def full(*_):
        raise pyarrow.ArrowCapacityError("array cannot contain more than 2147483646 bytes")

    values, ids = rng.random((2000, 2)), [f"r{i}" for i in range(2000)]
    expected = "".join(lines.lines([ids], values))
    monkeypatch.setattr(compute, "binary_join_element_wise", full)
    assert "".join(lines.lines([ids], values)) == expected
    monkeypatch.setattr(lines, "MOST_CELLS", 100)
    assert "".join(lines.lines([ids], values)) == expected


@pytest.mark.parametrize("name", ["=x", "'=x", "''=x", "-5", "'-5", "'plain", "plain", "-s1", "+", "@me", ""])
def test_names_come_back_from_cells(name):
    assert from_cell(as_cell(name)) == name


def test_labels_of_ids_that_begin_with_an_apostrophe(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids, target = [f"'-s{i}" for i in range(30)], pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd"))
    pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd")).to_csv("b.csv", index=False)
    target.assign(id=ids).to_csv("t.csv", index=False)
    pd.DataFrame({"id": ids[::-1], "kind": ["x", "y"] * 15}).to_csv("l.csv", index=False)
    good("fit", "t.csv", "-b", "b.csv", "--labels", "l.csv", "-o", "o", "--no-report")
    assert pd.read_csv("o/scores.csv")["kind"].tolist() == ["y", "x"] * 15


def _possible(ending: str) -> bool:
    try:
        return check_writable(f"t{ending}") is not None
    except (ImportError, ValueError):
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="file names are bytes")
@pytest.mark.parametrize("name", ["t\udcff", "s3:t", "file:t", "größe"])
@pytest.mark.parametrize("ending", [ending for ending in FORMATS if _possible(ending)])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [5, 1500])  # few rows of text are read by pandas, many by pyarrow
def test_any_name_will_do(tmp_path, monkeypatch, ending, name, n):
    """Bytes that are no UTF-8, and names that look like those of other file systems."""
    monkeypatch.chdir(tmp_path)
    ids = np.array([f"m{i}" for i in range(n)], dtype=object)
    table = Table("t", np.random.default_rng(0).normal(size=(n, 3)), ("a", "b", "c"), ids)
    write_table(name + ending, table)
    np.testing.assert_allclose(read_table(name + ending).values, table.values, rtol=1e-12)


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_columns_of_every_kind(tmp_path, monkeypatch, ending):
    """What is measured before it is read is read as it is, also where all of it is measured."""
    pyarrow, parquet = Optional("pyarrow"), Optional("pyarrow.parquet")
    text = [f"v{i % 7}" if i % 5 else None for i in range(1000)]
    columns = {
        "text": pyarrow.array(text),
        "large": pyarrow.array(text, pyarrow.large_string()),
        "bytes": pyarrow.array([None if cell is None else cell.encode() for cell in text]),
        "fixed": pyarrow.array([b"abcd"] * 1000, pyarrow.binary(4)),
        "group.of": pyarrow.array(text).dictionary_encode(),
        "number": pyarrow.array([i % 3 for i in range(1000)]).dictionary_encode(),
        "list": pyarrow.array([["a", None]] * 1000),
        "struct": pyarrow.array([{"a": 1, "b": cell} for cell in text]),
        "none": pyarrow.nulls(1000),
        "whole": pyarrow.array(range(1000)),
        "half": pyarrow.array(np.ones(1000, np.float16)),
        "x": pyarrow.array(np.arange(1000.0)),
    }
    table, path = pyarrow.table(columns), tmp_path / f"t.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path, row_group_size=300)
    elif ending == "feather":
        Optional("pyarrow.feather").write_feather(table, path, compression="zstd", chunksize=300)
    else:
        with pyarrow.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table, max_chunksize=300)
    monkeypatch.setattr(parquet_text, "fits", lambda n_bytes: False)
    found = read_table(path)
    assert found.features is not None
    np.testing.assert_array_equal(found.values[:, found.features.index("x")], np.arange(1000))
    assert found.columns["group.of"].tolist() == ["" if cell is None else cell for cell in text]


@pytest.mark.parametrize(("shape", "entries"), [((60_000, 30), 90), ((36_601, 6_794_880), 70_000)])
def test_sparse_files_of_single_cells(tmp_path, shape, entries):
    """Few cells with few genes seen, and all barcodes of a kit: 1 in 100 with an entry is enough."""
    numbers = np.arange(entries)
    rows = np.column_stack([numbers % shape[0], numbers % shape[1], numbers % 7]) + 1
    text = "\n".join(" ".join(map(str, row)) for row in rows.tolist())
    path = tmp_path / "matrix.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate integer general\n{shape[0]} {shape[1]} {entries}\n{text}\n")
    assert read_table(path).values.shape == shape
