"""Transcripts in the docs are what a new user sees: two files, errors that help, a result, a picture, a test of it.

``UCA_NEW_TRANSCRIPT=1 pytest tests/test_first_run.py`` writes them anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uca

DOCS = Path(__file__).resolve().parents[1] / "docs"
START, END = "<!-- transcript -->\n", "<!-- /transcript -->"
HERE = {"PYTHONPATH": str(Path(uca.__file__).parents[1])}  # the package under test, from any folder
COMMANDS = [
    "head -n 3 treated.csv",
    "uca fit treated.csv -b control.csv --labels response -o result",
    "uca fit treated.csv -b control.csv --labels response --missing median -o result",
    "uca fit treated.csv -b control.csv --labels response --missing median -o result",
    "uca test treated.csv -b control.csv --labels response --missing median -k 2 -o tested",
    "uca info result/model.skops",
    "uca transform result/model.skops control.csv --missing median -o control-scores.csv",
]
# Two Excel files of a laboratory: every command but the first is what the program said to type.
WITH_EXCEL = [
    "uca fit treated.xlsx control.xlsx",
    "uca fit treated.xlsx -b control.xlsx",
    "uca fit treated.xlsx -b control.xlsx --na n.d. --na '<0.5'",
    "uca fit treated.xlsx -b control.xlsx --na n.d. --na '<0.5' --missing median",
    "uca test treated.xlsx -b control.xlsx --missing median --na n.d. --na '<0.5'",
]


def _tables() -> tuple[Any, Any]:
    """An id column and a label column; two factors that everybody has, one response of the treated."""
    pandas = pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")
    rng = np.random.default_rng(0)

    def table(n: int, first: int, treated: bool):
        values = rng.normal(size=(n, 8))
        values[:, :3] += 3 * rng.normal(size=(n, 1))
        values[:, 5:] += 3 * rng.normal(size=(n, 1))
        responds = rng.random(n) < 0.5
        values[:, 3:5] += 4 * (responds & treated)[:, np.newaxis]
        frame = pandas.DataFrame(values.round(3), columns=[f"gene{i + 1}" for i in range(8)])
        frame.insert(0, "sample", [f"S{first + i:03d}" for i in range(n)])
        frame["response"] = np.where(responds & treated, "yes", "no")
        return frame

    return table(200, 1, True), table(150, 301, False)


def _write_tables(folder: Path) -> None:
    """As CSV, with a few holes."""
    treated, control = _tables()
    treated.loc[[4, 17], "gene2"] = np.nan
    control.loc[3, "gene7"] = np.nan
    treated.to_csv(folder / "treated.csv", index=False)
    control.to_csv(folder / "control.csv", index=False)


def _write_workbooks(folder: Path) -> None:
    """As a laboratory keeps them: words where nothing was found, a cage number, an empty column of comments."""
    treated, control = (
        table.astype({"gene2": object, "gene7": object}).assign(cage=np.arange(len(table)) % 6 + 1, comment=None)
        for table in _tables()
    )
    treated.loc[[4, 17], "gene2"] = "n.d."
    treated.loc[[8], "gene7"] = "<0.5"
    treated.to_excel(folder / "treated.xlsx", index=False)
    control.to_excel(folder / "control.xlsx", index=False)


def _run(command: str, folder: Path) -> tuple[str, int]:
    program = [sys.executable, "-m", "uca.cli"] if command.startswith("uca ") else ["head"]
    environment = {**os.environ, **HERE, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [*program, *shlex.split(command)[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    return done.stdout, done.returncode


def _stable(text: str) -> str:
    """Without what differs from machine to machine: the size of a gap that is rounding, and whether figures are drawn."""
    text = re.sub(r"note: (test|scores).png was not written.*\n|, (test|scores).png", "", text)
    return re.sub(r"gap (is )?[0-9.e-]+", r"gap \1G", text)


def _record(commands: list[str], folder: Path) -> tuple[str, list[int]]:
    """What the commands print, as it is shown, and their exit codes."""
    shown, codes = [], []
    for command in commands:
        output, code = _run(command, folder)
        shown.append(f"$ {command}\n{output.rstrip()}\n")
        codes.append(code)
    return "```console\n" + "\n".join(shown) + "```\n", codes


def _compare(page: Path, transcript: str) -> None:
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(START)
    written, after = rest.split(END)
    if os.environ.get("UCA_NEW_TRANSCRIPT"):
        page.write_text(f"{before}{START}{transcript}{END}{after}", encoding="utf-8")
        return
    assert _stable(written) == _stable(transcript)


def _need(*packages: str) -> None:
    for package in packages:
        pytest.importorskip(package, reason="pip install 'unique-component-analysis[cli,excel,plot,report]'")


def test_transcript(tmp_path):
    _need("typer", "rich", "skops", "plotly", "jinja2")
    _write_tables(tmp_path)
    transcript, codes = _record(COMMANDS, tmp_path)
    # Holes are an error until --missing says what to do; results are not overwritten.
    assert codes == [0, 1, 0, 2, 0, 0, 0]
    assert {path.name for path in (tmp_path / "result").iterdir()} - {"scores.png"} == {
        "components.csv",
        "methods.txt",
        "model.skops",
        "report.html",
        "scores.csv",
        "summary.json",
    }
    assert {path.name for path in (tmp_path / "tested").iterdir()} >= {"test.csv", "test.json"}
    methods = (tmp_path / "result" / "methods.txt").read_text(encoding="utf-8")
    assert "The target had 200 rows and 8 features; the background was control (150 rows)." in methods
    assert "- treated.csv: 2 missing values were replaced by the median of the column\n" in methods
    _compare(DOCS / "first-run.md", transcript)


def test_first_day_with_excel(tmp_path):
    """From two workbooks to a picture and a sentence, by pasting what the program says."""
    _need("typer", "rich", "skops", "plotly", "jinja2", "openpyxl", "python_calamine", "matplotlib")
    _write_workbooks(tmp_path)
    transcript, codes = _record(WITH_EXCEL, tmp_path)
    assert codes == [2, 1, 1, 0, 0]
    for command in WITH_EXCEL[1:]:  # each was offered by the one before
        assert f" {command}\n" in transcript.replace(f"$ {command}\n", "", 1)
    assert (tmp_path / "uca-treated" / "scores.png").read_bytes().startswith(b"\x89PNG")
    assert "UC1 varies more in the target than in the background" in transcript
    _compare(DOCS / "your-files.md", transcript)
