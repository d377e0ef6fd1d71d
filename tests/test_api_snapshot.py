"""The public API is that of tests/api.txt, and the snapshot sees what a user of a name would see change."""

from __future__ import annotations

import dataclasses
from enum import Enum
from pathlib import Path
from types import ModuleType

import api_snapshot as api
import numpy as np
import pytest

SAVED = api.read(api.SNAPSHOT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", api.sections())
def test_public_api_is_the_snapshot(name):
    if name == api.PROGRAM:
        pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")
    told = api.difference(SAVED.get(name, []), api.section(name))
    assert not told, told


def test_snapshot_has_no_other_sections():
    assert list(SAVED) == api.sections()


class Colour(Enum):
    RED = "red"


@dataclasses.dataclass(frozen=True)
class Result:
    value: float
    notes: list[str] = dataclasses.field(default_factory=list)
    _hidden: int = 0

    @property
    def size(self) -> int:
        return 0

    @classmethod
    def of(cls, path: str) -> Result:
        return cls(0.0)


class Estimator:
    """A model.

    Attributes
    ----------
    mean_, scale_ : array of shape (p,)
        inside_ : not a name
    certificate_ : Certificate

    Notes
    -----
    other_ : not an attribute
    """

    def __init__(self, k: int = 2, *, tol: float = 1e-9):
        self.k = k

    def fit(self, X: np.ndarray, y: object = None, *, folder: Path = Path("a/b")) -> Estimator:
        return self

    def _solve(self) -> None: ...


FLOAT64 = np.dtype("float64")


def function(X, /, *rows, colour=Colour.RED, dtype=FLOAT64, by=(1, "a"), key=len, **rest): ...


def test_lines_of_a_function():
    (line,) = api.object_lines("m.function", function)
    assert line == "m.function(X, /, *rows, colour='red', dtype=float64, by=(1, 'a'), key=<len>, **rest)"


def test_lines_of_an_estimator():
    assert api.object_lines("m.Estimator", Estimator) == [
        "m.Estimator(k=2, *, tol=1e-09)",
        "m.Estimator.fit(X, y=None, *, folder='a/b')",
        "m.Estimator.certificate_: fitted",
        "m.Estimator.mean_: fitted",
        "m.Estimator.scale_: fitted",
    ]


def test_lines_of_a_result():
    assert api.object_lines("m.Result", Result) == [
        "m.Result: dataclass",
        "m.Result.value: field",
        "m.Result.notes = <made anew>: field",
        "m.Result.of(path): class",
        "m.Result.size: property",
    ]


def test_lines_of_an_exception_and_of_values():
    class Refused(ValueError):
        pass

    assert api.object_lines("m.Refused", Refused) == ["m.Refused: ValueError"]
    assert api.object_lines("m.KINDS", {"b": 1, "a": 2}) == ["m.KINDS = {a, b}"]


def test_public_names_of_a_module_without_all():
    module = ModuleType("m")
    for name, value in {"mine": lambda: 0, "_mine": lambda: 0, "imported": np.mean}.items():
        if name.endswith("mine"):
            value.__module__ = "m"
        setattr(module, name, value)
    assert api.public_names(module) == ["mine"]
    module.__all__ = ["imported", "__version__"]
    assert api.public_names(module) == ["imported"]


def test_inherited_methods_of_other_packages_are_left_out():
    assert "uca.UCA.fit(X, y=None, *, backgrounds=None)" in SAVED["uca"]
    assert not [line for line in SAVED["uca"] if "get_params" in line or "set_fit_request" in line]


def test_message_says_what_changed_and_what_to_do():
    told = api.difference(["f(x)", "g()"], ["f(x, y=0)", "g()"])
    assert "  removed: f(x)\n  added:   f(x, y=0)\n" in told
    assert "g()" not in told
    assert "python tests/api_snapshot.py --write" in told
    assert "CHANGELOG.md" in told
    assert api.difference(["g()"], ["g()"]) == ""


def test_written_and_read_again():
    parts = {"uca": ["f(x)", "g()"], "program": ["uca fit"]}
    assert api.read(api.written(parts)) == parts


def test_script_renews_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(api, "SNAPSHOT", tmp_path / "api.txt")
    monkeypatch.setattr(api, "sections", lambda: ["uca"])
    (tmp_path / "api.txt").write_text("[uca]\nuca.gone(x)\n")
    assert api.main([]) == 1
    assert "removed: uca.gone(x)" in capsys.readouterr().out
    assert api.main(["--write"]) == 0
    assert api.main([]) == 0
