"""Time that work may take: a limit in seconds, looked at where work can end with what it has.

Promises: without a limit nothing is looked at, so that results do not depend on the clock; a deadline that is shared out
among several pieces of work gives what one of them leaves to the next.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


def now() -> float:
    """Seconds on a clock that only runs forward."""
    return time.monotonic()


@dataclass(frozen=True)
class Deadline:
    """A moment on the clock of :func:`now`; None for never."""

    end: float | None = None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """That many seconds from now; None for never."""
        return cls(None if seconds is None else now() + float(seconds))

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return self.end is not None and now() >= self.end

    @property
    def left(self) -> float:
        """Seconds until then, at least 0."""
        return math.inf if self.end is None else max(self.end - now(), 0.0)

    def shared(self, n: int) -> Deadline:
        """The end of the first of ``n`` equal parts of what is left."""
        if self.end is None:
            return self
        return Deadline.after(self.left / n)


NEVER = Deadline()
