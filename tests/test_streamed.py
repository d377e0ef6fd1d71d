"""Parquet files read a few rows at a time beside the same files read at once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

pandas = pytest.importorskip("pandas", reason="pip install '.[cli]'")
pytest.importorskip("pyarrow", reason="pip install '.[io]'")
pytest.importorskip("typer", reason="pip install '.[cli]'")

from typer.testing import CliRunner  # noqa: E402

import uca  # noqa: E402
from uca.cli import app  # noqa: E402
from uca.io import batches  # noqa: E402

N = 1500


def frame(n=N, p=6, seed=0, **columns):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, p)) * np.arange(1, p + 1) + 50.0
    values[:, 0] += 4 * rng.normal(size=n) * (seed == 0)
    return pandas.DataFrame(values, columns=[f"g{i}" for i in range(p)]).assign(**columns)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def streamed(monkeypatch):
    """Every file is too large, and blocks are small."""
    monkeypatch.setattr(batches, "LIMIT", 0)
    monkeypatch.setattr(batches, "BLOCK", 1)  # 256 rows at least
    monkeypatch.setattr(batches, "HEAD", 100)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind = np.where(np.arange(N) < N // 2, "a", "b")
    target = frame(sample=[f"s{i}" for i in range(N)], kind=kind, whole=np.arange(N) % 7)
    background = frame(700, seed=1, whole=np.arange(700) % 5)
    target.to_parquet("target.parquet", row_group_size=400)
    background[background.columns[::-1]].to_parquet("control.parquet", row_group_size=300)
    return tmp_path


def scores_of(folder):
    with Path(folder, "scores.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("scale", ["own", "target", "none"])
@pytest.mark.parametrize("components", ["joint", "sequential"])
def test_result_is_that_of_all_rows_at_once(files, monkeypatch, scale, components):
    options = ["target.parquet", "-b", "control.parquet", "--scale", scale, "--components", components]
    assert run("fit", *options, "--no-report", "-o", "whole").exit_code == 0
    monkeypatch.setattr(batches, "LIMIT", 0)
    monkeypatch.setattr(batches, "BLOCK", 1)
    monkeypatch.setattr(batches, "HEAD", 100)
    told = run("fit", *options, "-o", "parts")
    assert told.exit_code == 0, told.output
    whole, parts = uca.load("whole/model.skops"), uca.load("parts/model.skops")
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-7)  # of a certified gap of 1e-9
    np.testing.assert_allclose(parts.lambdas_, whole.lambdas_, rtol=1e-5)
    assert list(parts.feature_names_in_) == list(whole.feature_names_in_)
    one, other = scores_of("whole"), scores_of("parts")
    assert [(row["id"], row["kind"]) for row in other] == [(row["id"], row["kind"]) for row in one]
    np.testing.assert_allclose(
        [float(row["UC1"]) for row in other], [float(row["UC1"]) for row in one], rtol=1e-5, atol=1e-5
    )
    summary = json.loads(Path("parts/summary.json").read_text())
    then = json.loads(Path("whole/summary.json").read_text())
    for key in ("target", "background_sources", "n_samples", "n_features", "labels"):
        assert summary[key] == then[key]
    assert not Path("parts/report.html").exists()
    assert any("a few rows at a time" in note for note in summary["notes"])
    assert Path("parts/scores.png").exists()


def test_scores_are_those_of_the_model(files, streamed):
    assert run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts").exit_code == 0
    model = uca.load("parts/model.skops")
    rows = pandas.read_parquet("target.parquet")[list(model.feature_names_in_)]
    found = np.array([[float(row["UC1"]), float(row["UC2"])] for row in scores_of("parts")])
    np.testing.assert_allclose(found, model.transform(rows), rtol=1e-12, atol=1e-12)


def test_an_id_must_be_unique_in_all_rows(files, streamed):
    rows = frame(sample=[f"s{min(i, N - 2)}" for i in range(N)])  # the last two are equal
    rows.to_parquet("target.parquet")
    frame(700, seed=1).to_parquet("control.parquet")
    assert run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts").exit_code == 0
    assert [row["id"] for row in scores_of("parts")] == [str(i + 1) for i in range(N)]


def test_index_of_pandas_names_rows(files, streamed):
    frame().set_index(pandas.Index([f"m{i}" for i in range(N)], name="mouse")).to_parquet("target.parquet")
    frame(700, seed=1).to_parquet("control.parquet")
    assert run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts").exit_code == 0
    assert scores_of("parts")[-1]["id"] == f"m{N - 1}"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_told_as_for_other_files(files, monkeypatch, value):
    rows = pandas.read_parquet("target.parquet")
    rows.loc[1400, "g2"] = value
    rows.loc[3, "g4"] = value
    rows.to_parquet("target.parquet")
    whole = run("fit", "target.parquet", "-b", "control.parquet", "-o", "whole")
    monkeypatch.setattr(batches, "LIMIT", 0)
    parts = run("fit", "target.parquet", "-b", "control.parquet", "-o", "whole")
    assert parts.exit_code == whole.exit_code == 1
    assert parts.stderr.splitlines()[0] == whole.stderr.splitlines()[0]
    assert "2 missing values" in parts.stderr or "2 infinite values" in parts.stderr


def test_features_that_differ_are_told(files, streamed):
    frame(700, seed=1).drop(columns="g3").to_parquet("control.parquet")
    told = run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts")
    assert told.exit_code == 1
    assert "control.parquet lacks 'g3', 'whole'" in told.stderr or "lacks" in told.stderr


def test_target_as_its_own_background(files, streamed):
    told = run("fit", "target.parquet", "-b", "self=target.parquet", "-o", "parts", "--json")
    assert any("is the target itself" in note for note in json.loads(told.stdout)["notes"])


def test_options_that_need_all_rows_read_them(files, streamed):
    told = run("fit", "target.parquet", "-b", "control.parquet", "--missing", "median", "-o", "parts")
    assert told.exit_code == 0
    assert Path("parts/report.html").exists()


def test_labels_that_were_found_are_told(files, streamed):
    told = run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts")
    assert "labels are in column 'kind' (--labels names another)" in " ".join(told.stderr.split())
    assert json.loads(Path("parts/summary.json").read_text())["labels"] == "kind"


def damaged(name):
    """Bytes of the last column of numbers are turned, which a footer alone does not show."""
    data = bytearray(Path(name).read_bytes())
    place = len(data) // 3
    for i in range(place, place + 4000):
        data[i] ^= 255
    Path(name).write_bytes(bytes(data))


@pytest.mark.parametrize("name", ["target.parquet", "control.parquet"])
def test_errors_name_the_file(files, streamed, name):
    damaged(name)
    told = run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts")
    assert told.exit_code == 1
    assert told.stderr.startswith(f"uca: {name} cannot be read as parquet: ")
    assert not Path("parts").exists()


def test_names_that_stand_twice(files, streamed):
    import pyarrow
    import pyarrow.parquet

    twice = pyarrow.table([np.arange(9.0), np.arange(9.0)], names=["a", "a"])
    pyarrow.parquet.write_table(twice, "control.parquet")
    told = run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts")
    assert told.exit_code == 1
    assert "control.parquet cannot be read as parquet: it has column 'a' more than once" in told.stderr


def test_a_table_without_numbers_is_no_damaged_one(files, streamed):
    frame(9)[["g0"]].astype(str).assign(kind="a").to_parquet("control.parquet")
    told = run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts")
    assert told.exit_code == 1
    assert "control.parquet" in told.stderr
    assert "damaged" not in told.stderr


def test_text_that_does_not_fit(files, streamed, monkeypatch):
    """A text of 100 kB that stands in the file once, and in each of 3000 rows."""
    frame(3000, kind="x" * 100_000).to_parquet("target.parquet")
    assert Path("target.parquet").stat().st_size < 1e6
    monkeypatch.setattr("uca._memory.ALWAYS", 0)
    for module in ("_memory", "_claims", "_guard"):
        monkeypatch.setattr(f"uca.{module}.available_bytes", lambda: 5e7)
    told = run("fit", "target.parquet", "-b", "control.parquet", "-o", "parts")
    assert told.exit_code == 1
    assert "target.parquet cannot be read as parquet: its text and lists unpack to more than" in told.stderr


def test_what_is_too_large(files, monkeypatch):
    """6 columns and a whole number of 8 bytes: 1500 * 7 * 8 bytes of the target."""
    monkeypatch.setattr(batches, "available_bytes", lambda: 1e12)
    path = [Path("target.parquet")]
    for limit, large in ((N * 7 * 8, False), (N * 7 * 8 - 1, True)):
        monkeypatch.setattr(batches, "LIMIT", limit)
        assert batches.too_large(path) is large
    monkeypatch.setattr(batches, "LIMIT", 1e12)
    monkeypatch.setattr(batches, "available_bytes", lambda: 4.0 * N * 7 * 8 - 1)
    assert batches.too_large(path)
    assert not batches.too_large([*path, Path("other.csv")])
