"""The public API as text: names, parameters with their kinds and defaults, fields, fitted attributes, and the program.

    python tests/api_snapshot.py            what differs from tests/api.txt
    python tests/api_snapshot.py --write    renew tests/api.txt

The text depends on this package alone. Annotations are left out, since their text differs between versions of Python, and
so is what classes inherit from scikit-learn. Names that begin with an underscore are not public.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

SNAPSHOT = Path(__file__).resolve().parent / "api.txt"
PROGRAM = "program"
#: Public names of modules that have no ``__all__`` and define more than what is public.
NAMED = {"uca.persistence": ("FORMAT", "TRUSTED", "load", "save")}
BY_TYPER = {"help", "install_completion", "show_completion"}


def sections() -> list[str]:
    """The public modules, and the program."""
    import uca

    return ["uca", *(f"uca.{name}" for name in sorted({*uca._ON_USE, "persistence"})), PROGRAM]


def section(name: str) -> list[str]:
    """The lines of one module, or of the program."""
    return program_lines() if name == PROGRAM else module_lines(import_module(name))


def module_lines(module: ModuleType) -> list[str]:
    """A line for every public name of a module, and for every public part of its classes."""
    lines: list[str] = []
    for name in public_names(module):
        lines += object_lines(f"{module.__name__}.{name}", getattr(module, name))
    return lines


def public_names(module: ModuleType) -> list[str]:
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    names = getattr(module, "__all__", None) or NAMED.get(module.__name__) or own
    return sorted(name for name in names if not name.startswith("_"))


def object_lines(path: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        return class_lines(path, value)
    if callable(value):
        return [path + parameters(value)]
    return [f"{path} = {Shown(value)!r}"]


def class_lines(path: str, cls: type) -> list[str]:
    """How a class is made (of a dataclass, by its fields), then its methods, properties and fitted attributes."""
    parts = dict(own_members(cls))
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    made = [f"{path}.{field.name}{default_of(field)}: field" for field in fields if not field.name.startswith("_")]
    lines = [f"{path}: dataclass", *made] if fields else [path + construction(cls)]
    for name, value in sorted(parts.items()):
        if isinstance(value, (property, cached_property)):
            lines.append(f"{path}.{name}: property")
        elif isinstance(value, (classmethod, staticmethod)):
            lines.append(f"{path}.{name}{parameters(value.__func__, skip=isinstance(value, classmethod))}: class")
        else:
            lines.append(f"{path}.{name}{parameters(value, skip=True)}")
    known = {*parts, *(field.name for field in fields)}
    return lines + [f"{path}.{name}: fitted" for name in fitted(cls) if name not in known]


def default_of(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return " = <made anew>"
    return "" if field.default is dataclasses.MISSING else f" = {Shown(field.default)!r}"


def own_members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that classes of this package define; scikit-learn's own are not ours to keep."""
    package = cls.__module__.split(".")[0]
    for base in reversed(cls.__mro__):
        if base.__module__.split(".")[0] != package:
            continue
        for name, value in vars(base).items():
            kinds = (FunctionType, property, cached_property, classmethod, staticmethod)
            if not name.startswith("_") and isinstance(value, kinds):
                yield name, value


def construction(cls: type) -> str:
    """The parameters of a class; of an exception, what it derives from."""
    if issubclass(cls, BaseException):
        builtin = next(base.__name__ for base in cls.__mro__ if base.__module__ == "builtins")
        return f": {builtin}"
    if cls.__init__ is object.__init__:
        return "()"
    return parameters(cls.__init__, skip=True)


def parameters(function: Any, *, skip: bool = False) -> str:
    """``(x, *, y=0)``: names, kinds and defaults; ``skip`` leaves out self or cls."""
    given = list(inspect.signature(function).parameters.values())[int(skip) :]
    plain = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else Shown(p.default)) for p in given
    ]
    return str(inspect.Signature(plain))


class Shown:
    """A default whose text is the same everywhere."""

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        value = self.value
        if isinstance(value, Enum):
            return repr(value.value)
        if isinstance(value, Path):
            return repr(value.as_posix())
        if isinstance(value, np.dtype):
            return value.name
        if isinstance(value, dict):
            return f"{{{', '.join(sorted(map(str, value)))}}}"
        if isinstance(value, (tuple, list)):
            inside = ", ".join(repr(Shown(each)) for each in value)
            return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        return f"<{getattr(value, '__name__', type(value).__name__)}>"


def fitted(cls: type) -> list[str]:
    """Names that end in an underscore in the section Attributes of the docstring."""
    text = re.search(
        r"^Attributes\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", inspect.getdoc(cls) or "", re.DOTALL | re.MULTILINE
    )
    heads = re.findall(r"^(\w[\w, ]*?) *(?::|$)", text[1], re.MULTILINE) if text else []
    return sorted(name for head in heads for name in re.split(r", *", head) if name.endswith("_"))


def program_lines() -> list[str]:
    """Commands of the program ``uca`` with their arguments, options and defaults."""
    import typer

    from uca.cli import app

    group = typer.main.get_command(app)
    lines = options_of("uca", group)
    for name, command in sorted(group.commands.items()):
        lines += [f"uca {name}", *options_of(f"uca {name}", command)]
    return lines


def options_of(path: str, command: Any) -> list[str]:
    """Names as typed, defaults as the function behind the command has them: click changes how it keeps them."""
    # Typer wraps the function; blocks of options are unfolded in a signature of its own, which is where to stop.
    function = inspect.unwrap(command.callback, stop=lambda function: hasattr(function, "__signature__"))
    given = inspect.signature(function).parameters
    lines = []
    for option in command.params:
        if option.name in BY_TYPER:
            continue
        names = "/".join([*option.opts, *option.secondary_opts])
        names = names if names.startswith("-") else names.upper()
        default = given[option.name].default if option.name in given else inspect.Parameter.empty
        lines.append(f"{path} {names}" + ("" if default is inspect.Parameter.empty else f" = {Shown(default)!r}"))
    return sorted(lines)


def written(parts: dict[str, list[str]]) -> str:
    return "\n".join("\n".join([f"[{name}]", *lines, ""]) for name, lines in parts.items())


def read(text: str) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            parts[line.strip("[]")] = []
        else:
            parts[list(parts)[-1]].append(line)
    return parts


def difference(saved: list[str], now: list[str]) -> str:
    """What to read and to do where the API is not that of the snapshot; empty where it is."""
    removed = [f"  removed: {line}" for line in saved if line not in now]
    added = [f"  added:   {line}" for line in now if line not in saved]
    if not removed + added:
        return ""
    told = [
        "the public API is not that of tests/api.txt (a change is a removal and an addition):",
        *removed,
        *added,
        "If this is meant: run `python tests/api_snapshot.py --write`, and add a line to CHANGELOG.md.",
        "A name or parameter that was released is deprecated first: docs/stability.md.",
    ]
    return "\n".join(told)


def main(arguments: list[str]) -> int:
    now = {name: section(name) for name in sections()}
    if arguments == ["--write"]:
        SNAPSHOT.write_text(written(now), encoding="utf-8")
        return 0
    saved = read(SNAPSHOT.read_text(encoding="utf-8"))
    told = difference(*([line for lines in parts.values() for line in lines] for parts in (saved, now)))
    print(told or "the public API is that of tests/api.txt")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
