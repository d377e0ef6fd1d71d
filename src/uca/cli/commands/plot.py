"""Options of ``uca plot``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import options as o

KINDS = ("scores", "biplot", "density", "loadings", "patterns", "variance", "contrast-path", "dual", "eigenimages")
Figure = StrEnum("Figure", {name.replace("-", "_"): name for name in KINDS})  # type: ignore[misc]


def plot(
    *,
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="the folder that uca fit wrote", show_default=False)],
    kind: Annotated[Figure, typer.Argument(metavar="KIND", help=f"one of {', '.join(KINDS)}", show_default=False)],
    component: Annotated[
        list[int] | None,
        typer.Option(
            "--component", "-c", min=1, metavar="N", help="component, from 1; for scores and biplot two of them"
        ),
    ] = None,
    image_shape: Annotated[str | None, typer.Option(metavar="HxW", help="for eigenimages: rows are images")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help=".png, .svg or .pdf (default: RESULT/KIND.png)")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier figure")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors")] = False,
    debug: o.Debug = False,
) -> None:
    """Draw a figure of RESULT: scores, biplot, density, loadings, patterns, variance, contrast-path, dual or eigenimages.

    Scores, biplot, density, contrast-path and dual read the tables again that RESULT was made from.

    Examples:
      uca plot result loadings
      uca plot result biplot -o biplot.svg
      uca plot result scores -c 1 -c 2 -o scores.pdf
    """
