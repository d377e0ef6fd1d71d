"""Figures of earlier versions: benchmarks/history.json, and the table "by version" of docs/scale.md.

One entry a version, oldest first. What is measured again for the same version takes the place of what was there; workloads
that are no longer run stay. Only ratios can be compared between versions: seconds depend on the machine, which is named.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from pages import between

FILE = Path(__file__).resolve().parent / "history.json"
SHOWN = 6  # versions in the table


def figures(row) -> dict[str, object]:
    """What is kept of a row of benchmarks/scale.py."""
    seconds = {"seconds": row.figures.ours.seconds, "fastest_seconds": row.figures.peers[row.fastest].seconds}
    kept = {name: float(f"{value:.4g}") for name, value in {**seconds, "ratio": row.ratio()}.items()}
    return {"fastest": row.fastest, **kept}


def added(history: list[dict], about: dict[str, object], rows: list) -> list[dict]:
    """The history with rows of one version; ``about`` has version, commit, date, machine and versions."""
    before = next((entry for entry in history if entry["version"] == about["version"]), {"workloads": {}})
    workloads = {**before["workloads"], **{row.workload: figures(row) for row in rows}}
    entry = {**about, "workloads": workloads}
    if before in history:
        return [entry if each is before else each for each in history]
    return [*history, entry]


def table(history: list[dict]) -> str:
    """Ratio by version: one row a workload, one column a version."""
    shown = history[-SHOWN:]
    names = dict.fromkeys(name for entry in reversed(shown) for name in entry["workloads"])
    lines = [f"\n| workload | {' | '.join(entry['version'] for entry in shown)} |", "|---" * (len(shown) + 1) + "|"]
    for name in names:
        cells = [f"{entry['workloads'][name]['ratio']:.2g}" if name in entry["workloads"] else "" for entry in shown]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    measured = (f"{entry['version']}: {entry['date']}, commit {entry['commit'] or 'unknown'}" for entry in shown)
    return "\n".join([*lines, "", f"({'; '.join(measured)})", ""])


def commit() -> str | None:
    """The commit that is checked out; None outside a repository."""
    asked = ["git", "-C", str(FILE.parent), "rev-parse", "--short=7", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def save(about: dict[str, object], rows: list, page: Path) -> None:
    """Add rows to the history, and renew the table of a page."""
    history = added(json.loads(FILE.read_text()), {**about, "commit": commit()}, rows)
    FILE.write_text(json.dumps(history, indent=1, ensure_ascii=False) + "\n")
    page.write_text(between(page.read_text(), "history", table(history)))
