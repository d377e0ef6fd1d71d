"""The first day of a pipeline, recorded in docs/production.md: two named backgrounds, a fit, a file, new rows, drift.

Every block runs, and what it prints is what the page shows. ``UCA_NEW_TRANSCRIPT=1 pytest tests/test_production.py`` writes
it anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import uca

PAGE = Path(__file__).resolve().parents[1] / "docs" / "production.md"
START, END = "<!-- page -->\n", "<!-- /page -->"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


@pytest.fixture
def day(tmp_path, monkeypatch, capsys):
    """The names that the page leaves behind, and the page with what its blocks print."""
    for package in ("pandas", "skops"):
        pytest.importorskip(package, reason="pip install 'unique-component-analysis[cli]'")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    def run(block: re.Match) -> str:
        exec(compile(block["code"], PAGE.name, "exec"), names)
        printed = capsys.readouterr().out
        text = f"\n```text\n{printed}```\n" if printed else ""
        return f"```python\n{block['code']}```\n{text}"

    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    page, after = rest.split(END)
    return names, page, BLOCK.sub(run, page), (before, after)


def test_recorded_day(day):
    names, page, seen, (before, after) = day
    loaded, fitted = names["line_model"], names["pipeline"]
    assert type(loaded) is uca.ContrastivePipeline
    assert loaded is not fitted
    assert loaded["uca"].background_names_ == ["load test", "standstill"]
    np.testing.assert_array_equal(
        loaded.background_distance(names["fourth"]), fitted.background_distance(names["fourth"])
    )
    wear = np.asarray(names["WEAR"]) / loaded["scale"].scale_
    assert loaded["uca"].components_[0] @ wear / np.linalg.norm(wear) > 0.9  # what was put in
    assert names["quiet"].alarms == ()
    assert [(a.dataset, a.kind) for a in names["worn"].alarms] == [("target", "variance")]
    assert [(a.dataset, a.kind) for a in names["spoilt"].alarms] == [("load test", "variance")]
    if os.environ.get("UCA_NEW_TRANSCRIPT"):
        PAGE.write_text(f"{before}{START}{seen}{END}{after}", encoding="utf-8")
        return
    assert page == seen


def test_the_same_day_with_a_plain_pipeline_is_told(day):
    names = day[0]
    from sklearn.pipeline import Pipeline

    given = {"load test": names["load_test"].dropna(), "standstill": names["standstill"].dropna()}
    plain = Pipeline([("scale", names["pipeline"]["scale"]), ("uca", names["pipeline"]["uca"])])
    with pytest.warns(UserWarning, match=r"takes only the target through the step before it \('scale'\)"):
        plain.fit(names["line"].dropna(), uca__backgrounds=given)
