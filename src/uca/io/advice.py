"""Notes and errors that name a parameter, which whoever shows them may call by another name.

Promises: as text, a parameter is written as in a call (``drop=['x']``). What is advised is in fields, so that the program
shows its own options (``--drop x``) without reading a message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Hint:
    """A parameter to pass, and what to pass: nothing in particular, one value, or several to choose from."""

    parameter: str
    values: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.parameter}={'|'.join(map(repr, self.values))}" if self.values else self.parameter


class Advice(str):
    """A sentence of text and hints; ``parts`` are both, in order."""

    parts: tuple[str | Hint, ...]

    def __new__(cls, *parts: str | Hint) -> Self:
        """Put a sentence together, also of other sentences."""
        flat = [piece for part in parts for piece in (part.parts if isinstance(part, Advice) else (part,))]
        advice = super().__new__(cls, "".join(map(str, flat)))
        advice.parts = tuple(flat)
        return advice

    def told(self, show: Callable[[Hint], str]) -> str:
        """The sentence with hints as ``show`` writes them."""
        return "".join(show(part) if isinstance(part, Hint) else part for part in self.parts)


def joined(hints: Iterable[Hint]) -> tuple[Hint, ...]:
    """Hints with one for each parameter; lists of values are put together."""
    found: dict[str, Hint] = {}
    for hint in hints:
        before = found.get(hint.parameter)
        if before is not None and isinstance(hint.values[0], list):
            values = [*before.values[0], *(value for value in hint.values[0] if value not in before.values[0])]
            found[hint.parameter] = Hint(hint.parameter, (values,))
        else:
            found[hint.parameter] = hint
    return tuple(found.values())


class TableError(ValueError):
    """A table that cannot be used as it is; ``advice`` says what to do about it.

    ``remedy`` is what to pass in a second try, one value a parameter: a way that works, of those that the advice names.
    """

    def __init__(self, *parts: str | Hint, remedy: tuple[Hint, ...] = ()):
        self.advice = Advice(*parts)
        self.remedy = remedy
        super().__init__(self.advice)
