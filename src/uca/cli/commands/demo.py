"""Options of ``uca demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def demo(
    *,
    out: Annotated[Path, typer.Option(help="folder for the figure")] = Path("out"),
    seeds: Annotated[int, typer.Option(min=1, help="repetitions")] = 20,
    debug: o.Debug = False,
) -> None:
    """Digits hidden under photographs of textures: what PCA does not see and UCA does."""
