"""The single-cell notebook, run from top to bottom: it finds what was simulated, and shows it."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import notebooks
import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "notebooks" / "single_cell.ipynb"
FIT, TEST, GENES, EACH, SLIDER, REPORT = range(1, 7)  # cells of code after the one that makes the data

pytest.importorskip("anndata", reason="pip install 'unique-component-analysis[scverse]'")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what scanpy's dependencies warn of at import is not ours
    pytest.importorskip("scanpy", reason="pip install scanpy")
pytest.importorskip("plotly", reason="pip install 'unique-component-analysis[report]'")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("single_cell")
    done = notebooks.execute(NOTEBOOK, folder)
    return [cell for cell in done.cells if cell.cell_type == "code"], folder, done


def html(ran, cell):
    return notebooks.shown(ran[0][cell])["text/html"]


def test_the_fit_names_the_programme_of_stimulated_cells(ran):
    rows = re.findall(r"<td>UC1</td>\s*<td>(\w+)</td>", html(ran, FIT))
    assert set(rows) == {f"IFN{i}" for i in range(1, 7)}


def test_the_first_component_is_unique_by_donor(ran):
    assert "<b>" in html(ran, TEST) or "<table" in html(ran, TEST)
    assert notebooks.shown(ran[0][TEST])["text/plain"].startswith("<UniquenessTest: ")
    assert "UC1 varies more in the target than in the background" in html(ran, TEST)
    assert "Cells were taken as independent" not in html(ran, TEST)


def test_scanpy_reads_the_genes(ran):
    top = re.findall(r"<td>([A-Z]+\d)</td>", html(ran, GENES))[:6]
    assert set(top) == {f"IFN{i}" for i in range(1, 7)}


def test_each_cell_type_is_compared_with_the_others(ran):
    found = html(ran, EACH)
    row = next(row for row in found.split("<tr>") if ">T</th>" in row)
    assert all(f"ACT{i} +" in row for i in range(1, 5))
    assert ">unique<" in row
    assert found.count(">unique<") == 1


def test_slider_and_report_stand_in_the_page(ran):
    for cell in (SLIDER, REPORT):
        assert "<iframe" in html(ran, cell)
    page = (ran[1] / "report.html").read_text(encoding="utf-8")
    assert "Stimulated cells against controls" in page
    assert "IFN1" in page


def test_the_notebook_is_kept_without_outputs():
    import nbformat

    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None)
