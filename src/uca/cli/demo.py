"""``uca demo``: digits hidden under textures."""

from __future__ import annotations

from pathlib import Path

from ..demo import main as run


def demo(*, out: Path, seeds: int, debug: bool) -> None:
    """Run the demo."""
    run(["--out", str(out), "--seeds", str(seeds)])
