"""Spreadsheets: the same numbers as text, one sheet of several, cells as laboratories fill them."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import pytest

from uca.io import TableError, locate, read_table

pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")
openpyxl = pytest.importorskip("openpyxl", reason="pip install 'unique-component-analysis[excel]'")
pytest.importorskip("python_calamine", reason="pip install 'unique-component-analysis[excel]'")


@pytest.fixture(params=["calamine", "openpyxl"])
def engine(request, monkeypatch):
    """Both readers; python-calamine is taken where it is installed."""
    if request.param == "openpyxl":
        from uca.io import excel, readers

        def without(name):
            return None if name == "python_calamine" else object()

        monkeypatch.setattr(excel, "find_spec", without)
        monkeypatch.setattr(readers, "find_spec", without)


def book(path, **sheets):
    """A file with sheets of rows of cells."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


ROWS = [["mouse", "weight", "length", "kind"], ["m1", 20.5, 9, "a"], ["m2", 21, 8, "b"], ["m3", 1e-300, 7, "a"]]


@pytest.mark.usefixtures("engine")
class TestCells:
    def test_numbers_names_ids_and_text(self, tmp_path):
        table = read_table(book(tmp_path / "t.xlsx", Data=ROWS))
        assert (table.features, table.ids.tolist()) == (("weight", "length"), ["m1", "m2", "m3"])
        np.testing.assert_array_equal(table.values, [[20.5, 9], [21, 8], [1e-300, 7]])
        assert table.columns["kind"].tolist() == ["a", "b", "a"]

    def test_missing_cells_words_and_failed_formulas(self, tmp_path):
        rows = [["a", "b", "c"], [1, None, "#DIV/0!"], ["NA", 2, 3], [3, "k.A.", 4]]
        table = read_table(book(tmp_path / "t.xlsx", Data=rows), na=["k.A."])
        nan = np.nan
        np.testing.assert_array_equal(table.values, [[1, nan, nan], [nan, 2, 3], [3, nan, 4]])

    def test_values_that_are_not_numbers_are_named_by_sheet_row(self, tmp_path):
        rows = [[], ["a", "b"], [1, 2], [], ["n.d.", 3], [4, 5], [6, 7]]
        table = read_table(book(tmp_path / "t.xlsx", Data=rows))
        assert table.spoiled["a"].rows == {"n.d.": [5]}
        assert table.spoiled["a"].told == "1 of 4 values are not numbers: 'n.d.' (row 5)"

    def test_numbers_stored_as_text_are_read_and_told_of(self, tmp_path):
        rows = [["a", "b", "zip"], ["1.5", 2, "01234"], [" -2e3", 3, "00501"], [None, 4, "10115"]]
        table = read_table(book(tmp_path / "t.xlsx", Data=rows), id="none")
        np.testing.assert_array_equal(table.values[:, 0], [1.5, -2000, np.nan])
        assert any("stored as text were read as numbers: column 'a'" in note for note in table.notes)
        assert "zip" in table.columns  # leading zeros are codes

    def test_marks(self, tmp_path):
        rows = [["a", "b"], ["1.150,5", 2], ["1,5", 3]]
        path = book(tmp_path / "t.xlsx", Data=rows)
        np.testing.assert_array_equal(read_table(path, thousands=".").values[:, 0], [1150.5, 1.5])

    def test_dates_are_no_numbers_and_as_names_are_told_of(self, tmp_path):
        day = datetime.datetime(2021, 9, 2)
        table = read_table(book(tmp_path / "t.xlsx", Data=[["when", day, "b"], [day, 1, 2], [day, 3, 4]]))
        assert table.features[1] == "b"
        assert "when" in table.columns
        assert any("names that the spreadsheet holds as dates: 2021-09-02" in note for note in table.notes)

    def test_true_and_false(self, tmp_path):
        table = read_table(book(tmp_path / "t.xlsx", Data=[["sick", "b"], [True, 1], [False, 2]]))
        assert table.features == ("b",)

    def test_empty_columns_and_the_edge_of_the_sheet(self, tmp_path):
        table = read_table(book(tmp_path / "t.xlsx", Data=[["a", None, "b"], [1, None, 2], [3, None, 4, None]]))
        assert table.features == ("a", "b")

    def test_title_above_the_names(self, tmp_path):
        rows = [["Experiment 12"], [], *ROWS]
        with pytest.raises(TableError, match=r"first row of sheet 'Data' of .* has 1 name for 4 columns.*delete"):
            read_table(book(tmp_path / "t.xlsx", Data=rows))

    def test_without_names(self, tmp_path):
        path = book(tmp_path / "t.xlsx", Data=[[1.5, 2], [3, 4]])
        with pytest.raises(TableError, match="first row of sheet 'Data' .* holds numbers, not names"):
            read_table(path)
        np.testing.assert_array_equal(read_table(path, header=False).values, [[1.5, 2], [3, 4]])

    def test_twice_the_same_name(self, tmp_path):
        with pytest.raises(ValueError, match="it has column 'a' more than once"):
            read_table(book(tmp_path / "t.xlsx", Data=[["a", "a"], [1, 2]]))


@pytest.mark.usefixtures("engine")
class TestSheets:
    def path(self, tmp_path):
        return book(
            tmp_path / "s.xlsx", Empty=[], Treated=ROWS, Controls=[ROWS[0], ["c1", 1, 2, "x"], ["c2", 3, 4, "y"]]
        )

    def test_the_first_that_holds_something_and_a_note(self, tmp_path):
        table = read_table(self.path(tmp_path))
        assert table.ids[0] == "m1"
        assert any(
            "sheet 'Treated' is read, of 'Empty', 'Treated', 'Controls'; name another as" in n for n in table.notes
        )

    def test_by_name(self, tmp_path):
        table = read_table(f"{self.path(tmp_path)}:Controls")
        assert table.ids.tolist() == ["c1", "c2"]
        assert table.source.endswith("s.xlsx:Controls")

    def test_wrong_names(self, tmp_path):
        with pytest.raises(
            TableError, match=r"has no sheet 'control': it has 'Empty', .*did you mean '.*s.xlsx:Controls'"
        ):
            read_table(f"{self.path(tmp_path)}:control")
        with pytest.raises(TableError, match="sheet 'Empty' of .* is empty"):
            read_table(f"{self.path(tmp_path)}:Empty")


def test_place_of_a_sheet(tmp_path):
    assert str(locate("C:/data/a b.xlsx:My sheet")) == "C:/data/a b.xlsx:My sheet"
    assert locate("C:/data/a b.xlsx:My sheet").sheet == "My sheet"
    assert locate("a.csv:x").sheet is None
    (tmp_path / "a.ods:x").touch()
    assert locate(tmp_path / "a.ods:x").sheet is None  # a file that is called so


def test_not_a_spreadsheet(tmp_path):
    (tmp_path / "t.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"t.xlsx is not a spreadsheet, .*: if it is text, call it .csv"):
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match=r"t.xls: this is the old format of Excel; save it as .xlsx"):
        read_table(tmp_path / "t.xls")


def test_missing_packages_are_named(tmp_path, monkeypatch):
    from uca.io import readers

    monkeypatch.setattr(readers, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "t.xlsx").touch()
    with pytest.raises(ImportError, match=r"needs python-calamine: pip install 'unique-component-analysis\[excel\]'"):
        read_table(tmp_path / "t.xlsx")
