"""An interrupt while the program is still being imported: one line and exit code 130, as later; no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """End the process quietly on an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("uca: interrupted; no result was changed", file=sys.stderr)
        sys.exit(INTERRUPTED)
