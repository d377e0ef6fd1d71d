"""What strangers meet first: workflows, hooks and forms name commands, files and versions that exist."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import api_snapshot
import pytest

from uca import UCA, persistence

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: it comes with dask")

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml" for name in ("bug", "wrong-answer", "feature")]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][\w-]*):", MAKEFILE, re.MULTILINE))


def steps(workflow: Path) -> list[dict]:
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def targets_in(text: str) -> set[str]:
    return set(re.findall(r"\bmake ([a-z][\w-]*)", text))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_calls_what_exists(workflow):
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    for command in commands:
        assert targets_in(command) <= TARGETS, command
    for step in steps(workflow):
        assert "run" in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]), step


def test_ci_runs_the_gate_on_pushes_and_pull_requests():
    workflow = ROOT / ".github" / "workflows" / "ci.yml"
    assert ".ci/run" in [step.get("run") for step in steps(workflow)]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    on = yaml.safe_load(workflow.read_text())[True]  # YAML 1.1 reads the key "on" as a truth value
    assert {"push", "pull_request"} <= set(on)


def test_ci_uploads_what_make_writes():
    workflow = ROOT / ".github" / "workflows" / "ci.yml"
    paths = [step["with"]["path"] for step in steps(workflow) if "upload-artifact" in step.get("uses", "")]
    assert paths == ["out/dist", "docs/_build/html"]
    for path in paths:
        assert path in MAKEFILE


def test_ci_has_the_versions_of_python_that_the_package_promises():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = [text.rpartition(" ")[2] for text in project["classifiers"] if re.search(r":: 3\.\d+$", text)]
    assert jobs["test"]["strategy"]["matrix"]["python"] == promised


def test_hooks():
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = {hook["id"]: hook for repository in repositories for hook in repository["hooks"]}
    assert {"end-of-file-fixer", "check-added-large-files", "check-yaml", "check-toml", "lint", "types"} <= set(hooks)
    for hook in hooks.values():
        assert targets_in(hook.get("entry", "")) <= TARGETS
    for repository in repositories:
        assert repository["repo"] == "local" or re.fullmatch(r"v\d+\.\d+\.\d+", repository["rev"])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_form(path):
    form = yaml.safe_load(path.read_text())
    assert form["name"]
    assert form["description"]
    asked = [element for element in form["body"] if element["type"] != "markdown"]
    for element in form["body"]:
        assert element["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert element["attributes"].get("value" if element["type"] == "markdown" else "label")
    ids = [element["id"] for element in asked]
    assert len(set(ids)) == len(ids)
    assert any(element["validations"]["required"] for element in asked)


def test_form_for_a_wrong_answer_asks_for_what_exists():
    text = FORMS[1].read_text()
    names = set(re.findall(r"model\.(\w+)", text))
    assert {"certificate_", "representation_", "lambdas_"} <= names
    assert names <= {*api_snapshot.fitted(UCA), *dir(UCA)}
    for word in ("units", "Rows", "random_state", "--seed", "Versions"):
        assert word in text


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_pages_for_contributors_exist_and_name_what_exists(name):
    text = (ROOT / name).read_text()
    assert len(text) > 200
    assert targets_in(text) <= TARGETS


def test_issue_settings_parse():
    settings = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml").read_text())
    assert settings == {"blank_issues_enabled": True}


@pytest.mark.parametrize(
    "name", ["CONTRIBUTING.md", "README.md", "docs/releasing.md", "docs/stability.md", "docs/scale.md"]
)
def test_make_targets_in_prose_exist(name):
    commands = re.findall(r"(?:`|^\$ )(make [^`\n]*)", (ROOT / name).read_text(), re.MULTILINE)
    assert commands
    for command in commands:
        assert targets_in(command) <= TARGETS, command


def test_every_target_is_told_by_help():
    told = set(re.findall(r'@echo "make ([\w-]+)', MAKEFILE))
    assert TARGETS - told <= {"help", "test-oldest", "bench-save", "clean"}  # told along with others
    assert told <= TARGETS


def test_stability_page_is_true_of_the_code():
    """Modules, format number and exit codes that the page names."""
    text = (ROOT / "docs" / "stability.md").read_text()
    for name in api_snapshot.sections():
        assert name == api_snapshot.PROGRAM or f"`{name}`" in text, name
    assert f"a format number, at present {persistence.FORMAT}," in text.replace("\n  ", " ")
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    assert ("Nothing is deprecated at present" in text) == ("FutureWarning" not in sources), "name what is deprecated"
