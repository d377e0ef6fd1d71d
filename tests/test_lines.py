"""Text of rows by pyarrow beside that of the csv module."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from uca.io import lines as module
from uca.io.lines import csv_text, lines

N = 3000


def by_csv(left, values, separator=","):
    """The answer of Python's own module, a cell at a time: it quotes for what ends a line, here CR and LF."""

    def cell(value):
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n", delimiter=separator).writerow([value, 0])
        return text.getvalue().removesuffix(f"{separator}0\r\n")

    rows = zip(*left, *np.asarray(values).T.tolist(), strict=True)
    return "".join(f"{separator.join(map(cell, row))}\n" for row in rows)


@pytest.mark.parametrize("n", [3, N])
@pytest.mark.parametrize("name", ["a\rb", "a\nb", "a\r\nb", "\r", "\n=1+1", "row\r=1+1", 'a"\rb'])
def test_no_name_ends_a_line(name, n):
    """Read as a spreadsheet does, for which CR, LF and CR LF end a line."""
    header, rows = ["id", name], [[name, 1.5]] * n
    for text in (csv_text(header, rows), csv_text(header, ()) + "".join(lines([[name] * n], np.full((n, 1), 1.5)))):
        found = list(csv.reader(io.StringIO(text, newline="")))
        assert found == [header, *([[name, "1.5"]] * n)]


def ids(n=N):
    return [str(i) for i in range(1, n + 1)]


@pytest.fixture
def pyarrow_text(monkeypatch):
    """Whether pyarrow wrote each piece of text."""
    pytest.importorskip("pyarrow", reason="pip install '.[io]'")
    wrote, ask = [], module._by_pyarrow

    def asked(*given):
        text = ask(*given)
        wrote.append(text is not None)
        return text

    monkeypatch.setattr(module, "_by_pyarrow", asked)
    return wrote


def decades(n=N, seed=0):
    """Numbers over 70 decades of both signs, whole ones, the smallest and largest of all, and what is no number."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) * 10.0 ** rng.integers(-35, 35, n)
    values[: n // 3] = rng.normal(size=n // 3)
    values[::7] = np.round(values[::7])
    edges = [1e-4, np.nextafter(1e-4, 0), 1e10, np.nextafter(1e10, 0), 1e15, 1e16, 5e-324, 1.7e308, 0.0, -0.0, 1.0]
    values[1 : 1 + len(edges)] = edges
    values[-3:] = np.nan, np.inf, -np.inf
    return values


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_written_as_python_does(pyarrow_text, separator, dtype):
    with np.errstate(over="ignore", under="ignore"):
        values = np.column_stack([decades(seed=seed) for seed in (0, 1, 2)]).astype(dtype)
    assert "".join(lines([ids()], values, separator)) == by_csv([ids()], values, separator)
    assert pyarrow_text == [True]


def test_numbers_of_every_size(pyarrow_text):
    """Every decade by itself: a rule of pyarrow's that changes with size would show."""
    rng = np.random.default_rng(1)
    values = (rng.uniform(-10, 10, size=(40, 100)) * 10.0 ** np.arange(-20, 20)[:, np.newaxis]).reshape(-1, 1)
    assert "".join(lines([ids(4000)], values)) == by_csv([ids(4000)], values)
    assert pyarrow_text == [True]


@pytest.mark.parametrize("cell", ["a,b", 'a"b', "a\nb", "a\rb", None, 3, 2.5, "\ud800"])
def test_cells_that_need_care_are_left_to_the_csv_module(pyarrow_text, cell):
    labels = np.array(["x"] * N, dtype=object)
    labels[5] = cell
    values = np.random.default_rng(0).normal(size=(N, 2))
    assert "".join(lines([ids(), labels], values)) == by_csv([ids(), labels], values)
    assert pyarrow_text == [False]


@pytest.mark.parametrize("cell", ["a b", "", " a", "a;b", "é", "1e5", "#"])
def test_cells_that_need_none(pyarrow_text, cell):
    labels = np.array(["x"] * (N - 1) + [cell])
    values = np.random.default_rng(0).normal(size=(N, 2))
    assert "".join(lines([ids(), labels], values)) == by_csv([ids(), labels], values)
    assert pyarrow_text == [True]


def test_pieces(pyarrow_text, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 1100)
    values = decades().reshape(-1, 1)
    found = list(lines([ids()], values))
    assert [text.count("\n") for text in found] == [1100, 1100, 800]
    assert "".join(found) == by_csv([ids()], values)
    assert len(pyarrow_text) == 3


@pytest.mark.parametrize("n", [30, N])
def test_rows_by_number(n, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 1100)
    values = decades(n).reshape(-1, 1)
    assert "".join(lines([range(1, n + 1)], values)) == by_csv([ids(n)], values)


def test_whole_numbers_and_few_rows():
    whole = np.arange(2 * N).reshape(N, 2)
    assert "".join(lines([ids()], whole)) == by_csv([ids()], whole)
    few = decades(30).reshape(-1, 1)
    assert "".join(lines([ids(30)], few)) == by_csv([ids(30)], few)
    assert list(lines([[]], np.empty((0, 2)))) == []
