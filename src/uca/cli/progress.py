"""Progress on a terminal: nothing for the first second, then a bar on standard error."""

from __future__ import annotations

import math
import sys
import threading
from typing import Any, Self

from .safe import printable

DELAY = 1.0


class Steps:
    """Says what is being done, once that has taken a second; silent where standard error is not a terminal."""

    def __init__(self, *, silent: bool = False):
        self._bar: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if not silent and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=None)
            self._timer = threading.Timer(DELAY, self._start)
            self._timer.daemon = True

    def step(self, text: str, done: float | None = None) -> None:
        """Begin a step; ``done`` is the share of the whole, if it is known."""
        if self._bar is not None:
            self._bar.update(
                self._task, description=printable(text), total=None if done is None else 1.0, completed=done or 0.0
            )

    def on_pass(self, iteration: int, upper: float, lower: float, gap: float) -> None:
        """Callback of a solver: digits of the certified gap, of the nine that are wanted."""
        digits = -math.log10(max(gap, 1e-9)) if gap < 1 else 0.0
        self.step(f"fitting, pass {iteration}, gap {gap:.0e}", digits / 9)

    def _start(self) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.start()

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
