"""What a Matrix Market file claims, and whether its numbers are whole, before it is handed to a parser.

Promises: a file that passes has a header of real numbers, is square if it is symmetric, is long enough for the entries it
claims, has no more numbers in a line than belong there, of which parsers drop the rest, and has no character that numbers do
not have and no exponent without digits, which some parsers read on from, beyond the end of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from .._claims import check_memory, check_sparse_shape
from .._guard import AGAIN, Refusal
from .encodings import open_bytes

BLOCK = 1 << 20
DAMAGED = f"it is damaged; {AGAIN}"
LONGEST_LINE = 4096  # of the header
MOST_COMMENTS = 10_000  # lines
ENTRY_BYTES = 16  # of a sparse entry in memory, at least
_BANNER = re.compile(
    rb"%%MatrixMarket\s+matrix\s+(coordinate|array)\s+(\S+)\s+(general|symmetric|skew-symmetric|hermitian)\s*$", re.I
)
_REAL = (b"real", b"double", b"integer", b"unsigned-integer", b"pattern")
_NUMBERS = b"0123456789+-.eE" + b"naifNAIFtyTY"  # nan, inf and infinity too
_ALLOWED = _NUMBERS + b" \t\r\n"
_BLANKS = bytes.maketrans(b"\t", b" ")
_ODD = re.compile(rb"[^" + re.escape(_ALLOWED) + rb"]")
_EXPONENT = re.compile(rb"[eE](?![+-]?[0-9])")


@dataclass(frozen=True)
class Claim:
    """What a header says; ``values`` is how many lines follow it, ``cells`` how many numbers each of them has.

    ``ends`` says whether the last line has an end.
    """

    shape: tuple[int, int]
    is_sparse: bool
    values: int
    cells: int
    ends: bool = True


def check_market(path: Path, length: int) -> Claim:
    """Check a file whose unpacked content has a given length."""
    with open_bytes(path) as stream:
        claim, begun = _header(stream)
        _check_claim(claim, length - begun)
        lines, last = 0, b"\n"
        for block in _lines(stream):
            lines += block.count(b"\n")
            last = block[-1:]
            _check_block(block)
            _check_cells(block, claim.cells)
    if lines + (last != b"\n") < claim.values:
        raise Refusal(f"it is cut short: it claims {claim.values:,} lines of values, and {lines:,} are there; {AGAIN}")
    return replace(claim, ends=last == b"\n")


def _header(stream: IO[bytes]) -> tuple[Claim, int]:
    """What the first lines claim, and how many bytes they take."""
    banner = stream.readline(LONGEST_LINE)
    match = _BANNER.match(banner)
    if match is None:
        raise Refusal(
            "its first line is not that of a Matrix Market file of numbers (%%MatrixMarket matrix coordinate real general, "
            f"for instance): it is damaged, or not what its name says; {AGAIN}"
        )
    layout, field, symmetry = (part.lower() for part in match.groups())
    if field not in _REAL:
        raise Refusal(f"it holds values of type {field.decode(errors='replace')}, not real numbers")
    begun = len(banner)
    for _ in range(MOST_COMMENTS):
        line = stream.readline(LONGEST_LINE)
        begun += len(line)
        while line.startswith(b"%") and not line.endswith(b"\n") and (rest := stream.readline(LONGEST_LINE)):
            begun += len(rest)  # a long comment
            line = b"%" + rest[-1:]
        if not line or not (line.startswith(b"%") or not line.strip()):
            break
    numbers = line.split()
    if len(numbers) != (3 if layout == b"coordinate" else 2) or not all(n.isdigit() and len(n) < 19 for n in numbers):
        raise Refusal(
            f"the line with its numbers of rows{', columns and entries' if layout == b'coordinate' else ' and columns'} is "
            f"missing or damaged; {AGAIN}"
        )
    rows, columns, *entries = map(int, numbers)
    if symmetry != b"general" and rows != columns:
        raise Refusal(f"it claims to be {symmetry.decode()} and has {rows:,} rows and {columns:,} columns: {DAMAGED}")
    if layout == b"coordinate":
        return Claim((rows, columns), True, entries[0], 2 if field == b"pattern" else 3), begun
    half = {b"general": rows * columns, b"skew-symmetric": rows * (columns - 1) // 2}
    return Claim((rows, columns), False, half.get(symmetry, rows * (columns + 1) // 2), 1), begun


def _check_claim(claim: Claim, length: int) -> None:
    """A line of a sparse matrix has two numbers at least, and every line an end."""
    shortest = 4 if claim.is_sparse else 2
    if claim.values * shortest > length + 1:
        raise Refusal(
            f"it is cut short or damaged: it claims {claim.values:,} values, and the {length:,} bytes that follow are too "
            f"few for them; {AGAIN}"
        )
    rows, columns = claim.shape
    if claim.is_sparse:
        check_sparse_shape(claim.shape, claim.values)
        check_memory(claim.values * ENTRY_BYTES, f"it claims {claim.values:,} entries")
    else:
        check_memory(8 * rows * columns, f"it claims {rows:,} x {columns:,} values")


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The rest of a stream in blocks that end where a line ends."""
    while block := stream.read(BLOCK):
        yield block + stream.readline(BLOCK)


def _check_block(block: bytes) -> None:
    if block.translate(None, _ALLOWED) and (place := _ODD.search(block)) is not None:
        raise Refusal(f"it holds {place[0]!r} among its numbers, in the line {_line(block, place.start())}: {DAMAGED}")
    if (place := _EXPONENT.search(block)) is not None:
        raise Refusal(f"an exponent has no digits, in the line {_line(block, place.start())}: {DAMAGED}")


def _check_cells(block: bytes, cells: int) -> None:
    """Refuse a line with more numbers than ``cells``, for which it has as many blanks or more."""
    between = block.translate(_BLANKS, _NUMBERS + b"\r")
    if b" " * cells not in between:
        return
    place = re.search(rb"^[ \t]*(?:[^ \t\r\n]+[ \t]+){%d}[^ \t\r\n]" % cells, block, re.MULTILINE)
    if place is not None:
        raise Refusal(f"there are more than {cells} numbers in the line {_line(block, place.start())}: {DAMAGED}")


def _line(block: bytes, place: int) -> str:
    """The line at a place, as text."""
    line = block[block.rfind(b"\n", 0, place) + 1 :].split(b"\n", 1)[0]
    return ascii(line[:40].decode("latin-1"))
