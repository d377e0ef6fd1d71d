"""Options of ``uca test``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o

DEFAULT_COMPONENTS, MIN_RESAMPLES = 5, 20  # of the library


def uniqueness(
    *,
    tables: o.Tables,
    n_components: Annotated[
        int | None,
        typer.Option(
            "--n-components",
            "-k",
            min=1,
            help=f"number of components (default: {DEFAULT_COMPONENTS})",
            show_default=False,
        ),
    ] = None,
    groups: o.Groups = None,
    splits: Annotated[
        int | None,
        typer.Option(
            min=1, help="random halvings of the rows (default: 10 to 100, as the p-value needs)", show_default=False
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="level of the test; intervals have confidence 1 - level")] = o.ALPHA,
    resamples: Annotated[
        int, typer.Option(min=0, help=f"resamples of a bootstrap, {MIN_RESAMPLES} or more; 0: none")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="random seed of the halvings and resamples")] = o.SEED,
    jobs: Annotated[int, typer.Option(help="workers; -1: one for each core. The result is the same")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="folder for the result and its figure")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="FILE|COLUMN", help="as in uca fit; a column of labels is not tested")
    ] = None,
    columns: o.Columns,
    how: o.Model,
    output: o.Output,
) -> None:
    """Is it real? Test which components vary more in TARGET than in every background, on held-out rows.

    Tables are given as for uca fit. Where several rows belong to one subject, name its column: --groups mouse

    Also reported: what each background contributes, components that depend on only a few rows, and with --resamples how
    stable they are.

    Examples:
      uca test treated.csv -b control.csv
      uca test treated.csv -b control.csv --missing median -k 2 -o evidence
      uca test all.csv --by group --target treated -b control -b other --splits 10
    """
