"""Text of strangers in files and on terminals: names may hold formulas, escape sequences, or what cannot be encoded.

Promises: a cell of a CSV file that a spreadsheet would take for a formula gets a leading apostrophe, as in the report, and
:func:`from_cell` gives the name back; numbers stay numbers. No control character of a name reaches standard output, standard
error or a file for people to read, wherever these go; tables in files hold names as they are. What standard
output or a file cannot encode is replaced by ``?``, and that is told once, at the end. What standard output does not take (a
full disk, a closed pipe) fails once, in the command, and not again when the program ends. A stream that is closed from the
start (``>&-``) takes everything and shows nothing.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

BEGINS_FORMULA = tuple("=+-@\t\r\n")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# C0, DEL, C1, the ends of lines and paragraphs, and the marks that turn the direction of a line.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
REPLACED = "note: characters that cannot be written here were replaced by '?'"
COMPLETE = "; the result is complete"

_replaced: set[str] = set()  # in this run of the program


def as_cell(value: Any) -> Any:
    """What stands in a CSV file for a name or a number."""
    if not isinstance(value, str):
        return value
    text = value.lstrip("'")  # a name that looks as if it were marked is marked too, so that it can be told from those
    formula = text.startswith(BEGINS_FORMULA) and _NUMBER.fullmatch(text) is None
    return f"'{encodable(value)}" if formula else encodable(value)


def from_cell(text: str) -> str:
    """The name that :func:`as_cell` wrote."""
    return text[1:] if text.startswith("'") and as_cell(text[1:]) == text else text


def printable(text: str) -> str:
    """Text for people, in one line: every control character as what one types for it."""
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def printable_lines(text: str) -> str:
    """The same for text of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))


def json_of(content: Any, **options: Any) -> str:
    """JSON in ASCII, without control characters: of those it leaves DEL alone."""
    return json.dumps(content, **options).replace("\x7f", "\\u007f")


def encodable(text: str) -> str:
    """Text that a file in UTF-8 can hold: half characters, of file names that are no UTF-8, become ``?``."""
    plain = text.encode("utf-8", "replace").decode()
    if plain != text:
        _replaced.add(text)
    return plain


@contextmanager
def open_streams() -> Iterator[None]:
    """Standard output and error that can be written to; opened at once, so that no file of a result gets their numbers."""
    closed = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    with ExitStack() as stack:
        for name in closed:
            setattr(sys, name, stack.enter_context(open(os.devnull, "w", encoding="utf-8")))
        try:
            yield
        finally:
            for name in closed:
                setattr(sys, name, None)


@contextmanager
def replacing_streams() -> Iterator[None]:
    """Standard output and error that replace what they cannot encode."""
    _replaced.clear()

    def replace(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        _replaced.add(error.object[error.start : error.end])
        return "?" * (error.end - error.start), error.end

    codecs.register_error("uca.replace", replace)
    before = [(stream, stream.errors) for stream in (sys.stdout, sys.stderr) if hasattr(stream, "reconfigure")]
    for stream, _ in before:
        stream.reconfigure(errors="uca.replace")
    try:
        yield
    finally:
        for stream, errors in before:
            try:
                stream.reconfigure(errors=errors)
            except OSError:  # it writes first what is left; that this fails was told by the command
                with suppress(OSError):  # a stream that is no file cannot be emptied
                    drop_unwritten(stream)
                    stream.reconfigure(errors=errors)


def drop_unwritten(stream: Any) -> None:
    """Empty a stream of what a full disk or a closed pipe did not take; else every flush tries again, also at the end."""
    handle = stream.fileno()
    itself, nowhere = os.dup(handle), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, handle)
        stream.flush()
    finally:
        os.dup2(itself, handle)
        os.close(itself)
        os.close(nowhere)


def tell_replaced(*, complete: bool) -> None:
    """Say that characters were replaced in this run, if any were, and where there is a result that it is complete."""
    if _replaced:
        print(f"{REPLACED}{COMPLETE if complete else ''}", file=sys.stderr)
