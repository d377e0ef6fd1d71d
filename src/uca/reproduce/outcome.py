"""What a reproduction gives: figures, every plotted number, metrics, and a table for the terminal."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._optional import optional

Row = dict[str, Any]


@dataclass
class Outcome:
    """Results of one reproduction, in memory."""

    name: str
    title: str
    table: list[Row] = field(default_factory=list)
    plotted: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> list[Path]:
        """PNG and SVG of each figure, ``NAME.csv`` with the plotted numbers, ``NAME.json`` with the metrics."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for suffix, figure in self.figures.items():
            for kind in ("png", "svg"):
                path = folder / f"{self.name}{suffix}.{kind}"
                figure.savefig(path, dpi=150, metadata={"Date": None} if kind == "svg" else None)
                written.append(path)
        written.append(_write_csv(folder / f"{self.name}.csv", self.plotted))
        metrics = folder / f"{self.name}.json"
        content = {"title": self.title, "table": self.table, "notes": self.notes}
        metrics.write_text(json.dumps(content, indent=1) + "\n")
        return [*written, metrics]


def _write_csv(path: Path, rows: Sequence[Row]) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows(rows)
    return path


def pyplot() -> Any:
    """Matplotlib's pyplot, drawing to files."""
    optional("matplotlib", "figures need matplotlib", "paper").use("Agg")
    import matplotlib.pyplot as plt

    return plt
