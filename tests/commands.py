"""Running the program in tests: its commands, and a folder of tables to run them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas", reason="pip install 'unique-component-analysis[cli]'")
pytest.importorskip("typer", reason="the program needs Typer: pip install '.[cli]'")

import pandas as pd
from typer.testing import CliRunner, Result

from uca.cli import app

# Two fits of the same numbers, read from a file and given as a table, may add in another order. Each is exact to its
# tolerance of 1e-9 in the value; 2.5e-9 was seen between variances on an older processor.
SAME_FIT = {"rtol": 1e-6, "atol": 1e-6}
NAMES = [f"gene{i}" for i in range(6)]
SHARED, UNIQUE = np.array([[3, 3, 0, 0, 0, 0]]), np.array([[0, 0, 2, 2, 0, 0]])


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def good(*arguments: Any) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def named(values: np.ndarray, prefix: str, **columns: Any) -> pd.DataFrame:
    """Rows with ids and the names of features, and further columns."""
    table = pd.DataFrame(values, columns=NAMES)
    table.insert(0, "sample", [f"{prefix}{i}" for i in range(len(values))])
    return table.assign(**columns)


def write_tables(tables: dict[str, pd.DataFrame], column: str) -> None:
    """A file for each table, and ``all.csv`` with the table's name in a column."""
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
    pd.concat([table.assign(**{column: name}) for name, table in tables.items()]).to_csv("all.csv", index=False)
