"""A command as Typer reads it: options that go together are declared once, as a block.

A block is a frozen dataclass whose fields are options. A command takes blocks like other parameters, all by keyword; Typer
sees the options in their place. What a command does is imported when it runs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its blocks as parameters of its own."""
    hints = get_type_hints(command, include_extras=True)
    blocks: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        parameters += _options(blocks[name]) if name in blocks else [parameter.replace(annotation=hints[name])]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, block in blocks.items():
            given[name] = block(**{option.name: given.pop(option.name) for option in fields(block)})
        with rare_collection():
            work_of(command)(**given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for first
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


@contextmanager
def rare_collection() -> Iterator[None]:
    """Look for objects in cycles less often: imports make many objects, and hardly any of them is free again."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def work_of(command: Callable[..., None]) -> Callable[..., None]:
    """What does a command: the function of its name in the module of its name, imported now."""
    package, module = __package__, command.__module__.rpartition(".")[2]
    work: Callable[..., None] = getattr(import_module(f"{package}.{module}"), command.__name__)
    return work


def _options(block: Any) -> list[Parameter]:
    hints = get_type_hints(block, include_extras=True)
    defaults = {
        option.name: option.default if option.default_factory is MISSING else option.default_factory()
        for option in fields(block)
    }
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if default is MISSING else default,
            annotation=hints[name],
        )
        for name, default in defaults.items()
    ]
