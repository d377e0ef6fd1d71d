"""Options that several commands have, declared once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Missing(StrEnum):
    """What to do with missing values; the names are those of :data:`uca.io.MISSING`."""

    error = "error"
    mean = "mean"
    median = "median"
    zero = "zero"
    drop_rows = "drop-rows"
    drop_columns = "drop-columns"


class Scale(StrEnum):
    """What each dataset is divided by."""

    own = "own"
    target = "target"
    none = "none"

    @property
    def value_for_model(self) -> bool | str:
        """The same as a parameter of the models."""
        return "target" if self is Scale.target else self is Scale.own


class Kind(StrEnum):
    """How later components are found."""

    joint = "joint"
    sequential = "sequential"


Target = Annotated[
    Path, typer.Argument(metavar="TARGET", help="table of the target, or with --by of all groups", show_default=False)
]
Backgrounds = Annotated[
    list[str] | None,
    typer.Option("--background", "-b", metavar="[NAME=]FILE|VALUE", help="a background: a file, or with --by a group"),
]
NComponents = Annotated[int, typer.Option("--n-components", "-k", min=1, help="number of components")]
By = Annotated[str | None, typer.Option(metavar="COLUMN", help="the column that tells groups apart, in one table")]
TargetValue = Annotated[
    str | None, typer.Option("--target", metavar="VALUE", help="with --by: the group that is the target")
]
Labels = Annotated[
    str | None,
    typer.Option(metavar="FILE|COLUMN", help="labels of the target's rows, for colours and metrics; never fitted on"),
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="the column of row ids; 'none' for no ids")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="a column to leave out; may be repeated")]
Na = Annotated[list[str] | None, typer.Option("--na", metavar="WORD", help="a word that means missing, in text files")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="text files begin with data, not with names")]
HowMissing = Annotated[Missing, typer.Option("--missing", help="what to do with missing values")]
Groups = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="subjects of the rows, in every table: equal values are one subject"),
]
ScaleBy = Annotated[Scale, typer.Option("--scale", help="standard deviations that a dataset is divided by")]
Components = Annotated[Kind, typer.Option(help="whether only the first or every component is bound")]
Bound = Annotated[
    float | None, typer.Option(help="variance allowed in each background (default: what a random direction has)")
]
Force = Annotated[bool, typer.Option("--force", help="replace an earlier result")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for scripts")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors")]
Debug = Annotated[bool, typer.Option("--debug", help="show where an error comes from")]
