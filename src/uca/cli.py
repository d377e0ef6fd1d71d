"""The command line program ``uca``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ImportError:  # the program is installed with the package, its libraries with the extra
    sys.exit("the program needs its libraries: pip install 'unique-component-analysis[cli]'")

from .reproduce import REPRODUCTIONS, Outcome

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)
console = Console()

Name = StrEnum("Name", {name: name for name in REPRODUCTIONS})  # type: ignore[misc]  # names come from the registry


@app.callback()
def main() -> None:
    """Unique Component Analysis: what one dataset has and others do not."""


@app.command()
def reproduce(
    name: Annotated[Name, typer.Argument(help="which figure")],
    out: Annotated[Path, typer.Option(help="folder for figures, CSV and JSON")] = Path("out"),
    data: Annotated[
        Path | None, typer.Option(help="file or folder with the data (else UCA_DATA, cache, download)")
    ] = None,
    kdef: Annotated[Path | None, typer.Option(help="faces: the KDEF folder or zip file")] = None,
    emotion: Annotated[str, typer.Option(help="faces: the emotion left out of the backgrounds")] = "AF",
    quick: Annotated[bool, typer.Option("--quick", help="a small version, to see that it runs")] = False,
) -> None:
    """Reproduce a figure of the paper, with every plotted number and metrics."""
    try:
        outcome = REPRODUCTIONS[name.value](data=data, kdef=kdef, emotion=emotion, quick=quick)
    except (OSError, ValueError, ImportError) as error:
        typer.echo(f"uca: {error}", err=True)
        raise typer.Exit(1) from None
    written = outcome.write(out)
    show(outcome)
    for path in written:
        console.print(f"wrote {path}", highlight=False)


def show(outcome: Outcome) -> None:
    """The table and the notes of a reproduction."""
    columns = list(outcome.table[0])
    table = Table(*columns, title=outcome.title)
    for row in outcome.table:
        table.add_row(*(f"{row[c]:.3f}" if isinstance(row[c], float) else str(row[c]) for c in columns))
    console.print(table)
    for note in outcome.notes:
        console.print(note, highlight=False, markup=False)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="folder for the figure")] = Path("out"),
    seeds: Annotated[int, typer.Option(min=1, help="repetitions")] = 20,
) -> None:
    """Digits hidden under photographs of textures: what PCA does not see and UCA does."""
    from .demo import main as run

    run(["--out", str(out), "--seeds", str(seeds)])


if __name__ == "__main__":
    app()
