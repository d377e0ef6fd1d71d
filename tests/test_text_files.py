"""Text as people export it: encodings, long headers, titles, marks in numbers."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from uca.io import TableError, read_table
from uca.io.dialect import SAMPLE, find_dialect

pytestmark = pytest.mark.usefixtures("each_reader")

pd = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")


def put(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


class TestEncodings:
    TEXT = "mouse,Größe (µm),b\nm1,1.5,2\nm2,3.5,4\n"

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_certain_ones_are_read_without_a_word(self, tmp_path, encoding):
        table = read_table(put(tmp_path, self.TEXT.encode(encoding)))
        assert table.features == ("Größe (µm)", "b")
        assert not any("UTF-8" in note for note in table.notes)

    def test_windows_is_assumed_and_said(self, tmp_path):
        table = read_table(put(tmp_path, self.TEXT.replace("µ", "€").encode("cp1252")))
        assert table.features == ("Größe (€m)", "b")
        told = "it is not UTF-8 and was read as cp1252 (Windows, Western Europe), for example 'Größe (€m)'"
        assert any(told in note for note in table.notes)

    def test_latin_1_where_windows_has_no_such_letter(self, tmp_path):
        table = read_table(put(tmp_path, b"mouse,\xe4\x81,b\nm1,1,2\nm2,3,4\n"))
        assert table.features == ("ä\x81", "b")
        assert any("read as latin-1" in note for note in table.notes)

    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
    def test_letters_far_down_and_across_blocks_are_seen(self, tmp_path, name, monkeypatch):
        monkeypatch.setattr("uca.io.encodings.BLOCK", 7)  # letters of two bytes fall on the ends of blocks
        rows = "".join(f"äöü{i},{i}\n" for i in range(20))
        pack = gzip.compress if name.endswith("gz") else bytes
        fine = read_table(put(tmp_path, pack(f"kind,a\n{rows}".encode()), name))
        assert fine.ids[3] == "äöü3"
        assert not any("UTF-8" in note for note in fine.notes)
        spoiled = f"kind,a\n{rows}".encode() + "é,21\n".encode("cp1252")
        table = read_table(put(tmp_path, pack(spoiled), name))
        assert any("read as cp1252" in note for note in table.notes)
        turned = "".join(f"{i},äöü{i}\n" for i in range(20))
        cut = put(tmp_path, pack(f"a,kind\n{turned}21,ä".encode()[:-1]), name)  # ends inside a letter
        assert any("read as cp1252" in note for note in read_table(cut).notes)

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (b"PK\x03\x04rest", "not text but an Excel or zip file: give it the ending it had"),
            (gzip.compress(b"a,b\n1,2\n", mtime=0), "compressed: call it .csv.gz"),
            (b"\xd0\xcf\x11\xe0old", "an old Excel file: save it as .xlsx"),
            (b"PAR1", "a parquet file"),
            (b"a,b\n\x00\x01", "is not text: it holds bytes that do not occur in text"),
        ],
    )
    def test_what_is_no_text_is_called_what_it_is(self, tmp_path, content, told):
        with pytest.raises(TableError, match=told):
            read_table(put(tmp_path, content))

    def test_broken_gzip(self, tmp_path):
        with pytest.raises(
            ValueError, match=r"t.csv.gz cannot be read as csv.gz: it is cut short .*: copy or download it again"
        ):
            read_table(put(tmp_path, gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "t.csv.gz"))


class TestLongHeaders:
    @pytest.mark.parametrize(("separator", "mark"), [(",", "."), (";", ","), ("\t", ",")])
    def test_header_and_rows_longer_than_the_sample(self, tmp_path, separator, mark):
        p = 12_000
        names = [f"feature{i}" for i in range(p)]
        values = np.arange(3 * p).reshape(3, p) / 4
        assert len(separator.join(names)) > SAMPLE
        lines = [separator.join(str(value).replace(".", mark) for value in row) for row in values.tolist()]
        path = put(tmp_path, "\n".join([separator.join(names), *lines]))
        table = read_table(path)
        assert table.features == tuple(names)
        np.testing.assert_array_equal(table.values, values)
        dialect = find_dialect(path, "csv", "utf-8")
        assert (dialect.separator, dialect.decimal) == (separator, mark)

    def test_work_does_not_grow_with_the_square_of_the_columns(self, tmp_path, monkeypatch):
        """Calls, not seconds: looking at each column by itself must not look at all the others."""
        from uca.io import columns

        asked = []
        plain = columns.looks_like_id
        monkeypatch.setattr(columns, "looks_like_id", lambda name: asked.append(name) or plain(name))
        for p in (200, 400):
            put(tmp_path, ",".join(f"x{i}" for i in range(p)) + "\n" + ",".join(["1.5"] * p) + "\n")
            asked.clear()
            read_table(tmp_path / "t.csv")
            assert len(asked) <= 2 * p

    def test_names_with_line_ends_and_quoted_separators(self, tmp_path):
        path = put(tmp_path, '"weight\n(g)";"a, b, c"\n1,5;2\nn.d.;3\n2;4\n')
        table = read_table(path)
        assert table.features == ("a, b, c",)
        assert table.spoiled["weight\n(g)"].rows == {"n.d.": [4]}  # the line an editor shows

    def test_a_lonely_quotation_mark_ends_somewhere(self, tmp_path):
        rows = "".join(f'5" tube {i},{i}\n' for i in range(301))
        assert find_dialect(put(tmp_path, f"what,a\n{rows}"), "csv", "utf-8").header == ("what", "a")


class TestTitlesAndBlanks:
    def test_a_title_above_the_names(self, tmp_path):
        for title in ("Experiment 12\n", "Experiment 12,,,,\n\n"):
            with pytest.raises(
                TableError, match=r"has 1 name for 5 columns, the first 'Experiment 12': delete what is above"
            ):
                read_table(put(tmp_path, f"{title}id,a,b,c,d\nx,1,2,3,4\ny,1,2,3,4\n"))

    def test_separators_at_the_ends_of_lines(self, tmp_path):
        table = read_table(put(tmp_path, "id;a;b;;\nx;1;2;;\ny;3;4;;\n"))
        assert table.features == ("a", "b")

    def test_txt_with_commas(self, tmp_path):
        assert read_table(put(tmp_path, "id,a,b\nx,1,2\n", "t.txt")).features == ("a", "b")
        assert read_table(put(tmp_path, "id\ta,x\tb\nx\t1\t2\n", "t.txt")).features == ("a,x", "b")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('a,b\n"150,000",1\n"1,234.5",2\n', {"thousands": ","}, [150000, 1234.5]),
        ("a;b\n1.150.000;1\n1.234,5;2\n", {"thousands": "."}, [1150000, 1234.5]),
        ('a,b\n"1,5",1\n"2,25",2\n', {"decimal": ","}, [1.5, 2.25]),
    ],
)
def test_marks_in_numbers(tmp_path, text, options, expected):
    path = put(tmp_path, text)
    assert "a" not in read_table(path).features
    np.testing.assert_array_equal(read_table(path, **options).values[:, 0], expected)


class TestCommas:
    """A comma between thousands must never be read as a decimal mark in silence: 1,612 beside 987 would be 1.612."""

    @pytest.mark.parametrize("separator", ["\t", ";"])
    def test_thousands_are_not_decimals(self, tmp_path, separator):
        path = put(tmp_path, f"x{separator}y\n1,612{separator}.5\n987{separator}1.5\n2,105{separator}2\n")
        table = read_table(path)
        assert table.features == ("y",)
        np.testing.assert_array_equal(table.values[:, 0], [0.5, 1.5, 2.0])
        assert table.spoiled["x"].remedy[0].parameter == "thousands"
        assert "decimal=',' if it is a decimal comma" in table.spoiled["x"].advice
        np.testing.assert_array_equal(read_table(path, thousands=",").values[:, 0], [1612, 987, 2105])

    def test_only_values_that_may_be_either_are_asked_about(self, tmp_path):
        path = put(tmp_path, "name;x;y\na;1,612;2\nb;2,105;3\n")
        assert read_table(path).features == ("y",)
        np.testing.assert_array_equal(read_table(path, decimal=",").values, [[1.612, 2], [2.105, 3]])

    @pytest.mark.parametrize("cell", ["0,612", "1,5", "1234,567", ",5", "1,5E-03"])
    def test_one_certain_decimal_comma_decides(self, tmp_path, cell):
        path = put(tmp_path, f"x;y\n1,612;{cell}\n2,105;{cell}\n")
        number = float(cell.replace(",", "."))
        np.testing.assert_array_equal(read_table(path).values, [[1.612, number], [2.105, number]])

    def test_a_list_with_a_comma_does_not_outvote_decimal_points(self, tmp_path):
        table = read_table(put(tmp_path, "exons\tx\ty\n1,5\t2.5\t3.5\n2,7\t4.5\t6.5\n"))
        assert table.features == ("x", "y")


class TestSeparators:
    def test_commas_in_names_and_in_numbers(self, tmp_path):
        names = read_table(put(tmp_path, "Height, cm;Weight, kg;Age, years\n1.5;2.5;3\n1.7;2.9;4\n"))
        assert names.features == ("Height, cm", "Weight, kg", "Age, years")
        numbers = read_table(put(tmp_path, "1,5;2,5;3,5\n4,5;5,5;6,5\n"), header=False)
        np.testing.assert_array_equal(numbers.values, [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])

    def test_a_semicolon_in_some_cells_separates_nothing(self, tmp_path):
        table = read_table(put(tmp_path, "protein,x,y\nP1;P2,1,2\nP3,3,4\n"))
        assert table.features == ("x", "y")

    def test_blanks_do_not_separate(self, tmp_path):
        with pytest.raises(
            TableError, match="has one column, 'a b c': columns are separated by commas, .* not by blanks"
        ):
            read_table(put(tmp_path, "a b c\n1 2 3\n4 5 6\n", "t.txt"))
