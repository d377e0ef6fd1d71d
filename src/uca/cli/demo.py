"""``uca demo``: digits hidden under textures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Debug


def demo(
    out: Annotated[Path, typer.Option(help="folder for the figure")] = Path("out"),
    seeds: Annotated[int, typer.Option(min=1, help="repetitions")] = 20,
    debug: Debug = False,
) -> None:
    """Digits hidden under photographs of textures: what PCA does not see and UCA does."""
    from ..demo import main as run

    run(["--out", str(out), "--seeds", str(seeds)])
