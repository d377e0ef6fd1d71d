"""Every Python block of the README and the docs runs."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


NEEDS = r"(?:^<!-- needs (package|file): (\S+) -->\n)?"  # a comment above a block that cannot run everywhere


def python_blocks(page: Path) -> list[tuple[str, str, str]]:
    """Kind and name of what each block needs (empty: nothing), and the block."""
    return re.findall(NEEDS + r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def is_there(kind: str, name: str) -> bool:
    return not kind or (find_spec(name) is not None if kind == "package" else Path(name).exists())


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of matplotlib, for what scanpy does
@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name)
def test_blocks_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # blocks may write files
    namespace: dict[str, object] = {}
    missing = set()
    for kind, name, block in python_blocks(page):
        if is_there(kind, name):
            exec(compile(block, page.name, "exec"), namespace)
        else:
            missing.add(f"{kind} {name}")
    if page.name == "README.md":
        assert "Unique Component Analysis: target 200 x 6" in capsys.readouterr().out
        assert namespace["model"].certificate_.status == "optimal"
        assert namespace["model"].components_[0, 2:4].min() > 0.6
    if missing:
        pytest.skip(f"the other blocks of {page.name} ran; some need {', '.join(sorted(missing))}")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_to_files_exist(page):
    for link in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text()):
        assert (page.parent / link).exists(), link


CHEAT_SHEET = (ROOT / "docs" / "cheat-sheet.md").read_text()


def test_cheat_sheet_names_what_exists():
    import uca
    from uca import inference

    for name in set(re.findall(r"\buca\.([\w.]+)\(", CHEAT_SHEET)):
        found = uca
        for part in name.split("."):
            found = getattr(found, part)
    tested = CHEAT_SHEET.split("## Believe it?")[1].split("## Choices")[0]
    for name in re.findall(r"`(\w+)\(", tested):
        assert name in inference.__all__, name
    for name in set(re.findall(r"`model\.(?!skops)(\w+)", CHEAT_SHEET)):
        assert hasattr(uca.UCA, name) or f"uca.UCA.{name}: fitted" in (ROOT / "tests" / "api.txt").read_text(), name


def test_cheat_sheet_has_commands_and_options_of_the_program():
    program = (ROOT / "tests" / "api.txt").read_text().split("[program]")[1]
    rows = re.findall(r"`uca ([^`]*)`", CHEAT_SHEET)
    assert {row.split()[0] for row in rows} >= {"fit", "test", "transform", "plot", "compare", "info"}
    for row in rows:
        assert f"uca {row.split()[0]}" in program, row
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", CHEAT_SHEET)):
        assert option in program, option


def test_reading_shows_what_its_example_prints(capsys):
    """Line by line, but for the gap, which differs between machines."""
    page = ROOT / "docs" / "reading.md"
    (shown,) = re.findall(r"^```text\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    exec(compile(python_blocks(page)[0][2], page.name, "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    for line, found in zip(shown.splitlines(), printed, strict=False):
        assert re.sub(r"gap [\d.e-]+", "gap", line) == re.sub(r"gap [\d.e-]+", "gap", found).rstrip()
