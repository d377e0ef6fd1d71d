"""Files that appear whole or not at all.

Promises: content is written under a temporary name in the same folder, which takes the place of the old file in one step. On
any exception, an interrupt too, the old file stays as it was and the temporary one is removed. Permissions are those that
the user's umask gives to a new file.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def beside(place: Path) -> Path:
    """A name that is not taken, in the folder of ``place``; hidden, so that patterns such as ``*.csv`` pass it over."""
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}")


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream to write to; what was written becomes the file if the block succeeds. A link stays a link."""
    place = Path(path).resolve()
    temporary = beside(place)
    try:
        with temporary.open("xb") as stream:
            yield stream
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a whole file; text as UTF-8, line ends as they are."""
    with new_file(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def new_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write a file or a folder under; it takes the place of ``path`` if the block succeeds."""
    place = Path(path).resolve()
    temporary, old = beside(place), beside(place)
    try:
        yield temporary
        if temporary.is_dir() and place.exists():
            place.rename(old)
        temporary.replace(place)
    except BaseException:
        if old.exists():
            old.rename(place)
        raise
    finally:
        for left in (temporary, old):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
