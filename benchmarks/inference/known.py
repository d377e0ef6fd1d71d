"""Results of a long part of the study, kept while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Known(dict[str, Any]):
    """Results so far, saved whenever one is added, so that a long part can be taken up again."""

    def __init__(self, results: dict[str, Any], save: Callable[[dict[str, Any]], None]):
        super().__init__(results)
        self._save = save

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._save(dict(self))
