"""Scripts in benchmarks/ stand beside their helpers; import them as such."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
NAMES = {path.stem for path in BENCHMARKS.glob("*.py")}


def need_benchmarks() -> None:
    """Skip a module where the folder was not copied along."""
    if not (BENCHMARKS / "scale.py").is_file():
        pytest.skip("benchmarks are not in this copy of the sources", allow_module_level=True)


@contextmanager
def benchmark_scripts(monkeypatch):
    """``import_module`` for the scripts; they are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield import_module
    for name in NAMES:
        sys.modules.pop(name, None)
