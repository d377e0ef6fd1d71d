"""``uca test`` and ``uca fit --test``: the numbers of ``uca.inference``, subjects from columns, files, errors."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import uca
from uca import UCA
from uca.inference import background_influence, bootstrap, row_leverage, uniqueness_test

pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")
pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")
pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")

import pandas as pd
from commands import NAMES, SAME_FIT, SHARED, UNIQUE, good, named, run, write_tables

FILES = {"test.json", "test.csv", "test.png"}
FAST = ["--splits", "3", "-k", "2"]


@pytest.fixture
def figure(monkeypatch):
    """A figure of a test that notes what it was given."""
    pytest.importorskip("matplotlib", reason="pip install 'unique-component-analysis[plot]'")
    calls = []

    def uniqueness(test, *, ax=None):
        calls.append(test)
        return ax

    monkeypatch.setattr(uca.plotting, "uniqueness", uniqueness, raising=False)
    return calls


@pytest.fixture
def page(monkeypatch):
    """A report that takes a test and notes what it was given."""
    calls = []

    def report(model, path, X, *, test=None, **options):
        calls.append({"test": test, **options})
        Path(path).write_text("<html>")

    monkeypatch.setitem(sys.modules, "uca.report", types.SimpleNamespace(report=report))
    return calls


def of_mice(values, prefix, n_mice):
    rows = np.arange(len(values))
    return named(values, prefix, mouse=[f"{prefix}{i % n_mice}" for i in rows], cage=rows % 9)


@pytest.fixture
def tables(rng):
    """Two rows of a mouse, and a column of numbers that is the same subject in all tables."""
    treated = rng.normal(size=(80, 1)) * SHARED + rng.normal(size=(80, 1)) * UNIQUE + rng.normal(size=(80, 6))
    control = rng.normal(size=(70, 1)) * SHARED + rng.normal(size=(70, 6))
    return {
        "treated": of_mice(treated, "t", 40),
        "control": of_mice(control, "c", 35),
        "other": of_mice(rng.normal(size=(60, 6)), "o", 30),
    }


@pytest.fixture
def folder(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tables, "kind")
    return tmp_path


def found(*arguments):
    return json.loads(good(*arguments, "--json").stdout)


def data(tables, *names, features=NAMES):
    return {
        "X": tables["treated"][features],
        "backgrounds": {name: tables[name][features] for name in names or ("control",)},
    }


def check_numbers(got, test):
    """The JSON of a test against the test itself."""
    assert got["n_unique"] == test.n_unique_
    assert got["sentence"] == test.sentence
    assert [row["unique"] for row in got["components"]] == [row["unique"] for row in test.table]
    for i, row in enumerate(got["components"]):
        assert row["name"] == f"UC{i + 1}"
        parts = [row["target"], *(row["backgrounds"][name] for name in test.background_names)]
        told = [[part[key] for part in parts] for key in ("variance", "low", "high")]
        np.testing.assert_allclose(told, [test.variances[i], test.low[i], test.high[i]], **SAME_FIT)
        told = [*(part["p"] for part in parts[1:]), row["average_p"], row["p"]]
        expected = [*test.background_pvalues[i], test.average_pvalues[i], test.pvalues[i]]
        np.testing.assert_allclose(told, expected, rtol=1e-4)  # dp / p is about z dz, with z up to 8


class TestNumbers:
    def test_are_those_of_the_library(self, folder, tables):
        options = ["--drop", "cage", "--drop", "mouse", "--splits", "4", "--alpha", "0.1", "--seed", "7"]
        got = found("test", "treated.csv", "-b", "control.csv", *options)
        test = uniqueness_test(**data(tables), n_splits=4, alpha=0.1, random_state=7)
        assert len(got["test"]["components"]) == 5
        check_numbers(got["test"], test)
        assert (got["test"]["alpha"], got["test"]["n_splits"], got["test"]["grouped"]) == (0.1, 4, False)
        assert got["test"]["target"] == {"rows": 80, "subjects": 80}
        assert got["test"]["backgrounds"] == [{"name": "control", "rows": 70, "subjects": 70}]
        assert (got["influence"], got["bootstrap"]) == (None, None)
        assert got["parameters"]["seed"] == 7

    def test_parameters_reach_the_model(self, folder, tables):
        options = ["--drop", "cage", "--scale", "target", "--components", "sequential", "--bound", "1.2", *FAST]
        got = found("test", "treated.csv", "-b", "control.csv", *options)
        model = UCA(scale="target", components="sequential", bound=1.2)
        test = uniqueness_test(**data(tables), n_components=2, n_splits=3, random_state=0, model=model)
        check_numbers(got["test"], test)

    def test_number_of_workers_changes_nothing(self, folder):
        options = ["-b", "control.csv", "-b", "other.csv", "--drop", "cage", *FAST, "--resamples", "20"]
        one, two = (found("test", "treated.csv", *options, "--jobs", jobs) for jobs in (1, 2))
        for key in ("test", "influence", "leverage", "bootstrap"):
            assert one[key] == two[key]

    def test_fewer_features_than_five(self, folder, tables):
        for name in ("treated", "control"):
            tables[name][["sample", *NAMES[:3]]].to_csv(f"{name}.csv", index=False)
        got = found("test", "treated.csv", "-b", "control.csv", "--splits", "2")
        assert len(got["test"]["components"]) == 3

    def test_influence_of_two_backgrounds(self, folder, tables):
        got = found("test", "treated.csv", "-b", "control.csv", "-b", "other.csv", "--drop", "cage", *FAST)
        expected = background_influence(
            **data(tables, "control", "other"), n_components=max(got["test"]["n_unique"], 1)
        )
        rows = got["influence"]["backgrounds"]
        assert [row["name"] for row in rows] == ["control", "other"]
        assert [row["lambda"] for row in rows] == pytest.approx(expected.lambdas.tolist())
        assert [row["attainable_variance_without"] for row in rows] == pytest.approx(expected.values.tolist())
        assert got["influence"]["pooled"]["subspace_cosine"] == pytest.approx(expected.pooled_subspace_cosine)
        assert got["influence"]["sentence"] == expected.sentence

    def test_leverage_names_rows(self, folder, tables):
        tables["treated"].loc[[3, 8], NAMES[4]] += 60.0
        tables["treated"].to_csv("treated.csv", index=False)
        options = ["-b", "control.csv", "--drop", "cage", "--scale", "none", *FAST]
        got = found("test", "treated.csv", *options)["leverage"]
        model = UCA(scale=False).fit(**data(tables))
        expected = row_leverage(model, tables["treated"][NAMES])
        assert [row["rows_with_half"] for row in got["components"]] == expected.n_half.tolist()
        assert expected.few[0]
        assert got["components"][0]["outlying"] == [f"t{i}" for i in expected.outlying(0)]
        assert "UC1 depends on only a few rows: " in good("test", "treated.csv", *options).stdout
        assert "t3" in got["warnings"][0]

    def test_bootstrap(self, folder, tables):
        options = ["--groups", "mouse", "--drop", "cage", "--resamples", "25", *FAST]
        got = found("test", "treated.csv", "-b", "control.csv", *options)["bootstrap"]
        groups = [tables[name]["mouse"] for name in ("treated", "control")]
        expected = bootstrap(**data(tables), groups=groups, n_resamples=25, random_state=0)
        assert [row["stability"] for row in got["components"]] == expected.stability_.tolist()
        assert got["components"][0]["reliable_features"] == expected.reliable_features(0)
        assert (got["n_resamples"], got["n_features"]) == (25, 6)
        assert [row["found_again"] for row in got["components"]] == expected.found_again.tolist()
        first = got["components"][0]
        assert first["target_in_new_rows"]["variance"] == expected.expected_variances[0, 0]
        assert first["backgrounds_in_new_rows"]["control"]["high"] == expected.expected_high[0, 1]

    def test_background_may_be_called_target(self, folder, tables):
        options = ["-b", "target=control.csv", "-b", "average=other.csv", "--drop", "cage", *FAST]
        plain = ["-b", "control.csv", "-b", "other.csv", "--drop", "cage", *FAST]
        got, expected = (found("test", "treated.csv", *o)["test"]["components"][0] for o in (options, plain))
        assert got["target"] == expected["target"]
        assert got["backgrounds"]["target"] == expected["backgrounds"]["control"]
        good("test", "treated.csv", *options, "-o", "out")
        with Path("out/test.csv").open(newline="") as stream:
            header = next(csv.reader(stream))
        assert len(set(header)) == len(header)


class TestGroups:
    def expected(self, tables, column, *, keep=slice(None)):
        both = {name: tables[name].iloc[keep if name == "treated" else slice(None)] for name in ("treated", "control")}
        groups = [both[name][column].tolist() for name in ("treated", "control")]
        return uniqueness_test(**data(both), n_components=2, n_splits=3, groups=groups, random_state=0)

    def test_column_of_every_file(self, folder, tables):
        got = found("test", "treated.csv", "-b", "control.csv", "--groups", "mouse", "--drop", "cage", *FAST)["test"]
        check_numbers(got, self.expected(tables, "mouse"))
        assert got["grouped"]
        assert got["target"] == {"rows": 80, "subjects": 40}
        assert "target 40 subjects with 80 rows" in got["sentence"]

    def test_column_of_numbers_is_no_feature_then(self, folder, tables):
        got = found("test", "treated.csv", "-b", "control.csv", "--groups", "cage", *FAST)["test"]
        check_numbers(got, self.expected(tables, "cage"))  # mice of one cage are one subject in both tables

    def test_one_table(self, folder, tables):
        options = ["--by", "kind", "--target", "treated", "-b", "control", "--groups", "mouse", "--drop", "cage", *FAST]
        check_numbers(found("test", "all.csv", *options)["test"], self.expected(tables, "mouse"))

    @pytest.mark.parametrize("one_table", [False, True])
    def test_dropped_rows_take_their_subjects_along(self, folder, tables, one_table):
        for path in ("treated.csv", "all.csv"):
            broken = pd.read_csv(path)
            broken.loc[[0, 5], "gene2"] = np.nan
            broken.to_csv(path, index=False)
        way = ["all.csv", "--by", "kind", "--target", "treated"] if one_table else ["treated.csv"]
        background = "control" if one_table else "control.csv"
        options = ["--groups", "mouse", "--drop", "cage", "--missing", "drop-rows", *FAST]
        keep = [i for i in range(80) if i not in (0, 5)]
        check_numbers(
            found("test", *way, "-b", background, *options)["test"], self.expected(tables, "mouse", keep=keep)
        )

    def test_are_no_labels(self, folder, tables, page):
        for name in ("treated", "control"):
            tables[name].assign(mouse=tables[name]["cage"].map("m{}".format)).to_csv(f"{name}.csv", index=False)
        good("fit", "treated.csv", "-b", "control.csv", "--drop", "cage", "--test", "--groups", "mouse", "-o", "out")
        assert page[0]["labels"] is None


class TestOutput:
    def test_tables(self, folder):
        options = ["-b", "control.csv", "-b", "other.csv", "--drop", "cage", *FAST, "--resamples", "20"]
        result = good("test", "treated.csv", *options)
        for text in (
            "Variance on rows held out of the fit, with 95 % intervals",
            "in control",
            "than an average direction",
            "on rows held out of the fit",
            "No component depends on only a few rows.",
            "Influence of the backgrounds on the first",
            "(none: all pooled)",
            "Stability over 20 resamples",
            "Variance expected in new rows of the same kind, with 95 % intervals",
        ):
            assert text in result.stdout
        assert "ids are in column 'sample'" in result.stderr
        assert sorted(os.listdir(".")) == ["all.csv", "control.csv", "other.csv", "treated.csv"]

    def test_files(self, folder, figure):
        result = good("test", "treated.csv", "-b", "control.csv", "--drop", "cage", *FAST, "-o", "out", "--json")
        content = json.loads(result.stdout)
        assert {path.name for path in Path("out").iterdir()} == FILES == set(content["files"])
        assert content == json.loads(Path("out/test.json").read_text())
        assert result.stderr == ""
        table = pd.read_csv("out/test.csv")
        assert table.columns.tolist() == [
            *("component", "unique", "p", "p_average_direction", "target_variance", "target_low", "target_high"),
            *("variance_in_control", "low_in_control", "high_in_control", "p_against_control"),
        ]
        (test,) = figure
        assert table["component"].tolist() == ["UC1", "UC2"]
        assert table["unique"].tolist() == [row["unique"] for row in test.table]
        np.testing.assert_allclose(table["p"], test.pvalues, rtol=1e-12)
        np.testing.assert_allclose(table["high_in_control"], test.high[:, 1], rtol=1e-12)
        assert Path("out/test.png").read_bytes().startswith(b"\x89PNG")

    def test_without_the_figure(self, folder, figure, monkeypatch):
        options = ["treated.csv", "-b", "control.csv", "--drop", "cage", *FAST]
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        result = good("test", *options, "-o", "out")
        assert "note: test.png was not written: plots need matplotlib" in result.stderr
        assert {path.name for path in Path("out").iterdir()} == FILES - {"test.png"}
        assert "wrote out: test.json, test.csv\n" in result.stdout

    def test_force_replaces_only_own_files(self, folder, figure):
        options = ["treated.csv", "-b", "control.csv", "--drop", "cage", *FAST, "-o", "out"]
        good("test", *options)
        again = run("test", *options)
        assert (again.exit_code, "add --force" in again.stderr) == (2, True)
        assert good("test", *options, "--force", "--seed", "3", "--quiet").output == ""
        assert json.loads(Path("out/test.json").read_text())["parameters"]["seed"] == 3
        Path("out/thesis.docx").touch()
        wrong = run("test", *options, "--force")
        assert (wrong.exit_code, "holds other files (thesis.docx)" in wrong.stderr) == (2, True)

    def test_failed_figure_writes_nothing(self, folder, figure, monkeypatch):
        def uniqueness(test, *, ax=None):
            raise ValueError("no figure")

        monkeypatch.setattr(uca.plotting, "uniqueness", uniqueness)
        before = sorted(os.listdir("."))
        result = run("test", "treated.csv", "-b", "control.csv", "--drop", "cage", *FAST, "-o", "out")
        assert (result.exit_code, sorted(os.listdir("."))) == (1, before)

    def test_labels_of_a_fit_may_be_named(self, folder, tables):
        plain = found("test", "treated.csv", "-b", "control.csv", "--drop", "cage", *FAST)
        named = found("test", "treated.csv", "-b", "control.csv", "--labels", "cage", *FAST)
        assert named["test"] == plain["test"]
        assert not any("labels are in column" in note for note in plain["notes"])


BASE = ["test", "treated.csv", "-b", "control.csv", "--drop", "cage", *FAST]
USAGE = [
    (["test", "treated.csv"], "name at least one background with -b"),
    (["test", "nothing.csv", "-b", "control.csv"], "nothing.csv does not exist"),
    ([*BASE, "-b", "plain.csv", "--groups", "mouse"], "plain.csv has no column 'mouse' for --groups"),
    (
        ["test", "plain.csv", "-b", "control.csv", "--drop", "cage", "--groups", "mouse"],
        "plain.csv has no column 'mouse'",
    ),
    (["test", "plain.csv", "-b", "control.csv", "--groups", "cage"], "plain.csv has no column 'cage' for --groups"),
    ([*BASE, "--groups", "mice"], "treated.csv has no column 'mice' for --groups"),
    ([*BASE, "--groups", "cage"], "--by, --id or --drop names that column too"),
    (["test", "all.csv", "--by", "kind", "--target", "treated", "-b", "control", "--groups", "mose"], "mean 'mouse'?"),
    ([*BASE, "--alpha", "0"], "--alpha 0: choose a level between 0 and 1"),
    ([*BASE, "--alpha", "nan"], "choose a level between 0 and 1"),
    ([*BASE, "--resamples", "19"], "--resamples 19: choose 20 or more, or 0"),
    ([*BASE, "--splits", "0"], "Invalid value for '--splits'"),
    ([*BASE, "--jobs", "0"], "--jobs 0: choose 1 or more"),
    ([*BASE, "--seed", "-1"], "Invalid value for '--seed'"),
    ([*BASE, "-o", "."], "is the current folder"),
    (
        ["fit", "treated.csv", "-b", "control.csv", "--groups", "mouse"],
        "--groups mouse is for --test and for --bound-on",
    ),
    (["fit", *BASE[1:6], "-b", "plain.csv", "--test", "--groups", "mouse"], "plain.csv has no column 'mouse'"),
]
DATA = [
    (
        ["test", "treated.csv", "-b", "three.csv", "--drop", "cage", "--groups", "mouse"],
        "three.csv has 3 subjects in column 'mouse'; at least 8 are needed, four on each side of a split: add subjects",
    ),
    (["test", "tiny.csv", "-b", "control.csv", "--drop", "cage"], "tiny.csv has 3 rows; at least 8 are needed"),
    (
        ["fit", "tiny.csv", "-b", "control.csv", "--drop", "cage", "--test"],
        "tiny.csv has 3 rows; at least 8 are needed",
    ),
    ([*BASE, "-b", "unknown.csv", "--groups", "mouse"], "unknown.csv has 2 rows without a value in column 'mouse'"),
    (["test", "holes.csv", "-b", "control.csv", "--drop", "cage"], "Choose what to do: --missing"),
    ([*BASE, "-k", "7"], "choose n_components between 1 and 6"),
]


class TestErrors:
    @pytest.fixture(autouse=True)
    def more_files(self, folder, tables, page):
        control = tables["control"]
        control.drop(columns=["mouse", "cage"]).to_csv("plain.csv", index=False)
        control.assign(mouse=[f"c{i % 3}" for i in range(70)]).to_csv("three.csv", index=False)
        control.assign(mouse=control["mouse"].where(control.index > 1)).to_csv("unknown.csv", index=False)
        tables["treated"][:3].to_csv("tiny.csv", index=False)
        holes = tables["treated"].copy()
        holes.loc[:1, "gene1"] = np.nan
        holes.to_csv("holes.csv", index=False)

    @pytest.mark.parametrize(
        ("arguments", "text", "code"), [(*case, 2) for case in USAGE] + [(*case, 1) for case in DATA]
    )
    def test_one_line_and_the_code(self, arguments, text, code):
        before = sorted(os.listdir("."))
        result = run(*arguments)
        assert result.exit_code == code, result.output
        assert text in result.stderr
        _, *more = result.stderr.strip().splitlines()  # one line, and where it is known the command to paste
        assert all(line.startswith("try: uca test ") for line in more)
        assert len(more) <= 1
        assert result.stdout == ""
        assert sorted(os.listdir(".")) == before


class TestFit:
    def test_test_goes_along(self, folder, tables, page):
        options = ["-k", "3", "--scale", "target", "--drop", "cage", "--groups", "mouse", "--test"]
        result = good("fit", "treated.csv", "-b", "control.csv", *options, "-o", "out")
        groups = [tables[name]["mouse"] for name in ("treated", "control")]
        model = UCA(scale="target")
        test = uniqueness_test(**data(tables), n_components=3, groups=groups, model=model, random_state=0)
        check_numbers(json.loads(Path("out/summary.json").read_text())["test"], test)
        assert test.sentence in result.stdout
        assert test.sentence in Path("out/methods.txt").read_text(encoding="utf-8")
        assert "Is it real?" not in result.stdout
        assert page[0]["test"].sentence == test.sentence
        model = uca.load("out/model.skops")
        assert (model.n_components, model.verbose) == (3, False)

    def test_without_it_a_line_tells_of_it(self, folder, page):
        options = ["fit", "treated.csv", "-b", "control.csv", "--drop", "cage", "-o", "out"]
        result = good(*options)
        command = "uca test treated.csv -b control.csv --drop cage"
        last = f"Is it real? This checks the components on held-out rows: {command}"
        assert result.stdout.splitlines()[-1] == last
        assert "test" not in json.loads(Path("out/summary.json").read_text())
        assert page[0]["test"] is None
        assert good(*options, "--force", "--quiet").output == ""
        assert "Is it real?" not in good(*options, "--force", "--json").output

    def test_real_report(self, folder):
        pytest.importorskip("plotly", reason="pip install 'unique-component-analysis[report]'")
        pytest.importorskip("jinja2", reason="pip install 'unique-component-analysis[report]'")
        good("fit", "treated.csv", "-b", "control.csv", "--drop", "cage", "--test", "-o", "out")
        assert Path("out/report.html").stat().st_size > 10_000


def test_real_program(folder):
    environment = {**os.environ, "PYTHONPATH": str(Path(uca.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "uca.cli", *BASE], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "Variance on rows held out of the fit, with 95 % intervals"
