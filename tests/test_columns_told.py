"""What is said of columns: values that are not numbers, codes, empty columns, features as rows; and tables written."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from uca.io import (
    FORMATS,
    Hint,
    Table,
    TableError,
    check_writable,
    closest,
    handle_missing,
    match_features,
    read_raw,
    read_table,
    set_empty_aside,
    turn,
    turn_where_needed,
    write_table,
)
from uca.io.advice import joined
from uca.io.cells import find_not_numbers
from uca.io.codes import find_codes

pytestmark = pytest.mark.usefixtures("each_reader")

pd = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")


class TestNotNumbers:
    @pytest.mark.parametrize(
        ("value", "kind", "remedy"),
        [
            ("n.d.", "word", Hint("na", (["n.d."],))),
            ("<0.5", "limit", Hint("na", (["<0.5"],))),
            ("≥ 12,5 mg", "limit", Hint("na", (["≥ 12,5 mg"],))),
            ("150,000", "comma thousands", Hint("thousands", (",",))),
            ("1.150.000,5", "dot thousands", Hint("thousands", (".",))),
            ("12,75", "decimal comma", Hint("decimal", (",",))),
            ("12 mg", "unit", Hint("drop", (["dose"],))),
            ("5%", "unit", Hint("drop", (["dose"],))),
            ("12mg/l", "unit", Hint("drop", (["dose"],))),
        ],
    )
    def test_kinds_and_what_to_do(self, value, kind, remedy):
        column = pd.Series(["1", "-2.5e3", value, None, value, ".5"], dtype=object)
        found = find_not_numbers(column, "dose", range(2, 8), "line")
        assert dict(found.kinds) == {kind: [value]}
        assert found.remedy == (remedy,)
        assert found.told == f"2 of 5 values are not numbers: {value!r} (lines 4, 6)"
        assert str(remedy) in found.advice

    def test_all_values_may_be_spoiled(self):
        found = find_not_numbers(pd.Series(["1 mg", "2 mg", "3 mg"]), "dose", range(3))
        assert (found.n_odd, list(found.kinds)) == (3, ["unit"])

    def test_several_kinds(self):
        found = find_not_numbers(pd.Series(["1", "2", "3", "n.d.", "<5"]), "x", range(5))
        told = (
            "Correct them, or call them missing with na=['n.d.']; values beyond a limit of detection: put numbers in "
        )
        assert found.advice == f"{told}their place, or call them missing with na=['<5']"

    def test_a_thousand_or_one_and_a_half(self):
        found = find_not_numbers(pd.Series(["1,500", "2,75"]), "x", range(2))
        assert dict(found.kinds) == {"decimal comma": ["2,75", "1,500"]}

    def test_the_decimal_mark_of_the_file_counts(self):
        found = find_not_numbers(pd.Series(["1,5", "2,75", "n.d.", "<0,5"]), "x", range(4), decimal=",")
        assert dict(found.kinds) == {"word": ["n.d."], "limit": ["<0,5"]}

    @pytest.mark.parametrize(
        "values",
        [["a", "b", "1"], ["3A", "4B", "5C"], ["2020-01-01", "2020-01-02"], [True, "1"], ["1 a", "2 b", "3 c", "4 d"]],
    )
    def test_plain_text_is_left_alone(self, values):
        assert find_not_numbers(pd.Series(values, dtype=object), "x", range(len(values))) is None

    def test_many_words_are_not_to_be_typed(self):
        column = pd.Series([*map(str, range(20)), *(f"word{i}" for i in range(9))])
        found = find_not_numbers(column, "x", range(len(column)))
        assert found.remedy == (Hint("drop", (["x"],)),)
        assert "and 4 more" in found.told

    def test_a_measurement_with_a_word_is_no_id(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b\n1.5,1\n2.5,2\nn.d.,3\n3.5,4\n")
        table = read_table(tmp_path / "t.csv")
        assert table.ids is None
        assert table.spoiled["a"].rows == {"n.d.": [4]}

    def test_many_columns_have_one_note(self, tmp_path):
        (tmp_path / "t.csv").write_text(
            ",".join(f"x{i}" for i in range(9))
            + "\n"
            + "\n".join(",".join(["1"] * 8 + [str(i)]) for i in range(3))
            + "\n"
            + ",".join(["n.d."] * 8 + ["7"])
            + "\n"
        )
        notes = [note for note in read_table(tmp_path / "t.csv").notes if "set aside" in note]
        assert len(notes) == 6
        assert notes[-1].startswith("also set aside, for values that are not numbers: 'x5', 'x6', 'x7'")

    def test_numbers_held_as_text(self, tmp_path):
        pytest.importorskip("pyarrow")
        pd.DataFrame({"a": ["1", "2", "1"], "b": [1.0, 2, 3]}).to_parquet(tmp_path / "t.parquet")
        (note,) = read_table(tmp_path / "t.parquet").notes
        assert "Numbers that are held as text: store them as numbers, or leave the column out with drop=['a']" in note


class TestMismatchOfText:
    def tables(self, tmp_path, text):
        (tmp_path / "t.csv").write_text(text)
        return read_table(tmp_path / "t.csv"), Table("c.csv", np.zeros((2, 3)), ("a", "b", "c"))

    def test_all_columns_and_values_are_named_at_once(self, tmp_path):
        table, like = self.tables(tmp_path, "a,b,c\n1,2,3\nn.d.,<0.5,4\n3,2,5\n4,7,8\n")
        with pytest.raises(TableError) as error:
            match_features(table, like)
        told = str(error.value)
        assert told.startswith("columns 'a', 'b' hold numbers in c.csv but not in ")
        assert "'a': 1 of 4 values are not numbers: 'n.d.' (line 3)" in told
        assert "'b': 1 of 4 values are not numbers: '<0.5' (line 3). Values beyond a limit of detection" in told
        assert error.value.remedy == (Hint("na", (["n.d.", "<0.5"],)),)

    def test_plain_text(self, tmp_path):
        table, like = self.tables(tmp_path, "a,b,c\n1,x,3\n2,y,4\n5,x,6\n")
        with pytest.raises(TableError, match=r"column 'b' holds numbers in c.csv but not in .*or add drop=\['b'\]"):
            match_features(table, like)

    def test_hints_are_joined(self):
        hints = [Hint("na", (["a"],)), Hint("decimal", (",",)), Hint("na", (["a", "b"],)), Hint("decimal", (",",))]
        assert joined(hints) == (Hint("na", (["a", "b"],)), Hint("decimal", (",",)))


class TestCodes:
    def values(self, rng, n=40):
        cage, number = np.arange(n) % 6 + 1, np.arange(n) + 101
        return np.column_stack([rng.normal(size=(n, 4)), cage, number]), ("p", "q", "r", "s", "Cage", "Nr")

    def test_few_whole_numbers_and_numbers_that_count(self, rng):
        values, names = self.values(rng)
        assert find_codes(values, names) == ([4], [5], [])
        values[3, 4] = np.nan  # a gap makes them no measurement
        assert find_codes(values, names)[0] == [4]

    def test_notes_are_ready_to_paste(self, rng, tmp_path):
        values, names = self.values(rng)
        pd.DataFrame(values, columns=list(names)).to_csv(tmp_path / "t.csv", index=False)
        told = " ".join(read_table(tmp_path / "t.csv").notes)
        assert "column 'Cage' (1 to 6) holds whole numbers with few different values and is a feature" in told
        assert "if it is a code, add drop=['Cage']" in told
        assert "column 'Nr' (101 to 140) holds numbers that count the rows" in told

    def test_tables_of_counts_and_of_few_rows_are_left_alone(self, rng):
        counts = rng.poisson(2.0, size=(50, 6)).astype(float)
        assert find_codes(counts, tuple("abcdef")) == ([], [], [])
        values, names = self.values(rng, n=8)
        assert find_codes(values, names) == ([], [], [])

    def test_many_whole_numbers_and_constants_are_measurements(self, rng):
        values = np.column_stack([rng.normal(size=(60, 3)), rng.integers(0, 500, 60), np.ones(60)])
        assert find_codes(values, tuple("abcde")) == ([], [], [])


class TestEmptyColumns:
    def table(self, source, **columns):
        text = {name: c for name, c in columns.items() if isinstance(c[0], str)}
        numbers = {name: c for name, c in columns.items() if name not in text}
        return Table(source, np.array(list(numbers.values()), dtype=float).T, tuple(numbers), columns=text)

    def test_empty_everywhere_or_text_elsewhere_is_left_out(self):
        nan = np.nan
        tables = {
            "t": self.table("t.csv", a=[1, 2], comment=["x", "y"], none=[nan, nan]),
            "c": self.table("c.csv", a=[3, 4], comment=[nan, nan], none=[nan, nan], alone=[nan, nan]),
        }
        out = set_empty_aside(tables)
        assert [table.features for table in out.values()] == [("a",), ("a",)]
        assert out["c"].notes == ("columns without any value left out: 'comment', 'none', 'alone'",)
        assert match_features(out["c"], out["t"]).features == ("a",)

    def test_empty_in_one_and_numbers_in_the_other_is_called_empty(self):
        nan = np.nan
        tables = {"t": self.table("t.csv", a=[1, 2], b=[1, 2]), "c": self.table("c.csv", a=[1, 2], b=[nan, nan])}
        assert set_empty_aside(tables)["c"].features == ("a", "b")
        with pytest.raises(
            TableError, match=r"column 'b' of c.csv \(c\) is empty, with numbers in t.csv: fill in"
        ) as e:
            handle_missing(tables)
        assert e.value.remedy == (Hint("drop", (["b"],)),)
        assert handle_missing(tables, "drop-columns")["t"].features == ("a",)

    def test_nothing_left(self):
        with pytest.raises(TableError, match=r"t.csv has no column of numbers: column 'a' without any value"):
            set_empty_aside({"t": self.table("t.csv", a=[np.nan])})

    def test_empty_columns_of_a_file_are_features_until_compared(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b\n1,\n2,\n")
        assert read_table(tmp_path / "t.csv").features == ("a", "b")


class TestTurned:
    @pytest.fixture
    def frame(self, rng):
        return pd.DataFrame(rng.normal(size=(5, 3)), columns=["g1", "g2", "g3"], index=[f"s{i}" for i in range(5)])

    def put(self, frame, path, turned):
        (frame.T if turned else frame).rename_axis("name").to_csv(path)
        return path

    def test_reading_turned_is_reading(self, frame, tmp_path):
        straight = read_table(self.put(frame, tmp_path / "a.csv", False))
        turned = read_table(self.put(frame, tmp_path / "b.csv", True), transpose=True)
        assert turned.features == straight.features
        assert turned.ids.tolist() == straight.ids.tolist()
        np.testing.assert_array_equal(turned.values, straight.values)
        assert any("features are its rows: it was transposed, and has 5 rows and 3 columns" in n for n in turned.notes)

    def test_rows_of_text_become_columns_of_text(self, frame, tmp_path):
        kinds = frame.assign(kind=list("ababa"))
        table = read_table(self.put(kinds, tmp_path / "b.csv", True), transpose=True)
        np.testing.assert_array_equal(table.values, frame.to_numpy())
        assert table.columns["kind"].tolist() == list("ababa")

    def test_matrices(self, tmp_path, rng):
        values = rng.normal(size=(3, 5))
        np.save(tmp_path / "t.npy", values)
        np.testing.assert_array_equal(read_table(tmp_path / "t.npy", transpose=True).values, values.T)
        np.savez(tmp_path / "t.npz", X=values, ids=np.array(["a", "b", "c"]))
        assert read_table(tmp_path / "t.npz", transpose=True).features == ("a", "b", "c")

    def test_feature_named_twice(self, tmp_path):
        (tmp_path / "t.csv").write_text("gene,s1,s2\ng1,1,2\ng1,3,4\n")
        with pytest.raises(ValueError, match="first column, which names the features, has column 'g1' more than once"):
            turn(read_raw(tmp_path / "t.csv"))

    @pytest.mark.parametrize(("one", "other"), [(True, True), (True, False), (False, True), (False, False)])
    def test_names_that_tables_share_are_features(self, frame, tmp_path, one, other):
        more = frame.set_axis([f"c{i}" for i in range(5)]) + 1
        raws = [
            read_raw(self.put(frame, tmp_path / "a.csv", one)),
            read_raw(self.put(more, tmp_path / "b.csv", other)),
        ]
        out = turn_where_needed(raws)
        assert [list(raw.names)[1:] for raw in out] == [["g1", "g2", "g3"]] * 2
        assert list(turn_where_needed(raws[:1], ["g1", "g2", "g3"])[0].names)[1:] == ["g1", "g2", "g3"]

    def test_is_suggested(self, frame, tmp_path):
        more = frame.set_axis([f"c{i}" for i in range(5)])
        straight = read_table(self.put(frame, tmp_path / "a.csv", False))
        turned = read_table(self.put(frame, tmp_path / "at.csv", True))
        other = read_table(self.put(more, tmp_path / "bt.csv", True))
        text = r"none in common. But 'g1' and 2 more columns of .*a.csv are rows of .*bt.csv: to transpose it, add transpose"
        with pytest.raises(TableError, match=text) as error:
            match_features(other, straight)
        assert error.value.remedy == (Hint("transpose", (True,)),)
        with pytest.raises(TableError, match="But both have a row 'g1', and 2 more in common: if features are rows"):
            match_features(other, turned)
        unknown = Table("x.csv", np.zeros((2, 88)), tuple(f"u{i}" for i in range(88)))
        with pytest.raises(TableError, match=r"x.csv has 88 columns .*'u0', .*or if features are rows and not columns"):
            match_features(unknown, straight)
        with pytest.raises(
            TableError, match=r"has 5 columns of numbers, .* has 3.* If features are rows, add transpose"
        ):
            match_features(Table("x.npy", np.zeros((3, 5))), Table("y.npy", np.zeros((9, 3))))


WRITTEN = [ending for ending, kind in FORMATS.items() if kind.write is not None]


@pytest.mark.filterwarnings("ignore")  # of zarr and anndata about their own future
@pytest.mark.parametrize("ending", WRITTEN)
def test_what_is_written_is_read_again(tmp_path, rng, ending):
    values = rng.normal(size=(4, 2))
    labels = {"kind": np.array(list("abab"), dtype=object)}
    table = Table("scores", values, ("UC1", "UC2"), np.array(["m1", "m2", "m3", "m4"], dtype=object), labels)
    path = tmp_path / f"out{ending}"
    for _ in range(2):  # a second time in the place of the first
        try:
            write_table(path, table)
        except ImportError as error:
            pytest.skip(str(error))
    back = read_table(path)
    kept = back.values.toarray() if sparse.issparse(back.values) else back.values
    # Spreadsheets hold 15 to 17 digits; all others every one.
    np.testing.assert_allclose(kept, values, rtol=1e-14 if ending in (".xlsx", ".ods") else 0)
    if not ending.startswith((".npy", ".mtx")):
        assert back.features == ("UC1", "UC2")
        assert back.ids.tolist() == ["m1", "m2", "m3", "m4"]
        assert back.columns["kind"].tolist() == list("abab")
    assert [path.name for path in tmp_path.iterdir()] == [f"out{ending}"]


def test_files_are_what_their_names_say(tmp_path):
    """The first bytes of a file, which other programs look at."""
    begins = {
        ".xlsx": b"PK",
        ".parquet": b"PAR1",
        ".npy": b"\x93NUMPY",
        ".csv.gz": b"\x1f\x8b",
        ".mtx": b"%%MatrixMarket",
    }
    for ending, start in begins.items():
        pytest.importorskip("pyarrow")
        pytest.importorskip("openpyxl")
        write_table(tmp_path / f"t{ending}", Table("t", np.eye(2), ("a", "b")))
        assert (tmp_path / f"t{ending}").read_bytes().startswith(start)


def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch):
    for name in ("t.docx", "t", "t.xlsm"):
        with pytest.raises(
            ValueError, match=rf"{name}: the format is taken from the end of the file name; choose one of"
        ):
            check_writable(name)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(
        ImportError, match=r"writing xlsx needs openpyxl: pip install 'unique-component-analysis\[excel\]'"
    ):
        check_writable("t.xlsx")

    class Broken(Exception):
        pass

    def write(path, content):
        path.write_text("half")
        raise Broken

    monkeypatch.setattr("uca.io.text._write", write)
    monkeypatch.setitem(FORMATS, ".csv", FORMATS[".csv"].__class__("csv", (".csv",), FORMATS[".csv"].read, write=write))
    (tmp_path / "t.csv").write_text("old")
    with pytest.raises(Broken):
        write_table(tmp_path / "t.csv", Table("t", np.eye(2)))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("t.csv", "old")]


def test_closest_name():
    assert closest("Respnder", ["gene1", "Responder"]) == "Responder"
    assert closest("RESPONDER", ["gene1", "Responder"]) == "Responder"
    assert closest("xyz", ["gene1", "Responder"]) is None


class TestNoNumbers:
    def test_a_row_of_text_in_a_turned_table(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("feature,s1,s2,s3\ngene1,1.5,2,3\ngene2,2,4,6.5\ngene3,1,1,2\nresponse,yes,no,yes\n")
        with pytest.raises(
            TableError, match=r"3 columns have text in line 5 \('yes', 'no'\). If features are rows"
        ) as told:
            read_table(path)
        assert told.value.remedy == (Hint("transpose", (True,)),)
        assert read_table(path, transpose=True).features == ("gene1", "gene2", "gene3")

    def test_one_word_may_be_a_failed_sample(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("id,x,y\na,1.5,2\nb,2,4\nc,1,1\nd,n.d.,n.d.\n")
        with pytest.raises(TableError, match="add transpose=True; if the word means missing, add na=") as told:
            read_table(path)
        assert told.value.remedy == (Hint("na", (["n.d."],)),)

    def test_reasons_are_told_apart(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text('id,x,y,kind\na,"1,500","2,500",u\nb,"1,200","2,000",v\nc,"1,800","3,000",u\n')
        with pytest.raises(
            TableError, match=r"no column of numbers: .*; column 'x' is set aside: .*; .*'kind'"
        ) as told:
            read_table(path)
        assert told.value.remedy == (Hint("thousands", (",",)),)


def test_em_names_an_empty_column_and_the_file():
    tables = {
        "target": Table("t.csv", np.array([[1.0, np.nan], [2.0, np.nan]]), ("x", "y")),
        "background c": Table("c.csv", np.array([[1.0, 2.0], [2.0, np.nan]]), ("x", "y")),
    }
    with pytest.raises(TableError, match=r"'y' of t.csv \(target\) is empty, with numbers in c.csv") as told:
        handle_missing(tables, "em")
    assert told.value.remedy == (Hint("drop", (["y"],)),)
