"""Options of ``uca each``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def each(
    *,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="one table of all groups; FILE.xlsx:SHEET is one sheet", show_default=False
        ),
    ],
    by: Annotated[
        str, typer.Option("--by", metavar="COLUMN", help="the column that tells groups apart", show_default=False)
    ],
    n_components: o.NComponents = 2,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="stack the other groups into one background, not each by itself")
    ] = False,
    subjects: Annotated[
        str | None,
        typer.Option(
            "--subjects", "--groups", metavar="COLUMN", help="subjects of the rows: equal values are one subject"
        ),
    ] = None,
    test: Annotated[bool, typer.Option("--test/--no-test", help="test components on held-out rows")] = True,
    splits: Annotated[
        int | None,
        typer.Option(min=1, help="random halvings of each test (default: 10 to 100, as p needs)", show_default=False),
    ] = None,
    alpha: Annotated[float, typer.Option(help="level of all groups together")] = o.ALPHA,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="of the halvings")] = o.SEED,
    jobs: Annotated[int, typer.Option(help="workers; -1: one for each core. The result is the same")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="folder for the table, its figure and a page")
    ] = None,
    title: Annotated[str | None, typer.Option(help="title of the page")] = None,
    columns: o.Columns,
    how: o.Model,
    output: o.Output,
) -> None:
    """Each group against all others: what varies in it and in no other group of TABLE.

    Every group is the target once, the other groups are its backgrounds. p-values are adjusted for the number of groups.
    Where several rows belong to one subject, name its column: --subjects mouse

    Examples:
      uca each all.csv --by group
      uca each all.csv --by group -o groups
      uca each all.csv --by group --missing median --jobs -1 -o completed
      uca each all.csv --by group --scale none --pooled --no-test -o pooled
    """
