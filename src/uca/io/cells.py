"""Columns that are almost numbers: which values are not, where they are, and what to do about each kind.

Promises: a value is only described here, never changed. Rows are numbered as whoever opens the file sees them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._readable import listed
from .advice import Advice, Hint

MOST_VALUES, MOST_ROWS, MOST_UNITS = 5, 5, 3
MOST_WORDS = 8  # that may be typed one by one
LONGEST_SHOWN = 80  # characters of a value
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_UNITS = r"%|[munkµp]?g|[munkµp]?l|d[lL]|[munµp]?[mM]ol|[cmunkµ]?m|[munµp]?M|m?s|min|h|IU|U|°C|°F|k?Hz|[mk]?V|k?Da"
#: Kind -> what a value of it looks like; the first that matches counts.
KINDS: dict[str, re.Pattern[str]] = {
    "number": re.compile(rf"^{_NUMBER}$"),
    "limit": re.compile(r"^[<>≤≥]=?\s*\d*[.,]?\d+(?:\s*\S{1,8})?$"),
    "comma thousands": re.compile(r"^[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$"),
    "dot thousands": re.compile(r"^[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)$|^[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,}$"),
    "decimal comma": re.compile(r"^[+-]?\d*,\d+(?:[eE][+-]?\d+)?$"),
    "unit": re.compile(rf"^{_NUMBER}(?:\s*(?:{_UNITS})(?:/\w+)?|\s+[^\W\d]\S{{0,7}})$"),
}
_MAYBE_DECIMAL = re.compile(r"^[+-]?\d+,\d{3}$")


@dataclass(frozen=True)
class NotNumbers:
    """The values of a column that are not numbers.

    Attributes
    ----------
    column : str
    n_present, n_odd : int
        Rows with a value, and those where it is not a number.
    rows : dict of value -> row numbers
    kinds : dict of kind -> values
        Of ``KINDS``, or "word". "number" alone: all are numbers, held as text.
    line_word : str
        What a row is called in the file.
    """

    column: str
    n_present: int
    n_odd: int
    rows: Mapping[str, Sequence[int]]
    kinds: Mapping[str, Sequence[str]]
    line_word: str = "row"

    @property
    def told(self) -> str:
        """How many values are not numbers, which they are, and where."""
        places = [f"{_shown(value)!r} ({self._places(rows)})" for value, rows in self.rows.items()]
        return f"{self.n_odd} of {self.n_present} values are not numbers: {listed(places, MOST_VALUES)}"

    def _places(self, rows: Sequence[int]) -> str:
        return f"{self.line_word}{'s' if len(rows) > 1 else ''} {listed(list(map(str, rows)), MOST_ROWS)}"

    @property
    def advice(self) -> Advice:
        """What to do, for each kind of value."""
        parts: list[str | Hint] = []
        for kind, values in self.kinds.items():
            what, *rest = self._about(kind, values)
            parts += ["; ", f"{what[0].lower()}{what[1:]}", *rest] if parts else [what, *rest]
        return Advice(*parts)

    @property
    def remedy(self) -> tuple[Hint, ...]:
        """What to pass so that all the values are taken care of."""
        return tuple(_hint(kind, self.column, values) for kind, values in self.kinds.items())

    def _about(self, kind: str, values: Sequence[str]) -> tuple[Any, ...]:
        hint = _hint(kind, self.column, values)
        choice = {"na": "call them missing with ", "drop": "leave the column out with "}
        either = kind == "comma thousands" and all(_MAYBE_DECIMAL.match(value.strip()) for value in values)
        rest = (" (or ", Hint("decimal", (",",)), " if it is a decimal comma)") if either else ()
        return (_WORDS[kind], choice.get(hint.parameter, ""), hint, *rest)


def _shown(value: str) -> str:
    return value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…"


def _hint(kind: str, column: str, values: Sequence[str]) -> Hint:
    """What to pass for values of a kind."""
    marks = {
        "comma thousands": ("thousands", ","),
        "dot thousands": ("thousands", "."),
        "decimal comma": ("decimal", ","),
    }
    if kind in marks:
        parameter, mark = marks[kind]
        return Hint(parameter, (mark,))
    few = kind in ("word", "limit") and len(values) <= MOST_WORDS and max(map(len, values)) <= LONGEST_SHOWN
    return Hint("na", (list(values),)) if few else Hint("drop", ([column],))


_WORDS = {
    "number": "Numbers that are held as text: store them as numbers, or ",
    "word": "Correct them, or ",
    "limit": "Values beyond a limit of detection: put numbers in their place, or ",
    "comma thousands": "With a comma between thousands: add ",
    "dot thousands": "With a point between thousands: add ",
    "decimal comma": "With a decimal comma: add ",
    "unit": "With a unit: move the unit into the column's name, or ",
}


def find_not_numbers(
    column: Any, name: str, lines: Sequence[int], line_word: str = "row", decimal: str = "."
) -> NotNumbers | None:
    """What keeps a column of text from being numbers; None where it is plain text."""
    import pandas

    if column.dtype.kind in "bMm" or isinstance(column.dtype, pandas.CategoricalDtype):
        return None
    values = [None if missing else cell for cell, missing in zip(column, column.isna(), strict=True)]
    if any(isinstance(cell, bool) or not isinstance(cell, (str, int, float, type(None))) for cell in values):
        return None
    rows: dict[str, list[int]] = {}
    n_present = 0
    for cell, line in zip(values, lines, strict=True):
        if cell is not None:
            n_present += 1
            if isinstance(cell, str):
                rows.setdefault(cell, []).append(line)
    kinds = _sorted_by_kind(rows, decimal)
    numeric = sum(len(rows[value]) for kind, held in kinds.items() if kind != "word" for value in held)
    numeric += n_present - sum(map(len, rows.values()))
    if not rows or numeric * 2 <= n_present or len(_units(kinds.get("unit", ()))) > MOST_UNITS:
        return None
    if set(kinds) != {"number"}:
        kinds.pop("number", None)
    odd = {value: rows[value] for held in kinds.values() for value in held}
    return NotNumbers(name, n_present, sum(map(len, odd.values())), odd, kinds, line_word)


def _sorted_by_kind(values: Mapping[str, Any], decimal: str) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for value in values:
        text = value.strip()
        text = text.replace(",", ".") if decimal == "," and not KINDS["dot thousands"].match(text) else text
        kind = next((name for name, pattern in KINDS.items() if pattern.match(text)), "word")
        kinds.setdefault(kind, []).append(value)
    if "decimal comma" in kinds:  # then 1,500 is one and a half as well
        kinds["decimal comma"] += kinds.pop("comma thousands", [])
    return kinds


def _units(values: Sequence[str]) -> set[str]:
    return {re.sub(rf"^{_NUMBER}\s*", "", value.strip()) for value in values}
