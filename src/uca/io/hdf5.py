"""HDF5 files, looked at before the library reads them.

Promises: a file that passes begins as HDF5 files do, and the places where it keeps text are such that the library gets to
their end: a heap of text with an item of no length would be read for ever. :func:`check_content` refuses data that does not
fit in memory together, chunks that unpack to more than they should, and types of which damaged ones end the process.
"""

from __future__ import annotations

import math
import mmap
import struct
import zlib
from pathlib import Path
from typing import Any

from .._claims import DEFLATED, check_memory
from .._guard import AGAIN, Refusal
from .._memory import fits

MAGIC = b"\x89HDF\r\n\x1a\n"
HEAP = b"GCOL"
WINDOW = 1 << 26  # bytes that are looked at together: a multiple of every page size
GROWTH, SLACK = 4, 4096  # what a filter may make of a chunk that cannot be compressed
_HEAD, _ITEM = struct.Struct("<4sB3xQ"), struct.Struct("<HH4xQ")


def check_hdf5(path: Path) -> None:
    """Check the beginning of a file and its heaps of text."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[: len(MAGIC)] != MAGIC:
            raise Refusal(f"it does not begin as HDF5 files do: it is damaged, or not what its name says; {AGAIN}")
        if _bytes_of_lengths(data) == 8:
            for start in range(0, len(data), WINDOW):
                _check_heaps(data, start, start + WINDOW)


def _check_heaps(data: mmap.mmap, start: int, end: int) -> None:
    """Check the heaps that begin in a part of the file; what was looked at leaves memory again."""
    place = data.find(HEAP, start, end + len(HEAP) - 1)
    while place >= 0:
        if place % 8 == 0:
            _check_heap(data, place)
        place = data.find(HEAP, place + 1, end + len(HEAP) - 1)
    if hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED, start, min(end, len(data)) - start)


def _bytes_of_lengths(data: mmap.mmap) -> int:
    """How many bytes the file takes for a length; every version since 1998 writes 8."""
    return data[14 if data[8] < 2 else 10] if len(data) > 14 else 0


def _check_heap(data: mmap.mmap, place: int) -> None:
    """A heap is a head and items; each has a length, and item 0 is what is free."""
    if place + _HEAD.size > len(data):
        return
    _, version, size = _HEAD.unpack_from(data, place)
    end = place + size
    if version != 1 or end > len(data):
        return  # not a heap, or one that the library refuses
    at = place + _HEAD.size
    while at + _ITEM.size <= end:
        index, _, length = _ITEM.unpack_from(data, at)
        step = length if index == 0 else _ITEM.size + -(-length // 8) * 8
        if step < _ITEM.size:
            raise Refusal(f"the place where it keeps its text is damaged; {AGAIN}")
        at += step


def check_content(file: Any, but: str = "") -> None:
    """Refuse a file whose datasets, ``but`` for one, do not fit in memory together, or values of a type not safe to read."""
    import h5py

    total = 0

    def check(name: str, item: Any) -> None:
        nonlocal total
        for attribute in item.attrs:
            _check_type(item.attrs.get_id(attribute).get_type(), name)
        if isinstance(item, h5py.Dataset):
            _check_type(item.id.get_type(), name)
            n_values = item.size or 0  # of None, which has no shape, it is None too
            n_bytes = n_values * item.dtype.itemsize if name != but else 0
            check_memory(n_bytes, f"{name!r} in it claims {item.shape} values")
            total += n_bytes
            _check_chunks(name, item)

    check("/", file)
    file.visititems(check)
    check_memory(total, f"its datasets claim {total:,} bytes together")


def _check_chunks(name: str, item: Any) -> None:
    """Refuse a compressed chunk that would unpack to more than a chunk is: the library makes room for all of it."""
    if item.chunks is None or not item.id.get_create_plist().get_nfilters():
        return
    size = math.prod(item.chunks) * item.dtype.itemsize
    for chunk in _chunks(item.id):
        if chunk.size > GROWTH * size + SLACK or (
            not fits(DEFLATED * chunk.size) and _inflates_beyond(item.id, chunk.chunk_offset, size)
        ):
            raise Refusal(
                f"{name!r} in it has a chunk that unpacks to more than its {size:,} bytes: it is damaged; {AGAIN}"
            )


def _chunks(dataset: Any) -> list[Any]:
    """Places and sizes of the chunks that are stored."""
    found: list[Any] = []
    if hasattr(dataset, "chunk_iter"):
        dataset.chunk_iter(found.append)
        return found
    return [dataset.get_chunk_info(i) for i in range(dataset.get_num_chunks())]


def _inflates_beyond(dataset: Any, place: Any, size: int) -> bool:
    """Whether a chunk that was compressed by deflate, after other filters if there are any, is larger than it should be."""
    from h5py import h5z

    settings = dataset.get_create_plist()
    filters = [settings.get_filter(i)[0] for i in range(settings.get_nfilters())]
    if h5z.FILTER_DEFLATE not in filters[-2:]:  # behind it a checksum at most
        return False
    _, packed = dataset.read_direct_chunk(place)
    return len(zlib.decompressobj().decompress(packed, size + SLACK)) >= size + SLACK


def _check_type(kind: Any, name: str) -> None:
    """Values of varying length are text in files of AnnData; the library reads any other from where nothing is."""
    from h5py import h5t

    if kind.get_class() == h5t.VLEN:
        raise Refusal(f"{name!r} in it has values of varying length that are not text: it is damaged; {AGAIN}")
    if kind.get_class() == h5t.COMPOUND:
        for i in range(kind.get_nmembers()):
            _check_type(kind.get_member_type(i), name)
    elif kind.get_class() == h5t.ARRAY:
        _check_type(kind.get_super(), name)
