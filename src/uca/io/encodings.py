"""How the text of a file is encoded: told by its bytes, and said where it had to be assumed.

Promises: the whole file is looked at, in blocks. UTF-8 and UTF-16 (by its mark) are certain; other text is taken for that of
Windows in Western Europe (cp1252), or latin-1 where cp1252 has no such letter.
"""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from .advice import TableError
from .gzipped import check_gzip, is_gzipped

BLOCK = 1 << 16  # small enough that the memory is used again for the next one
NO_TEXT = " is not text: it holds bytes that do not occur in text (NUL); save it as CSV in UTF-8, or copy it again"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_IN_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_KNOWN = (
    (b"PK\x03\x04", "an Excel or zip file: give it the ending it had, such as .xlsx"),
    (b"\x1f\x8b", "compressed: call it .csv.gz or .tsv.gz"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file: save it as .xlsx"),
    (b"PAR1", "a parquet file: call it .parquet"),
)


@dataclass(frozen=True)
class Encoding:
    """The name of an encoding; ``example`` is text that depends on it, where it was assumed."""

    name: str
    example: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed, for the user to check."""
        if self.example is None:
            return ()
        return (
            f"it is not UTF-8 and was read as {self.name} (Windows, Western Europe), for example {self.example!r}; if that "
            "is wrong, save the file as UTF-8",
        )


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name ends in .gz."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def open_text(path: Path, encoding: str) -> Any:
    """The text of a file."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def find_encoding(path: Path) -> Encoding:
    """The encoding of a file of text; a file that is no text is refused with what it is."""
    if is_gzipped(path):
        check_gzip(path)
    return _find(path)


def _find(path: Path) -> Encoding:
    with open_bytes(path) as stream:
        start = stream.read(4096)
    for mark, name in _MARKS:
        if start.startswith(mark):
            return Encoding(name)
    for mark, told in _KNOWN:
        if start.startswith(mark):
            raise TableError(f"{path} is not text but {told}")
    if b"\0" in start:
        raise TableError(f"{path}{NO_TEXT}")
    odd = _first_not_utf8(path)
    if odd is None:
        return Encoding("utf-8")
    name = "latin-1" if any(_NOT_IN_CP1252.search(block) for block in blocks(path)) else "cp1252"
    return Encoding(name, odd.decode(name))


def blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a piece at a time."""
    with open_bytes(path) as stream:
        while block := stream.read(BLOCK):
            if b"\0" in block:
                raise TableError(f"{path}{NO_TEXT}")
            yield block


def _first_not_utf8(path: Path) -> bytes | None:
    """The cell with the first bytes that are not UTF-8; None where all are."""
    rest = b""
    for block in blocks(path):
        block = rest + block if rest else block
        try:
            done = codecs.utf_8_decode(block, "strict", False)[1]
        except UnicodeDecodeError as error:
            return _cell(block, error.start)
        rest = block[done:]
    return _cell(rest, 0) if rest else None


def _cell(block: bytes, place: int) -> bytes:
    """What stands between separators around a place, shortened."""
    left = re.split(rb"[,;\t\r\n\"]", block[max(0, place - 30) : place])[-1]
    right = re.split(rb"[,;\t\r\n\"]", block[place : place + 30])[0]
    return left + right
