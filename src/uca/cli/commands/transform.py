"""Options of ``uca transform``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def transform(
    *,
    model_file: o.ModelFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="table with the features of the model")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="table in any format that is read, .xlsx too (default: CSV on standard output)",
        ),
    ] = None,
    columns: o.Columns,
    output: o.Output,
) -> None:
    """Scores of the rows of DATA on the components of MODEL.

    Columns are matched by name; those the model does not know are left out. --missing mean fills in the mean of the target
    that the model was fitted on; --missing em, for a model that was fitted with it, the mean given the values that are
    there.

    Examples:
      uca transform result new.csv
      uca transform result new.csv --missing mean -o scores.xlsx
      uca transform result/model.skops new.csv -o scores.parquet
    """
