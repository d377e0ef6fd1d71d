"""How a file of plain text lies on disk: marks that need care, its lines, and where it can be cut.

Promises: one pass over the file, in blocks. A piece ends behind a line end, which need not be the end of a row: behind the
last quotation mark it is, if no line ends as on old Macs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from .encodings import blocks

OLD_END = b"\r"  # without the other half of a line end of Windows


@dataclass(frozen=True)
class Piece:
    """Bytes of a file from ``start`` to ``end``; ``line`` is how many lines are before them."""

    start: int
    end: int
    line: int
    n_lines: int


@dataclass(frozen=True)
class Layout:
    """Which marks that need care are in a file, where its last quotation mark is (or -1), and how many line ends it has.

    The marks are ``+``, ``0x``, and the line end of old Macs. ``pieces`` are the file without line ends behind the last row.
    """

    marks: frozenset[bytes]
    last_quote: int
    n_lines: int
    pieces: tuple[Piece, ...]


def find_layout(path: Path, piece_bytes: int) -> Layout:
    """Look through a file; its pieces are of that size, and a little more."""
    marks: set[bytes] = set()
    cuts, end = [(0, 0)], (0, 0)  # places in the file, each with the line ends before it
    done, ends, last_quote, last = 0, 0, -1, b""
    for block in blocks(path):
        marks |= _marks(block, last)
        here, quote = block.count(b"\n"), block.rfind(b'"')
        last_quote = last_quote if quote < 0 else done + quote
        text = len(block.rstrip(b"\r\n")) if block[-1:] in (b"\n", b"\r") else len(block)
        if text:
            end = (done + text, ends + here - block.count(b"\n", text))
        place = block.rfind(b"\n") + 1
        if place and done + place - cuts[-1][0] >= piece_bytes:
            cuts.append((done + place, ends + here))
        done, ends, last = done + len(block), ends + here, block[-1:]
    marks |= {OLD_END} if last == b"\r" else set()
    return Layout(frozenset(marks), last_quote, ends, _pieces(cuts, end))


def _marks(block: bytes, last: bytes) -> set[bytes]:
    """Marks in a block, which may begin in the last byte of the one before."""
    found = {b"+"} if b"+" in block else set()
    if (b"x" in block or b"X" in block) and b"0x" in (last + block).lower():
        found.add(b"0x")
    if (last == b"\r" or b"\r" in block) and re.search(rb"\r[^\n]", last + block):
        found.add(OLD_END)
    return found


def _pieces(cuts: list[tuple[int, int]], end: tuple[int, int]) -> tuple[Piece, ...]:
    place, ends = end
    bounds = [*(cut for cut in cuts if cut[0] < place), (place, ends + 1)]
    return tuple(Piece(a, b, line, until - line) for (a, line), (b, until) in pairwise(bounds))
