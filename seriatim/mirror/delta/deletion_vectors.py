"""Reads deletion vectors: which rows of a file are deleted (Delta protocol, "Deletion Vectors")."""

from __future__ import annotations

import base64
import uuid
import zlib
from collections.abc import Callable
from typing import Literal

import pyarrow as pa
from pyroaring import BitMap64

from seriatim.errors import DeltaLogError
from seriatim.mirror.delta.actions import DeletionVector
from seriatim.mirror.delta.locations import file_location
from seriatim.mirror.delta.storage import one_line

ReadRange = Callable[[str, int, int], bytes]
"""Reads from a file at an absolute location, from an offset on, so many bytes or fewer."""

_FORMAT = 1  # The first byte of a file of deletion vectors.
_PORTABLE = 1681511377  # The magic number of the format that the protocol describes,
_NATIVE = 1681511376  # and of an older one, in which its example of an inline vector is written.
_UUID_CHARS = 20
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_B85 = bytes.maketrans(_Z85, _B85)


class _DamagedError(ValueError):
    """The deletion vector is not what the protocol says or its descriptor promises."""


def positions(
    vector: DeletionVector, root: str, read: ReadRange, *, source: str | None = None, version: int | None = None
) -> pa.Int64Array:
    """Return which rows are deleted, counted from 0, in order; `source` and `version` are for the message.

    Raises:
        DeltaLogError: it cannot be read, is damaged, or is not what its descriptor says.
    """
    try:
        rows = _deserialize(_serialized(vector, root, read))
        if len(rows) != vector.cardinality:
            raise _DamagedError(f"it deletes {len(rows)} rows, and should delete {vector.cardinality}")
    except (ValueError, OSError) as err:
        reason = f"the deletion vector {vector.unique_id!r} is unreadable: {one_line(err)}"
        raise DeltaLogError(source or root, version=version, reason=reason) from err
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows.to_array())])


def file_of(vector: DeletionVector, root: str) -> str | None:
    """Return the location of the file that a deletion vector lies in, None for one that lies in the log itself.

    Raises:
        ValueError: its descriptor names none.
    """
    if vector.storage_type == "i":
        return None
    if vector.storage_type == "p":
        return file_location(vector.path_or_inline, root)
    if vector.storage_type != "u":
        raise _DamagedError(f"the storage type {vector.storage_type!r} is none that is known")
    prefix, name = vector.path_or_inline[:-_UUID_CHARS], vector.path_or_inline[-_UUID_CHARS:]
    folder = f"{root}/{prefix}" if prefix else root
    return f"{folder}/deletion_vector_{uuid.UUID(bytes=_z85_decoded(name))}.bin"


def _serialized(vector: DeletionVector, root: str, read: ReadRange) -> bytes:
    """Return the bytes of the bitmap."""
    location = file_of(vector, root)
    if location is None:
        return _z85_decoded(vector.path_or_inline)[: vector.size_bytes]
    if (version := read(location, 0, 1)) != bytes([_FORMAT]):
        raise _DamagedError(f"{location} begins with {version!r}, which is no format that is known")
    size_bytes = vector.size_bytes
    framed = read(location, vector.offset or 0, size_bytes + 8)
    size, data, checksum = framed[:4], framed[4 : 4 + size_bytes], framed[4 + size_bytes :]
    if int.from_bytes(size, "big") != size_bytes or len(checksum) != 4:
        raise _DamagedError(f"{location} does not hold {size_bytes} bytes at {vector.offset or 0}")
    if int.from_bytes(checksum, "big") != zlib.crc32(data):
        raise _DamagedError(f"{location} does not have the checksum that it names at {vector.offset or 0}")
    return data


def _deserialize(data: bytes) -> BitMap64:
    """Return the bitmap: 64-bit numbers in a format of Roaring, after a magic number."""
    magic, content = data[:4], data[4:]
    if int.from_bytes(magic, "big") == _NATIVE:
        content = _portable(content, "big")
    elif int.from_bytes(magic, "little") == _NATIVE:
        content = _portable(content, "little")
    elif int.from_bytes(magic, "little") != _PORTABLE:
        raise _DamagedError(f"it begins with {magic!r}, which is no format that is known")
    if len(content) < 8:
        raise _DamagedError("nothing follows its magic number")
    return BitMap64.deserialize(content)


def _portable(native: bytes, order: Literal["big", "little"]) -> bytes:
    """Return the older format in the newer: how many 32-bit bitmaps, and before each its size, now its high bits."""
    count, at = int.from_bytes(native[:4], order), 4
    portable = [count.to_bytes(8, "little")]
    for high in range(count):
        size = int.from_bytes(native[at : at + 4], order)
        if len(native) < at + 4 + size:
            raise _DamagedError("it is cut")
        portable += [high.to_bytes(4, "little"), native[at + 4 : at + 4 + size]]
        at += 4 + size
    return b"".join(portable)


def _z85_decoded(text: str) -> bytes:
    """Return the bytes that a text of base 85 stands for, in the alphabet of ZeroMQ."""
    if len(text) % 5 or not set(text.encode()) <= set(_Z85):
        raise _DamagedError(f"{text!r} is not of base 85")
    return base64.b85decode(text.encode().translate(_TO_B85))
