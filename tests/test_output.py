"""What the program writes and prints of names that strangers chose: no formulas, no escape sequences, nothing lost."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from commands import NAMES, good

import uca
from uca.cli.safe import COMPLETE, REPLACED, as_cell, encodable, from_cell, printable, printable_lines

pd = pytest.importorskip("pandas")
PROGRAM = [sys.executable, "-m", "uca.cli"]
HERE = {**os.environ, "PYTHONPATH": str(Path(uca.__file__).parents[1])}
NASTY = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "\nx", "plain", "'quoted", "row\r=1+1"]
BEGINS = tuple("=+-@\t\r\n")


@pytest.mark.parametrize("text", NASTY)
def test_cells_come_back(text):
    cell = as_cell(text)
    assert not cell.startswith(BEGINS)
    assert from_cell(cell) == text


@pytest.mark.parametrize("value", [-1.5, 3, None, "-1.5", "+2e-7", "1", "-.5"])
def test_numbers_stay_numbers(value):
    assert as_cell(value) == value


def test_text_for_terminals():
    assert printable("a\x1b[31mb\x07\x9b\x7f\tc\u202ed\ne") == "a\\x1b[31mb\\x07\\x9b\\x7f\\tc\\u202ed\\ne"
    for mark in ("\n", "\r", "\u2028", "\u2029", "\u200e", "\u200f", "\u061c"):
        assert printable(f"a{mark}b") == f"a{mark!r}b".replace("'", "")
    assert printable_lines("a\n\tb\x1b\n") == "a\n\\tb\\x1b\n"
    assert printable("größe ∆ 汉") == "größe ∆ 汉"
    assert encodable("a\udcffb") == "a?b"


@pytest.fixture
def nasty(tmp_path, monkeypatch):
    """A target and a background whose ids, labels and features are formulas and escape sequences."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    features = ["=A1", "-x", "@y", "+z", "esc\x1b[31m", "g\r=1+1"]
    for name in ("t", "b"):
        table = pd.DataFrame(rng.standard_normal((16, 6)), columns=features)
        table.insert(0, "kind", [("=evil()", "tame")[i % 2] for i in range(16)])
        table.insert(0, "id", [f"{NASTY[i % len(NASTY)]}\x1b]0;{i}" for i in range(16)])
        table.to_csv(f"{name}.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    return features


def test_no_formula_in_any_csv(nasty):
    shown = good("fit", "t.csv", "-b", "b.csv", "-o", "out", "--id", "id", "--labels", "kind", "--no-report")
    assert "\x1b" not in shown.stdout + shown.stderr
    for name in ("scores.csv", "components.csv"):
        with Path("out", name).open(newline="") as stream:
            rows = list(csv.reader(stream))
        assert len(rows) == 1 + {"scores.csv": 16, "components.csv": 6}[name]
        assert {len(row) for row in rows} == {len(rows[0])}
        for cell in (cell for row in rows for cell in row):
            try:
                float(cell)
            except ValueError:
                assert not cell.startswith(BEGINS), cell
    components = pd.read_csv("out/components.csv")
    assert [from_cell(name) for name in components["feature"]] == nasty
    assert components.drop(columns="feature").dtypes.eq(float).all()
    scores, given = pd.read_csv("out/scores.csv"), pd.read_csv("t.csv")
    assert [from_cell(key) for key in scores["id"]] == given["id"].tolist()
    assert [from_cell(key) for key in scores["kind"]] == given["kind"].tolist()


def test_the_program_reads_its_own_files_back(nasty):
    good("fit", "t.csv", "-b", "b.csv", "-o", "out", "--id", "id", "--drop", "kind", "--no-report")
    good("plot", "out", "scores", "-o", "figure.png")
    good("transform", "out", "t.csv", "--id", "id", "--drop", "kind", "-o", "s.csv")
    pd.testing.assert_frame_equal(pd.read_csv("out/scores.csv"), pd.read_csv("s.csv"))
    # Labels in a file that the program wrote are matched by ids that it marked as text.
    scores = pd.read_csv("out/scores.csv")
    labels = pd.DataFrame({"id": scores["id"], "grp": np.arange(16) % 3}).iloc[::-1]
    labels.to_csv("labels.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    arguments = ["--id", "id", "--drop", "kind", "--labels", "labels.csv", "--no-report", "-o", "again"]
    good("fit", "t.csv", "-b", "b.csv", *arguments)
    assert pd.read_csv("again/scores.csv")["grp"].tolist() == (np.arange(16) % 3).tolist()


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_scores_for_spreadsheets(nasty, ending):
    good("fit", "t.csv", "-b", "b.csv", "-o", "out", "--id", "id", "--drop", "kind", "--no-report")
    clean = pd.read_csv("t.csv")
    clean["id"] = [f"={i}+1" for i in range(16)]
    clean.to_csv("t.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    good("transform", "out", "t.csv", "--id", "id", "--drop", "kind", "-o", f"s.{ending}")
    if ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        column = [row[0] for row in openpyxl.load_workbook("s.xlsx").active.iter_rows(min_row=2)]
        assert [cell.data_type for cell in column] == ["s"] * 16
    else:
        ids = pd.read_csv(f"s.{ending}", sep="\t" if ending == "tsv" else ",")["id"]
        assert ids.tolist() == [f"'={i}+1" for i in range(16)]


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_control_characters_in_spreadsheets(nasty, ending):
    """XML cannot hold them: they are replaced, and that is told."""
    for package in ("python_calamine", "openpyxl" if ending == "xlsx" else "odf"):
        pytest.importorskip(package)
    good("fit", "t.csv", "-b", "b.csv", "-o", "out", "--id", "id", "--drop", "kind", "--no-report")
    done = good("transform", "out", "t.csv", "--id", "id", "--drop", "kind", "-o", f"s.{ending}")
    assert "control characters that a spreadsheet cannot hold were replaced by '?'" in done.stderr
    assert "and 13 more" in done.stderr
    assert "\x1b" not in done.stderr
    written = pd.read_excel(f"s.{ending}", engine="calamine")
    assert written["id"][7] == "plain?]0;7"
    assert len(written) == 16


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e]")


def test_escapes_of_a_background_reach_no_text(nasty):
    """Neither a terminal nor a pipe, nor a file that is read with ``cat``."""
    name = "b\n\nx\x1b[31m\x07\x7f\u202e"
    Path("b.csv").rename(f"{name}.csv")
    for options in ((), ("--json",)):
        shown = good("fit", "t.csv", "-b", f"{name}.csv", "-o", "out", "--force", "--no-report", *options)
        assert CONTROL.search(shown.stdout + shown.stderr) is None
    for path in ("out/methods.txt", "out/summary.json"):
        assert CONTROL.search(Path(path).read_text(encoding="utf-8")) is None, path
    assert "b\\n\\nx\\x1b[31m\\x07\\x7f\\u202e" in Path("out/methods.txt").read_text(encoding="utf-8")
    assert json.loads(Path("out/summary.json").read_text())["backgrounds"][0]["name"] == name


def test_escapes_of_ids_reach_no_pipe(nasty):
    good("fit", "t.csv", "-b", "b.csv", "-o", "out", "--id", "id", "--drop", "kind", "--no-report")
    options = ("transform", "out", "t.csv", "--id", "id", "--drop", "kind")
    done = good(*options)
    assert CONTROL.search(done.stdout) is None
    assert "plain\\x1b]0;7," in done.stdout
    assert "control characters of ids are shown" in done.stderr
    assert len(pd.read_csv(StringIO(done.stdout))) == 16
    done = good(*options, "--json")
    assert CONTROL.search(done.stdout) is None
    assert json.loads(done.stdout)["ids"] == pd.read_csv("t.csv")["id"].tolist()
    good(*options, "-o", "s.csv")
    assert [from_cell(key) for key in pd.read_csv("s.csv")["id"]] == pd.read_csv("t.csv")["id"].tolist()


def test_escapes_in_errors_and_notes(nasty):
    done = subprocess.run(
        [*PROGRAM, "fit", "t.csv", "-b", "b.csv", "--labels", "x\x1b[2J"], capture_output=True, text=True, env=HERE
    )
    assert done.returncode == 2
    assert "\\x1b[2J" in done.stderr
    assert "\x1b" not in done.stderr


def test_escapes_in_what_debug_prints(nasty):
    done = subprocess.run(
        [*PROGRAM, "fit", "t.csv", "-b", "b.csv", "--debug", "--labels", "\x1b[31mred2"],
        capture_output=True,
        text=True,
        env=HERE,
    )
    assert "Traceback" in done.stderr
    assert "\\x1b[31mred2" in done.stderr
    assert "\x1b" not in done.stderr


def table(path: str | bytes, seed: int, names: list[str] = NAMES) -> None:
    frame = pd.DataFrame(np.random.default_rng(seed).standard_normal((20, 6)), columns=names)
    with open(path, "wb") as stream:
        stream.write(frame.to_csv(index=False).encode())


def test_names_that_standard_output_cannot_encode(tmp_path):
    """ASCII alone: the names are replaced and that is told; files hold them as they are."""
    names = ["größe", "汉字", "∆x", "d", "e", "f"]
    for seed, name in enumerate(("t", "b")):
        table(str(tmp_path / f"{name}.csv"), seed, names)
    done = subprocess.run(
        [*PROGRAM, "fit", "t.csv", "-b", "b.csv", "-o", "out", "--no-report"],
        capture_output=True,
        cwd=tmp_path,
        env={**HERE, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert f"{REPLACED}{COMPLETE}" in done.stderr.decode("ascii")
    done.stdout.decode("ascii")
    assert pd.read_csv(tmp_path / "out/components.csv")["feature"].tolist() == names
    assert {"scores.csv", "model.skops", "summary.json", "methods.txt"} <= set(os.listdir(tmp_path / "out"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="file names are bytes")
@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}], ids=["", "C"])
def test_file_names_that_are_no_text(tmp_path, locale):
    folder = os.fsencode(tmp_path)
    table(folder + b"/t\xff.csv", 0)
    table(folder + b"/b\xe9.csv", 1)
    done = subprocess.run(
        [*map(os.fsencode, PROGRAM), b"fit", b"t\xff.csv", b"-b", b"b\xe9.csv", b"-o", b"o\xff", b"--no-report"],
        capture_output=True,
        cwd=tmp_path,
        env={**HERE, **locale},
    )
    assert done.returncode == 0, done.stderr
    assert f"{REPLACED}{COMPLETE}".encode() in done.stderr
    written = folder + b"/o\xff/"
    assert {b"scores.csv", b"model.skops", b"summary.json", b"methods.txt"} <= set(os.listdir(written))
    with open(written + b"summary.json") as stream:
        assert json.load(stream)["backgrounds"][0]["name"].startswith("b?")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="file names are bytes")
def test_no_result_is_called_complete_where_there_is_none(tmp_path):
    table(os.fsencode(tmp_path) + b"/t\xff.csv", 0)
    typed = [*map(os.fsencode, PROGRAM), b"fit", b"t\xff.csv", b"-b", b"gone\xff.csv", b"-o", b"out"]
    done = subprocess.run(typed, capture_output=True, cwd=tmp_path, env=HERE)
    assert done.returncode == 2
    assert REPLACED.encode() in done.stderr
    assert COMPLETE.encode() not in done.stderr
