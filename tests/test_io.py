"""Tables from files: every format gives the same numbers, and nothing is coerced in silence."""

from __future__ import annotations

import gzip
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from uca.io import (
    FORMATS,
    MISSING,
    Advice,
    Hint,
    Table,
    TableError,
    find_labels,
    format_of,
    handle_missing,
    match_features,
    read_table,
)

pytestmark = pytest.mark.usefixtures("each_reader")

pd = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")

FEATURES = ("weight", "length", "age")


@pytest.fixture
def frame(rng):
    table = pd.DataFrame(rng.normal(size=(6, 3)).round(3), columns=list(FEATURES))
    table.insert(0, "mouse", [f"m{i}" for i in range(6)])
    table["kind"] = ["a", "b"] * 3
    return table


def write(frame, path):
    """The table in the format of the path; matrices without names where the format has none."""
    values = frame[list(FEATURES)].to_numpy()
    kind = "".join(path.suffixes)
    if kind in (".csv", ".csv.gz"):
        frame.to_csv(path, index=False)
    elif kind in (".tsv", ".tsv.gz", ".txt", ".txt.gz"):
        frame.to_csv(path, index=False, sep="\t")
    elif kind in (".xlsx", ".xlsm", ".ods"):
        engine = "odf" if kind == ".ods" else "openpyxl"
        pytest.importorskip(engine)
        pytest.importorskip("python_calamine")
        frame.to_excel(path, index=False, engine=engine)
    elif kind == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind in (".feather", ".arrow"):
        pytest.importorskip("pyarrow")
        frame.to_feather(path)
    elif kind == ".npy":
        np.save(path, values)
    elif kind == ".npz":
        np.savez(path, X=values, kind=frame["kind"].to_numpy(dtype=str), ids=frame["mouse"].to_numpy(dtype=str))
    elif kind == ".mtx":
        mmwrite(path, sparse.coo_array(values))
    elif kind == ".mtx.gz":
        mmwrite(path.with_suffix(""), sparse.coo_array(values))
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    else:
        anndata = pytest.importorskip("anndata")
        obs = pd.DataFrame({"depth": 7.0}, index=pd.Index(frame["mouse"].tolist(), dtype=object))
        obs.insert(0, "kind", pd.Series(frame["kind"].tolist(), index=obs.index, dtype=object))
        data = anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=pd.Index(FEATURES, dtype=object)))
        (data.write_h5ad if kind == ".h5ad" else data.write_zarr)(path)
    return path


@pytest.mark.filterwarnings("ignore")  # of zarr and anndata about their own future
@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_numbers(frame, tmp_path, ending):
    table = read_table(write(frame, tmp_path / f"data{ending}"))
    values = table.values.toarray() if table.is_sparse else np.asarray(table.values)
    np.testing.assert_array_equal(values, frame[list(FEATURES)].to_numpy())
    assert table.is_sparse == ending.startswith(".mtx")
    if not ending.startswith((".npy", ".npz", ".mtx")):
        assert table.features == FEATURES
    if not ending.startswith((".npy", ".mtx")):
        assert table.ids.tolist() == frame["mouse"].tolist()
        assert table.columns["kind"].tolist() == frame["kind"].tolist()
        assert find_labels(table) == "kind"


@pytest.mark.filterwarnings("ignore")
def test_more_arrays(tmp_path, rng):
    values = sparse.csr_array(sparse.random(8, 5, 0.4, "csr", None, rng))
    sparse.save_npz(tmp_path / "s.npz", values)
    np.testing.assert_array_equal(read_table(tmp_path / "s.npz").values.toarray(), values.toarray())
    zarr = pytest.importorskip("zarr")
    zarr.save(str(tmp_path / "plain.zarr"), values.toarray())
    np.testing.assert_array_equal(read_table(tmp_path / "plain.zarr").values, values.toarray())
    np.savez(tmp_path / "two.npz", a=np.zeros((2, 2)), b=np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"one matrix of numbers, or one called X; it holds a \(2, 2\), b \(3, 3\)"):
        read_table(tmp_path / "two.npz")
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"array of shape \(2, 3, 4\); a table of rows x features is needed"):
        read_table(tmp_path / "cube.npy")
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read as npy"):
        read_table(tmp_path / "objects.npy")


def test_ten_x_matrix_is_turned(tmp_path):
    genes_by_cells = np.array([[1, 0], [0, 2], [3, 4]])
    mmwrite(tmp_path / "matrix.mtx", sparse.coo_array(genes_by_cells))
    (tmp_path / "barcodes.tsv").write_text("AAA\nCCC\n")
    (tmp_path / "features.tsv").write_text("g1\tx\ng2\ty\ng3\tz\n")
    table = read_table(tmp_path / "matrix.mtx")
    np.testing.assert_array_equal(table.values.toarray(), genes_by_cells.T)
    assert (table.features, table.ids.tolist()) == (("g1", "g2", "g3"), ["AAA", "CCC"])
    assert "the matrix was transposed" in table.notes[0]


def test_arrow_stream(frame, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(frame)
    with pyarrow.ipc.new_stream(str(tmp_path / "s.arrow"), table.schema) as stream:
        stream.write_table(table)
    assert read_table(tmp_path / "s.arrow").features == FEATURES


def test_unknown_ending_and_missing_file(tmp_path):
    with pytest.raises(
        ValueError, match=r"the format is recognised by the end of the file name, one of \.csv, \.csv\.gz"
    ):
        format_of("data.docx")
    with pytest.raises(FileNotFoundError, match="nothing.csv does not exist"):
        read_table(tmp_path / "nothing.csv")
    (tmp_path / "fake.parquet").write_text("no parquet")
    with pytest.raises(ValueError, match=r"fake.parquet cannot be read as parquet"):
        read_table(tmp_path / "fake.parquet")


class TestText:
    def put(self, tmp_path, text, name="t.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    def test_semicolons_and_decimal_commas(self, tmp_path):
        table = read_table(self.put(tmp_path, "id;a;b\nx;1,5;2\ny;-0,25;3\n"))
        np.testing.assert_array_equal(table.values, [[1.5, 2], [-0.25, 3]])

    def test_every_digit_is_read(self, tmp_path, rng):
        values = rng.normal(size=(200, 5)) * 10.0 ** rng.integers(-20, 20, (200, 5))
        pd.DataFrame(values, columns=list("abcde")).to_csv(tmp_path / "t.csv", index=False)
        np.testing.assert_array_equal(read_table(tmp_path / "t.csv").values, values)

    def test_bom_and_spaces(self, tmp_path):
        (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfa, b\n1, 2\n3, 4\n")
        assert read_table(tmp_path / "t.csv").features == ("a", "b")

    def test_first_row_of_numbers_is_not_taken_for_names(self, tmp_path):
        path = self.put(tmp_path, "1.5,2.5\n3,4\n5,6\n")
        with pytest.raises(ValueError, match=r"first row of .* holds numbers, not names.* read it with header=False$"):
            read_table(path)
        assert read_table(path, header=False).values.shape == (3, 2)
        assert read_table(self.put(tmp_path, "0,1\n3,4\n5,6\n")).values.shape == (2, 2)  # names that pandas gives

    def test_duplicated_names_are_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"t.csv cannot be read as csv: it has column 'a' more than once"):
            read_table(self.put(tmp_path, "a,b,a\n1,2,3\n"))

    def test_empty_and_ragged(self, tmp_path):
        with pytest.raises(ValueError, match="is empty"):
            read_table(self.put(tmp_path, ""))
        with pytest.raises(ValueError, match="has no rows"):
            read_table(self.put(tmp_path, "a,b\n"))
        with pytest.raises(ValueError, match=r"line 3 of .*t.csv has 4 cells, more than its 2 columns"):
            read_table(self.put(tmp_path, "a,b\n1,2\n1,2,3,4\n"))

    def test_r_row_names(self, tmp_path):
        written = read_table(self.put(tmp_path, '"","a"\n"r1",1\n"r2",2\n'))
        assert (written.features, written.ids.tolist()) == (("a",), ["r1", "r2"])


class TestColumns:
    def read(self, frame, tmp_path, **options):
        frame.to_csv(tmp_path / "t.csv", index=False)
        return read_table(tmp_path / "t.csv", **options)

    def test_text_among_numbers_is_reported_with_its_place(self, frame, tmp_path):
        frame["age"] = frame["age"].astype(str).astype(object)
        frame.loc[3, "age"] = "n.d."
        table = self.read(frame, tmp_path)
        assert table.features == ("weight", "length")
        told = "column 'age' is set aside: 1 of 6 values are not numbers: 'n.d.' (line 5)"
        assert any(told in note for note in table.notes)
        missing = self.read(frame, tmp_path, na=["n.d."])
        assert missing.features == FEATURES
        assert np.isnan(missing.values[3, 2])

    def test_true_and_false_are_no_numbers(self, frame, tmp_path):
        table = self.read(frame.assign(sick=[True, False] * 3), tmp_path)
        assert table.features == FEATURES
        assert table.columns["sick"].tolist() == ["True", "False"] * 3
        assert any("columns without numbers set aside: 'kind', 'sick'" in note for note in table.notes)

    def test_numeric_id_is_no_feature(self, frame, tmp_path):
        table = self.read(frame.drop(columns="mouse").assign(sample_id=range(100, 106)), tmp_path)
        assert table.features == FEATURES
        assert table.ids.tolist() == [str(i) for i in range(100, 106)]
        kept = self.read(frame.drop(columns="mouse").assign(sample_id=range(100, 106)), tmp_path, id="none")
        assert kept.features == (*FEATURES, "sample_id")
        assert kept.ids is None

    def test_repeated_numeric_id_is_pointed_out(self, frame, tmp_path):
        table = self.read(frame.assign(patient_id=[1, 1, 2, 2, 3, 3]), tmp_path)
        assert "patient_id" in table.features
        assert any("add drop=['patient_id']" in note for note in table.notes)

    @pytest.mark.parametrize("name", ["lipid", "acid", "Plasmid"])
    def test_words_that_end_in_id_are_features(self, frame, tmp_path, name):
        table = self.read(frame.drop(columns="mouse").assign(**{name: range(6)}), tmp_path)
        assert name in table.features

    def test_a_column_that_is_set_aside_may_be_dropped_too(self, tmp_path):
        frame = pd.DataFrame({"who": ["a", "b", "c"], "group": ["x", "y", "x"], "length": [1.0, 2.5, 3.0]})
        table = self.read(frame, tmp_path, id="who", aside=["group"], drop=["group", "who"])
        assert table.features == ("length",)
        assert list(table.columns["group"]) == ["x", "y", "x"]
        assert list(table.ids) == ["a", "b", "c"]

    def test_named_columns(self, frame, tmp_path):
        table = self.read(frame, tmp_path, aside=["age"], drop=["length"])
        assert table.features == ("weight",)
        assert "age" in table.columns
        with pytest.raises(ValueError, match=r"has no column 'wieght': did you mean 'weight'\?"):
            self.read(frame, tmp_path, drop=["wieght"])

    def test_no_numbers_at_all(self, frame, tmp_path):
        with pytest.raises(ValueError, match="has no column of numbers: .*'kind'"):
            self.read(frame[["kind", "mouse"]], tmp_path)

    def test_several_label_columns_are_not_guessed_between(self, frame, tmp_path):
        two = frame.assign(cage=["x", "y", "x", "y", "y", "x"])
        assert find_labels(self.read(two, tmp_path)) is None
        assert find_labels(self.read(two.assign(Genotype=two["cage"]), tmp_path)) == "Genotype"


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_nullable_columns_with_missing_values(frame, tmp_path, ending):
    n = len(frame)
    frame["kind"] = pd.array(["x", pd.NA, *["y"] * (n - 2)], dtype="string")
    frame["flag"] = pd.array([True, pd.NA, *[False] * (n - 2)], dtype="boolean")
    frame["day"] = pd.to_datetime(["2020-01-01", None, *["2020-01-02"] * (n - 2)])
    getattr(frame, f"to_{ending}")(tmp_path / f"t.{ending}")
    columns = read_table(tmp_path / f"t.{ending}").columns
    assert columns["kind"][:3].tolist() == ["x", "", "y"]
    assert columns["flag"][:3].tolist() == ["True", "", "False"]
    assert [day[:10] for day in columns["day"][:3]] == ["2020-01-01", "", "2020-01-02"]


def test_duplicated_columns_are_named(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pyarrow.table([pyarrow.array([1.0, 2.0])] * 3, names=["a", "b", "b"])
    parquet.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        with pytest.raises(ValueError, match=rf"{name} .*has column 'b' more than once: rename or drop"):
            read_table(tmp_path / name)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("ending", ["h5ad", "zarr"])
def test_repeated_genes_are_refused_dense_and_sparse(tmp_path, rng, kind, ending):
    """They were matched to the last one of the name where the matrix is sparse."""
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    cells = anndata.AnnData(kind(rng.random((9, 4))), var=pd.DataFrame(index=["c", "b", "a", "a"]))
    getattr(cells, f"write_{ending}")(tmp_path / f"t.{ending}")
    told = rf"t.{ending} has column 'a' more than once.*adata.var_names_make_unique\(\)"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises(TableError, match=told):
            read_table(tmp_path / f"t.{ending}")
    assert not [each for each in found if "not unique" in str(each.message)]
    assert read_table(tmp_path / f"t.{ending}", drop=["a"]).features == ("c", "b")
    assert len(read_table(tmp_path / f"t.{ending}", transpose=True)) == 4  # then they are rows


def test_repeated_names_of_an_archive_are_refused(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((3, 3)), features=["a", "b", "a"])
    with pytest.raises(TableError, match=r"t.npz has column 'a' more than once.*or leave them out with drop=\['a'\]$"):
        read_table(tmp_path / "t.npz")


class TestMatching:
    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
    def test_names_that_occur_twice_match_nothing(self, kind):
        twice = Table("twice.h5ad", kind(np.ones((2, 3))), ("a", "a", "b"))
        once = Table("once.h5ad", kind(np.ones((2, 2))), ("a", "b"))
        for table, like in ((twice, once), (once, twice)):
            with pytest.raises(TableError, match="twice.h5ad has column 'a' more than once"):
                match_features(table, like, extra=True)

    def test_by_name_in_any_order(self):
        like = Table("target.csv", np.zeros((1, 3)), FEATURES)
        table = Table("control.csv", np.array([[3.0, 1, 2]]), ("age", "weight", "length"))
        np.testing.assert_array_equal(match_features(table, like).values, [[1, 2, 3]])

    def test_mismatch_is_named(self):
        like = Table("target.csv", np.zeros((1, 2)), ("a", "b"), columns={"c": np.array(["x"])})
        lacking = Table("control.csv", np.zeros((1, 2)), ("a", "d"))
        with pytest.raises(
            ValueError,
            match=r"control.csv lacks column 'b' and has unknown column 'd'.*target.csv.*columns out with drop$",
        ):
            match_features(lacking, like)
        text = Table("control.csv", np.zeros((1, 3)), ("a", "b", "c"))
        with pytest.raises(ValueError, match=r"column 'c' holds numbers in control.csv but not in target.csv"):
            match_features(text, like)
        assert match_features(text, like, extra=True).features == ("a", "b")
        with pytest.raises(ValueError, match=r"control.npy has 3 columns of numbers, target.csv has 2"):
            match_features(Table("control.npy", np.zeros((1, 3))), like)


NAN = np.nan
VALUES = np.array([[1.0, NAN, 3], [2, 4, 8], [6, 5, NAN], [3, NAN, 1]])


class TestMissing:
    def tables(self, values=VALUES):
        labels = {"kind": np.array(list("abcd"), dtype=object)}
        target = Table("t.csv", values, FEATURES, np.array(list("wxyz"), dtype=object), labels)
        return {"target": target, "background": Table("b.csv", np.ones((2, 3)), FEATURES)}

    def test_error_counts_by_column(self):
        with pytest.raises(
            ValueError, match=r"t.csv \(target\) has 3 missing values in 2 of 3 columns: 'length' 2, 'age' 1"
        ):
            handle_missing(self.tables())
        many = np.full((9, 8), 0.0)
        for column in range(7):
            many[: column + 1, column] = NAN
        with pytest.raises(
            ValueError,
            match=r"has 28 missing values .* 7 of 8 .*, most in column 6 7, column 5 6, .*column 2 3\. Choose",
        ):
            handle_missing({"target": Table("t.npy", many)})

    @pytest.mark.parametrize(("how", "length", "age"), [("mean", 4.5, 4.0), ("median", 4.5, 3.0), ("zero", 0.0, 0.0)])
    def test_fill(self, how, length, age):
        target = handle_missing(self.tables(), how)["target"]
        np.testing.assert_array_equal(target.values, [[1, length, 3], [2, 4, 8], [6, 5, age], [3, length, 1]])
        assert "3 missing values were replaced" in target.notes[-1]
        assert np.isnan(VALUES).sum() == 3  # the input is as it was

    def test_drop_rows_keeps_ids_and_labels_in_step(self):
        values = VALUES.copy()
        values[0, 1] = 7
        target = handle_missing(self.tables(values), "drop-rows")["target"]
        np.testing.assert_array_equal(target.values, values[:2])
        assert (target.ids.tolist(), target.columns["kind"].tolist()) == (["w", "x"], ["a", "b"])

    def test_drop_columns_drops_from_all(self):
        tables = handle_missing(self.tables(), "drop-columns")
        assert tables["target"].features == tables["background"].features == ("weight",)
        assert "'length', 'age'" in tables["target"].notes[-1]

    def test_what_cannot_be_done(self):
        empty = VALUES.copy()
        empty[:, 1] = NAN
        with pytest.raises(ValueError, match=r"'length' of t.csv has no values at all: choose how='drop-columns'"):
            handle_missing(self.tables(empty), "mean")
        with pytest.raises(ValueError, match="t.csv has 1 complete rows"):
            handle_missing(self.tables(), "drop-rows")
        with pytest.raises(ValueError, match="t.csv has 1 infinite values"):
            handle_missing(self.tables(np.where(VALUES == 8, np.inf, VALUES)), "zero")
        with pytest.raises(ValueError, match="how must be one of 'error', 'mean'"):
            handle_missing(self.tables(), "guess")

    @pytest.mark.parametrize("how", ["zero", "drop-rows", "drop-columns"])
    def test_sparse_equals_dense(self, how):
        values = np.vstack([VALUES, [[0, 0, 5]]])
        dense = handle_missing({"t": Table("t", values)}, how)["t"].values
        thin = handle_missing({"t": Table("t", sparse.csr_array(values))}, how)["t"]
        assert thin.is_sparse
        np.testing.assert_array_equal(thin.values.toarray(), dense)
        with pytest.raises(ValueError, match=r"is sparse: choose how='zero'\|'drop-rows'"):
            handle_missing({"t": Table("t", sparse.csr_array(values))}, "mean")

    def test_choices_are_those_of_the_program(self):
        pytest.importorskip("typer")
        from uca.cli.options import Missing

        assert tuple(choice.value for choice in Missing) == MISSING


@pytest.mark.parametrize(("ending", "package"), [(".parquet", "pyarrow"), (".h5ad", "anndata"), (".zarr", "zarr")])
def test_missing_package_says_what_to_install(tmp_path, monkeypatch, ending, package):
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / f"t{ending}").touch()
    with pytest.raises(ImportError, match=rf"needs {package}: pip install 'unique-component-analysis\[io\]'"):
        read_table(tmp_path / f"t{ending}")


def test_every_ending_belongs_to_one_format():
    assert len(FORMATS) == sum(len(kind.endings) for kind in {kind.name: kind for kind in FORMATS.values()}.values())


class TestAdvice:
    def test_hints_are_fields(self):
        with pytest.raises(TableError) as error:
            handle_missing({"t": Table("t.csv", VALUES)})
        assert error.value.advice.parts[-1] == Hint("how", MISSING[1:])
        assert str(error.value).endswith(
            "Choose what to do: how='mean'|'median'|'zero'|'drop-rows'|'drop-columns'|'em'"
        )

    def test_advice_of_advice_and_another_spelling(self):
        inner = Advice("use ", Hint("drop", (["x"],)))
        outer = pickle.loads(pickle.dumps(Advice("no: ", inner)))
        assert outer == "no: use drop=['x']"
        assert outer.told(lambda hint: f"<{hint.parameter}>") == "no: use <drop>"
