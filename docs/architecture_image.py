"""Make docs/images/architecture.svg from the imports of the package: rooms as boxes, imports as lines that point up.

Run with ``python docs/architecture_image.py``; it needs nothing but Python. A test makes the picture again and compares, so
that it cannot grow old. A line that follows from others (a imports b, b imports c) is left out.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SOURCE = DOCS.parent / "src" / "uca"
PICTURE = DOCS / "images" / "architecture.svg"
WIDTH, ROW, BOX, GAP = 1000, 92, 46, 16
SPLIT = ("operators",)  # packages whose own rooms are drawn
TOLD = {
    "services": "types, threads, files, memory, progress",
    "validation": "target and backgrounds: checked, named",
    "separation": "how well scores tell labels",
    "operators.statistics": "moments, standards, rounding",
    "operators.contract": "operator, pencil, units",
    "operators.eigen": "top eigenpairs, remembered products",
    "operators.sources": "memory, sparse, dask, device",
    "operators.gaps": "missing values: laws, EM",
    "operators.representations": "covariance, reduced, implicit, product_svd",
    "means": "differences that components do not show",
    "dual": "g, Certificate",
    "solvers": "one algorithm a file, certified alike",
    "supports": "the best k features, with proof",
    "estimators": "UCA, CPCA, CPCAPlusPlus",
    "fitted": "a model and rows back to their problem",
    "removal": "rows without the components",
    "contrast": "from PCA to strong contrast",
    "pipeline": "backgrounds through every step",
    "monitoring": "have new rows moved?",
    "inference": "is it real? how many? how stable?",
    "groupwise": "each group against all others",
    "comparison": "methods side by side",
    "datasets": "data to try it on",
    "reproduce": "the paper's figures",
    "persistence": "model files",
    "io": "tables from files",
    "plotting": "one kind of figure a file",
    "report": "one HTML page",
    "scverse": "AnnData",
    "mne": "EEG and MEG recordings",
    "cli": "the program uca",
    "demo": "make demo",
}
OWN = {"drifted": "monitoring", "_anndata": "scverse", "_separation": "separation", "typing": "services"}
VALIDATION = ("_validation", "_parameters", "_pool", "_readable", "_missing", "_containers", "_labels")


def room_of(parts: tuple[str, ...]) -> str:
    """The box that a module stands in, given its path below the package."""
    first = parts[0]
    if first in VALIDATION:
        return "validation"
    if first in OWN:
        return OWN[first]
    if first.startswith("_"):
        return "services"
    return ".".join(parts[:2]) if first in SPLIT and len(parts) > 1 and parts[1] != "__init__" else first


@cache
def imports() -> dict[str, frozenset[str]]:
    """The rooms that each room imports."""
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts in (("__init__",), ("operators", "__init__")):
            continue
        room = found.setdefault(room_of(parts), set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = parts[: len(parts) - node.level]
                names = [node.module] if node.module else [alias.name for alias in node.names]
                room.update(room_of((*base, *name.split("."))) for name in names if (*base, *name.split(".")))
    return {room: frozenset(others - {room}) & set(found) for room, others in found.items()}


@cache
def height(room: str) -> int:
    """How far from the bottom: one above the highest room that imports it."""
    return 1 + max((height(other) for other, others in imports().items() if room in others), default=-1)


@cache
def reach(room: str) -> frozenset[str]:
    """All rooms that a room imports, directly or not."""
    return imports()[room].union(*(reach(other) for other in imports()[room]))


def lines() -> list[tuple[str, str]]:
    """Imports that do not follow from others."""
    return [
        (room, other)
        for room, others in sorted(imports().items())
        for other in sorted(others)
        if not any(other in reach(between) for between in others)
    ]


def picture() -> str:
    """The picture as SVG."""
    rows: dict[int, list[str]] = {}
    top = max(map(height, imports()))
    for room in imports():
        rows.setdefault(top - height(room), []).append(room)
    place: dict[str, tuple[float, float, float]] = {}  # centre, top, width
    for depth, rooms in sorted(rows.items()):
        # Each room stands near the middle of what it imports.
        rooms.sort(key=lambda room: (_middle([place[o][0] for o in imports()[room] if o in place]), room))
        width = min(290.0, (WIDTH - GAP * (len(rooms) + 1)) / len(rooms))
        left = (WIDTH - len(rooms) * width - (len(rooms) - 1) * GAP) / 2
        for i, room in enumerate(rooms):
            place[room] = (left + width / 2 + i * (width + GAP), 12 + depth * ROW, width)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {12 + len(rows) * ROW}" font-family="sans-serif">',
        "<title>Rooms of the package and what they import</title>",
        f'<rect width="{WIDTH}" height="{12 + len(rows) * ROW}" fill="#ffffff"/>',
    ]
    for room, other in lines():
        (x, y, _), (u, v, _) = place[room], place[other]
        end = v + BOX
        out.append(
            f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y - 26:.0f} {u:.0f} {end + 26:.0f} {u:.0f} {end:.0f}" fill="none" '
            'stroke="#8a94a3" stroke-width="1.1"/>'
        )
    for room, (x, y, width) in place.items():
        shade = "#e4eefb" if room.startswith("operators") else "#f3f4f6"
        size = 10.5 if width > 200 else 9 if width > 110 else 8
        out += [
            f'<rect x="{x - width / 2:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX}" rx="6" fill="{shade}" '
            'stroke="#44506a"/>',
            f'<text x="{x:.0f}" y="{y + 19:.0f}" text-anchor="middle" font-size="13" font-weight="600" fill="#1d2433">'
            f"{room.replace('operators.', 'operators/')}</text>",
            f'<text x="{x:.0f}" y="{y + 35:.0f}" text-anchor="middle" font-size="{size}" fill="#44506a">'
            f"{TOLD.get(room, '')}</text>",
        ]
    return "\n".join([*out, "</svg>", ""])


def _middle(places: list[float]) -> float:
    return sum(places) / len(places) if places else WIDTH / 2


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8", newline="\n")
    print(f"wrote {PICTURE.relative_to(DOCS.parent)}: {len(imports())} rooms, {len(lines())} lines")
