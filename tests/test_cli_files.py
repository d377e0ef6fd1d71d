"""Files as they come, on the command line: what is said, and commands that can be pasted."""

from __future__ import annotations

import json
import os
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")
pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")

from commands import NAMES, SHARED, UNIQUE, good, named, run, write_tables

import uca
from uca.cli import COMMANDS
from uca.cli.figures import drawn_labels
from uca.cli.inputs import named_files
from uca.cli.typed import second_try, with_backgrounds
from uca.io import FORMATS, Hint, read_table

needs_excel = pytest.mark.skipif(
    any(find_spec(package) is None for package in ("openpyxl", "python_calamine")),
    reason="pip install 'unique-component-analysis[excel]'",
)
needs_plots = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="pip install 'unique-component-analysis[plot]'"
)


@pytest.fixture
def tables(rng):
    side = np.tile([-1, 1], 30)
    treated = rng.normal(size=(60, 1)) * SHARED + side[:, None] * UNIQUE + rng.normal(size=(60, 6))
    control = rng.normal(size=(50, 1)) * SHARED + rng.normal(size=(50, 6))
    return {
        "treated": named(treated, "t", genotype=np.where(side > 0, "mutant", "wild")),
        "control": named(control, "c", genotype="wild"),
        "other": named(rng.normal(size=(40, 6)), "o", genotype="wild"),
    }


@pytest.fixture
def folder(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tables, "group")
    return tmp_path


def pasted(result):
    """Run what an error says to try."""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("try: ")]
    program, *arguments = shlex.split(line.removeprefix("try: "))
    assert program == "uca"
    return run(*arguments)


FIT = ("fit", "t.csv", "-b", "control.csv", "--no-report", "-o", "out")


class TestMessages:
    """Each error is seen, and what it says to try works, or leads one step on."""

    def fit(self, table, *options, name="t.csv"):
        table.to_csv(name, index=False)
        return run(*FIT, *options)

    def test_words_and_limits(self, folder, tables):
        spoiled = tables["treated"].astype({"gene1": object, "gene2": object})
        spoiled.loc[[3, 9], "gene1"] = "n.d."
        spoiled.loc[4, "gene2"] = "<0.5"
        first = self.fit(spoiled)
        assert first.exit_code == 1
        assert "columns 'gene1', 'gene2' hold numbers in control.csv but not in t.csv: 'gene1': 2 of 60" in first.stderr
        assert "'n.d.' (lines 5, 11). Correct them, or call them missing with --na n.d." in first.stderr
        assert "'<0.5' (line 6). Values beyond a limit of detection" in first.stderr
        second = pasted(first)
        assert "has 3 missing values in 2 of 6 columns: 'gene1' 2, 'gene2' 1. Choose what to do" in second.stderr
        third = pasted(second)
        assert third.exit_code == 0, third.stderr
        command = "uca test t.csv -b control.csv --missing median --na n.d. --na '<0.5'"
        assert third.stdout.splitlines()[-1].endswith(f"held-out rows: {command}")

    def test_thousands(self, folder, tables):
        wide = tables["treated"].assign(gene1=[f"{i * 1000 + 1500:,}" for i in range(60)])
        first = self.fit(wide)
        assert "'1,500' (line 2), '2,500' (line 3)" in first.stderr
        assert "With a comma between thousands: add --thousands ," in first.stderr
        good_one = pasted(first)
        assert good_one.exit_code == 0, good_one.stderr
        assert uca.load("out/model.skops").mean_[1] == pytest.approx(np.arange(60).mean() * 1000 + 1500)

    def test_units(self, folder, tables):
        first = self.fit(tables["treated"].assign(gene1=[f"{x:.2f} mg" for x in tables["treated"]["gene1"]]))
        assert (
            "With a unit: move the unit into the column's name, or leave the column out with --drop gene1"
            in first.stderr
        )
        assert pasted(first).exit_code == 0

    def test_empty_column(self, folder, tables):
        first = self.fit(tables["treated"].assign(gene1=np.nan))
        assert "column 'gene1' of t.csv (target) is empty, with numbers in control.csv" in first.stderr
        assert pasted(first).exit_code == 0

    def test_empty_column_of_comments(self, folder, tables):
        tables["control"].assign(comment="fine").to_csv("control.csv", index=False)
        result = self.fit(tables["treated"].assign(comment=np.nan))
        assert result.exit_code == 0, result.stderr
        assert "note: t.csv: column without any value left out: 'comment'" in result.stderr

    def test_labels_with_a_typo(self, folder, tables):
        """The numbers of the misnamed column must not be complained of first."""
        day = tables["treated"].assign(Responder=np.arange(60) % 2)
        first = self.fit(day, "--labels", "Respnder")
        assert first.exit_code == 2
        assert "t.csv has no such column, and there is no such file; did you mean 'Responder'?" in first.stderr
        assert pasted(first).exit_code == 0

    def test_encoding(self, folder, tables):
        new = {"gene1": "Größe (µm)"}
        tables["control"].rename(columns=new).to_csv("control.csv", index=False)
        Path("t.csv").write_bytes(tables["treated"].rename(columns=new).to_csv(index=False).encode("cp1252"))
        result = good(*FIT)
        assert "note: t.csv: it is not UTF-8 and was read as cp1252" in result.stderr
        assert "Größe (µm)" in uca.load("out/model.skops").feature_names_in_

    def test_codes(self, folder, tables):
        for name in ("control", "treated"):
            n = len(tables[name])
            tables[name] = tables[name].assign(Cage=np.arange(n) % 6 + 1)
        tables["control"].to_csv("control.csv", index=False)
        result = self.fit(tables["treated"])
        assert (
            "note: t.csv, control.csv: column 'Cage' (1 to 6) holds whole numbers with few different values"
            in result.stderr
        )
        assert "if it is a code, add --drop Cage" in result.stderr

    def test_target_as_its_own_background(self, folder, tables):
        told = good("fit", "treated.csv", "-b", "treated.csv", "--no-report").stderr
        assert "note: the background 'treated' is the target itself: what varies in the target" in told
        tables["treated"].to_csv("copy.csv", index=False)
        told = good("fit", "treated.csv", "-b", "copy.csv", "--no-report", "--force").stderr
        assert "note: the background 'copy' (copy.csv) holds the rows of the target" in told
        assert "itself" not in good("fit", "treated.csv", "-b", "control.csv", "--no-report", "--force").stderr

    def test_background_without_its_option(self, folder):
        first = run("fit", "treated.csv", "control.csv", "other.csv", "-k", "1", "--no-report")
        assert first.exit_code == 2
        assert "control.csv, other.csv: not expected here; every background is named with -b" in first.stderr
        assert "try: uca fit treated.csv -b control.csv -b other.csv -k 1 --no-report\n" in first.stderr
        assert pasted(first).exit_code == 0
        other = run("info", "a.skops", "b.skops")
        assert other.stderr == "uca info: b.skops: not expected here. See uca info --help\n"

    def test_unknown_columns(self, folder, tables):
        tables["control"].drop(columns="gene5").to_csv("control.csv", index=False)
        first = self.fit(tables["treated"])
        assert "control.csv lacks column 'gene5'" in first.stderr
        assert pasted(first).exit_code == 0

    def test_file_with_a_typo(self, folder):
        told = run("fit", "treatd.csv", "-b", "control.csv").stderr
        assert told == "uca fit: treatd.csv does not exist; did you mean 'treated.csv'? See uca fit --help\n"

    def test_gaps_in_new_rows(self, folder, tables):
        """A mean of the model's target is at hand, also where a column of the new rows is empty."""
        good("fit", "treated.csv", "-b", "control.csv", "--no-report", "-o", "out")
        tables["other"].assign(gene1=np.nan).to_csv("new.csv", index=False)
        first = run("transform", "out", "new.csv", "-o", "s.csv")
        assert "has 40 missing values in 1 of 6 columns: 'gene1' 40" in first.stderr
        assert first.stderr.endswith("--missing mean\n")
        assert pasted(first).exit_code == 0

    def test_folder_that_is_called_like_a_table(self, folder):
        told = run("fit", "treated.csv", "-b", "control.csv", "-o", "out.xlsx").stderr
        assert "-o out.xlsx: several files are written; name a folder, such as -o out" in told


class TestTranspose:
    def turned(self, table, path, **rows):
        plain = table.drop(columns="genotype").assign(**rows).set_index("sample").T
        plain.rename_axis("gene").reset_index().to_csv(path, index=False)

    @pytest.mark.parametrize("both", [True, False])
    def test_suggested_and_the_same_result(self, folder, tables, both):
        self.turned(tables["control"], "c.csv")
        target = "treated.csv"
        if both:
            target = "t.csv"
            self.turned(tables["treated"], target)
        first = run("fit", target, "-b", "c.csv", "--no-report", "-o", "turned")
        assert first.exit_code == 1
        assert "none in common. But " in first.stderr
        second = pasted(first)
        assert second.exit_code == 0, second.stderr
        assert "c.csv: features are its rows: it was transposed, and has 50 rows and 6 columns" in second.stderr
        good("fit", "treated.csv", "-b", "control.csv", "--no-report", "-o", "plain")
        models = [uca.load(f"{name}/model.skops") for name in ("turned", "plain")]
        assert models[0].feature_names_in_.tolist() == NAMES
        np.testing.assert_allclose(models[0].components_, models[1].components_, atol=1e-6)  # as in SAME_FIT

    def test_groups_in_a_row(self, folder, tables):
        groups = np.repeat(["x", "y"], 30)
        self.turned(tables["treated"], "all.csv", group=groups)
        first = run("fit", "all.csv", "--by", "group", "--target", "x", "-b", "y", "--no-report", "-o", "out")
        assert "no file has a column 'group', but a row has that name" in first.stderr
        assert pasted(first).exit_code == 0
        assert json.loads(Path("out/summary.json").read_text())["target"]["rows"] == 30

    def test_new_rows(self, folder, tables):
        good("fit", "treated.csv", "-b", "control.csv", "--no-report", "-o", "out")
        self.turned(tables["other"], "new.csv")
        first = run("transform", "out", "new.csv", "-o", "s.csv")
        assert "are rows of new.csv: to transpose it, add --transpose" in first.stderr
        assert pasted(first).exit_code == 0
        good("transform", "out", "other.csv", "-o", "plain.csv")
        assert Path("s.csv").read_text() == Path("plain.csv").read_text()


class TestOutput:
    @pytest.fixture
    def fitted(self, folder, tables):
        model = uca.UCA().fit(tables["treated"][NAMES], backgrounds=tables["control"][NAMES])
        Path("out").mkdir()
        uca.save(model, "out/model.skops")
        return model

    @pytest.mark.filterwarnings("ignore")  # of zarr and anndata about their own future
    @pytest.mark.parametrize("ending", [ending for ending, kind in FORMATS.items() if kind.write is not None])
    def test_scores_in_every_format(self, fitted, tables, ending):
        result = run("transform", "out", "other.csv", "-o", f"s{ending}")
        if "pip install" in result.stderr:
            pytest.skip(result.stderr)
        assert result.exit_code == 0, result.stderr
        table = read_table(f"s{ending}")
        values = table.values.toarray() if table.is_sparse else table.values
        np.testing.assert_allclose(values, fitted.transform(tables["other"][NAMES]), rtol=1e-12, atol=1e-12)
        if not ending.startswith((".npy", ".mtx")):
            assert table.features == ("UC1", "UC2")
            assert table.ids.tolist() == tables["other"]["sample"].tolist()
        again = run("transform", "out", "other.csv", "-o", f"s{ending}")
        assert (again.exit_code, "add --force" in again.stderr) == (2, True)
        good("transform", "out", "other.csv", "-o", f"s{ending}", "--force")

    def test_unknown_ending_is_refused_before_any_work(self, folder):
        result = run("transform", "nothing.skops", "nothing.csv", "-o", "s.docx")
        assert result.exit_code == 2
        assert "-o s.docx: the format is taken from the end of the file name; choose one of .csv" in result.stderr

    def test_json_is_printed_and_the_file_is_what_it_is_called(self, fitted):
        shown = good("transform", "out", "other.csv", "-o", "s.csv", "--json").stdout
        assert json.loads(shown)["components"] == ["UC1", "UC2"]
        assert Path("s.csv").read_text().startswith("id,UC1,UC2\n")


@needs_excel
class TestSheets:
    def test_two_sheets_of_a_file(self, folder, tables):
        with pd.ExcelWriter("study.xlsx") as book:
            tables["treated"].to_excel(book, sheet_name="Treated", index=False)
            tables["control"].to_excel(book, sheet_name="Controls", index=False)
        result = good("fit", "study.xlsx:Treated", "-b", "study.xlsx:Controls", "--no-report")
        assert "wrote uca-Treated" in result.stdout
        assert uca.load("uca-Treated/model.skops").background_names_ == ["Controls"]
        assert "uca test study.xlsx:Treated -b study.xlsx:Controls" in result.stdout
        told = run("fit", "study.xlsx:Treatd", "-b", "study.xlsx:Controls").stderr
        assert "has no sheet 'Treatd': it has 'Treated', 'Controls'; did you mean 'study.xlsx:Treated'?" in told
        result = good("fit", "study.xlsx", "-b", "ctl=study.xlsx:Controls", "--no-report", "-o", "out")
        assert "note: sheet 'Treated' is read, of 'Treated', 'Controls'" in result.stderr
        assert run("fit", "none.xlsx:A", "-b", "study.xlsx").stderr.startswith("uca fit: none.xlsx does not exist")


class TestTyped:
    def test_second_try_replaces_options_with_one_value(self):
        typed = ["fit", "a b.csv", "-b", "c.csv", "--missing=mean", "--na", "x", "--labels", "old"]
        remedy = (Hint("how", ("median",)), Hint("na", (["y"],)), Hint("labels", ("new",)), Hint("transpose", (True,)))
        told = "uca fit 'a b.csv' -b c.csv --na x --missing median --na y --labels new --transpose"
        assert second_try(typed, remedy) == told

    def test_with_backgrounds(self):
        assert with_backgrounds(["fit", "-k", "1", "a", "b", "c"], ["b", "c"]) == "uca fit -k 1 a -b b -b c"


def test_labels_as_figures_take_them():
    np.testing.assert_array_equal(drawn_labels(np.array(["1", "", "2.5"], dtype=object)), [1, np.nan, 2.5])
    assert drawn_labels(np.array(["a", "", "1"], dtype=object)).tolist() == ["a", None, "1"]
    assert drawn_labels(np.array([f"x{i}" for i in range(99)], dtype=object)) is None


@needs_plots
class TestPlot:
    @pytest.fixture
    def result(self, folder):
        good(
            "fit", "treated.csv", "-b", "control.csv", "-b", "o=other.csv", "--no-report", "-o", "out/result", "--quiet"
        )
        assert Path("out/result/scores.png").read_bytes().startswith(b"\x89PNG")
        return Path("out/result")

    @pytest.mark.parametrize("kind", ["biplot", "density", "loadings", "variance", "contrast-path"])
    def test_kinds(self, result, kind, monkeypatch):
        monkeypatch.chdir("out")  # tables are found from another folder as well
        assert good("plot", "result", kind).stdout == f"wrote result/{kind}.png\n"
        assert Path(f"result/{kind}.png").read_bytes().startswith(b"\x89PNG")

    def test_draws_what_the_library_draws(self, result, tables, monkeypatch):
        from uca import plotting

        seen = []
        monkeypatch.setattr(plotting, "scores", lambda model, **options: seen.append(options))
        good("plot", result, "scores", "-c", "2", "-c", "1", "--force")
        (options,) = seen
        assert options["components"] == (1, 0)
        np.testing.assert_array_equal(options["X"], tables["treated"][NAMES])
        assert list(options["backgrounds"]) == ["control", "o"]
        assert options["labels"].tolist() == tables["treated"]["genotype"].tolist()

    def test_formats_and_refusals(self, result):
        good("plot", result, "loadings", "-c", "2", "-o", "new/l.svg")
        assert "<svg" in Path("new/l.svg").read_text()
        for arguments, told in (
            (["loadings", "-o", "l.docx"], "-o l.docx: the format is taken from the end of the file name; choose .png"),
            (["scores"], "scores.png exists; add --force"),
            (["scores", "-c", "1"], "scores takes 2 components"),
            (["variance", "-c", "1"], "variance takes no components (-c)"),
            (["scroes"], "'scroes' is not one of"),
        ):
            refused = run("plot", result, *arguments)
            assert (refused.exit_code, told in refused.stderr) == (2, True), refused.stderr
        assert "is not a folder" in run("plot", "nothing", "scores").stderr
        assert "add --image-shape HxW" in run("plot", result, "eigenimages").stderr
        good("plot", result, "eigenimages", "--image-shape", "2x3")

    def test_tables_that_are_gone_or_have_changed(self, result, tables):
        tables["treated"][NAMES].assign(gene0=0.5).to_csv("treated.csv", index=False)
        told = run("plot", result, "biplot").stderr
        assert "treated.csv has changed since out/result was made from it: run uca fit again" in told
        Path("other.csv").unlink()
        told = run("plot", result, "biplot").stderr
        assert "other.csv, from which out/result was made, is not there" in told
        good("plot", result, "loadings")

    def test_what_it_adds_is_replaced_with_the_result(self, result):
        good("plot", result, "variance")
        good("fit", "treated.csv", "-b", "control.csv", "--no-report", "-o", result, "--force")
        assert not (result / "variance.png").exists()

    def test_labels_from_a_file_and_groups_of_one_table(self, folder, tables, monkeypatch):
        """What a figure is drawn from is what the fit was made from, wherever that stood."""
        from uca import plotting

        truth = tables["treated"][["sample", "genotype"]].rename(columns={"genotype": "truth"})
        truth.to_csv("labels.csv", index=False)
        good("fit", "treated.csv", "-b", "control.csv", "--labels", "labels.csv", "--no-report", "-o", "a")
        one_table = ["all.csv", "--by", "group", "--target", "treated", "-b", "c=control", "-k", "1"]
        good("fit", *one_table, "--no-report", "-o", "b")
        seen = []
        for kind in ("density", "scores"):
            monkeypatch.setattr(plotting, kind, lambda model, **options: seen.append(options))
        good("plot", "a", "density")
        good("plot", "b", "scores", "--force")
        labelled, grouped = seen
        assert labelled["labels"].tolist() == truth["truth"].tolist()
        np.testing.assert_array_equal(grouped["X"], tables["treated"][NAMES])
        assert list(grouped["backgrounds"]) == ["c"]
        np.testing.assert_array_equal(grouped["backgrounds"]["c"], tables["control"][NAMES])


def test_without_matplotlib_a_note(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    told = good("fit", "treated.csv", "-b", "control.csv", "--no-report", "-o", "out").stderr
    assert "note: scores.png was not written: plots need matplotlib: pip install" in told
    assert not Path("out/scores.png").exists()


def examples():
    """Lines of examples in the help of every command that reads tables."""
    found = {}
    for name, command in COMMANDS.items():
        lines = [line.strip() for line in (command.__doc__ or "").splitlines()]
        found[name] = [line for line in lines if line.startswith("uca ")]
    return found


QUICK = {"fit": ["--force", "--no-report"], "plot": ["--force"], "test": ["--splits", "1"], "each": ["--splits", "1"]}


@needs_excel
@needs_plots
def test_examples_of_the_help_run(folder, tables):
    pytest.importorskip("pyarrow")
    tables["other"].to_csv("new.csv", index=False)
    with pd.ExcelWriter("study.xlsx") as book:
        tables["treated"].to_excel(book, sheet_name="Treated", index=False)
        tables["control"].to_excel(book, sheet_name="Controls", index=False)
    found = examples()
    assert {name for name, lines in found.items() if not lines} == {"reproduce", "demo"}
    for name, lines in found.items():
        shown = " ".join(good(name, "--help").stdout.split())
        for line in lines:
            assert line in shown
            if name != "compare":  # which takes its time, and reads what the others read
                good(*shlex.split(line)[1:], *QUICK.get(name, []))


class TestErrorsWithNotes:
    def test_columns_that_were_set_aside_are_told_before_the_error(self, folder, tables):
        """Every feature but one has commas between thousands: that there is one feature left does not explain itself."""
        for name in ("treated", "control"):
            spoiled = tables[name].copy()
            for column in NAMES[1:]:
                spoiled[column] = [f"{5000 + 100 * value:,.0f}" for value in spoiled[column]]
            spoiled.to_csv(f"{name}.csv", index=False)
        result = run("fit", "treated.csv", "-b", "control.csv")
        assert result.exit_code == 1
        assert "treated.csv: set aside columns 'gene1', 'gene2'" in result.stderr
        assert "With a comma between thousands: add --thousands ," in result.stderr
        assert result.stderr.splitlines()[-1].startswith("uca: n_components=2 is more than n_features=1")
        assert "note: " not in run("fit", "treated.csv", "-b", "control.csv", "-q").stderr
        good("fit", "treated.csv", "-b", "control.csv", "--thousands", ",", "--no-report")

    def test_a_typo_in_the_ending(self, folder):
        assert "; did you mean 'treated.csv'?" in run("fit", "treated.cvs", "-b", "control.csv").stderr

    def test_labels_that_are_a_row(self, folder, tables):
        for name in ("treated", "control"):
            tables[name].set_index("sample").T.rename_axis("feature").to_csv(f"{name}.csv")
        result = run("fit", "treated.csv", "-b", "control.csv", "--labels", "genotype", "--no-report")
        assert "has no such column, but a row of that name" in result.stderr
        assert pasted(result).exit_code == 0

    def test_transform_does_not_call_unknown_columns_features(self, folder, tables):
        good("fit", "treated.csv", "-b", "control.csv", "-o", "result", "--no-report")
        tables["treated"].assign(cage=np.arange(60) % 6 + 1).to_csv("new.csv", index=False)
        result = good("transform", "result", "new.csv")
        assert "note: column that the model does not know left out: 'cage'" in result.stderr
        assert "is a feature" not in result.stderr


def test_a_background_that_exists_as_typed_is_a_file(folder):
    """However its path is written: two such paths may share what stands before the sign."""
    for place in ("./=nb.csv", "./run=1/b1.csv", "run=2//b2.csv", "./run=3/../run=3/b3.csv"):
        Path(os.path.normpath(place)).parent.mkdir(exist_ok=True)
        Path(place).write_text("a,b\n1,2\n")
    given = [
        "./=nb.csv",
        "./run=1/b1.csv",
        "run=2//b2.csv",
        "./run=3/../run=3/b3.csv",
        "x=run=1/b1.csv",
        "./y=gone.csv",
    ]
    assert {name: str(path) for name, path in named_files(given).items()} == {
        "=nb": "=nb.csv",
        "b1": "run=1/b1.csv",
        "b2": "run=2/b2.csv",
        "b3": "run=3/../run=3/b3.csv",
        "x": "run=1/b1.csv",
        "./y": "gone.csv",
    }


@needs_plots
def test_files_with_a_sign_in_their_names_are_read_again(folder, tables, monkeypatch):
    """From another folder too."""
    Path("run=1").mkdir()
    tables["treated"].to_csv("t.csv", index=False)
    for place in ("run=1/a=b.csv", "=c.csv", "d.csv"):
        tables["control"].to_csv(place, index=False)
    good("fit", "t.csv", "-b", "./run=1/a=b.csv", "-b", "./=c.csv", "-b", "e=d.csv", "-o", "out", "--no-report")
    names = [entry["name"] for entry in json.loads(Path("out/summary.json").read_text())["backgrounds"]]
    assert names == ["a=b", "=c", "e"]
    for place in (".", "run=1"):
        monkeypatch.chdir(folder / place)
        good("plot", os.path.relpath(folder / "out"), "scores", "-o", "figure.png")
