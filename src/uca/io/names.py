"""The name that was meant, where another was typed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, names: Iterable[str]) -> str | None:
    """The known name that is most like the one given, capitals apart; None where none is."""
    known = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), known, n=1)
    return known[found[0]] if found else None
