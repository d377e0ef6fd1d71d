"""Where a rule of the readers begins and ends: the last case on one side of it, and the first on the other, by hand."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy import sparse

from uca._guard import Refusal
from uca._validation import count_not_finite
from uca.io import encodings, layout, lines, plain, sheets
from uca.io.advice import Hint, TableError
from uca.io.cells import find_not_numbers
from uca.io.codes import find_codes
from uca.io.dialect import MOST_LINES, _records, _separator, find_dialect, has_decimal_comma
from uca.io.encodings import find_encoding
from uca.io.excel import _number, _numbers
from uca.io.formats import Raw, Reading
from uca.io.market_header import check_market
from uca.io.matching import _drops, match_features, set_empty_aside
from uca.io.missing import handle_missing
from uca.io.table import Table, find_labels, read_table
from uca.io.text import check_header
from uca.io.turning import looks_turned, turn_where_needed


def _codes(column, n_features=3):
    """What is found where the first of several features is ``column`` and the others are no whole numbers."""
    n = len(column)
    rest = np.arange(n * (n_features - 1)).reshape(n, -1) + 0.5
    return find_codes(np.column_stack([column, rest]), [f"f{i}" for i in range(n_features)])


@pytest.mark.parametrize(("n", "few"), [(11, []), (12, [0])])
def test_few_rows_say_nothing_of_codes(n, few):
    assert _codes(np.arange(n) % 2) == (few, [], [])


@pytest.mark.parametrize(("n_values", "few"), [(1, []), (2, [0]), (10, [0]), (11, [])])
def test_codes_have_few_values_and_more_than_one(n_values, few):
    assert _codes(np.arange(60) % n_values) == (few, [], [])


@pytest.mark.parametrize(("n_values", "few"), [(4, [0]), (5, [])])
def test_codes_occur_four_times_on_average(n_values, few):
    assert _codes(np.arange(16) % n_values) == (few, [], [])


def test_missing_codes_are_no_value():
    column = np.append(np.tile(np.arange(10.0), 5), np.nan)
    assert _codes(column) == ([0], [], [])
    assert _codes(np.full(20, np.nan)) == ([], [], [])


@pytest.mark.parametrize(("n_features", "few"), [(1, []), (2, [0])])
def test_tables_of_whole_numbers_are_counts(n_features, few):
    """Half of the features may be codes; more than half are counts."""
    assert _codes(np.arange(20) % 2, n_features) == (few, [], [])


def test_columns_that_count_the_rows():
    assert _codes(np.arange(5, 25)) == ([], [0], [])
    assert _codes(np.arange(0, 40, 2)) == ([], [], [])


def _odd(cells):
    return find_not_numbers(pandas.Series(cells, dtype=object), "dose", range(2, len(cells) + 2), "line")


def test_most_values_are_numbers_where_words_are_told():
    assert _odd(["1", "2", "high", "low"]) is None  # half: plain text
    found = _odd(["1", "2", "3", None, "high", "low"])
    assert (found.n_odd, found.n_present) == (2, 5)
    assert found.told == "2 of 5 values are not numbers: 'high' (line 6), 'low' (line 7)"


@pytest.mark.parametrize(
    "column",
    [
        pandas.Series([True, False]),
        pandas.Series(["1", "2", "x"], dtype="category"),
        pandas.Series(pandas.to_datetime(["2020-01-01"])),
        pandas.Series(["1", "2", "x", True], dtype=object),
        pandas.Series(["1", "2", "x", (1,)], dtype=object),
    ],
    ids=["truth", "categories", "dates", "truth among text", "other among text"],
)
def test_columns_of_other_kinds_are_not_almost_numbers(column):
    assert find_not_numbers(column, "dose", range(len(column))) is None


@pytest.mark.parametrize(("n_words", "parameter"), [(8, "na"), (9, "drop")])
def test_few_words_are_called_missing_one_by_one(n_words, parameter):
    found = _odd([*(str(i) for i in range(20)), *(f"word{'abcdefghi'[i]}" for i in range(n_words))])
    assert [hint.parameter for hint in found.remedy] == [parameter]


def test_more_than_three_units_are_text():
    assert _odd(["1 mg", "2 ml", "3 mm"]).kinds == {"unit": ["1 mg", "2 ml", "3 mm"]}
    assert _odd(["1 mg", "2 ml", "3 mm", "4 Hz"]) is None


def test_a_decimal_comma_has_the_majority():
    assert has_decimal_comma(["1,5", "2,5", "1.5"])
    assert not has_decimal_comma(["1,5", "1.5"])
    assert not has_decimal_comma(["1,500", "2,500"])  # thousands, perhaps


def test_a_separator_occurs_equally_often_in_all_rows():
    assert _separator(["a,b;c", "1,5;2", "1,5;3"], "csv") == ";"
    assert _separator(["a,b,c;d", "1,2,3", "1,2,3"], "csv") == ","
    assert _separator(["a;b,c,d"], "csv") == ","  # one row alone: the mark that it has most of
    assert _separator(['"x;y";b', '"p";2'], "csv") == ";"  # quoted marks are text
    assert _separator(["a,b,c;d", "1,2,3;4"], "csv") == ";"  # two rows are enough
    assert _separator(["a\tb,c,d", "1,2,3"], "tsv") == "\t"
    assert _separator(["a\tb,c,d", "1,2,3"], "csv") == ","
    assert _separator(["a,b", "1,2"], "tsv") == ","


@pytest.mark.parametrize(
    ("text", "decimal"),
    [("1,5;2,5;x;y\n", ","), ("0.5;1.5;2.5\n1,5;x;y\n", ","), ("0,5;1,5;2,5\n1.5;x;y\n", "."), ("a;b\nx;y\n", ".")],
)
def test_names_say_nothing_of_the_decimal_mark_where_there_are_rows(tmp_path, text, decimal):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert find_dialect(path, "csv", "utf-8").decimal == decimal


@pytest.mark.parametrize(("n_more", "dropped"), [(1, ["x0"]), (3, ["x0", "x1", "x2"]), (4, None)])
def test_up_to_three_columns_too_many_are_offered_to_be_dropped(n_more, dropped):
    few = Table("a.csv", np.ones((2, 2)), ("a", "b"))
    more = Table("b.csv", np.ones((2, 2 + n_more)), ("a", "b", *(f"x{i}" for i in range(n_more))))
    assert _drops(more, few) == (() if dropped is None else (Hint("drop", (dropped,)),))
    assert _drops(few, few) == ()


def test_a_quotation_mark_alone_holds_no_more_than_a_hundred_lines():
    lines = ['5" nail\n', *["x\n"] * (MOST_LINES + 20)]
    first, second, *_ = _records(lines)
    assert first == (1, "".join(lines[:MOST_LINES]))
    assert second == (MOST_LINES + 1, "x\n")
    assert list(_records(['"a",b\n', "1,2\n"])) == [(1, '"a",b\n'), (2, "1,2\n")]
    assert list(_records(["\n", "a\n", "\n", '"b\n', "\n", 'c"\n'])) == [(2, "a\n"), (4, '"b\n\nc"\n')]


@pytest.mark.parametrize("shift", range(3))
def test_a_letter_of_two_bytes_may_cross_a_block(tmp_path, monkeypatch, shift):
    monkeypatch.setattr(encodings, "BLOCK", 4)
    path = tmp_path / "a.csv"
    path.write_bytes(b"x" * shift + "abcé,é\n1,2\n".encode())
    assert find_encoding(path).name == "utf-8"
    path.write_bytes(b"x" * shift + "abc,\u00e9".encode()[:-1])  # cut inside a letter
    assert find_encoding(path).name == "cp1252"


def test_the_example_of_an_encoding_is_one_cell(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("id;Größe;x\n1;2;3\n".encode("cp1252"))
    assert find_encoding(path).example == "Größe"
    path.write_bytes("Größe;x\n1;2\n".encode("cp1252"))
    assert find_encoding(path).example == "Größe"
    path.write_bytes(("a" * 50 + "ö" + "b" * 50 + "\n1\n").encode("cp1252"))
    assert find_encoding(path).example == "a" * 30 + "ö" + "b" * 29


def test_hexadecimal_numbers_are_seen_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("uca.io.encodings.BLOCK", 4)
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b0X1\n1,2\n")  # 0 | X
    assert layout.find_layout(path, 1).marks == {b"0x"}
    path.write_bytes(b"a,bx01\n1,2\n")
    assert layout.find_layout(path, 1).marks == set()


@pytest.mark.parametrize("block", [3, 64])
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("content", ["a,b\n1,2\n3,4", "a,b\r\n1,2\r\n\r\n", "\n\na\n\nb\n\n", "a,b"])
def test_pieces_are_the_file_without_its_last_line_ends(content, size, block, tmp_path, monkeypatch):
    monkeypatch.setattr("uca.io.encodings.BLOCK", block)
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    pieces = layout.find_layout(path, size).pieces
    parts = [content[piece.start : piece.end] for piece in pieces]
    assert "".join(parts) == content.rstrip("\r\n")
    assert all(part.endswith("\n") for part in parts[:-1])
    assert [piece.n_lines for piece in pieces] == [len(part.removesuffix("\n").split("\n")) for part in parts]
    assert [piece.line for piece in pieces] == list(np.cumsum([0, *(piece.n_lines for piece in pieces[:-1])]))


def test_lines_are_counted_and_quotes_found(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,"b"\n1,2\n3,4\n')
    assert (layout.find_layout(path, 1).n_lines, layout.find_layout(path, 1).last_quote) == (3, 4)


@pytest.mark.parametrize("block", [1, 2, 3, 64])
@pytest.mark.parametrize(
    ("content", "found"), [(b"a\r\nb\r\n", False), (b"a\rb\n", True), (b"a\r\r\nb", True), (b"a\nb\r", True)]
)
def test_line_ends_of_old_macs_are_seen_across_blocks(content, found, block, tmp_path, monkeypatch):
    monkeypatch.setattr("uca.io.encodings.BLOCK", block)
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert (layout.OLD_END in layout.find_layout(path, 1).marks) == found


def test_values_are_counted_where_their_sum_says_nothing():
    """A sum that overflows is of finite values; infinities of both signs have no sum."""
    large = Table("t", np.full((3, 2), 1e308))
    assert handle_missing({"target": large})["target"] is large
    assert count_not_finite(large.values) == (0, 0, None)
    both = np.array([[1.0, np.inf], [-np.inf, np.nan]])
    assert count_not_finite(both) == (1, 2, (0, 1))
    with pytest.raises(ValueError, match="t has 2 infinite values"):
        handle_missing({"target": Table("t", both)})


def test_blocks_hold_enough_rows():
    assert plain.block_bytes(100) == 1 << 22
    assert plain.block_bytes(1 << 20) == 1 << 26
    assert plain.block_bytes(1 << 28) == 1 << 30


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("007", None),
        ("0", 0.0),
        ("0.5", 0.5),
        ("-12", -12.0),
        ("+.5", 0.5),
        ("1_000", None),
        ("nan", None),
        ("1e3", 1e3),
    ],
)
def test_text_in_a_spreadsheet_that_is_a_number(text, number):
    assert _number(text, Reading()) == number


@pytest.mark.parametrize(("largest", "kind"), [(2**53 - 1, "i"), (2**53, "f")])
def test_whole_numbers_of_a_spreadsheet_are_integers_where_floats_hold_them(largest, kind):
    numbers, had_text = _numbers(np.array([1, float(largest)], dtype=object), Reading())
    assert numbers.dtype.kind == kind
    assert not had_text
    assert numbers[1] == largest


def test_missing_numbers_of_a_spreadsheet_make_floats():
    numbers, _ = _numbers(np.array([1, None], dtype=object), Reading())
    np.testing.assert_array_equal(numbers, [1.0, np.nan])


def _labelled(*columns):
    n = len(columns[0])
    return Table("a.csv", np.zeros((n, 1)), ("x",), None, {f"c{i}": np.array(c) for i, c in enumerate(columns)})


def _groups(n_groups, n):
    return [f"g{i % n_groups}" for i in range(n)]


@pytest.mark.parametrize(
    ("n_groups", "n", "found"),
    [(1, 10, None), (2, 10, "c0"), (5, 10, "c0"), (6, 10, None), (20, 100, "c0"), (21, 100, None), (2, 4, "c0")],
)
def test_labels_have_two_to_twenty_groups_of_two(n_groups, n, found):
    assert find_labels(_labelled(_groups(n_groups, n))) == found


def test_labels_are_the_only_column_or_have_a_name():
    two = _labelled(_groups(2, 8), _groups(2, 8))
    assert find_labels(two) is None
    named = Table("a.csv", two.values, ("x",), None, {"site": two.columns["c0"], "Cell type": two.columns["c1"]})
    assert find_labels(named) == "Cell type"


def test_tables_look_turned_by_two_names_and_by_more_than_columns_share():
    def ids(*names):
        return np.array(names, dtype=object)

    assert looks_turned(["s1", "s2"], ids("a", "b"), ["a", "b"], None)
    assert not looks_turned(["s1", "s2"], ids("a", "x"), ["a", "b"], None)  # one name is chance
    assert not looks_turned(["a", "b"], ids("a", "b"), ["a", "b"], None)  # as many columns in common
    assert looks_turned(["a", "s2"], ids("a", "b"), ["a", "b"], None)


def test_tables_are_turned_unless_columns_agree_more():
    def raw(rows, columns):
        return Raw("a.csv", frame=pandas.DataFrame({"": rows, **dict.fromkeys(columns, 1.5)}))

    def turned(raws):
        return ["transposed" in " ".join(one.notes) for one in turn_where_needed(raws)]

    upright, lying = raw(["s1", "s2"], ["a", "b", "c"]), raw(["a", "b", "c"], ["t1", "t2"])
    assert turned([upright, lying]) == [False, True]
    assert turned([lying, raw(["a", "b", "c"], ["u1", "u2"])]) == [True, True]
    assert turned([raw(["p", "q"], ["r"]), raw(["s", "t"], ["u"])]) == [True, True]  # names decide nothing


def _gapped(counts):
    values = np.ones((9, len(counts)))
    for column, count in enumerate(counts):
        values[:count, column] = np.nan
    return Table("a.csv", values, tuple(f"f{i}" for i in range(len(counts))))


def test_up_to_five_incomplete_columns_are_all_told():
    with pytest.raises(
        ValueError, match=r"has 7 missing values in 5 of 6 columns: 'f1' 3, 'f0' 1, 'f2' 1, 'f3' 1, 'f4' 1\. "
    ):
        handle_missing({"t": _gapped([1, 3, 1, 1, 1, 0])})
    with pytest.raises(ValueError, match=r"in 6 of 6 columns, most in 'f5' 4, 'f1' 3, 'f0' 1, 'f2' 1, 'f3' 1\. "):
        handle_missing({"t": _gapped([1, 3, 1, 1, 1, 4])})
    with pytest.raises(ValueError, match=r"has 1 missing value in 1 of 2 columns: 'f1' 1\. "):
        handle_missing({"t": _gapped([0, 1])})


def test_missing_values_of_a_sparse_table_are_counted_by_column():
    values = sparse.csr_matrix(np.array([[0.0, np.nan, 1.0], [np.nan, np.nan, 0.0], [1.0, 1.0, 0.0]]))
    with pytest.raises(ValueError, match=r"has 3 missing values in 2 of 3 columns: 'b' 2, 'a' 1\. "):
        handle_missing({"t": Table("a.npz", values, ("a", "b", "c"))})


def test_a_title_has_fewer_names_than_half_of_the_columns():
    check_header(["a", "b", "", ""], "it.csv")
    with pytest.raises(ValueError, match=r"has 1 name for 4 columns, the first 'Study 7': delete what is above"):
        check_header(["Study 7", "", "", ""], "it.csv")


@pytest.mark.parametrize("names", [["0", "1", "2"], ["1", "2", "3"]])
def test_names_that_programs_give_are_names(names):
    check_header(names, "it.csv")
    with pytest.raises(ValueError, match="holds numbers, not names"):
        check_header([*names, "7"], "it.csv")


def test_rows_are_numbered_as_an_editor_shows_them(tmp_path):
    """Blank lines above and a name of two lines: the word stands on line 6."""
    path = tmp_path / "a.csv"
    path.write_text('\nx,"two\nlines",z\n1,2.5,3.5\n2,2.5,4.5\n3,2.5,high\n4,3.5,1.5\n')
    table = read_table(path)
    assert table.spoiled["z"].rows == {"high": [6]}


@pytest.mark.parametrize(
    ("arrays", "features"),
    [
        ({"X": np.ones((2, 3)), "features": np.array(["a", "b", "c"])}, ("a", "b", "c")),
        ({"X": np.ones((2, 3))}, None),
        ({"X": np.ones((2, 3)), "features": np.array(["a", "b"])}, None),  # as many as rows: it describes these
        ({"X": np.ones((2, 3)), "features": np.arange(3)}, None),
        ({"Y": np.ones((2, 3)), "features": np.array(["a", "b", "c"])}, None),
    ],
    ids=["names", "none", "other length", "numbers", "other matrix"],
)
def test_names_in_an_archive_of_arrays_are_those_of_its_columns(tmp_path, arrays, features):
    np.savez(tmp_path / "a.npz", **arrays)
    assert read_table(tmp_path / "a.npz").features == features


# --- Matrix Market ------------------------------------------------------------------------------------------------------


def _market(tmp_path, text):
    path = tmp_path / "a.mtx"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return check_market(path, path.stat().st_size)


SPARSE, DENSE = "%%MatrixMarket matrix coordinate real general\n", "%%MatrixMarket matrix array real {}\n"


@pytest.mark.parametrize(
    ("text", "shape", "is_sparse", "values", "ends"),
    [
        (SPARSE + "2 3 1\n1 1 5\n", (2, 3), True, 1, True),
        (SPARSE + "2 3 1\n1 1 5", (2, 3), True, 1, False),
        (SPARSE + "% why\n\n%\n2 3 0\n", (2, 3), True, 0, True),
        (SPARSE + "%" + "x" * 9000 + "\n2 3 0\n", (2, 3), True, 0, True),
        (DENSE.format("general") + "2 3\n" + "1\n" * 6, (2, 3), False, 6, True),
        (DENSE.format("symmetric") + "3 3\n" + "1\n" * 6, (3, 3), False, 6, True),
        (DENSE.format("skew-symmetric") + "3 3\n" + "1\n" * 3, (3, 3), False, 3, True),
        (
            DENSE.format("general").upper().replace("MATRIXMARKET", "MatrixMarket") + "1 1\nnan\n",
            (1, 1),
            False,
            1,
            True,
        ),
    ],
)
def test_what_a_matrix_market_file_claims(tmp_path, text, shape, is_sparse, values, ends):
    found = _market(tmp_path, text)
    assert (found.shape, found.is_sparse, found.values, found.ends) == (shape, is_sparse, values, ends)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 1 1\n", "first line is not that of a Matrix Market file"),
        (SPARSE.replace("real", "complex") + "1 1 1\n1 1 1\n", "values of type complex, not real numbers"),
        (SPARSE + "2 3\n1 1 5\n", "numbers of rows, columns and entries is missing or damaged"),
        (DENSE.format("general") + "2 3 1\n1\n", "numbers of rows and columns is missing or damaged"),
        (SPARSE + f"{'9' * 19} 3 1\n1 1 5\n", "missing or damaged"),
        (SPARSE + "2 x 1\n1 1 5\n", "missing or damaged"),
        (SPARSE + "2 3 2\n1 1 5\n", "claims 2 values, and the 6 bytes that follow are too few"),
        (SPARSE + "2 3 2\n1 1 500\n", "claims 2 lines of values, and 1 are there"),
        (DENSE.format("general") + "2 3\n1\n1\n1\n1\n1\n", "claims 6 values, and the 10 bytes"),
        (SPARSE + "2 3 2\n1 1 5\n1 2 q\n", r"holds b'q' among its numbers, in the line '1 2 q'"),
        (SPARSE + "2 3 2\n1 1 5\n1 2 1e+\n", r"an exponent has no digits, in the line '1 2 1e\+'"),
    ],
)
def test_what_a_matrix_market_file_must_not_claim(tmp_path, text, told):
    with pytest.raises(Refusal, match=told):
        _market(tmp_path, text)


def test_the_shortest_lines_of_values_are_long_enough(tmp_path):
    """Two numbers and two marks for an entry of a pattern, one and one for a value; the last line needs no end."""
    assert _market(tmp_path, SPARSE.replace("real", "pattern") + "2 3 2\n1 1\n1 2").values == 2
    assert _market(tmp_path, DENSE.format("general") + "1 2\n1\n2").values == 2


# --- spreadsheets before they are read ----------------------------------------------------------------------------------


def _extent_of(text, name="xl/worksheets/sheet1.xml", size=None):
    data = text.encode()
    size = size or len(data)
    return sheets._extent(iter([data[i : i + size] for i in range(0, len(data), size)]), name)


ROW = '<sheetData><row r="7"><c r="B7"><v>1</v></c><c r="AB7" s="3"/></row></sheetData>'


@pytest.mark.parametrize("size", [None, 30])
def test_the_extent_of_an_excel_sheet_is_that_of_filled_cells(size):
    assert _extent_of(ROW, size=size) == (7, 2)  # colours alone take no memory
    assert _extent_of(ROW.replace('<c r="B7">', "<c>"), size=size) == (7, 28)  # a cell without a name
    for name in ("xl/styles.xml", "data/1.bin"):  # it may have any name, and is known by its content
        assert _extent_of(ROW, name=name, size=size) == (7, 2)
        assert _extent_of(ROW.replace("sheetData", "calcChain"), name=name, size=size) == (0, 0)
    assert _extent_of("no xml", name="xl/media/image.png") == (0, 0)


@pytest.mark.parametrize(("place", "row", "column"), [("A1048577", "1,048,577", "1"), ("XFE1", "1", "16,385")])
def test_cells_that_no_spreadsheet_has(place, row, column):
    text = f'<sheetData><row><c r="{place}"><v>1</v></c></row></sheetData>'
    with pytest.raises(Refusal, match=f"a cell in row {row}, column {column}, which no spreadsheet has"):
        _extent_of(text)
    assert _extent_of(text.replace("A1048577", "A1048576").replace("XFE1", "XFD1"))[0] > 0


def test_sheets_that_are_not_xml_to_their_end():
    with pytest.raises(Refusal, match=r"xl/workbook\.xml in it is damaged \(no element found"):
        _extent_of("<a><b></b>", name="xl/workbook.xml")
    with pytest.raises(Refusal, match="is damaged"):
        _extent_of(ROW + "<", size=20)
    with pytest.raises(Refusal, match="declares entities"):
        _extent_of("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", name="xl/workbook.xml")


def test_letters_of_columns_are_numbers():
    assert [sheets._column(letters) for letters in (b"A", b"Z", b"AA", b"az", b"XFD")] == [1, 26, 27, 52, 16384]
    assert [sheets._number(digits) for digits in (b"12", b"9" * 11, b"9" * 12)] == [12, 99_999_999_999, 10**12]


def _table(*rows):
    return f'<d xmlns:table="t" xmlns:office="o"><table:table>{"".join(rows)}</table:table></d>'


@pytest.mark.parametrize("size", [None, 25])
def test_the_extent_of_an_open_document_sheet(size):
    def extent(*rows):
        return _extent_of(_table(*rows), name="content.xml", size=size)

    filled, empty = '<table:table-cell office:value="1"/>', "<table:table-cell/>"
    assert extent(f"<table:table-row>{filled}{empty}</table:table-row>") == (1, 1)
    assert extent(f"<table:table-row>{empty}<table:table-cell>x</table:table-cell></table:table-row>") == (1, 2)
    many = '<table:table-row table:number-rows-repeated="5">{}</table:table-row>'
    assert extent(many.format(empty), many.format(filled)) == (10, 1)
    wide = '<table:table-cell table:number-columns-repeated="4"/>'
    assert extent(f"<table:table-row>{wide}{filled}</table:table-row>", many.format(wide)) == (1, 5)
    assert extent(
        many.format(filled), "</table:table><table:table>", f"<table:table-row>{filled}</table:table-row>"
    ) == (5, 1)


# --- lines of text ------------------------------------------------------------------------------------------------------


def test_lines_are_those_of_the_csv_module_in_any_number(monkeypatch):
    """Few rows, many rows and several blocks: all digits, whole numbers with a point, words with marks in quotes."""
    values = np.array([[1.0, 1e-5], [0.1, 1e10], [np.nan, -2.5], [1e-4, 123456789.25], [9999999999.5, 1e22]])
    names = ["a", 'b "c"', "d,e", "f", "g"]
    expected = ["a", '"b ""c"""', '"d,e"', "f", "g"]
    rows = [",".join([name, *map(repr, row)]) for name, row in zip(expected, values.tolist(), strict=True)]
    assert "".join(lines.lines([names], values)) == "\n".join(rows) + "\n"
    monkeypatch.setattr(lines, "FEWEST_ROWS", 1)
    assert "".join(lines.lines([names], values)) == "\n".join(rows) + "\n"
    plain = [",".join(["x", *map(repr, row)]) for row in values.tolist()]
    assert "".join(lines.lines([["x"] * 5], values)) == "\n".join(plain) + "\n"
    monkeypatch.setattr(lines, "MOST_CELLS", 4)
    pieces = list(lines.lines([["x"] * 5], values))
    assert [piece.count("\n") for piece in pieces] == [2, 2, 1]
    assert "".join(pieces) == "\n".join(plain) + "\n"
    assert "".join(lines.lines([["x;y"] * 5], values, ";")).startswith('"x;y";1.0;1e-05\n')
    assert lines.csv_text(["a", "b"], [[1, "x,y"]]) == 'a,b\n1,"x,y"\n'
    assert lines.csv_text([], [[1, 2]], "\t") == "1\t2\n"


# --- encodings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"PK\x03\x04rest", "is not text but an Excel or zip file: give it the ending it had, such as .xlsx"),
        (b"\x1f\x8brest", "is not text but compressed: call it .csv.gz or .tsv.gz"),
        (b"\xd0\xcf\x11\xe0", "is not text but an old Excel file: save it as .xlsx"),
        (b"PAR1", "is not text but a parquet file: call it .parquet"),
        (b"a,b\n1,\0\n", r"is not text: it holds bytes that do not occur in text \(NUL\)"),
        (b"a,b\n" + b"1,2\n" * 2000 + b"\0", r"is not text: it holds bytes that do not occur in text \(NUL\)"),
    ],
)
def test_files_that_are_no_text_are_told(tmp_path, data, told):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    with pytest.raises(TableError, match=told):
        find_encoding(path)


@pytest.mark.parametrize(
    ("data", "name", "example"),
    [
        (b"a,b\n", "utf-8", None),
        (b"\xef\xbb\xbfa,b\n", "utf-8-sig", None),
        ("a,b\n".encode("utf-16"), "utf-16", None),
        (b"\xfe\xff\0a", "utf-16", None),
        (b"a,\x93b\n", "cp1252", "\u201cb"),
        (b"a,\x81b\n", "latin-1", "\x81b"),
    ],
)
def test_encodings_are_told_by_their_bytes(tmp_path, data, name, example):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    found = find_encoding(path)
    assert (found.name, found.example) == (name, example)
    assert len(found.notes) == (example is not None)
    if example:
        assert f"was read as {name} (Windows, Western Europe), for example {example!r}" in found.notes[0]


# --- values that are not numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("odd", "kind", "advice"),
    [
        ("high", "word", "Correct them, or call them missing with "),
        ("<0.5", "limit", "Values beyond a limit of detection: put numbers in their place, or call them missing with "),
        ("5 mg", "unit", "With a unit: move the unit into the column's name, or leave the column out with "),
        ("1,500.5", "comma thousands", "With a comma between thousands: add "),
        ("1.500,5", "dot thousands", "With a point between thousands: add "),
        ("1,5", "decimal comma", "With a decimal comma: add "),
    ],
)
def test_each_kind_of_value_has_advice_of_its_own(odd, kind, advice):
    found = _odd(["1", "2", "3", odd])
    assert dict(found.kinds) == {kind: [odd]}
    assert "".join(part for part in found.advice.parts if isinstance(part, str)).startswith(advice)
    parameter = {"word": "na", "limit": "na", "unit": "drop", "decimal comma": "decimal"}.get(kind, "thousands")
    assert [hint.parameter for hint in found.remedy] == [parameter]


def test_a_comma_between_thousands_may_be_a_decimal_one():
    either = [part.parameter for part in _odd(["1", "2", "3", "1,500"]).advice.parts if isinstance(part, Hint)]
    assert either == ["thousands", "decimal"]
    sure = [part.parameter for part in _odd(["1", "2", "3", "1,500,000"]).advice.parts if isinstance(part, Hint)]
    assert sure == ["thousands"]
    both = _odd(["1", "2", "3", "1,500", "1,5"])
    assert dict(both.kinds) == {"decimal comma": ["1,5", "1,500"]}


def test_several_kinds_of_value_are_told_one_after_the_other():
    found = _odd(["1", "2", "3", "4", "high", "<1"])
    told = "".join(part for part in found.advice.parts if isinstance(part, str))
    assert told.startswith("Correct them, or call them missing with ; values beyond a limit")
    found = _odd([*map(str, range(9)), *["x"] * 7])
    assert "'x' (lines 11, 12, 13, 14, 15" in found.told
    assert found.n_odd == 7


# --- plain text by pyarrow ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", True), ("1e5", True), ("nan", True), (" 2 ", True), ("x", False), ("", False), ("1,5", False)],
)
def test_texts_that_python_takes_for_numbers(text, number):
    assert plain._is_number(text) is number


def test_whole_numbers_and_floats_are_told_apart():
    def is_float(values, signs=False):
        missing = values.count(None)
        return plain._is_float(np.array(values, dtype=float), missing, signs)  # None becomes NaN

    assert is_float([1.0, 2.0])
    assert not is_float([1.0, 2.0], signs=True)  # +1 is a whole number to one, and none to the other
    assert is_float([1.5, 2.0], signs=True)
    assert not is_float([2.0**63, 1.0])
    assert not is_float([-(2.0**63), 1.0])
    assert is_float([2.0**62, 1.0])
    assert is_float([1.5, 2.0**63])
    assert not is_float([2.0**63, 1.5])  # pandas begins with integers, and this one is too large
    assert is_float([None, 1.0])
    assert is_float([None, None])
    assert not is_float([float("nan"), 1.0])
    assert not is_float([float("inf"), 1.5])
    assert not is_float([float("-inf"), None, 1.5])
    assert not is_float([1.0] * 1500, signs=True)
    assert is_float([1.0] * 1500 + [0.5], signs=True)
    assert is_float([])


def test_text_is_what_nobody_takes_for_numbers():
    pyarrow = pytest.importorskip("pyarrow")

    def is_text(values, decimal="."):
        return plain._is_text(pyarrow.chunked_array([pyarrow.array(values, pyarrow.string())]), decimal)

    assert is_text(["a", "1"])
    assert not is_text(["1", "2", None])
    assert not is_text([" a", "b"])
    assert is_text(["1,5", "2"])
    assert not is_text(["1,5", "2"], ",")


# --- matching -----------------------------------------------------------------------------------------------------------


def _named(source, *names, ids=None):
    rows = 2 if ids is None else len(ids)
    return Table(source, np.arange(rows * len(names), dtype=float).reshape(rows, -1), names or None, ids)


def test_features_are_matched_by_name_in_any_order():
    like, table = _named("a.csv", "x", "y"), _named("b.csv", "y", "z", "x")
    found = match_features(table, like, extra=True)
    assert found.features == ("x", "y")
    np.testing.assert_array_equal(found.values, table.values[:, [2, 0]])
    assert found.notes == ("column that the model does not know left out: 'z'",)
    assert match_features(_named("b.csv", "y", "x"), like).notes == ()
    assert match_features(like, like) is like
    with pytest.raises(
        TableError, match=r"b\.csv has unknown column 'z': it must have the columns of numbers of a\.csv"
    ):
        match_features(table, like)
    with pytest.raises(TableError, match=r"b\.csv lacks column 'y' and has unknown column 'z': it must have"):
        match_features(_named("b.csv", "x", "z"), like)


def test_tables_without_names_are_matched_by_position():
    nameless = Table("b.npy", np.ones((4, 2)), None)
    assert match_features(nameless, _named("a.csv", "x", "y")).features == ("x", "y")
    assert match_features(_named("a.csv", "x", "y"), nameless).features == ("x", "y")
    with pytest.raises(
        TableError, match=r"b\.npy has 2 columns of numbers, a\.csv has 3: all must have the same"
    ) as caught:
        match_features(nameless, _named("a.csv", "x", "y", "z"))
    assert not caught.value.remedy
    for rows in (2, 3):  # as many rows as the other, or as the other has columns
        with pytest.raises(TableError, match="If features are rows, add") as caught:
            match_features(Table("b.npy", np.ones((rows, 2)), None), _named("a.csv", "x", "y", "z"))
        assert [hint.parameter for hint in caught.value.remedy] == ["transpose"]


def test_columns_without_any_value_are_set_aside():
    full = _named("a.csv", "x", "y", "z")
    gaps = Table("b.csv", np.array([[np.nan, np.nan, 1.0], [np.nan, np.nan, 2.0]]), ("x", "q", "z"))
    found = set_empty_aside({"a": full, "b": gaps})
    assert found["a"] is full
    assert found["b"].features == ("x", "z")  # x has numbers elsewhere
    assert found["b"].notes == ("column without any value left out: 'q'",)
    assert found["b"].columns["q"].tolist() == ["", ""]
    assert set_empty_aside({"a": full}) == {"a": full}
    with pytest.raises(TableError, match=r"b\.csv has no column of numbers: columns 'q', 'r' without any value"):
        set_empty_aside({"b": Table("b.csv", np.full((2, 2), np.nan), ("q", "r"))})
    one = Table("b.csv", np.array([[np.nan, 1.0], [3.0, 2.0]]), ("q", "z"))
    assert set_empty_aside({"b": one})["b"] is one
