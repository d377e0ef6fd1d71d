"""The tables that a fit was given, without keeping them: rows stay with the user."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Seen:
    """Weak references to a target and its backgrounds.

    A fitted model keeps no rows. As long as the user does, they can be looked at again.
    """

    target: Any
    backgrounds: Any

    @classmethod
    def of(cls, X: Any, backgrounds: Any) -> Seen | None:
        """None where something cannot be referred to, as a list of lists."""
        try:
            return cls(weakref.ref(X), _each(weakref.ref, backgrounds))
        except TypeError:
            return None

    def tables(self) -> tuple[Any, Any] | None:
        """Target and backgrounds as they were given; None where one of them is gone."""
        target, backgrounds = self.target(), _each(lambda reference: reference(), self.backgrounds)
        listed = list(backgrounds.values()) if isinstance(backgrounds, Mapping) else backgrounds
        listed = listed if isinstance(listed, list) else [listed]
        gone = target is None or (self.backgrounds is not None and any(table is None for table in listed))
        return None if gone else (target, backgrounds)


def _each(change: Any, tables: Any) -> Any:
    """The same change to one table, to each of a list, or of a mapping; None stays."""
    if tables is None:
        return None
    if isinstance(tables, Mapping):
        return {name: change(table) for name, table in tables.items()}
    return [change(table) for table in tables] if isinstance(tables, list | tuple) else change(tables)
