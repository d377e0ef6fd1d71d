"""Text by pyarrow: the same table as by pandas, cell by cell and bit by bit, or left to pandas."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")
pytest.importorskip("pyarrow", reason="pip install 'unique-component-analysis[io]'")

import pandas as pd

from uca.io import plain as plain_text
from uca.io import text
from uca.io.dialect import find_dialect
from uca.io.encodings import find_encoding
from uca.io.formats import Reading
from uca.io.plain import read_plain


@pytest.fixture(autouse=True)
def _few_rows_are_enough(monkeypatch):
    monkeypatch.setattr(plain_text, "FEWEST_ROWS", 0)


def both(path: Path, **options) -> tuple[pd.DataFrame | None, pd.DataFrame]:
    """What pyarrow reads (or None), and what pandas reads."""
    reading = Reading(**options)
    dialect = find_dialect(path, "csv", find_encoding(path).name)
    plain = read_plain(path, reading, find_encoding(path).name, dialect, reading.decimal_mark(dialect.decimal))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text, "read_plain", lambda *_: None)
        return plain, text.FORMATS[0].read(path, reading).frame


def write(folder: Path, content: str) -> Path:
    path = folder / "table.csv"
    path.write_bytes(content.encode())
    return path


ALIKE = {
    "numbers": "a,b\n1,2.5\n3,-4e-3\n",
    "ids and text": "id,kind,x\nm1,a,1.5\nm2,b,2\n",
    "missing words": "id,kind,x,y\nm1,NA,1.5,\nm2,b,NA,#N/A\nm3,n/a,2,3\n",
    "an empty column": "a,b,c\n1,,x\n2,,y\n",
    "whole numbers with gaps": "a,b\n1,2\n,3\n",
    "true and false": "a,b,c\n1,TRUE,true\n2,False,\n",
    "dates and times": "a,when,at\n1,2020-01-01,12:30\n2,2021-03-04,01:02:03\n",
    "quotes": '"id","x","say"\n"m1","1.5","a ""b"""\n"m2","NA","c,d"\n',
    "lines inside": 'id,x\n"m\n1",1.5\n"m 2",2\n',
    "quotes inside": 'id,x\nm"1,1.5\nm"2",2\n',
    "line ends of Windows": "a,b\r\n1,2\r\n3,4\r\n",
    "no line end": "a,b\n1,2\n3,4.25",
    "blank lines": "\n\na,b\n1,2\n\n3,4\n",
    "no name": ",a\nm1,1\nm2,2\n",
    "semicolons": "a;b\n1,5;2\n3;4,25\n",
    "tabs": "a\tb\n1\t2\n3\t4.5\n",
    "zeros before": "a,b\n007,1\n010,2\n",
    "spaces after numbers": "a,b\n1 ,2\n3, 4\n",
    "a mark of UTF-8": "\ufeffa,b\n1,2\n3,4\n",
    "letters": "größe,µ\n1,2\n3,4\n",
    "exponents": "a,b\n1e+05,1.5\n2e-05,2\n",
    "a limit": "id,x\nm1,1.5\nm2,<0.1\nm3,2\nm4,3\n",
}


@pytest.mark.parametrize("content", ALIKE.values(), ids=ALIKE)
def test_the_same_table(content, tmp_path):
    plain, expected = both(write(tmp_path, content))
    assert plain is not None
    pd.testing.assert_frame_equal(plain, expected, check_exact=True, check_index_type=False, check_column_type=False)


OTHERWISE = {
    "text after a space": "id,x\nm1,1\n m2,2\n",
    "a missing word after a space": "id,x\nm1,1\nm2, NA\n",
    "hexadecimal numbers": "a,b\n1,0x1F\n2,3\n",
    "infinite": "a,b\n1,INF\n2,3\n",
    "beyond the largest float": "a,b\n1,1e400\n2,3\n",
    "beyond the largest integer": "a,b\n1,123456789012345678901\n2,3\n",
    "beyond the largest integer, then a fraction": "a,b\n123456789012345678901,1\n2.5,3\n",
    "unsigned integers": "a,b\n1,18446744073709551615\n2,3\n",
    "signs": "a,b\n1,+2\n2,3\n",
    "short rows": "a,b,c\n1,2,3\n4,5\n",
    "names of rows without a head": "a,b\nm1,1,2\nm2,3,4\n",
    "a row of spaces": "a,b\n1,2\n   \n3,4\n",
    "another word for no number": "a,b\n1,NAN\n2,3\n",
    "one column": "a\n1\n2\n",
    "line ends of old Macs": "a,b\r1,2\r3,4\r",
    "a line end of old Macs": "a,b\n1,2\n\r,4\n5,6\n",
}


@pytest.mark.parametrize("content", OTHERWISE.values(), ids=OTHERWISE)
def test_other_rules_are_left_to_pandas(content, tmp_path):
    plain, _ = both(write(tmp_path, content))
    assert plain is None


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("a,b\n-999,2\n3,4\n", {"na": ["-999"]}),
        ('a,b\n"1,500",2\n3,4\n', {"thousands": ","}),
    ],
)
def test_options_that_are_left_to_pandas(content, options, tmp_path):
    plain, _ = both(write(tmp_path, content), **options)
    assert plain is None


def test_words_that_mean_missing_and_no_header(tmp_path):
    path = write(tmp_path, "a,b\nn.d.,2\n3,4\n")
    plain, expected = both(path, na=["n.d."])
    pd.testing.assert_frame_equal(plain, expected)
    path = write(tmp_path, "1,2\n3,4.5\n")
    plain, expected = both(path, header=False)
    pd.testing.assert_frame_equal(plain, expected, check_column_type=False)


def test_other_encodings_are_left_to_pandas(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("größe,b\n1,2\n3,4\n".encode("cp1252"))
    plain, expected = both(path)
    assert plain is None
    assert expected.columns[0] == "größe"


def test_numbers_are_the_same_bit_by_bit(tmp_path, rng):
    """200 000 numbers over 60 decades with 1 to 17 digits: as Python itself reads them."""
    numbers = rng.normal(size=200_000) * 10.0 ** rng.uniform(-30, 30, size=200_000)
    texts = [f"{x:.{d}g}" for x, d in zip(numbers, rng.integers(1, 18, size=len(numbers)), strict=True)]
    texts[:4] = ["0.5"] * 4  # a large number before the first fraction may be an integer for pandas
    lines = [",".join(texts[i : i + 4]) for i in range(0, len(texts), 4)]
    plain, _ = both(write(tmp_path, "\n".join(["a,b,c,d", *lines])))
    expected = np.array([float(cell) for cell in texts]).reshape(-1, 4)
    assert np.array_equal(plain.to_numpy().view(np.uint64), expected.view(np.uint64))


@pytest.mark.parametrize("late", ["x,2", "1.5,0x1F", "2020-01-01,3", "1.5,NA", "TRUE,4", "1,inf"])
@pytest.mark.parametrize("block", [1 << 10, 1 << 24])
def test_late_surprises_are_found(late, block, tmp_path, monkeypatch):
    """Types are looked for in the first rows; what comes later may change the reader, not the answer."""
    monkeypatch.setattr(plain_text, "SAMPLE", 1 << 10)
    monkeypatch.setattr(plain_text, "BLOCK", block)
    monkeypatch.setattr(plain_text, "ROWS", 1)
    path = write(tmp_path, "\n".join(["a,b", *["1,2"] * 2000, late, "3,4"]))
    found = text.FORMATS[0].read(path, Reading()).frame
    pd.testing.assert_frame_equal(found, both(path)[1], check_exact=True)


LONG = {
    "fractions": ("a,b", "{}.5,-{}e-3", ""),
    "ids, whole numbers and gaps": ("id,n,x,y", "m{},{},1.{},", "mx,,NA,2.5"),
    "words for missing values": ("a,b", "{}.25,{}.5", "NA,nan\nn/a,-nan\n,1.5"),
    "no number": ("a,b", "{}.25,{}.5", "NAN,1.5"),
    "text with missing words": ("kind,x", "k{},{}.5", "NA,1.5\nnull,\n,3.5"),
    "a blank line": ("a,b", "{}.5,{}.25", ""),
    "text from somewhere on": ("a,b", "{}.5,{}.25", "n.d.,1.5"),
    "fractions from somewhere on": ("a,b,c", "{},{},1.5", "1.5,2,2.5"),
    "quotes": ("id,x", "m{},{}.5", '"m,1",1.5\n"m\n2,3",2.5\n"m\n3.5",2.5'),
    "a quote": ("id,x", "m{},{}.5", 'm"1,1.5'),
    "short": ("a,b,c", "{}.5,{}.25,1.5", "1.5"),
    "long": ("a,b,c", "{}.5,{}.25,1.5", "1.5,2.5,3.5,4.5"),
    "a return": ("a,b", "{}.5,{}.25", "1.5\r2.5,3.5"),
    "signs": ("a,b", "{}.5,{}e+05", "+2.5,2"),
    "infinite": ("a,b", "{}.5,{}.25", "-inf,1.5"),
    "large whole numbers": ("a,b", "{}.5,{}e20", "1e25,1.5e22"),
}


def long_text(row: str, late: str, header: str, ends: str, last: str, first: str = "") -> str:
    rows = [row.replace("{}", str(i)) for i in range(400)]
    rows[300:300] = [late]
    return first + ends.join([header, *rows]) + last


@pytest.mark.parametrize("workers", ["1", "3"])
@pytest.mark.parametrize(("ends", "last"), [("\n", "\n"), ("\r\n", ""), ("\n", "\n\n\n")])
@pytest.mark.parametrize(("header", "row", "late"), LONG.values(), ids=LONG)
def test_pieces_make_the_same_table(header, row, late, ends, last, workers, tmp_path, monkeypatch):
    """A file in some twenty pieces: read as pandas reads it, or left to pandas."""
    monkeypatch.setenv("UCA_NUM_WORKERS", workers)
    for name, size in {"PIECE": 200, "ROWS": 0, "SAMPLE": 100, "BLOCK": 1000}.items():
        monkeypatch.setattr(plain_text, name, size)
    monkeypatch.setattr("uca.io.encodings.BLOCK", 64)
    path = tmp_path / "table.csv"
    path.write_bytes(long_text(row, late, header, ends, last).encode())
    options = Reading()
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(text, "read_plain", lambda *_: None)
            expected = text.FORMATS[0].read(path, options).frame
    except ValueError as error:
        with pytest.raises(type(error)):
            text.FORMATS[0].read(path, options)
        return
    found = text.FORMATS[0].read(path, options).frame
    pd.testing.assert_frame_equal(found, expected, check_exact=True, check_index_type=False, check_column_type=False)


@pytest.mark.parametrize("late", ["", "NA,1.5,k", ",2.5,k\n1.5,,"])
@pytest.mark.parametrize("first", ["", "\n\n", "\ufeff"])
@pytest.mark.parametrize("header", [True, False])
def test_pieces_are_what_is_read(header, first, late, tmp_path, monkeypatch):
    """Fractions beside one column of text, in pieces: the reader of whole files is not asked."""
    for name, size in {"PIECE": 200, "ROWS": 0, "SAMPLE": 100}.items():
        monkeypatch.setattr(plain_text, name, size)
    monkeypatch.setattr("uca.io.encodings.BLOCK", 64)
    monkeypatch.setattr(plain_text, "_whole", lambda *_: pytest.fail("read as a whole"))
    head = '"a",b,"c"' if header else "0.5,1.5,k"
    path = write(tmp_path, long_text("{}.5,{}.25,k{}", late or "1.5,2.5,k", head, "\n", "\n", first))
    plain, expected = both(path, header=header)
    assert len(plain) == (401 if header else 402) + late.count("\n")
    pd.testing.assert_frame_equal(plain, expected, check_exact=True, check_column_type=False)
    assert np.array_equal(plain.iloc[:, :2].isna(), expected.iloc[:, :2].isna())


@pytest.mark.parametrize("seed", range(40))
def test_tables_of_odd_cells(seed, tmp_path, monkeypatch):
    """Cells drawn from all that is known to be read in two ways: the same table, or pandas is asked."""
    rng = np.random.default_rng(seed)
    for name, size in {"PIECE": 60, "ROWS": 0, "SAMPLE": 50}.items():
        monkeypatch.setattr(plain_text, name, size)
    odd = ["", "NA", "nan", "NaN", "-nan", "NULL", "1", "+1", "1e5", "1e+5", "x", '"1.5"', '"a,b"', '"a\nb"', "true"]
    odd += [
        "1e400",
        "9" * 20,
        "007",
        "inf",
        " 2.5",
        "2.5 ",
        "0x1F",
        "1_000",
        "2020-01-01",
        '5"',
        "\r",
        "None",
        "NAN",
        "-",
    ]
    few = rng.choice(odd, size=2)
    cells = rng.choice(["0.5", "-2.25", "3.0e-7", "12345.678901234567"], size=(120, 3)).astype(object)
    for cell in few:
        places = rng.integers(0, 120, size=3), rng.integers(0, 3, size=3)
        cells[places] = cell
    ids = rng.random() < 0.5
    rows = [",".join([*([f"m{i}"] if ids else []), *row]) for i, row in enumerate(cells)]
    path = write(tmp_path, "\n".join(["id,a,b,c" if ids else "a,b,c", *rows, ""]))
    try:
        plain, expected = both(path)
    except ValueError:  # pandas cannot read it, nor do we
        return
    if plain is not None:
        pd.testing.assert_frame_equal(plain, expected, check_exact=True, check_index_type=False)


def test_compressed_and_wide(tmp_path, rng):
    values = rng.normal(size=(5, 3000))
    body = "\n".join(",".join(map(repr, row)) for row in values.tolist())
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(f"{','.join(f'g{i}' for i in range(3000))}\n{body}\n".encode()))
    plain, _ = both(path)
    np.testing.assert_array_equal(plain.to_numpy(), values)


def test_few_rows_are_left_to_pandas(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_text, "FEWEST_ROWS", 1000)
    assert both(write(tmp_path, "a,b\n" + "1,2.5\n" * 500))[0] is None
    assert both(write(tmp_path, "a,b\n" + "1,2.5\n" * 1500))[0] is not None
