"""One guard around the libraries that read files: whatever they raise becomes an error that names the file.

Promises: a file that cannot be read raises a ValueError that names it, says what is wrong with it and what to try; the
library's own error is its cause. A file that is not there or may not be opened raises the FileNotFoundError or
PermissionError that Python users expect, worded alike. Text from a library or a file is shortened, and characters that
would reach a terminal as commands are replaced.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._memory import available_bytes, size_of

LONGEST = 300  # characters of a library's message
AGAIN = "copy or download it again, or write it anew"
#: Kinds of errors -> what is wrong with the file; the first that fits counts.
CAUSES: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((EOFError,), "it is cut short"),
    ((gzip.BadGzipFile,), "its checksum is wrong, or something follows its end"),
    ((zlib.error, lzma.LZMAError), "its compressed content is damaged"),
    ((zipfile.BadZipFile,), "its archive is damaged or cut short"),
    ((UnicodeError,), "it holds text that is not in its encoding"),
    ((csv.Error,), "its cells cannot be told apart; is a quotation mark left open?"),
    ((RecursionError,), "it is nested deeper than files of its kind are"),
)


class Refusal(ValueError):
    """What a check of this package says of a file, which it calls "it", and what to do; the name is put before it."""


@contextmanager
def refusing() -> Iterator[None]:
    """Around a check of this package that calls the file "it": its ValueError is a refusal."""
    try:
        yield
    except ValueError as error:
        raise Refusal(str(error)) from None


@contextmanager
def guarded(path: Any, kind: str, *passed: type[Exception]) -> Iterator[None]:
    """Around everything that reads a file of a kind; errors of the types ``passed`` name the file already."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, ImportError, Warning):  # warnings may be asked to be errors
        raise
    except passed:
        raise
    except Refusal as error:
        raise ValueError(f"{path} cannot be read as {kind}: {plain(str(error))}") from error
    except BaseException as error:  # each library has its own errors, and those written in Rust panic
        raise ValueError(f"{path} cannot be read as {kind}: {told(error)}") from error


def told(error: BaseException) -> str:
    """What an error of a library means, and what to try."""
    if isinstance(error, MemoryError):
        free = size_of(available_bytes())
        return (
            f"it asks for more memory than there is ({free} are free). If it is that large, use a machine with more "
            f"memory or a part of it; if not, it is damaged: {AGAIN}"
        )
    said = plain(str(error)).rstrip(".") or "no reason is given"
    for kinds, what in CAUSES:
        if isinstance(error, kinds):
            return f"{what} ({said}): {AGAIN}"
    own = "" if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: "
    return f"it is damaged, cut short, or not what its name says ({own}{said}): {AGAIN}, or check the end of its name"


def plain(text: str) -> str:
    """A message in one line of printable characters, shortened."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def check_file(path: Path, kind: str, *, folders: bool = False) -> None:
    """Refuse what cannot be read: nothing there, a folder where a file is meant, a pipe, no permission, an empty file."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir():
        if not folders:
            raise ValueError(f"{path} is a folder, not a {kind} file: name a file in it")
        return
    if not path.is_file():
        raise ValueError(
            f"{path} is a pipe or a device, not a file: a {kind} file is read more than once, so write what comes out of it "
            "to a file, and name that"
        )
    try:
        with path.open("rb") as stream:
            first = stream.read(1)
    except PermissionError as error:
        raise PermissionError(f"{path} may not be read by this user: change its permissions, or copy it") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be opened: {error.strerror or error}") from error
    if not first:
        raise ValueError(f"{path} is empty: nothing was written to it, or a copy failed; {AGAIN}")
