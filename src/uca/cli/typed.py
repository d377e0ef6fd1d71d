"""Commands that can be pasted: the one to run next, and the one that was typed with what it lacked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from ..io import Hint

OPTIONS = {"how": "--missing", "header": "--no-header"}  # that are not called as the parameter is


def option_words(hint: Hint) -> list[str]:
    """A parameter as options of the program, word by word; a list of values repeats the option."""
    name = OPTIONS.get(hint.parameter, f"--{hint.parameter}")
    several = [value for value in hint.values if isinstance(value, list)]
    if several:
        return [word for value in several[0] for word in (name, str(value))]
    return [name, *(value for value in hint.values[:1] if isinstance(value, str))]


def in_words(hint: Hint) -> str:
    """A parameter as options of the program, for a sentence; one of several values is chosen by the reader."""
    choices = [value for value in hint.values if isinstance(value, str)]
    if len(choices) > 1:
        return f"{option_words(hint)[0]} {'|'.join(map(shlex.quote, choices))}"
    return shlex.join(option_words(hint))


def second_try(arguments: Sequence[str], remedy: Sequence[Hint]) -> str:
    """The command that was typed, with options added; an option that takes one value is replaced."""
    words = list(arguments)
    for hint in remedy:
        added = option_words(hint)
        if not any(isinstance(value, list) for value in hint.values):
            words = _without(words, added[0], len(added) > 1)
        words += added
    return f"uca {shlex.join(words)}"


def _without(words: list[str], option: str, takes_value: bool) -> list[str]:
    out: list[str] = []
    skip = False
    for word in words:
        if skip or word.startswith(f"{option}=") or word == option:
            skip = word == option and takes_value and not skip
            continue
        out.append(word)
    return out


def with_backgrounds(arguments: Sequence[str], extra: Sequence[str]) -> str:
    """The command that was typed, with ``-b`` before tables that stand alone."""
    words = list(arguments)
    for word in reversed(extra):
        place = len(words) - 1 - words[::-1].index(word)
        words[place:place] = ["-b"]
    return f"uca {shlex.join(words)}"


def next_command(name: str, *blocks: Any, **options: str | None) -> str:
    """A command of the program with the options of blocks that are not left at their defaults, and others by name."""
    words = [name]
    for block in blocks:
        hints = get_type_hints(type(block), include_extras=True)
        for field in fields(block):
            value = getattr(block, field.name)
            if value != _default(field):
                words += _option(field.name, hints[field.name].__metadata__[0], value)
    for key, given in options.items():
        words += [] if given is None else [f"--{key}", given]
    return f"uca {shlex.join(words)}"


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _option(name: str, declared: Any, value: Any) -> list[str]:
    """An option or an argument as typed, by its short name where it has one."""
    names = getattr(declared, "param_decls", None) or ()
    if type(declared).__name__ == "ArgumentInfo":
        return [str(value)]
    option = min(names, key=len) if names else f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (option, str(each.value if isinstance(each, Enum) else each))]
