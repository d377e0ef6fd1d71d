"""The program: what it writes, what it prints, its exit codes, and that a result is whole or not there."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import types
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

import uca
from uca import UCA

pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")
pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")

from commands import NAMES, SAME_FIT, SHARED, UNIQUE, good, named, run, write_tables

from uca.cli.destination import new_folder
from uca.cli.program import explain
from uca.estimators.expected_words import about

FILES = {"scores.csv", "components.csv", "summary.json", "model.skops", "methods.txt", "report.html"}
FILES |= {"scores.png"} if find_spec("matplotlib") else set()


@pytest.fixture
def page(monkeypatch):
    """A report that notes what it was given."""
    with suppress(ImportError):
        import_module(
            "uca.report.slider"
        )  # the figures need it, and it is not found below what takes the package's place
    calls = []

    def report(model, path, X, **options):
        calls.append({"model": model, "X": X, **options})
        Path(path).write_text("<html>")
        return path

    monkeypatch.setitem(sys.modules, "uca.report", types.SimpleNamespace(report=report))
    return calls


@pytest.fixture
def tables(rng):
    side = np.tile([-1, 1], 40)
    treated = rng.normal(size=(80, 1)) * SHARED + side[:, None] * UNIQUE + rng.normal(size=(80, 6))
    control = rng.normal(size=(70, 1)) * SHARED + rng.normal(size=(70, 6))
    other = rng.normal(size=(60, 6))
    kinds = np.where(side > 0, "mutant", "wild")
    return {
        "treated": named(treated, "t", genotype=kinds),
        "control": named(control, "c", genotype="wild"),
        "other": named(other, "o", genotype="wild"),
    }


@pytest.fixture
def folder(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tables, "group")
    return tmp_path


def rows(path):
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


def expected(tables, **parameters):
    model = UCA(**parameters)
    backgrounds = {name: tables[name][NAMES] for name in ("control", "other")}
    return model.fit(tables["treated"][NAMES], backgrounds=backgrounds)


class TestFit:
    def test_writes_what_the_library_computes(self, folder, tables, page):
        result = good("fit", "treated.csv", "-b", "control.csv", "-b", "other=other.csv", "-o", "out")
        assert {path.name for path in Path("out").iterdir()} == FILES
        model = expected(tables)
        scores = rows("out/scores.csv")
        values = [[float(row["UC1"]), float(row["UC2"])] for row in scores]
        np.testing.assert_allclose(values, model.transform(tables["treated"][NAMES]), **SAME_FIT)
        assert [row["id"] for row in scores] == tables["treated"]["sample"].tolist()
        assert [row["genotype"] for row in scores] == tables["treated"]["genotype"].tolist()
        weights = rows("out/components.csv")
        assert [row["feature"] for row in weights] == NAMES
        np.testing.assert_allclose([float(row["UC2"]) for row in weights], model.components_[1], **SAME_FIT)
        summary = json.loads(Path("out/summary.json").read_text())
        assert [row["lambda"] for row in summary["backgrounds"]] == pytest.approx(model.lambdas_.tolist())
        assert summary["components"][0]["background_variance"]["other"] == pytest.approx(
            model.background_variance_[0, 1]
        )
        assert summary["certificate"]["status"] == "optimal"
        assert set(summary["files"]) == FILES
        assert uca.load("out/model.skops").feature_names_in_.tolist() == NAMES
        for text in ("lambda", "in control", "% of target", "Optimal: the certified relative gap"):
            assert text in result.stdout
        assert "ids are in column 'sample'" in result.stderr

    def test_report_gets_the_data(self, folder, tables, page):
        options = ["--title", "Mine", "--image-shape", "2x3", "-o", "out"]
        good("fit", "treated.csv", "-b", "ctl=control.csv", *options)
        (call,) = page
        assert call["X"].shape == (80, 6)
        assert list(call["backgrounds"]) == ["ctl"]
        assert call["backgrounds"]["ctl"].shape == (70, 6)
        assert list(call["labels"]) == tables["treated"]["genotype"].tolist()
        assert call["ids"][3] == "t3"
        assert call["feature_names"] == tuple(NAMES)
        assert (call["title"], call["image_shape"]) == ("Mine", (2, 3))
        assert call["seconds"] > 0

    def test_one_file_with_groups_is_the_same(self, folder, tables, page):
        options = ["--by", "group", "--target", "treated", "-b", "control", "-b", "other"]
        good("fit", "all.csv", *options, "--labels", "genotype", "-o", "long")
        good("fit", "treated.csv", "-b", "control.csv", "-b", "other.csv", "-o", "wide")
        for name in ("scores.csv", "components.csv"):
            long, wide = (rows(Path(folder, name)) for folder in ("long", "wide"))
            assert [list(row) for row in long] == [list(row) for row in wide]
            for one, other in zip(long, wide, strict=True):
                for column in one:
                    if column.startswith("UC"):
                        np.testing.assert_allclose(float(one[column]), float(other[column]), **SAME_FIT)
                    else:
                        assert one[column] == other[column]

    def test_default_folder_is_named_after_the_target(self, folder, page):
        good("fit", "treated.csv", "-b", "control.csv", "--quiet")
        assert Path("uca-treated/scores.csv").exists()

    def test_parameters_reach_the_model(self, folder, tables, page):
        options = ["-k", "3", "--scale", "target", "--components", "sequential", "--bound", "1.2"]
        good("fit", "treated.csv", "-b", "control.csv", "-b", "other.csv", *options, "-o", "out")
        model = expected(tables, n_components=3, scale="target", components="sequential", bound=1.2)
        np.testing.assert_allclose(uca.load("out/model.skops").components_, model.components_, **SAME_FIT)

    def test_json_and_quiet(self, folder, page):
        result = good("fit", "treated.csv", "-b", "control.csv", "--json", "-o", "out")
        assert json.loads(result.stdout) == json.loads(Path("out/summary.json").read_text())
        assert result.stderr == ""
        result = good("fit", "treated.csv", "-b", "control.csv", "--quiet", "--force", "-o", "out")
        assert result.output == ""

    def test_without_the_report(self, folder, monkeypatch):
        good("fit", "treated.csv", "-b", "control.csv", "--no-report", "-o", "plain")
        assert {path.name for path in Path("plain").iterdir()} == FILES - {"report.html"}
        monkeypatch.setitem(sys.modules, "uca.report", None)
        result = good("fit", "treated.csv", "-b", "control.csv", "-o", "out")
        assert "note: report.html was not written" in result.stderr
        assert not Path("out/report.html").exists()

    def test_sparse_keeps_names(self, folder, tables, rng, page):
        anndata = pytest.importorskip("anndata")
        values = sparse.csr_array(sparse.random(40, 5, 0.5, "csr", None, rng))
        genes = list("vwxyz")
        order = [4, 2, 0, 1, 3]
        for name, columns in (("t", range(5)), ("b", order)):
            data = anndata.AnnData(values[:, list(columns)] * (1 if name == "t" else 2))
            data.var_names = [genes[i] for i in columns]
            data.obs_names = [f"cell{i}" for i in range(40)]
            data.write_h5ad(f"{name}.h5ad")
        assert "feature names" not in good("fit", "t.h5ad", "-b", "b.h5ad", "-o", "out").stderr
        assert sparse.issparse(page[0]["X"])
        difference = page[0]["backgrounds"]["b"] - 2 * page[0]["X"]  # matched by name, not by place
        assert abs(difference).max() == 0
        assert uca.load("out/model.skops").feature_names_in_.tolist() == genes
        assert good("transform", "out", "t.h5ad").stderr == ""  # names were matched: nobody is warned of their absence
        straight, turned = (good("transform", "out", f"{n}.h5ad", "--json").stdout for n in ("t", "b"))
        model = uca.load("out/model.skops")
        del model.feature_names_in_
        np.testing.assert_allclose(json.loads(straight)["scores"], model.transform(values), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(json.loads(turned)["scores"], model.transform(2 * values), rtol=1e-12, atol=1e-12)


class TestLabels:
    def test_file_is_matched_by_id(self, folder, tables, page):
        shuffled = tables["treated"][["sample", "genotype"]].sample(frac=1, random_state=0)
        shuffled.rename(columns={"genotype": "truth"}).to_csv("labels.csv", index=False)
        good("fit", "treated.csv", "-b", "control.csv", "--labels", "labels.csv", "-o", "out")
        assert [row["truth"] for row in rows("out/scores.csv")] == tables["treated"]["genotype"].tolist()

    def test_file_without_ids_is_matched_by_order(self, folder, tables, page):
        tables["treated"][["genotype"]].to_csv("labels.csv", index=False)
        good("fit", "treated.csv", "-b", "control.csv", "--labels", "labels.csv", "-o", "out")
        assert list(page[0]["labels"]) == tables["treated"]["genotype"].tolist()
        tables["treated"][["genotype"]][:-1].to_csv("labels.csv", index=False)
        result = run("fit", "treated.csv", "-b", "control.csv", "--labels", "labels.csv", "-o", "new")
        assert result.exit_code == 1
        assert "labels.csv has 79 labels for 80 rows" in result.stderr

    def test_column_of_numbers_is_no_feature_then(self, folder, tables, page):
        for name in ("treated", "control"):
            tables[name].assign(day=np.arange(len(tables[name])) % 3).to_csv(f"{name}.csv", index=False)
        good("fit", "treated.csv", "-b", "control.csv", "--labels", "day", "-o", "out")
        assert page[0]["feature_names"] == tuple(NAMES)
        assert set(page[0]["labels"]) == {"0", "1", "2"}

    def test_a_nullable_column_may_miss_a_value(self, folder, tables, page):
        pytest.importorskip("pyarrow")
        kinds = tables["treated"]["genotype"].astype("string")
        kinds[3] = pd.NA
        tables["treated"].assign(genotype=kinds).to_parquet("treated.parquet")
        good("fit", "treated.parquet", "-b", "control.csv", "-o", "out")
        assert list(page[0]["labels"]) == kinds.fillna("").tolist()

    def test_dropped_rows_take_their_labels_along(self, folder, tables, page):
        broken = tables["treated"].copy()
        broken.loc[[0, 5], "gene2"] = np.nan
        broken.to_csv("treated.csv", index=False)
        good("fit", "treated.csv", "-b", "control.csv", "--missing", "drop-rows", "-o", "out")
        kept = tables["treated"].drop(index=[0, 5])
        assert list(page[0]["labels"]) == kept["genotype"].tolist()
        assert list(page[0]["ids"]) == kept["sample"].tolist()


class TestTransform:
    @pytest.fixture
    def fitted(self, folder, page):
        good("fit", "treated.csv", "-b", "control.csv", "-o", "out", "--quiet")
        return uca.load("out/model.skops")

    def test_components_are_called_after_the_method(self, fitted, tables):
        uca.save(uca.CPCA(alpha=1.0).fit(tables["treated"][NAMES], backgrounds=tables["control"][NAMES]), "cpca.skops")
        assert list(rows("out/scores.csv")[0])[1:] == ["genotype", "UC1", "UC2"]
        good("transform", "cpca.skops", "other.csv", "-o", "scores.csv")
        assert list(rows("scores.csv")[0]) == ["id", "cPC1", "cPC2"]

    def test_matches_by_name_and_leaves_out_the_rest(self, fitted, tables):
        turned = tables["other"][["sample", *NAMES[::-1]]].assign(extra=1.0)
        turned.to_csv("turned.csv", index=False)
        result = good("transform", "out", "turned.csv", "-o", "scores.csv")
        values = [[float(row["UC1"]), float(row["UC2"])] for row in rows("scores.csv")]
        np.testing.assert_allclose(values, fitted.transform(tables["other"][NAMES]), rtol=1e-12, atol=1e-12)
        assert "that the model does not know left out: " in result.stderr
        again = run("transform", "out", "turned.csv", "-o", "scores.csv")
        assert (again.exit_code, "add --force" in again.stderr) == (2, True)
        assert good("transform", "out/model.skops", "turned.csv").stdout == Path("scores.csv").read_text()

    def test_missing_mean_is_the_models(self, fitted, tables):
        one = tables["other"][["sample", *NAMES]][:1].copy()
        one["gene3"] = np.nan
        one.to_csv("one.csv", index=False)
        scores = json.loads(good("transform", "out", "one.csv", "--missing", "mean", "--json").stdout)["scores"]
        one["gene3"] = fitted.mean_[3]
        np.testing.assert_allclose(scores, fitted.transform(one[NAMES]), rtol=1e-12, atol=1e-12)
        assert run("transform", "out", "one.csv", "--missing", "drop-columns").exit_code == 2

    def test_lacking_feature(self, fitted, tables):
        tables["other"].drop(columns="gene1").to_csv("less.csv", index=False)
        result = run("transform", "out", "less.csv")
        assert result.exit_code == 1
        assert "less.csv lacks column 'gene1'" in result.stderr

    def test_new_rows_are_told_beside_the_certificate(self, folder, page, rng):
        names = [f"g{i}" for i in range(300)]
        loadings = rng.normal(size=(3, 300))
        for name, n in (("few", 30), ("fewer", 15)):
            rows_ = rng.normal(size=(n, 3)) @ loadings + rng.normal(size=(n, 300))
            pd.DataFrame(rows_, columns=names).to_csv(f"{name}.csv", index=False)
        shown = " ".join(good("fit", "few.csv", "-b", "fewer.csv", "-o", "out2").stdout.split())
        model = uca.load("out2/model.skops")
        told = f"1.00 in these rows; about {about(model.expected_background_variance_[0, 0])} expected in new ones"
        assert told in shown
        assert told in " ".join(good("info", "out2").stdout.split())
        found = json.loads(Path("out2/summary.json").read_text())
        assert any("new rows are expected to exceed them" in note for note in found["notes"])
        model.expected_background_variance_[:] = np.inf  # nine rows in ten used up
        uca.save(model, "used.skops")
        assert "none: no usable prediction: the bound holds for these rows only" in good("info", "used.skops").stdout
        assert json.loads(good("info", "used.skops", "--json").stdout)["components"][0][
            "expected_background_variance"
        ] == {"fewer": None}

    def test_info(self, fitted):
        result = good("info", "out")
        assert "features: gene0, gene1" in result.stdout
        found = json.loads(good("info", "out/model.skops", "--json").stdout)
        assert found["features"] == NAMES
        assert found["backgrounds"][0]["lambda"] == pytest.approx(fitted.lambdas_[0])
        kept = found["components"][0]["expected_background_variance"]["control"]
        assert kept == pytest.approx(fitted.expected_background_variance_[0, 0])
        assert found["backgrounds"][0]["rows_used"] == pytest.approx(fitted.rows_used_[0])
        assert "in control, new" in " ".join(result.stdout.split())
        Path("out/model.skops").write_text("nonsense")
        broken = run("info", "out")
        assert broken.exit_code == 1
        assert "is not a model file, or is damaged" in broken.stderr


class TestCompare:
    def test_side_by_side(self, folder, tables):
        result = good("compare", "treated.csv", "-b", "control.csv", "-b", "other.csv", "--json", "-o", "out")
        content = json.loads(result.stdout)
        assert content == json.loads(Path("out/compare.json").read_text())
        found = {row["method"]: row for row in content["methods"]}
        scaled = ["PCA", "cPCA", "cPCA++", "UCA, pooled", "UCA, split"]
        assert list(found) == [*scaled, *(f"{method}, unscaled" for method in scaled)]
        assert [row["scale"] for row in content["methods"]] == ["own"] * 5 + ["none"] * 5
        assert any("did a little better unscaled in 12 real settings" in note for note in content["notes"])
        unscaled = expected(tables, scale=False)
        assert found["UCA, split, unscaled"]["target"] == pytest.approx(unscaled.explained_variance_[0])
        assert "UCA, split, unscaled 1" in rows("out/scores.csv")[0]
        model = expected(tables)
        split = found["UCA, split"]
        assert split["target"] == pytest.approx(model.explained_variance_[0])
        assert [split["control"], split["other"]] == pytest.approx(model.background_variance_[0].tolist())
        first = np.array([float(row["UCA, split 1"]) for row in rows("out/scores.csv")])
        plain = roc_auc_score(tables["treated"]["genotype"] == "mutant", first)
        assert split["AUC"] == pytest.approx(max(plain, 1 - plain), abs=0.03)  # two scores, out of fold
        assert "automatic alpha" in found["cPCA"]["note"]
        text = good("compare", "treated.csv", "-b", "control.csv", "--labels", "genotype").stdout
        assert "UCA, split" not in text
        assert "how well the scores separate 'genotype'" in text

    @pytest.mark.parametrize(("given", "scale"), [("own", True), ("none", False), ("target", "target")])
    def test_one_scaling_where_it_is_chosen(self, folder, tables, given, scale):
        result = good("compare", "treated.csv", "-b", "control.csv", "-b", "other.csv", "--json", "--scale", given)
        content = json.loads(result.stdout)
        assert [row["method"] for row in content["methods"]] == ["PCA", "cPCA", "cPCA++", "UCA, pooled", "UCA, split"]
        assert {row["scale"] for row in content["methods"]} == {given}
        assert not any("unscaled" in note for note in content["notes"])
        model = expected(tables, scale=scale)
        assert content["methods"][-1]["target"] == pytest.approx(model.explained_variance_[0])

    def test_units_that_cannot_be_left_alone_do_not_stop_the_others(self, rng):
        from uca.comparison import compare

        X, B = rng.normal(size=(2, 40, 4)) * [1, 1e200, 1, 1]
        scaled, unscaled = np.array_split(compare(X, {"b": B}, scale="both"), 2)
        assert [r.method for r in unscaled] == [f"{r.method}, unscaled" for r in scaled]
        assert all(r.model is not None and r.scale is True for r in scaled)
        assert all(r.scale is False for r in unscaled)
        assert unscaled[-1].note.startswith("could not run: ")

    @pytest.mark.parametrize("scale", [True, "target", False])
    def test_background_variance_is_the_models(self, tables, scale):
        from uca.comparison import compare

        backgrounds = {name: tables[name][NAMES] for name in ("control", "other")}
        result = compare(tables["treated"][NAMES], backgrounds, scale=scale)[-1]
        got = [result.metrics[name] for name in backgrounds]
        np.testing.assert_allclose(got, result.model.background_variance_[0], rtol=1e-8)

    def test_wide_data_shrinks_and_says_so(self, rng):
        from uca.comparison import compare

        results = {r.method: r for r in compare(rng.normal(size=(12, 30)), {"b": rng.normal(size=(10, 30))})}
        assert results["cPCA++"].note.startswith("shrinkage 0.1: the background's covariance is singular")

    def test_separation_against_known_answers(self, rng):
        from uca.comparison import separation

        labels = np.repeat(["a", "b", "c"], 20)
        clear = np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0) + 0.1 * rng.normal(size=(60, 2))
        assert separation(clear, labels) == {"AUC": 1.0, "ARI": 1.0, "silhouette": pytest.approx(0.98, abs=0.02)}
        # Labels that are the same within a group and random between groups: only folds by group see that nothing is told.
        groups = np.repeat(np.arange(12), 10)
        place = rng.normal(size=(12, 2))[groups] + 0.01 * rng.normal(size=(120, 2))
        kinds = np.where(np.arange(12) % 2, "x", "y")[groups]
        assert separation(place, kinds, groups)["AUC"] < separation(place, kinds)["AUC"]
        assert np.isnan(separation(clear[:21], labels[:21])["AUC"])  # one row of a kind
        with pytest.raises(ValueError, match="at least two different values"):
            separation(clear, ["a"] * 60)
        # A missing label is no kind of its own.
        for missing in ("", None, pd.NA, np.nan, np.ma.masked):
            assert separation(clear, [*labels[:-1], missing]) == separation(clear[:-1], labels[:-1])

    def test_groups_column(self, folder, tables):
        tables["treated"].assign(cage=[f"k{i % 10}" for i in range(80)]).to_csv("treated.csv", index=False)
        options = ["--labels", "genotype", "--groups", "cage", "--json"]
        content = json.loads(good("compare", "treated.csv", "-b", "control.csv", *options).stdout)
        assert content["labels"] == "genotype"
        wrong = run("compare", "treated.csv", "-b", "control.csv", "--groups", "cags")
        assert (wrong.exit_code, "no column 'cags'" in wrong.stderr) == (2, True)


USAGE = [
    (["fit", "nothing.csv", "-b", "control.csv"], "nothing.csv does not exist"),
    (["fit", "treated.csv", "-b", "nothing.csv"], "nothing.csv does not exist"),
    (["fit", "treated.csv"], "name at least one background with -b"),
    (["fit"], "Missing argument 'TARGET'"),
    (["fti"], "No such command 'fti'"),
    (["fit", "treated.csv", "-b", "control.csv", "-k", "two"], "Invalid value for '--n-components'"),
    (["fit", "treated.csv", "-b", "control.csv", "--mising", "mean"], "No such option"),
    (["fit", "all.docx", "-b", "control.csv"], "the format is recognised by the end of the file name"),
    (["fit", "all.xls", "-b", "control.csv"], "this is the old format of Excel; save it as .xlsx"),
    (["fit", "all.csv", "--by", "group", "-b", "control"], "--by and --target go together"),
    (["fit", "all.csv", "--by", "grup", "--target", "treated", "-b", "control"], "did you mean 'group'?"),
    (["fit", "all.csv", "--by", "group", "--target", "treated", "-b", "treated"], "is the target"),
    (["fit", "treated.csv", "-b", "control.csv", "-b", "control.csv"], "name them with -b NAME=FILE"),
    (["fit", "treated.csv", "-b", "control.csv", "--drop", "gen"], "no file has a column 'gen'"),
    (
        ["fit", "treated.csv", "-b", "control.csv", "--labels", "nowhere"],
        "there is no such file; it has columns 'sample', 'gene0'",
    ),
    (["fit", "treated.csv", "-b", "control.csv", "--image-shape", "6"], "give height and width as in 64x48"),
    (["fit", "treated.csv", "-b", "control.csv", "-o", "."], "is the current folder"),
    (["fit", "treated.csv", "-b", "control.csv", "-o", "all.csv"], "is a file"),
    (["info", "nothing.skops"], "give the model.skops that uca fit wrote"),
]
DATA = [
    (
        ["fit", "holes.csv", "-b", "control.csv"],
        "has 2 missing values in 1 of 6 columns: 'gene1' 2. Choose what to do: --mis",
    ),
    (["fit", "treated.csv", "-b", "less.csv"], "less.csv lacks column 'gene5'"),
    (["fit", "treated.csv", "-b", "control.csv", "-k", "7"], "choose n_components between 1 and 6"),
    (["fit", "treated.csv", "-b", "control.csv", "--bound", "1e-9"], "the smallest attainable is"),
    (["fit", "text.csv", "-b", "control.csv"], "has no column of numbers"),
    (
        ["fit", "all.csv", "--by", "group", "--target", "treatd", "-b", "control"],
        "it has 'control', 'other', 'treated'",
    ),
    (["fit", "fake.npy", "-b", "control.csv"], "fake.npy cannot be read as npy"),
]


class TestErrors:
    @pytest.fixture(autouse=True)
    def more_files(self, folder, tables, page):
        holes = tables["treated"].copy()
        holes.loc[:1, "gene1"] = np.nan
        holes.to_csv("holes.csv", index=False)
        tables["control"].drop(columns="gene5").to_csv("less.csv", index=False)
        tables["control"][["sample", "genotype"]].to_csv("text.csv", index=False)
        Path("fake.npy").write_text("nothing")

    @pytest.mark.parametrize(
        ("arguments", "text", "code"), [(*case, 2) for case in USAGE] + [(*case, 1) for case in DATA]
    )
    def test_one_line_and_the_code(self, arguments, text, code):
        before = sorted(os.listdir("."))
        result = run(*arguments)
        assert result.exit_code == code, result.output
        assert text in result.stderr
        _, *more = result.stderr.strip().splitlines()  # one line, and where it is known the command to paste
        assert all(line.startswith("try: uca ") for line in more)
        assert len(more) <= 1
        assert result.stdout == ""
        assert sorted(os.listdir(".")) == before

    def test_debug_shows_the_traceback(self):
        assert "Traceback" in run("fit", "holes.csv", "-b", "control.csv", "--debug").stderr

    def test_a_fault_of_the_program_says_so(self):
        line, code = explain(KeyError("x"))
        assert code == 1
        assert line == "uca: unexpected KeyError: 'x'. Run again with --debug and report what it prints"

    def test_the_first_error_tells_how_to_go_on(self):
        first = run("fit", "holes.csv", "-b", "control.csv")
        assert first.exit_code == 1
        way = first.stderr.split("--missing ")[1].strip().split("|")[0]
        second = run("fit", "holes.csv", "-b", "control.csv", "--missing", way)
        assert second.exit_code == 0, second.stderr
        assert f"replaced by the {way} of the column" in second.stderr

    def test_what_tables_advise_is_told_in_options(self, folder, tables, page):
        spoiled = tables["treated"].assign(patient_id=np.arange(len(tables["treated"])) // 2, gene0="1")
        spoiled.loc[3, "gene0"] = "not known"
        spoiled.to_csv("spoiled.csv", index=False)
        refused = run("fit", "spoiled.csv", "-b", "control.csv", "--drop", "patient_id").stderr
        assert "'not known' (line 5). Correct them, or call them missing with --na 'not known'\n" in refused
        told = good("fit", "spoiled.csv", "-b", "spoiled.csv", "-o", "out").stderr
        assert "call them missing with --na 'not known'" in told  # as a shell takes it
        assert "if it identifies something, add --drop patient_id" in told
        tables["treated"][["gene0", "gene1"]].to_csv("bare.csv", index=False, header=False)
        assert "or read it with --no-header" in run("fit", "bare.csv", "-b", "control.csv").stderr

    def test_help_and_version(self):
        assert "compare" in good("--help").stdout
        assert good("--version").stdout.strip() == f"uca {uca.__version__}"
        assert "completion" in good("--help").stdout


class TestDestination:
    def test_force_replaces_only_own_files(self, folder, page):
        good("fit", "treated.csv", "-b", "control.csv", "-o", "out")
        again = run("fit", "treated.csv", "-b", "other.csv", "-o", "out")
        assert (again.exit_code, "add --force" in again.stderr) == (2, True)
        good("fit", "treated.csv", "-b", "other.csv", "-o", "out", "--force")
        assert json.loads(Path("out/summary.json").read_text())["backgrounds"][0]["name"] == "other"
        Path("out/thesis.docx").touch()
        wrong = run("fit", "treated.csv", "-b", "control.csv", "-o", "out", "--force")
        assert wrong.exit_code == 2
        assert "holds other files (thesis.docx)" in wrong.stderr

    @pytest.mark.parametrize("exchange", [True, False])
    def test_whole_or_not_at_all(self, tmp_path, monkeypatch, exchange):
        module = sys.modules["uca.cli.destination"]
        if not exchange:
            monkeypatch.setattr(module, "_exchange", lambda *_: False)
        for content in ("old", "new"):
            with new_folder(tmp_path / "out") as place:
                (place / "a").write_text(content)
        assert (tmp_path / "out" / "a").read_text() == "new"

        def interrupted():
            with new_folder(tmp_path / "out") as place:
                (place / "a").write_text("half")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert (tmp_path / "out" / "a").read_text() == "new"
        assert os.listdir(tmp_path) == ["out"]

    def test_failed_report_writes_nothing(self, folder, monkeypatch):
        def report(*args, **kwargs):
            raise ValueError("no page")

        monkeypatch.setitem(sys.modules, "uca.report", types.SimpleNamespace(report=report))
        before = sorted(os.listdir("."))
        assert run("fit", "treated.csv", "-b", "control.csv", "-o", "out").exit_code == 1
        assert sorted(os.listdir(".")) == before


PROGRAM = [sys.executable, "-m", "uca.cli"]
HERE = {**os.environ, "PYTHONPATH": str(Path(uca.__file__).parents[1])}  # the package under test, from any folder
SLOW_SAVE = """
import signal, sys, time, uca.persistence
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a parent in the background has switched off
def save(model, path):
    print("saving", flush=True)
    time.sleep(60)
uca.persistence.save = save
from uca.cli import app
app(sys.argv[1:], prog_name="uca")
"""


def test_interrupt_leaves_the_old_result(folder, page):
    good("fit", "treated.csv", "-b", "control.csv", "-o", "out")
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    listed = sorted(os.listdir("."))
    arguments = ["fit", "treated.csv", "-b", "other.csv", "-o", "out", "--force", "--no-report"]
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW_SAVE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=HERE,
    )
    try:
        assert program.stdout.readline().strip() == "saving"  # half of the files are written, elsewhere
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=60)
    finally:
        program.kill()
    assert program.returncode == 130
    assert errors.strip().splitlines() == ["uca: interrupted; no result was changed"]
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before
    assert sorted(os.listdir(".")) == listed


def test_exit_codes_of_the_real_program(folder, tables):
    broken = tables["treated"].copy()
    broken.loc[0, "gene1"] = np.nan
    broken.to_csv("holes.csv", index=False)
    for target, code in (("nothing.csv", 2), ("holes.csv", 1), ("treated.csv", 0)):
        options = ["fit", target, "-b", "control.csv", "--no-report"]
        done = subprocess.run([*PROGRAM, *options], capture_output=True, text=True, env=HERE)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert "\x1b" not in done.stdout + done.stderr  # no colours and no progress where there is no terminal


def test_completion(folder):
    environment = {**HERE, "_UCA_COMPLETE": "complete_bash", "COMP_WORDS": "uca co", "COMP_CWORD": "1"}
    done = subprocess.run(PROGRAM, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["compare"]


def test_progress_only_on_a_terminal_and_after_a_second(monkeypatch, capsys):
    from uca.cli import progress

    with progress.Steps() as steps:
        assert steps._bar is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Steps() as steps:
        steps.step("reading")
        assert not steps._bar.live.is_started
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with progress.Steps() as steps:
        steps._timer.join()
        assert steps._bar.live.is_started
        steps.on_pass(4, 1.0, 0.9, 1e-3)
        assert steps._bar.tasks[0].description == "fitting, pass 4, gap 1e-03"
        assert steps._bar.tasks[0].completed == pytest.approx(3 / 9)
    with progress.Steps(silent=True) as steps:
        assert steps._bar is None
