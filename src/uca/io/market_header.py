"""What a Matrix Market file claims, and whether its numbers are whole, before it is handed to a parser.

Promises: a file that passes has a header of real numbers, is square if it is symmetric, is long enough for the entries it
claims, and has in every line as many numbers as belong there, each of its kind from the first character to the last: parsers
drop what follows a number, and some read on from an exponent without digits, beyond the end of the file.
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
_ODD = re.compile(rb"[^0-9+\-.eEnaifNAIFtyTY \t\r]")  # nan, inf and infinity are numbers too
_EXPONENT = re.compile(rb"[0-9.][eE](?![+-]?[0-9])")
_PLUS = re.compile(rb"(?:^|(?<=[ \t\n]))\+")
#: What numbers look like; without a way back (``++``), so that a block is gone through once.
_INDEX = rb"[0-9]++"
_WHOLE = rb"[+-]?+[0-9]++(?:\.0*+)?+"
_REAL_NUMBER = (
    rb"[+-]?+(?:(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
    rb"|[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?+)"
)
_KINDS = {_INDEX: "a row or column counted from 1", _WHOLE: "a whole number", _REAL_NUMBER: "a number"}


@dataclass(frozen=True)
class Claim:
    """What a header says; ``values`` is how many lines follow it, ``cells`` the kinds of numbers that each of them has.

    ``ends`` says whether the last line has an end, ``plus`` whether numbers have a plus sign, which some parsers refuse.
    """

    shape: tuple[int, int]
    is_sparse: bool
    values: int
    cells: tuple[bytes, ...]
    ends: bool = True
    plus: bool = False


def check_market(path: Path, length: int) -> Claim:
    """Check a file whose unpacked content has a given length."""
    with open_bytes(path) as stream:
        claim, begun = _header(stream)
        _check_claim(claim, length - begun)
        lines, last, plus = 0, b"\n", False
        pattern = _pattern(claim.cells)
        for block in _lines(stream):
            lines += block.count(b"\n")
            last = block[-1:]
            _check_block(block, pattern, claim.cells)
            plus = plus or (b"+" in block and _PLUS.search(block) is not None)
    if lines + (last != b"\n") < claim.values:
        raise Refusal(f"it is cut short: it claims {claim.values:,} lines of values, and {lines:,} are there; {AGAIN}")
    return replace(claim, ends=last == b"\n", plus=plus)


def without_plus(text: bytes) -> bytes:
    """The text of a file without plus signs before its numbers."""
    return _PLUS.sub(b" ", text)


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
        return Claim((rows, columns), True, entries[0], (_INDEX, _INDEX, *_values(field))), begun
    half = {b"general": rows * columns, b"skew-symmetric": rows * (columns - 1) // 2}
    return Claim(
        (rows, columns), False, half.get(symmetry, rows * (columns + 1) // 2), _values(field) or (_WHOLE,)
    ), begun


def _values(field: bytes) -> tuple[bytes, ...]:
    """The kind of number that a value is; a pattern has none."""
    whole = field in (b"integer", b"unsigned-integer")
    return () if field == b"pattern" else (_WHOLE if whole else _REAL_NUMBER,)


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


def _pattern(cells: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """Lines of numbers, and blank ones."""
    return re.compile(rb"(?:[ \t]*+(?:" + rb"[ \t]++".join(cells) + rb")?+[ \t\r]*+\n)*+")


def _check_block(block: bytes, pattern: re.Pattern[bytes], cells: tuple[bytes, ...]) -> None:
    """Refuse the first line that is not what the pattern says."""
    block = block if block.endswith(b"\n") else block + b"\n"
    match = pattern.match(block)
    end = 0 if match is None else match.end()
    if end < len(block):
        line = block[end:].split(b"\n", 1)[0]
        raise Refusal(f"{_what_is_wrong(line, cells)} in the line {_shown(line)}: {DAMAGED}")


def _what_is_wrong(line: bytes, cells: tuple[bytes, ...]) -> str:
    if (place := _ODD.search(line)) is not None:
        return f"it holds {place[0]!r} among its numbers,"
    if _EXPONENT.search(line) is not None:
        return "an exponent has no digits,"
    numbers = line.split()
    if len(numbers) != len(cells):
        return f"there are {'more' if len(numbers) > len(cells) else 'fewer'} than {len(cells)} numbers"
    for number, kind in zip(numbers, cells, strict=True):
        if re.fullmatch(kind, number) is None:
            return f"{_shown(number)} is not {_KINDS[kind]},"
    return "numbers are not separated by blanks"


def _shown(line: bytes) -> str:
    return ascii(line[:40].decode("latin-1"))
