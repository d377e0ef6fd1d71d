"""How often Python looks for garbage in a process that runs the program and ends with it.

Imports make a million objects that stay. To look through them again and again, and once more at the end, takes a sixth of
the time of ``uca fit`` on a small table.
"""

from __future__ import annotations

import atexit
import gc

RARELY = (100_000, 50, 100)  # new objects before the next look; 700 by default


def collect_rarely() -> None:
    """Look for garbage rarely, and not at the end, when all memory is freed anyway."""
    gc.set_threshold(*RARELY)
    atexit.register(gc.freeze)
