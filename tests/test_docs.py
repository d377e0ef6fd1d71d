"""Every Python block of the README and the docs runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name)
def test_blocks_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # blocks may write files
    namespace: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)
    if page.name == "README.md":
        assert "Unique Component Analysis: target 200 x 6" in capsys.readouterr().out
        assert namespace["model"].certificate_.status == "optimal"
        assert namespace["model"].components_[0, 2:4].min() > 0.6


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_to_files_exist(page):
    for link in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text()):
        assert (page.parent / link).exists(), link
