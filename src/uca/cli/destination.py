"""Results appear whole or not at all.

Promises: files are written to a temporary folder beside the destination, which takes its place in one step where the system
can exchange two names (Linux), else in two renames; an interrupted run leaves the old result, and what a
killed run left behind is removed by the next one. Only folders and files that
the program itself wrote are replaced, and only with ``--force``.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from .._files import beside, remove_leftovers
from ..io import FORMATS
from .ending import held_back
from .program import usage_error

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def check_folder(out: Path, own: Collection[str], force: bool) -> None:
    """Refuse, before any work, a folder that may not be replaced; ``own`` are the names the command writes."""
    place = out.resolve()
    if place.exists() and not place.is_dir():
        raise usage_error(f"{out} is a file; name a folder with -o")
    if out.suffix.lower() in FORMATS and not place.is_dir():
        raise usage_error(f"-o {out}: several files are written; name a folder, such as -o {out.stem}")
    if not place.is_dir():
        _check_parent(place.parent)
        return
    if place == Path.cwd() or place in Path.cwd().parents:
        raise usage_error(f"{out} is the current folder or holds it; name a new folder with -o")
    others = sorted(path.name for path in place.iterdir() if path.name not in own)
    if others:
        raise usage_error(f"{out} holds other files ({', '.join(others[:3])}); name another folder with -o")
    if any(place.iterdir()) and not force:
        raise usage_error(f"{out} holds an earlier result; add --force to replace it, or name another folder with -o")


def check_file(out: Path, force: bool) -> None:
    """Refuse, before any work, a file that may not be replaced."""
    if out.is_dir() and out.suffix.lower() != ".zarr":
        raise usage_error(f"{out} is a folder; name a file with -o")
    if out.exists() and not force:
        raise usage_error(f"{out} exists; add --force to replace it, or name another file with -o")
    _check_parent(out.resolve().parent)


def _check_parent(parent: Path) -> None:
    there = next(path for path in (parent, *parent.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise usage_error(f"{there} cannot be written to; name another place with -o")


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A temporary folder that becomes ``out`` if the block succeeds, and vanishes if not."""
    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(place)
    try:
        temporary.mkdir()
        with _named_as(out, temporary):
            yield temporary
        with held_back():
            _put(temporary, place)
            remove_leftovers(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _named_as(out: Path, temporary: Path) -> Iterator[None]:
    """Errors of the system, as of a full disk, name what was to be written, and not a temporary file."""
    try:
        yield
    except OSError as error:
        place = temporary if error.filename is None else Path(os.fsdecode(error.filename))
        if error.errno is not None and place.is_relative_to(temporary):
            error.filename = str(out / place.relative_to(temporary))
        raise


def _put(temporary: Path, place: Path) -> None:
    """Give the folder its name; what had the name before is under the temporary one afterwards."""
    if not place.exists():
        temporary.rename(place)
    elif not _exchange(temporary, place):
        old = beside(place)
        place.rename(old)
        try:
            temporary.rename(place)
        except BaseException:
            old.rename(place)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step, where the system can."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
