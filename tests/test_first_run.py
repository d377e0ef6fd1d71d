"""The transcript in docs/first-run.md is what a new user sees: two CSV files, one error that helps, a result, a test of it.

``UCA_NEW_TRANSCRIPT=1 pytest tests/test_first_run.py`` writes it anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import uca

PAGE = Path(__file__).resolve().parents[1] / "docs" / "first-run.md"
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


def _write_tables(folder: Path) -> None:
    """An id column, a label column and a few holes; two factors that everybody has, one response of the treated."""
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

    treated, control = table(200, 1, True), table(150, 301, False)
    treated.loc[[4, 17], "gene2"] = np.nan
    control.loc[3, "gene7"] = np.nan
    treated.to_csv(folder / "treated.csv", index=False)
    control.to_csv(folder / "control.csv", index=False)


def _run(command: str, folder: Path) -> tuple[str, int]:
    program = [sys.executable, "-m", "uca.cli"] if command.startswith("uca ") else ["head"]
    environment = {**os.environ, **HERE, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [*program, *command.split()[1:]],
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
    text = re.sub(r"note: test.png was not written.*\n|, test.png", "", text)
    return re.sub(r"gap is [0-9.e-]+", "gap is G", text)


def test_transcript(tmp_path):
    for package in ("typer", "rich", "skops", "plotly", "jinja2"):
        pytest.importorskip(package, reason="pip install 'unique-component-analysis[cli,report]'")
    _write_tables(tmp_path)
    shown, codes = [], []
    for command in COMMANDS:
        output, code = _run(command, tmp_path)
        shown.append(f"$ {command}\n{output.rstrip()}\n")
        codes.append(code)
    # Holes are an error until --missing says what to do; results are not overwritten.
    assert codes == [0, 1, 0, 2, 0, 0, 0]
    assert sorted(path.name for path in (tmp_path / "result").iterdir()) == [
        "components.csv",
        "model.skops",
        "report.html",
        "scores.csv",
        "summary.json",
    ]
    assert {path.name for path in (tmp_path / "tested").iterdir()} >= {"test.csv", "test.json"}
    transcript = "```console\n" + "\n".join(shown) + "```\n"
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    written, after = rest.split(END)
    if os.environ.get("UCA_NEW_TRANSCRIPT"):
        PAGE.write_text(f"{before}{START}{transcript}{END}{after}", encoding="utf-8")
        return
    assert _stable(written) == _stable(transcript)
