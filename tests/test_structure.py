"""The shape of the code: imports point one way, and the core imports nothing optional."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import runpy
import subprocess
import sys
import tomllib
import typing
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import uca

ROOT = Path(uca.__file__).parent
SERVICES = ["_types", "_sklearn", "_containers", "_threads", "_progress", "_optional", "_files", "_missing", "_labels"]
SERVICES += ["_readable", "_deadline", "_shown", "_memory", "_subjects", "_guard", "_claims", "_lazy", "_version"]
LAYERS = [
    *SERVICES,
    "_validation",
    "_parameters",
    "_pool",
    "operators",
    "means",
    "dual",
    "solvers",
    "supports",
    "estimators",
    "fitted",
    "removal",
    "contrast",
    "pipeline",
    "drifted",
    "monitoring",
    "inference",
    "groupwise",
]
LAYERS += [
    "datasets",
    "_separation",
    "demo",
    "reproduce",
    "_skops",
    "persistence",
    "io",
    "comparison",
    "report",
    "plotting",
    "_anndata",
    "scverse",
    "mne",
    "typing",
    "cli",
]
CORE = {"numpy", "scipy", "sklearn", "clarabel", "threadpoolctl", "joblib"}
OPTIONAL_IN = {*LAYERS[LAYERS.index("datasets") :], "_pool"}
LAZY_IN = {
    "distributed.py",
    "graphs.py",
    "namespace.py",
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


#: Module -> the package that brings it, where it is called otherwise.
PACKAGES = {"sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow", "distributed": "dask"}
BROUGHT = {"polars"}  # imported where a caller passes a table of it
FOR_DEVELOPERS = {"docs", "bench", "test"}


def imported_packages() -> dict[str, set[str]]:
    """Packages that the code imports -> files that do so, by statements and by ``optional``."""
    found: dict[str, set[str]] = {}
    for path in [*FILES, ROOT / "__init__.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) and not node.level else []
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "optional"
                and isinstance(node.args[0], ast.Constant)
            ):
                names.append(node.args[0].value)
            for top in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"uca"}:
                package = PACKAGES.get(top, top).replace("_", "-")
                found.setdefault(package, set()).add(str(path.relative_to(ROOT)))
    return found


def test_what_is_imported_is_declared():
    """And not left to packages that happen to need it too."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["project"]
    extras = [
        line for name, lines in project["optional-dependencies"].items() if name not in FOR_DEVELOPERS for line in lines
    ]
    declared = {Requirement(line).name for line in (*project["dependencies"], *extras)}
    found = imported_packages()
    assert {package: files for package, files in found.items() if package not in declared | BROUGHT} == {}
    assert {"h5py", "markupsafe", "python-calamine", "scikit-learn", "typer"} <= set(
        found
    )  # what the lines above look for


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
        "mne",
    )
    code = f"import sys, uca; print([m for m in {optional} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


ROOMS = ["statistics", "contract", "eigen", "sources", "gaps", "representations"]


@pytest.mark.parametrize("path", sorted((ROOT / "operators").rglob("*/*.py")), ids=lambda path: path.name)
def test_imports_between_rooms_of_operators_point_up(path):
    own = ROOMS.index(path.parent.name)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 2:
            room = (node.module or node.names[0].name).split(".")[0]
            assert ROOMS.index(room) <= own, f"{path.name} imports {room}, which stands below it"


def divides_by_rows(node: ast.AST) -> bool:
    """Whether an expression is ``... / (n - 1)`` or ``... / len(rows) - 1`` and the like: a divisor made by hand."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv))):
        return False
    right = node.right
    by_one = isinstance(right, ast.BinOp) and isinstance(right.op, ast.Sub) and ast.unparse(right.right) == "1"
    return by_one and ast.unparse(right.left) in {"n", "len(rows)", "n_rows", "self.n", "m.n", "X.shape[0]"}


def test_only_one_module_knows_ddof():
    """Neither by name nor by dividing: every variance goes through ``divisor``."""
    assert [path.name for path in FILES if "ddof" in path.read_text().lower()] == ["blocks.py"]
    by_hand = [p.name for p in FILES if any(map(divides_by_rows, ast.walk(ast.parse(p.read_text()))))]
    assert by_hand == []
    assert divides_by_rows(ast.parse("x / (n - 1)").body[0].value)  # what the line above looks for


def private_imports(path: Path) -> list[str]:
    """Modules and names of scikit-learn that begin with an underscore."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    names = [f"{node.module}.{alias.name}" for node in nodes if not node.level for alias in node.names]
    names += [
        a.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import) for a in node.names
    ]
    return [name for name in names if re.match(r"sklearn\b.*\._", name)]


def test_one_module_holds_what_is_private_in_scikit_learn():
    found = {path.name: names for path in FILES if (names := private_imports(path))}
    assert list(found) == ["_sklearn.py"]
    assert len(found["_sklearn.py"]) == 4


def test_nobody_gets_around_a_frozen_object():
    assert [path.name for path in FILES if "object.__setattr__" in path.read_text()] == []


def test_fitted_models_are_read_through_public_names():
    """Outside of estimators/, nothing of a model begins with an underscore."""
    outside = [path for path in FILES if layer_of(path) != "estimators"]
    private = re.compile(r"\b(model|fitted|self\.model|found\.model)\._[a-z]")
    assert [path.name for path in outside if private.search(path.read_text())] == []


def test_no_module_asks_for_one_estimator():
    """``isinstance(model, UCA)`` shuts out the next one: ask for ContrastiveTransformer or BoundedTransformer."""
    exact = re.compile(r"isinstance\([\w.]+, \(?(UCA|CPCA|CPCAPlusPlus|SparseUCA)\b")
    assert [path.name for path in FILES if exact.search(path.read_text())] == []


def test_registries_name_what_they_hold():
    from uca.estimators.registry import ESTIMATORS
    from uca.operators.representations.build import KINDS
    from uca.operators.sources.choose import SOURCES
    from uca.operators.sources.source import Offer

    assert list(KINDS) == [kind.name for kind in KINDS.values()]
    offered = set().union(*(source.offers for source in SOURCES))
    assert {kind.needs for kind in KINDS.values()} <= offered <= set(Offer)
    assert {kind.__name__ for kind in ESTIMATORS} <= set(uca.__all__)
    assert len({kind.method_name for kind in ESTIMATORS}) == len(ESTIMATORS)


def test_the_picture_of_the_architecture_is_that_of_the_imports():
    script = ROOT.parents[1] / "docs" / "architecture_image.py"
    names = runpy.run_path(str(script))
    assert names["PICTURE"].read_text(encoding="utf-8") == names["picture"](), "run python docs/architecture_image.py"
    assert set(names["TOLD"]) >= set(names["imports"]())


NOT_SHOWN = {"Alarm", "MeanDifference", "Moments"}  # a part of a result, and an accumulator


def results() -> list[type]:
    """Classes of results: what the modules offer, and what public functions of uca.inference return."""
    from uca import inference

    offered = [getattr(module, name) for module in (uca, inference) for name in module.__all__]
    functions = [value for value in offered if inspect.isfunction(value) and "inference" in value.__module__]
    returned = [typing.get_type_hints(function)["return"] for function in functions]
    kinds = [kind for kind in offered if dataclasses.is_dataclass(kind) and kind.__name__ not in NOT_SHOWN]
    assert len(functions) >= 7
    return sorted({*kinds, *returned}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", results(), ids=lambda kind: kind.__name__)
def test_results_show_themselves_in_a_notebook_and_in_a_line(kind):
    from uca._shown import Shown

    assert issubclass(kind, Shown)
    assert kind._parts is not Shown._parts
    # A restriction is a parameter too: its repr is what makes it again.
    assert kind.__name__ == "Restriction" or kind.__repr__ is Shown.__repr__, "@dataclass(repr=False)"


def test_public_names():
    for name in uca.__all__:
        assert hasattr(uca, name)
