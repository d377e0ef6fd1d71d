"""Files that appear whole or not at all.

Promises: content is written under a temporary name in the same folder, which takes the place of the old file in one step. On
any exception, an interrupt too, the old file stays as it was and the temporary one is removed. An error of the system, such
as a full disk, names the file. Permissions are those that the user's umask gives to a new file.

A process that is killed cannot remove what it was writing. The temporary name says whose it is, and :func:`remove_leftovers`
removes what is an hour old and whose process is gone, or what is a week old. It is called when the new file is in place, so
that nothing is removed that might be the only copy.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

OLD, FORGOTTEN = 3600.0, 7 * 24 * 3600.0  # seconds since something was written
LONGEST = 50  # characters of a name that its temporary name repeats


def beside(place: Path) -> Path:
    """A name that is not taken, in the folder of ``place``; hidden, so that patterns such as ``*.csv`` pass it over."""
    return place.with_name(f"{_prefix(place)}{_host()}-{os.getpid()}-{secrets.token_hex(4)}")


def _prefix(place: Path) -> str:
    return f".{place.name[:LONGEST]}."


def _host() -> str:
    """Name of the computer in a few characters: processes of another one, on a shared disk, cannot be asked for."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def remove_leftovers(place: Path) -> None:
    """Remove what killed processes left of their temporary files for ``place``."""
    prefix = _prefix(place)
    with suppress(OSError), os.scandir(place.parent) as entries:
        for entry in entries:
            found = _TEMPORARY.fullmatch(entry.name[len(prefix) :]) if entry.name.startswith(prefix) else None
            if found is not None and _is_nobodys(entry, found["host"], int(found["process"])):
                _remove(Path(entry.path))


_TEMPORARY = re.compile(r"(?P<host>[0-9a-f]{8})-(?P<process>[0-9]{1,10})-[0-9a-f]{8}")


def _is_nobodys(entry: os.DirEntry[str], host: str, process: int) -> bool:
    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
    return age > FORGOTTEN or (age > OLD and host == _host() and not _runs(process))


def _runs(process: int) -> bool:
    """Whether a process of this computer is alive; where that cannot be asked, yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # of another user
    return True


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system that name no file, as of a full disk, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream to write to; what was written becomes the file if the block succeeds. A link stays a link."""
    place = Path(path).resolve()
    temporary = beside(place)
    try:
        with named(path), temporary.open("xb") as stream:
            yield stream
        temporary.replace(place)
        remove_leftovers(place)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a whole file; text as UTF-8 (``?`` for what it has no bytes for), line ends as they are."""
    with new_file(path) as stream:
        stream.write(content.encode(errors="replace") if isinstance(content, str) else content)


@contextmanager
def new_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write a file or a folder under; it takes the place of ``path`` if the block succeeds."""
    place = Path(path).resolve()
    temporary, old = beside(place), beside(place)
    try:
        with named(path):
            yield temporary
        if temporary.is_dir() and place.exists():
            place.rename(old)
        temporary.replace(place)
        remove_leftovers(place)
    except BaseException:
        if old.exists():
            old.rename(place)
        raise
    finally:
        for left in (temporary, old):
            _remove(left)
