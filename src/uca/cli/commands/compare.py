"""Options of ``uca compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def compare(
    *,
    tables: o.Tables,
    n_components: o.NComponents = 2,
    labels: o.Labels = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="rows that belong together stay in the same fold")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="folder for scores and metrics")
    ] = None,
    columns: o.Columns,
    scale: Annotated[
        o.Scale | None,
        typer.Option(
            "--scale", help="SDs that a dataset is divided by; both own and none are shown if nothing is said"
        ),
    ] = None,
    sparse: o.Sparse = None,
    output: o.Output,
) -> None:
    """PCA, cPCA (automatic alpha), cPCA++, and UCA with backgrounds pooled and split; with metrics if there are labels.

    Examples:
      uca compare treated.csv -b control.csv --labels genotype
      uca compare treated.csv -b control.csv -b other.csv -o compared
    """
