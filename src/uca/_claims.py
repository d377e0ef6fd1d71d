"""What a file claims to hold, checked against its length and the memory there is before anything is allocated.

Promises: numbers in headers of numpy and in directories of zip archives are compared with the bytes that follow, and with
the memory that is free. What is refused is a :class:`Refusal`, which says how large the claim is.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from ._guard import AGAIN, Refusal
from ._memory import available_bytes, fits, size_of

MAGIC = np.lib.format.MAGIC_PREFIX  # how an array begins, whatever the name of its file
DEFLATED = 1032  # bytes that one compressed byte can become, at most
SLACK = 1 << 16
FREE_LENGTH = 10**5  # rows and columns that a sparse matrix may have without an entry: a fit takes seconds
FREE_PER_ENTRY = 100


def check_memory(n_bytes: float, what: str) -> None:
    """Refuse what does not fit in memory; ``what`` is "it claims …" and the like."""
    if not fits(n_bytes):
        raise Refusal(
            f"{what}, {size_of(n_bytes)} in memory, and {size_of(available_bytes())} are free. If that is right, use a "
            f"machine with more memory or a part of the file; if not, it is damaged: {AGAIN}"
        )


def check_npy(stream: IO[bytes], length: int) -> int:
    """Check the header of an array, where a stream stands, against the bytes of its file; how many values it has."""
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = reader(stream)
    if dtype.hasobject:
        raise Refusal("it holds Python objects, which are not read because they may run code: save numbers or text")
    if any(size < 0 for size in shape):
        raise Refusal(f"it claims a shape of {shape}, which no array has: it is damaged; {AGAIN}")
    claimed, there = math.prod(shape) * dtype.itemsize, length - stream.tell()
    if claimed > there:
        raise Refusal(
            f"it is cut short or damaged: it claims {shape} values of type {dtype}, {claimed:,} bytes, and {there:,} "
            f"follow; {AGAIN}"
        )
    return math.prod(shape)


def check_zip(archive: zipfile.ZipFile) -> None:
    """Check that the files in an archive have sizes that can be, and fit in memory together."""
    total = 0
    for member in archive.infolist():
        most = member.compress_size * (1 if member.compress_type == zipfile.ZIP_STORED else DEFLATED) + SLACK
        if member.file_size > most and member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refusal(
                f"it claims that {member.file_size:,} bytes are packed into {member.compress_size:,}, which cannot be: it "
                f"is damaged; {AGAIN}"
            )
        total += member.file_size
    check_memory(total, f"it unpacks to {total:,} bytes")


def check_npz(source: Path | IO[bytes]) -> None:
    """Check an archive, and the header of every array in it."""
    with zipfile.ZipFile(source) as archive:
        check_zip(archive)
        for member in archive.infolist():
            with archive.open(member) as stream:
                is_array = stream.read(len(MAGIC)) == MAGIC
            if is_array or member.filename.endswith(".npy"):
                with archive.open(member) as stream:
                    check_npy(stream, member.file_size)


def check_sparse_shape(shape: tuple[int, ...], entries: int) -> None:
    """Refuse a sparse matrix that claims far more rows and columns than it has entries: each costs memory in a fit."""
    if len(shape) == 2 and sum(shape) > FREE_LENGTH + FREE_PER_ENTRY * entries:
        raise Refusal(
            f"it claims {shape[0]:,} rows and {shape[1]:,} columns for {entries:,} entries: if that is right, leave empty "
            f"rows and columns out; if not, it is damaged: {AGAIN}"
        )


def check_sparse(values: Any) -> None:
    """Check that the indices of a sparse matrix are within its shape and in order, before compiled code relies on it."""
    check_sparse_shape(values.shape, values.nnz)
    order = getattr(values, "indptr", None)
    if order is not None and (np.asarray(order[1:], dtype=np.int64) < np.asarray(order[:-1], dtype=np.int64)).any():
        # which scipy does not look at where the last one is 0
        raise Refusal(f"it is damaged: the rows or columns of its sparse matrix are not in order; {AGAIN}")
    if hasattr(values, "check_format"):
        try:
            values.check_format(full_check=True)
        except ValueError as error:
            raise Refusal(f"it is damaged: its sparse matrix is not one ({error}); {AGAIN}") from error
