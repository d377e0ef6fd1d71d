"""Names of a package that are imported when they are first used.

Promises: importing the package imports none of the modules behind its names; ``package.name``, ``from package import name``
and ``from package import *`` find them all the same, ``dir`` lists them, and a name that was asked for once is kept. What
type checkers and editors should see is imported under ``TYPE_CHECKING`` beside the call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def on_use(
    package: str, names: Mapping[str, Collection[str]], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    names : dict of module -> names
        What each module of the package brings.
    modules : collection of str
        Modules of the package that are names themselves.
    """
    home = {name: module for module, brought in names.items() for name in brought}

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *modules})

    return get, listed
