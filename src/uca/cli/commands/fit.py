"""Options of ``uca fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def fit(
    *,
    tables: o.Tables,
    n_components: o.NComponents = 2,
    labels: o.Labels = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="folder for the results (default: uca-TARGET)")
    ] = None,
    columns: o.Columns,
    how: o.Model,
    test: Annotated[bool, typer.Option("--test", help="test the components, as uca test does")] = False,
    groups: o.Groups = None,
    image_shape: Annotated[
        str | None, typer.Option(metavar="HxW", help="rows are images: draw components as images")
    ] = None,
    title: Annotated[str | None, typer.Option(help="title of the report")] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="write report.html")] = True,
    output: o.Output,
) -> None:
    """Find what varies in TARGET and not in its backgrounds.

    Examples:
      uca fit treated.csv -b control.csv
      uca fit treated.csv -b control.csv -b other=other.csv --missing median -o result
      uca fit study.xlsx:Treated -b study.xlsx:Controls
      uca fit all.csv --by group --target treated -b control -b other
      uca fit treated.csv -b control.csv --na n.d. --missing median --labels genotype --test -o tested
    """
