"""Which source holds the datasets of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .device import DeviceSource
from .distributed import DaskSource
from .memory import MemorySource
from .source import Source

#: In order: one dataset that must be held this way decides for all. A new container is one file and one entry here.
SOURCES: tuple[type[Source], ...] = (DaskSource, DeviceSource, MemorySource)


def source_of(arrays: Sequence[Any], labels: Sequence[str]) -> Source:
    """The source of the target (first) and the backgrounds."""
    kind = next(kind for kind in SOURCES if any(kind.takes(array) for array in arrays))
    return kind(arrays, labels)
