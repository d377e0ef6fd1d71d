"""Files compressed by gzip, read through once before anything is made of them.

Promises: a file that passes is complete, its checksums are right, and what it unpacks to fits in memory. It is unpacked in
blocks, so that one that unpacks to more is given up as soon as it does.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from .._guard import AGAIN, Refusal
from .._memory import room, size_of

BLOCK = 1 << 20
MAGIC = b"\x1f\x8b"


def is_gzipped(path: Path) -> bool:
    """Whether the name of a file says that gzip made it."""
    return path.suffix.lower() == ".gz"


def check_gzip(path: Path) -> int:
    """The length of what a file unpacks to."""
    with path.open("rb") as stream:
        if stream.read(2) != MAGIC:
            raise Refusal("it is not compressed by gzip: take .gz off its name, or compress it")
    most, length = room(), 0
    with gzip.open(path, "rb") as stream:
        while block := stream.read(BLOCK):
            length += len(block)
            if length > most:
                raise Refusal(
                    f"its {path.stat().st_size:,} bytes unpack to more than {size_of(length)}, and {size_of(most)} of "
                    f"memory are free. If that is right, use a machine with more memory or a part of it; if not, it is "
                    f"damaged: {AGAIN}"
                )
    return length
