"""``uca reproduce``: the figures of the paper."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from rich.table import Table

from ..reproduce import REPRODUCTIONS, Outcome
from .program import terminal


def reproduce(
    *, name: Enum, out: Path, data: Path | None, kdef: Path | None, emotion: str, quick: bool, debug: bool
) -> None:
    """Make a figure with its numbers, write both, and say what was found."""
    outcome = REPRODUCTIONS[name.value](data=data, kdef=kdef, emotion=emotion, quick=quick)
    written = outcome.write(out)
    show(outcome)
    for path in written:
        terminal().print(f"wrote {path}", highlight=False, markup=False)


def show(outcome: Outcome) -> None:
    """The table and the notes of a reproduction."""
    columns = list(outcome.table[0])
    table = Table(*columns, title=outcome.title)
    for row in outcome.table:
        table.add_row(*(f"{row[c]:.3f}" if isinstance(row[c], float) else str(row[c]) for c in columns))
    terminal().print(table)
    for note in outcome.notes:
        terminal().print(note, highlight=False, markup=False)
