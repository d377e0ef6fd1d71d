"""Options that several commands have, declared once: alone, or in blocks of those that go together."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..io.words import MISSING
from .program import usage_error

if TYPE_CHECKING:
    from ..estimators.bounded import BoundedTransformer

ALPHA, SEED = 0.05, 0  # of tests
SCALES: dict[str, bool | str] = {
    "own": True,
    "target": "target",
    "none": False,
}  # as the program calls them
Missing = StrEnum("Missing", {name.replace("-", "_"): name for name in MISSING})  # type: ignore[misc]  # of the library
Scale = StrEnum("Scale", list(SCALES))  # type: ignore[misc]
Kind = StrEnum("Kind", ["joint", "sequential"])
BoundOn = StrEnum("BoundOn", {"rows": "rows", "new_rows": "new rows"})
ERROR, OWN, ROWS = Missing("error"), Scale("own"), BoundOn("rows")


NComponents = Annotated[int, typer.Option("--n-components", "-k", min=1, help="number of components")]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|COLUMN", help="labels of the target's rows, for colours and metrics; not used in the fit"
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="column of subjects, in every table: rows with equal values are one subject"),
]
ScaleBy = Annotated[
    Scale,
    typer.Option(
        "--scale", help="SDs that a dataset is divided by: own for mixed units, none for common ones (log-expression)"
    ),
]
Sparse = Annotated[
    int | None, typer.Option("--sparse", min=1, metavar="N", help="components with at most N features, with a proof")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="model.skops, or the folder that uca fit wrote")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for scripts")]
Debug = Annotated[bool, typer.Option("--debug", help="show where an error comes from")]


@dataclass(frozen=True)
class Tables:
    """The target and its backgrounds: files of their own, or groups of one."""

    table: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET",
            help="table of the target, or with --by of all groups; FILE.xlsx:SHEET is one sheet",
            show_default=False,
        ),
    ]
    background: Annotated[
        list[str],
        typer.Option(
            "--background", "-b", metavar="[NAME=]FILE|VALUE", help="a background: a file, or with --by a group"
        ),
    ] = field(default_factory=list)
    by: Annotated[str | None, typer.Option(metavar="COLUMN", help="the column of groups, if all are in one table")] = (
        None
    )
    target: Annotated[
        str | None, typer.Option("--target", metavar="VALUE", help="with --by: the group that is the target")
    ] = None

    def __post_init__(self) -> None:
        if not self.background:
            raise usage_error("name at least one background with -b")
        if (self.by is None) != (self.target is None):
            raise usage_error("--by and --target go together: --by COLUMN --target VALUE")


@dataclass(frozen=True)
class Columns:
    """How files are read: which columns, and what is missing in them."""

    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="the column of row ids; 'none' for no ids")
    ] = None
    drop: Annotated[list[str], typer.Option(metavar="COLUMN", help="a column to leave out; may be repeated")] = field(
        default_factory=list
    )
    missing: Annotated[
        Missing, typer.Option("--missing", help="what to do with missing values; em: estimate without them")
    ] = ERROR
    na: Annotated[list[str], typer.Option("--na", metavar="WORD", help="a word that means missing, such as n.d.")] = (
        field(default_factory=list)
    )
    decimal: Annotated[
        str | None, typer.Option("--decimal", metavar="MARK", help="the decimal mark, if it is not recognised")
    ] = None
    thousands: Annotated[
        str | None, typer.Option("--thousands", metavar="MARK", help="the mark between thousands, as in 150,000")
    ] = None
    transpose: Annotated[bool, typer.Option("--transpose", help="features are rows of the files: transpose them")] = (
        False
    )
    no_header: Annotated[bool, typer.Option("--no-header", help="files have no row of names")] = False

    @property
    def parameters(self) -> dict[str, Any]:
        """What a model is told of missing values: to estimate without them, where that was asked for."""
        return {"missing": "em"} if self.missing == "em" else {}


@dataclass(frozen=True)
class Model:
    """What is fitted."""

    scale: ScaleBy = OWN
    components: Annotated[Kind, typer.Option(help="whether the bounds apply to the first component or to all")] = (
        Kind.joint
    )
    bound: Annotated[
        float | None, typer.Option(help="variance allowed in each background (default: what a random direction has)")
    ] = None
    bound_on: Annotated[
        BoundOn,
        typer.Option("--bound-on", help="rows in which the bound should hold: those given, or new ones (slower)"),
    ] = ROWS
    sparse: Sparse = None
    time_limit: Annotated[
        float,
        typer.Option("--time-limit", min=0.0, metavar="SECONDS", help="time for the proof of --sparse components"),
    ] = 60.0

    def __post_init__(self) -> None:
        if self.sparse is not None and self.on_new_rows:
            raise usage_error("--sparse and --bound-on 'new rows' cannot be combined: leave one of them out")

    def make(self, **parameters: Any) -> BoundedTransformer:
        """The model that is fitted, with the given parameters."""
        from ..estimators.sparse_uca import SparseUCA
        from ..estimators.uca import UCA

        return UCA(**parameters) if self.sparse is None else SparseUCA(**parameters)

    @property
    def on_new_rows(self) -> bool:
        """Whether the bound is meant for new rows."""
        return self.bound_on.value == "new rows"

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of :class:`uca.UCA`, or of :class:`uca.SparseUCA`."""
        bound = "mean" if self.bound is None else self.bound
        if self.sparse is not None:
            given = {"n_nonzero": self.sparse, "time_limit": self.time_limit}
            return {"scale": SCALES[self.scale], "bound": bound, **given}
        return {
            "scale": SCALES[self.scale],
            "components": self.components.value,
            "bound": bound,
            "bound_on": self.bound_on.value,
        }


@dataclass(frozen=True)
class Output:
    """What is replaced, printed and kept quiet."""

    force: Annotated[bool, typer.Option("--force", help="replace an earlier result")] = False
    as_json: Json = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors")] = False
    debug: Debug = False

    @property
    def silent(self) -> bool:
        """Whether nothing but the result is printed."""
        return self.quiet or self.as_json
