"""What components are called wherever people read: counted from 1."""

from __future__ import annotations

from typing import Any

from .uca import UCA


def component_prefix(model: Any) -> str:
    """What stands before the number of a component."""
    return "UC" if isinstance(model, UCA) else "cPC"


def component_names(model: Any, n: int | None = None) -> list[str]:
    """UC1, UC2, … (cPC1, … of cPCA and cPCA++): as many as the model has, or ``n``."""
    n = model.components_.shape[0] if n is None else n
    return [f"{component_prefix(model)}{i + 1}" for i in range(n)]
