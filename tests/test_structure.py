"""The shape of the code: imports point one way, and the core imports nothing optional."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import uca

ROOT = Path(uca.__file__).parent
SERVICES = ["_types", "_containers", "_threads", "_progress", "_optional", "_files", "_missing", "_labels", "_readable"]
LAYERS = [
    *SERVICES,
    "_validation",
    "_parameters",
    "_pool",
    "operators",
    "eigen",
    "dual",
    "solvers",
    "estimators",
    "inference",
]
LAYERS += [
    "inference",
    "datasets",
    "_separation",
    "demo",
    "reproduce",
    "persistence",
    "io",
    "comparison",
    "plotting",
    "report",
    "_anndata",
    "scverse",
    "cli",
]
CORE = {"numpy", "scipy", "sklearn", "clarabel", "threadpoolctl", "joblib"}
OPTIONAL_IN = {*LAYERS[LAYERS.index("datasets") :], "_pool"}
LAZY_IN = {
    "distributed.py",
    "schedule.py",
    "array_api.py",
    "_progress.py",
}


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_layers(path: Path) -> set[str]:
    package = ["uca", *path.relative_to(ROOT).with_suffix("").parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            parts = [*base, *(node.module or "").split(".")][1:]
            found |= {parts[0]} if parts and parts[0] else {alias.name for alias in node.names}
    return found


FILES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_up(path):
    own = LAYERS.index(layer_of(path))
    for layer in imported_layers(path):
        assert LAYERS.index(layer) <= own, f"{path.name} imports {layer}, which stands below it"


@pytest.mark.parametrize("path", [p for p in FILES if layer_of(p) not in OPTIONAL_IN], ids=lambda p: p.name)
def test_core_imports_only_core_dependencies(path):
    tree = ast.parse(path.read_text())
    for node in tree.body if path.name in LAZY_IN else ast.walk(tree):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
        for name in names:
            top = name.split(".")[0]
            assert top in CORE or top in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_import_brings_no_optional_package():
    optional = (
        "matplotlib",
        "skimage",
        "polars",
        "cvxpy",
        "dask",
        "torch",
        "tqdm",
        "skops",
        "typer",
        "anndata",
        "plotly",
    )
    code = f"import sys, uca; print([m for m in {optional} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_only_one_module_knows_ddof():
    assert [path.name for path in FILES if "ddof" in path.read_text().lower()] == ["moments.py"]


def test_public_names():
    for name in uca.__all__:
        assert hasattr(uca, name)
