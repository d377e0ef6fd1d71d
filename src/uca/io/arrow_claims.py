"""Feather and Arrow files: how much memory their batches take, read from the head of each before any is unpacked.

Promises: a file that passes has batches whose rows and buffers fit in memory together. A compressed buffer begins with its
length; the heads that say where buffers are have a form of their own (FlatBuffers), which pyarrow has checked before they
are looked at here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._claims import check_memory

DICTIONARY, BATCH = 2, 3  # kinds of messages
_LENGTH = struct.Struct("<q")


@dataclass(frozen=True)
class Claim:
    """What the messages of a stream claim: numbers of batches and rows, and bytes once unpacked."""

    batches: int = 0
    rows: int = 0
    n_bytes: int = 0


def check_stream(source: Any) -> Claim:
    """Look at every message from where a file of pyarrow stands."""
    from pyarrow import ipc

    claim, columns = Claim(), 0
    for message in ipc.MessageReader.open_stream(source):
        head = message.metadata.to_pybytes()
        if message.type == "schema":
            columns = len(ipc.read_schema(message))
        elif message.type in ("record batch", "dictionary"):
            rows, n_bytes = _batch(head, message.body)
            rows = rows if message.type == "record batch" else 0
            claim = Claim(claim.batches + (message.type == "record batch"), claim.rows + rows, claim.n_bytes + n_bytes)
            most = max(claim.n_bytes, 8 * columns * claim.rows)
            check_memory(most, f"it claims {claim.rows:,} rows and {columns:,} columns")
    return claim


def _batch(head: bytes, body: Any) -> tuple[int, int]:
    """Rows of a batch, and bytes of its buffers once unpacked."""
    message = _at(head, 0)
    kind, table = head[_field(head, message, 1)], _at(head, _field(head, message, 2))
    if kind == DICTIONARY:
        table = _at(head, _field(head, table, 1))
    rows = _LENGTH.unpack_from(head, place)[0] if (place := _field(head, table, 0)) else 0
    packed = bool(_field(head, table, 3)) or b"experimental_compression" in head
    return rows, sum(_unpacked(body, int(offset), int(length), packed) for offset, length in _buffers(head, table))


def _buffers(head: bytes, table: int) -> Any:
    """Places and lengths of buffers (n, 2)."""
    place = _field(head, table, 2)
    if not place:
        return np.empty((0, 2), dtype="<i8")
    vector = _at(head, place)
    count = int.from_bytes(head[vector : vector + 4], "little")
    return np.frombuffer(head, "<i8", 2 * count, vector + 4).reshape(-1, 2)


def _unpacked(body: Any, offset: int, length: int, packed: bool) -> int:
    if not packed or length < _LENGTH.size:
        return length
    claimed = int(_LENGTH.unpack(body[offset : offset + _LENGTH.size].to_pybytes())[0])
    return length if claimed < 0 else claimed  # below 0: as it is


def _at(head: bytes, place: int) -> int:
    """What an offset points to."""
    return place + int(struct.unpack_from("<I", head, place)[0])


def _field(head: bytes, table: int, i: int) -> int:
    """The place of a field of a table, 0 where it is left out."""
    fields = table - int(struct.unpack_from("<i", head, table)[0])
    size = struct.unpack_from("<H", head, fields)[0]
    offset = struct.unpack_from("<H", head, fields + 4 + 2 * i)[0] if 4 + 2 * i < size else 0
    return table + offset if offset else 0
