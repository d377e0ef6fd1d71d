"""Where a table is: a file, or one sheet of a file (``study.xlsx:Controls``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHEETS = (".xlsx", ".xlsm", ".ods")  # endings of files that hold several tables
_SHEET = re.compile(rf"^(.+(?:{'|'.join(map(re.escape, SHEETS))})):([^/\\:]+)$", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """A file, and the sheet in it where one is named."""

    path: Path
    sheet: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.sheet is None else f"{self.path}:{self.sheet}"


def locate(path: Any) -> Place:
    """The file and the sheet that ``file.xlsx:Sheet`` names; a file that is called so is itself."""
    match = _SHEET.match(str(path))
    if match is None or Path(path).exists():
        return Place(Path(path))
    return Place(Path(match[1]), match[2])


def is_text(path: Path) -> bool:
    """Whether the name of a file is UTF-8, as libraries in C and C++ expect of names."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
