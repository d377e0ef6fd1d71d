"""Options of ``uca reproduce``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import options as o

Name = StrEnum("Name", {name: name for name in ("mice-single", "mice-multi", "faces", "timing")})  # type: ignore[misc]


def reproduce(
    *,
    name: Annotated[Name, typer.Argument(help="which figure")],
    out: Annotated[Path, typer.Option(help="folder for figures, CSV and JSON")] = Path("out"),
    data: Annotated[
        Path | None, typer.Option(help="file or folder with the data (else UCA_DATA, cache, download)")
    ] = None,
    kdef: Annotated[Path | None, typer.Option(help="faces: the KDEF folder or zip file")] = None,
    emotion: Annotated[str, typer.Option(help="faces: the emotion left out of the backgrounds")] = "AF",
    quick: Annotated[bool, typer.Option("--quick", help="a small version, to see that it runs")] = False,
    debug: o.Debug = False,
) -> None:
    """Reproduce a figure of the paper, with every plotted number and metrics."""
