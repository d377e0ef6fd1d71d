"""Packages that not everybody has installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(module: str, reason: str, extra: str) -> Any:
    """Import a module where it is used; where it is absent, ``reason`` and the extra that installs it are told."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{reason}: pip install 'unique-component-analysis[{extra}]'") from error
