"""Running the program in tests: its commands, and a folder of tables to run them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner, Result

from uca.cli import app

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
