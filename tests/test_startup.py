"""What is imported, and when: programs start in fresh processes, so that nothing was imported before."""

from __future__ import annotations

import ast
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import uca
from uca._lazy import on_use

ROOT = Path(uca.__file__).parent
HEAVY = {"numpy", "scipy", "sklearn", "pandas"}
WITH_TYPER = "the program needs Typer: pip install '.[cli]'"


def imported(code: str, *, expect: set[str], **environment: str) -> set[str]:
    """Which of some packages a fresh process has imported at its end, however it ends."""
    told = f"import atexit, sys; atexit.register(lambda: print('\\n', *({expect!r} & sys.modules.keys())))\n"
    done = subprocess.run(
        [sys.executable, "-c", told + code], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def run_program(*arguments: str) -> str:
    return f"sys.argv = ['uca', *{arguments!r}]\nfrom uca.cli import app\napp(prog_name='uca')"


def test_packages_that_are_imported_are_seen():
    """What the tests below rely on."""
    assert imported("import numpy", expect=HEAVY) == {"numpy"}
    assert imported("from uca import UCA", expect=HEAVY) >= {"numpy", "scipy", "sklearn"}


def test_import_of_the_package_imports_nothing():
    assert imported("import uca; dir(uca)", expect=HEAVY) == set()
    assert imported("import uca; print(uca.__version__)", expect=HEAVY) == set()


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("fit", "--help"), ("test", "--help"), ("plot", "--help"), ("each", "--help")],
)
def test_help_and_version_need_no_numpy(arguments):
    pytest.importorskip("typer", reason=WITH_TYPER)
    assert imported(run_program(*arguments), expect=HEAVY) == set()


@pytest.mark.parametrize("words", ["uca fi", "uca fit --mis"])
def test_completion_needs_no_numpy(words):
    pytest.importorskip("typer", reason=WITH_TYPER)
    place = str(len(words.split()) - 1)
    found = imported(run_program(), expect=HEAVY, _UCA_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place)
    assert found == set()


def test_a_model_needs_little_of_scikit_learn():
    extra = {"sklearn.cluster", "sklearn.pipeline", "sklearn.linear_model", "clarabel", "matplotlib", "torch", "rich"}
    extra |= {"uca.supports", "uca.inference"}
    assert imported("from uca import UCA", expect=extra) == set()


@pytest.mark.parametrize(("arguments", "expected"), [("", True), ("['--version'], ", False)])
def test_only_a_process_that_is_the_program_seldom_looks_for_garbage(arguments, expected):
    """With arguments, another program calls it, whose garbage is not ours."""
    pytest.importorskip("typer", reason=WITH_TYPER)
    told = "import atexit, gc, sys\nbefore = gc.get_threshold()\n"
    told += "atexit.register(lambda: print(gc.get_threshold() != before, gc.get_freeze_count() > 0))\n"
    code = f"{told}sys.argv = ['uca', '--version']\nfrom uca.cli import app\napp({arguments}prog_name='uca')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{expected} {expected}"


FIT = "import numpy as np, uca\nmodel = uca.UCA().fit(np.random.default_rng(0).normal(size=(20, 3)))\n"


def test_saving_and_loading_import_no_other_framework(tmp_path):
    pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")
    path = str(tmp_path / "model.skops")
    others = {"torch", "pytest", "dask", "cupy", "jax"}
    assert imported(f"{FIT}uca.save(model, {path!r})", expect=others) == set()
    assert imported(f"import uca; uca.load({path!r})", expect=others) == set()


def test_estimators_of_scikit_learn_are_those_it_lists_itself():
    from sklearn.utils import all_estimators

    from uca._skops import estimators_of_sklearn

    assert estimators_of_sklearn() == all_estimators()


def test_skops_trusts_what_it_trusts_without_us(tmp_path):
    """Imported through the package or by itself, skops has the same list, and scikit-learn its function."""
    pytest.importorskip("skops", reason="model files need skops: pip install '.[cli]'")
    ask = "import skops.io._trusted_types as t, sklearn.utils as u\nprint(sorted(t.SKLEARN_ESTIMATOR_TYPE_NAMES))\n"
    ask += "print(u.all_estimators.__module__)"
    run = [
        subprocess.run([sys.executable, "-c", first + ask], capture_output=True, text=True, check=True).stdout
        for first in ("", "from uca._skops import skops_io; skops_io()\n")
    ]
    assert run[0] == run[1]
    assert "sklearn.decomposition._pca.PCA" in run[0]


class TestNames:
    """Names that are imported on use are there in every way that Python knows."""

    def test_star(self):
        space: dict[str, object] = {}
        exec("from uca import *", space)
        assert set(uca.__all__) <= set(space)
        assert space["UCA"] is uca.UCA

    def test_dir_lists_names_and_modules(self):
        assert {*uca.__all__, *uca._ON_USE} <= set(dir(uca))

    def test_unknown_name(self):
        with pytest.raises(AttributeError, match="module 'uca' has no attribute 'UCB'"):
            uca.UCB  # noqa: B018
        with pytest.raises(ImportError, match="cannot import name 'UCB' from 'uca'"):
            exec("from uca import UCB")

    def test_pickle_in_another_process(self, tmp_path):
        model = uca.UCA().fit(np.random.default_rng(0).normal(size=(20, 3)))
        path = tmp_path / "model.pickle"
        path.write_bytes(pickle.dumps(model))
        code = (
            f"import pickle, pathlib; print(pickle.loads(pathlib.Path({str(path)!r}).read_bytes()).components_.sum())"
        )
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert float(told) == model.components_.sum()

    def test_a_name_is_kept(self):
        code = "import uca; first = uca.UCA; assert 'UCA' in vars(uca) and uca.UCA is first"
        subprocess.run([sys.executable, "-c", code], check=True)

    @pytest.mark.parametrize("package", ["", "io"])
    def test_editors_see_the_same_names_from_the_same_modules(self, package):
        """What is imported for type checkers is what is imported on use."""
        path = ROOT / package / "__init__.py"
        module = __import__("importlib").import_module(f"uca.{package}".rstrip("."))
        (block,) = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If)]
        seen = {(node.module, name.name) for node in block.body for name in node.names}
        names = {(home, name) for home, brought in module._NAMES.items() for name in brought}
        modules = {(None, name) for name in getattr(module, "_ON_USE", ())}
        assert seen == names | modules
        assert {name for _, name in names} == set(module.__all__)

    def test_a_package_of_any_name(self):
        get, listed = on_use("uca", {"_version": ("__version__",)}, {"means"})
        assert get("__version__") == uca.__version__
        assert get("means").__name__ == "uca.means"
        assert {"__version__", "means"} <= set(listed())


class TestCommands:
    """Options are declared apart from what a command does, so both must agree, and constants be those of the library."""

    @pytest.fixture(autouse=True)
    def typer(self):
        return pytest.importorskip("typer", reason=WITH_TYPER)

    def test_work_takes_what_is_declared(self):
        from uca.cli import COMMANDS
        from uca.cli.command import work_of

        for declared in COMMANDS.values():
            work = work_of(declared)
            assert work is not declared
            assert list(inspect.signature(work).parameters) == list(inspect.signature(declared).parameters)

    def test_constants_are_those_of_the_library(self):
        from uca.cli.commands import plot, reproduce, test
        from uca.cli.figures import KINDS
        from uca.inference.stability import MIN_RESAMPLES
        from uca.inference.uniqueness import DEFAULT_COMPONENTS
        from uca.reproduce import REPRODUCTIONS

        assert tuple(KINDS) == plot.KINDS
        assert [name.value for name in reproduce.Name] == list(REPRODUCTIONS)
        assert (test.DEFAULT_COMPONENTS, test.MIN_RESAMPLES) == (DEFAULT_COMPONENTS, MIN_RESAMPLES)
