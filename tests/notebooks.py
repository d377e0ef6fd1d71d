"""Notebooks in tests: run one, cell by cell, in a kernel of this Python, and export it as a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
PACKAGES = ("nbformat", "nbclient", "nbconvert", "ipykernel")
SECONDS = 600  # for a cell: a limit against hanging, not a measurement


def need_jupyter() -> None:
    """Skip the test where notebooks cannot be run."""
    for package in PACKAGES:
        pytest.importorskip(package, reason=f"notebooks are run with {', '.join(PACKAGES)}: pip install '.[test]'")


def execute(notebook: Path | Sequence[str], folder: Path) -> Any:
    """Run a notebook file, or cells of code, in ``folder``; an error in a cell is raised, with its traceback.

    Returns the notebook with its outputs. The kernel imports the package and the tests as this process does.
    """
    need_jupyter()
    import nbformat
    from nbclient import NotebookClient

    if isinstance(notebook, Path):
        made = nbformat.read(notebook, as_version=4)
    else:
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in notebook])
    import uca

    paths = [str(Path(uca.__file__).parents[1]), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    client = NotebookClient(made, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    return client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def shown(cell: Any) -> dict[str, str]:
    """What a cell shows for its last expression: type -> content."""
    (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
    return dict(result.data)


def to_html(notebook: Any) -> str:
    """The notebook as one page, as ``jupyter nbconvert --to html`` makes it."""
    from nbconvert import HTMLExporter

    return HTMLExporter().from_notebook_node(notebook)[0]
