"""A command as Typer reads it: options that belong together are declared once, as a block.

A block is a frozen dataclass whose fields are options. A command takes blocks like any other parameter; Typer sees their
fields in their place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its blocks as parameters of its own."""
    hints = get_type_hints(command, include_extras=True)
    blocks: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in blocks:
            parameters += _options(blocks[name])
        else:
            parameters.append(_parameter(name, hints[name], parameter.default))

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: block(**{option.name: given.pop(option.name) for option in fields(block)})
            for name, block in blocks.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for first
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options(block: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(block, include_extras=True)
    return [_parameter(option.name, hints[option.name], _default(option)) for option in fields(block)]


def _default(option: Field[Any]) -> Any:
    if option.default_factory is not MISSING:
        return option.default_factory()
    return inspect.Parameter.empty if option.default is MISSING else option.default


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """By keyword, so that one without a default may follow one with it."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
