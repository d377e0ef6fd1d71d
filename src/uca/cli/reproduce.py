"""``uca reproduce``: the figures of the paper."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ..reproduce import REPRODUCTIONS, Outcome
from .options import Debug
from .program import terminal

Name = StrEnum("Name", {name: name for name in REPRODUCTIONS})  # type: ignore[misc]  # names come from the registry


def reproduce(
    name: Annotated[Name, typer.Argument(help="which figure")],
    out: Annotated[Path, typer.Option(help="folder for figures, CSV and JSON")] = Path("out"),
    data: Annotated[
        Path | None, typer.Option(help="file or folder with the data (else UCA_DATA, cache, download)")
    ] = None,
    kdef: Annotated[Path | None, typer.Option(help="faces: the KDEF folder or zip file")] = None,
    emotion: Annotated[str, typer.Option(help="faces: the emotion left out of the backgrounds")] = "AF",
    quick: Annotated[bool, typer.Option("--quick", help="a small version, to see that it runs")] = False,
    debug: Debug = False,
) -> None:
    """Reproduce a figure of the paper, with every plotted number and metrics."""
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
