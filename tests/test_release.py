"""A release is refused for each thing that is not ready, and a tag is made only where it was asked for."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from tools import release

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = '[project]\nname = "x"\nversion = "1.2.0"\n'
CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n## 1.2.0 (2030-01-02)\n\n### Added\n- `f`.\n\n## 1.1.0 (2029-01-02)\n\n- `g`.\n"
)
CITATION = "cff-version: 1.2.0\ntitle: x\nversion: 1.2.0\n"


def test_sections_of_a_changelog():
    found = release.sections(CHANGELOG)
    assert list(found) == ["Unreleased", "1.2.0 (2030-01-02)", "1.1.0 (2029-01-02)"]
    assert found["Unreleased"] == ""
    assert found["1.2.0 (2030-01-02)"] == "### Added\n- `f`."


def test_this_project_tells_one_version():
    """The newest section of the changelog is that of CITATION.cff, and of pyproject.toml but for a version to come."""
    released = [title for title in release.sections((ROOT / "CHANGELOG.md").read_text()) if title != "Unreleased"]
    newest = released[0].split()[0]
    assert release.citation_problems((ROOT / "CITATION.cff").read_text(), newest) == []
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version == newest or version.endswith(".dev0")


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("1.2.0", []),
        ("1.3.0", ["pyproject.toml has version 1.2.0, not 1.3.0"]),
        ("1.2", ["a version is three numbers, X.Y.Z; got '1.2'"]),
        ("v1.2.0", ["a version is three numbers, X.Y.Z; got 'v1.2.0'"]),
        ("1.2.0.dev0", ["a version is three numbers, X.Y.Z; got '1.2.0.dev0'"]),
    ],
)
def test_version(version, told):
    assert release.version_problems(PYPROJECT, version) == told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("", ""), []),
        (("## Unreleased\n\n", ""), []),
        (("## Unreleased\n", "## Unreleased\n- `h`.\n"), ["entries under Unreleased: move them to ## 1.2.0 (date)"]),
        (("## 1.2.0 (2030-01-02)", "## 1.2.1 (2030-01-02)"), ["no section ## 1.2.0 (YYYY-MM-DD)"]),
        (("## 1.2.0 (2030-01-02)", "## 1.2.0"), ["has ## 1.2.0; it needs a date: ## 1.2.0 (YYYY-MM-DD)"]),
        (("## 1.2.0 (2030-01-02)", "## 1.2.0 (soon)"), ["has ## 1.2.0 (soon); it needs a date"]),
        (("### Added\n- `f`.\n\n", ""), ["nothing under ## 1.2.0 (2030-01-02)"]),
        (
            ("# Changelog\n", "# Changelog\n## 1.3.0 (2031-01-02)\n- `i`.\n"),
            ["has ## 1.3.0 (2031-01-02) above ## 1.2.0"],
        ),
    ],
)
def test_changelog(change, told):
    found = release.changelog_problems(CHANGELOG.replace(*change, 1) if change[0] else CHANGELOG, "1.2.0")
    assert len(found) == len(told)
    for problem, expected in zip(found, told, strict=True):
        assert expected in problem


@pytest.mark.parametrize(
    ("citation", "told"),
    [
        (CITATION, []),
        (CITATION.replace("version: 1.2.0\n", 'version: "1.2.0"\n'), []),
        ("cff-version: 1.2.0\ntitle: x\n", ["CITATION.cff has no version"]),
        (CITATION.replace("\nversion: 1.2.0", "\nversion: 1.1.0"), ["CITATION.cff has version 1.1.0, not 1.2.0"]),
    ],
)
def test_citation(citation, told):
    assert release.citation_problems(citation, "1.2.0") == told


def test_first_example_is_that_of_the_readme():
    example = release.first_example((ROOT / "README.md").read_text())
    assert example.startswith("import numpy as np\nfrom uca import UCA\n")
    assert "model.summary()" in example
    compile(example, "README.md", "exec")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository that is ready to be released as 1.2.0."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "somebody")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "somebody@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    (root / "CITATION.cff").write_text(CITATION)
    (root / "README.md").write_text("```python\nimport uca\n```\n")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=root, check=True)
    release.git(root, "add", "-A")
    release.git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def tried(monkeypatch):
    """What would be built and installed; nothing is."""
    calls = []

    def build(root, folder):
        (folder / "x-1.2.0.whl").touch()
        return folder / "x-1.2.0.whl"

    monkeypatch.setattr(release, "build", build)
    monkeypatch.setattr(
        release, "try_wheel", lambda wheel, example, version, folder: calls.append((wheel.name, example, version))
    )
    return calls


def test_tree(repository):
    assert release.tree_problems(repository, "1.2.0") == []
    (repository / "README.md").write_text("other")
    (repository / "new.txt").write_text("new")
    assert release.tree_problems(repository, "1.2.0") == ["2 files are not committed, first README.md"]
    release.git(repository, "checkout", "-q", "-b", "topic")
    release.git(repository, "add", "-A")
    release.git(repository, "commit", "-q", "-m", "second")
    release.git(repository, "tag", "v1.2.0")
    assert release.tree_problems(repository, "1.2.0") == ["the branch is topic, not main", "the tag v1.2.0 exists"]


def test_ready(repository, tried, capsys):
    assert release.main(["1.2.0"], repository) == 0
    assert "ready. The tag: make release VERSION=1.2.0 RELEASE=--tag" in capsys.readouterr().out
    assert tried == [("x-1.2.0.whl", "import uca\n", "1.2.0")]
    assert release.git(repository, "tag") == ""


def test_tag_carries_the_notes(repository, tried):
    assert release.main(["1.2.0", "--tag"], repository) == 0
    assert release.git(repository, "tag") == "v1.2.0"
    told = release.git(repository, "tag", "--list", "--format=%(contents)")
    assert told.strip() == "uca 1.2.0\n\n### Added\n- `f`."  # headings are no comments
    assert len(tried) == 1


def test_dry_run_makes_no_tag(repository, tried):
    assert release.main(["1.2.0", "--tag", "--dry-run"], repository) == 0
    assert release.git(repository, "tag") == ""


def test_problems_stop_a_release_before_the_build(repository, tried, capsys):
    assert release.main(["1.3.0", "--tag"], repository) == 1
    out = capsys.readouterr().out
    assert "not ready: pyproject.toml has version 1.2.0, not 1.3.0" in out
    assert "not ready: CITATION.cff has version 1.2.0, not 1.3.0" in out
    assert tried == []
    assert release.git(repository, "tag") == ""


def test_dry_run_goes_on_to_the_build_and_still_fails(repository, tried):
    assert release.main(["1.3.0", "--dry-run"], repository) == 1
    assert len(tried) == 1


def test_a_wheel_with_another_version_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(release.venv, "create", lambda *args, **kwargs: None)
    monkeypatch.setattr(release, "run", lambda arguments, folder: "uca 1.1.0\n")
    with pytest.raises(SystemExit, match="uca --version says 'uca 1.1.0', not 1.2.0"):
        release.try_wheel(tmp_path / "x.whl", "", "1.2.0", tmp_path)


def test_what_fails_is_told(tmp_path):
    with pytest.raises(SystemExit, match="no such thing"):
        release.run([sys.executable, "-c", "raise ValueError('no such thing')"], tmp_path)


@pytest.mark.slow
def test_build(tmp_path):
    """The archives that a release builds: the sources carry what their tests read, the wheel the package."""
    if find_spec("build") is None:
        pytest.skip("the package build is not installed: pip install build")
    wheel = release.build(ROOT, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        assert "uca/py.typed" in archive.namelist()
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"tests/api.txt", "tools/release.py", ".github/workflows/ci.yml", ".pre-commit-config.yaml"} <= names
