"""Parquet, h5ad and zarr files read a few rows at a time beside the same files read at once."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

pandas = pytest.importorskip("pandas", reason="pip install '.[cli]'")
pytest.importorskip("pyarrow", reason="pip install '.[io]'")
pytest.importorskip("typer", reason="pip install '.[cli]'")

from typer.testing import CliRunner  # noqa: E402

import uca  # noqa: E402
from uca.cli import app  # noqa: E402
from uca.io import batches, larger, stored  # noqa: E402

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
    monkeypatch.setattr(larger, "LIMIT", 0)
    for module in (batches, stored):
        monkeypatch.setattr(module, "BLOCK", 1)  # 256 rows at least
        monkeypatch.setattr(module, "HEAD", 100)


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
    monkeypatch.setattr(larger, "LIMIT", 0)
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
    monkeypatch.setattr(larger, "LIMIT", 0)
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
    monkeypatch.setattr(larger, "available_bytes", lambda: 1e12)
    path = [Path("target.parquet")]
    for limit, large in ((N * 7 * 8, False), (N * 7 * 8 - 1, True)):
        monkeypatch.setattr(larger, "LIMIT", limit)
        assert larger.too_large(path) is large
    monkeypatch.setattr(larger, "LIMIT", 1e12)
    monkeypatch.setattr(larger, "available_bytes", lambda: 4.0 * N * 7 * 8 - 1)
    assert larger.too_large(path)
    assert not larger.too_large([*path, Path("other.csv")])


# --- stores of AnnData ----------------------------------------------------------------------------------------------


def stores(kind, dtype="f8", chunks=None):
    """The tables of ``files`` as stores, the background's features in another order."""
    anndata = pytest.importorskip("anndata", reason="pip install '.[io]'")
    pytest.importorskip({"h5ad": "h5py", "zarr": "zarr"}[kind], reason="pip install '.[io]'")
    for name, n, seed, order in (("target", N, 0, slice(None)), ("control", 700, 1, slice(None, None, -1))):
        rows = frame(n, seed=seed)[[f"g{i}" for i in range(6)][order]]
        obs = pandas.DataFrame({"kind": np.where(np.arange(n) < n // 2, "a", "b")}, index=[f"s{i}" for i in range(n)])
        data = anndata.AnnData(rows.to_numpy(dtype), obs=obs, var=pandas.DataFrame(index=rows.columns))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Writing zarr v2")
            getattr(data, f"write_{kind}")(
                f"{name}.{kind}", **({"chunks": chunks} if kind == "zarr" and chunks else {})
            )


@pytest.mark.parametrize(("kind", "dtype"), [("h5ad", "f8"), ("h5ad", "f4"), ("zarr", "f8")])
def test_stores_give_what_all_rows_at_once_do(files, monkeypatch, kind, dtype):
    stores(kind, dtype, chunks=(300, 4))
    options = [f"target.{kind}", "-b", f"control.{kind}", "--no-report"]
    assert run("fit", *options, "-o", "whole").exit_code == 0
    monkeypatch.setattr(larger, "LIMIT", 0)
    monkeypatch.setattr(stored, "BLOCK", 1)
    monkeypatch.setattr(stored, "HEAD", 100)
    told = run("fit", *options, "-o", "parts")
    assert told.exit_code == 0, told.output
    summary, then = (json.loads(Path(folder, "summary.json").read_text()) for folder in ("parts", "whole"))
    assert any("a few rows at a time" in note for note in summary["notes"])
    for key in ("target", "background_sources", "n_samples", "n_features", "labels"):
        assert summary[key] == then[key]
    whole, parts = uca.load("whole/model.skops"), uca.load("parts/model.skops")
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-7 if dtype == "f8" else 1e-4)
    one, other = scores_of("whole"), scores_of("parts")
    assert [(row["id"], row["kind"]) for row in other] == [(row["id"], row["kind"]) for row in one]
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == "f8" else {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose([float(row["UC1"]) for row in other], [float(row["UC1"]) for row in one], **close)


def test_ids_and_features_of_stores_can_be_chosen(files, streamed):
    stores("h5ad")
    options = ["target.h5ad", "-b", "control.h5ad", "-o", "parts", "--drop", "g3"]
    assert run("fit", *options, "--id", "none").exit_code == 0
    assert [row["id"] for row in scores_of("parts")] == [str(i + 1) for i in range(N)]
    assert list(uca.load("parts/model.skops").feature_names_in_) == ["g0", "g1", "g2", "g4", "g5"]
    assert run("fit", *options, "--id", "kind", "--force").exit_code == 0
    assert scores_of("parts")[-1]["id"] == "b"


def test_stores_that_are_read_whole(files, streamed):
    from scipy import sparse

    stores("h5ad")
    assert larger.too_large([Path("target.h5ad"), Path("target.parquet")])
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(sparse.csr_matrix(np.eye(9))).write_h5ad("sparse.h5ad")
    assert not larger.too_large([Path("target.h5ad"), Path("sparse.h5ad")])
    Path("broken.h5ad").write_bytes(Path("target.h5ad").read_bytes()[:3000])
    assert not larger.too_large([Path("broken.h5ad")])
    assert not larger.too_large([Path("absent.h5ad")])


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_a_store_whose_x_does_not_fit_is_read_all_the_same(files, monkeypatch, kind):
    stores(kind, chunks=(300, 6))
    told = [f"target.{kind}", "-b", f"control.{kind}", "--no-report", "-o", "parts"]
    monkeypatch.setattr("uca._memory.ALWAYS", 0)
    for module in ("_memory", "_claims", "_guard", "io.larger"):
        monkeypatch.setattr(f"uca.{module}.available_bytes", lambda: N * 6 * 8 - 1)
    found = run("fit", *told)
    assert found.exit_code == 0, found.output
    assert len(scores_of("parts")) == N


def test_a_store_that_has_a_gene_twice(files, streamed):
    anndata = pytest.importorskip("anndata")
    stores("h5ad")
    with pytest.warns(UserWarning, match="not unique"):
        twice = anndata.AnnData(np.ones((9, 2)), var=pandas.DataFrame(index=["a", "a"]))
    twice.write_h5ad("control.h5ad")
    told = run("fit", "target.h5ad", "-b", "control.h5ad", "-o", "parts")
    assert told.exit_code == 1
    assert "control.h5ad cannot be read as h5ad: it has column 'a' more than once" in told.stderr
