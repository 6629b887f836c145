"""Which rows a deletion vector deletes."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from pyroaring import BitMap, BitMap64

from seriatim.errors import DeltaLogError
from seriatim.mirror.delta.actions import DeletionVector
from seriatim.mirror.delta.deletion_vectors import file_of, positions

# The protocol's own examples.
WITH_PREFIX = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, offset=4)
INLINE = DeletionVector("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6)

MAGIC = (1681511377).to_bytes(4, "little")


def bitmap(rows: Sequence[int]) -> bytes:
    return MAGIC + bytes(BitMap64(rows).serialize())


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")


def z85(data: bytes) -> str:
    of_python = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    of_zeromq = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    return base64.b85encode(data).decode().translate(str.maketrans(of_python, of_zeromq))


def inline(data: bytes, cardinality: int) -> DeletionVector:
    return DeletionVector("i", z85(data + bytes(-len(data) % 4)), len(data), cardinality)


def native(by_high_bits: Sequence[Sequence[int]], order: Literal["big", "little"]) -> bytes:
    """Return the bytes of the older format."""
    bitmaps = [bytes(BitMap(rows).serialize()) for rows in by_high_bits]
    parts = [(1681511376).to_bytes(4, order), len(bitmaps).to_bytes(4, order)]
    return b"".join((*parts, *(len(one).to_bytes(4, order) + one for one in bitmaps)))


def read_file(location: str, offset: int, size: int) -> bytes:
    return Path(location).read_bytes()[offset : offset + size]


def read_nothing(location: str, offset: int, size: int) -> bytes:
    raise FileNotFoundError(location)


def test_the_protocols_inline_example_reads_as_it_says() -> None:
    rows = positions(INLINE, "/t", read_nothing)

    assert rows.type == pa.int64()
    assert rows.to_pylist() == [3, 4, 7, 11, 18, 29]


def test_the_protocols_relative_example_is_where_it_says() -> None:
    assert file_of(WITH_PREFIX, "s3://mytable") == (
        "s3://mytable/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    )


def test_without_a_prefix_the_file_lies_in_the_root() -> None:
    vector = DeletionVector("u", "^-aqEH.-t@S}K{vb[*k^", 40, 6, offset=4)

    assert file_of(vector, "/t") == "/t/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


@pytest.mark.parametrize(
    "rows",
    [[], [0], [3, 4, 7], list(range(100_000)), [1, 2**31, 2**32 - 1, 2**32, 2**40], list(range(0, 200_000, 3))],
    ids=["none", "first", "few", "run", "beyond_32_bits", "many"],
)
def test_any_rows_come_back_in_order(tmp_path: Path, rows: list[int]) -> None:
    """From a file, at any offset, by an absolute path, and from the log itself."""
    data = bitmap(rows)
    file = tmp_path / "a b.bin"
    file.write_bytes(b"\x01" + framed(bitmap([9])) + framed(data))
    at = 1 + len(framed(bitmap([9])))
    path = file.as_uri()

    assert positions(inline(data, len(rows)), "/t", read_nothing).to_pylist() == rows
    by_path = DeletionVector("p", path, len(data), len(rows), offset=at)
    assert positions(by_path, "/t", read_file).to_pylist() == rows
    first = DeletionVector("p", path, len(bitmap([9])), 1, offset=1)
    assert positions(first, "/t", read_file).to_pylist() == [9]


@pytest.mark.parametrize("order", ["big", "little"])
def test_the_older_format_reads_the_same(order: Literal["big", "little"]) -> None:
    """Its bitmaps follow one another without saying which they are; one may be empty."""
    vector = inline(native([[1, 70_000], [], [5]], order), 3)

    assert positions(vector, "/t", read_nothing).to_pylist() == [1, 70_000, 2**33 + 5]


@pytest.mark.parametrize("place", range(60))
def test_a_byte_that_flipped_in_its_file_is_noticed(tmp_path: Path, place: int) -> None:
    """Whatever byte it is: rows would be lost, or come back."""
    data = bitmap([1, 2, 2**33])
    content = bytearray(b"\x01" + framed(data))
    vector = DeletionVector("p", str(tmp_path / "dv.bin"), len(data), 3, offset=1)
    (tmp_path / "dv.bin").write_bytes(content)
    assert len(positions(vector, "/t", read_file)) == 3
    content[place % len(content)] ^= 0x10
    (tmp_path / "dv.bin").write_bytes(content)

    with pytest.raises(DeltaLogError):
        positions(vector, "/t", read_file)


@pytest.mark.parametrize("size", [0, 1, 4, 20, 57])
def test_a_file_that_is_cut_is_noticed(tmp_path: Path, size: int) -> None:
    data = bitmap([1, 2, 2**33])
    (tmp_path / "dv.bin").write_bytes((b"\x01" + framed(data))[:size])

    with pytest.raises(DeltaLogError):
        positions(DeletionVector("p", str(tmp_path / "dv.bin"), len(data), 3, offset=1), "/t", read_file)


@pytest.mark.parametrize(
    "vector",
    [
        DeletionVector("i", INLINE.path_or_inline, 40, 5),  # Not as many rows as it should be.
        DeletionVector("i", INLINE.path_or_inline, 20, 6),
        DeletionVector("i", INLINE.path_or_inline[:-5], 40, 6),
        DeletionVector("i", INLINE.path_or_inline[:-1], 40, 6),
        DeletionVector("i", INLINE.path_or_inline[:-1] + "é", 40, 6),
        DeletionVector("i", INLINE.path_or_inline[:-1] + "_", 40, 6),
        DeletionVector("i", "#####", 4, 0),  # More than four bytes can say.
        DeletionVector("i", "", 0, 0),
        inline(MAGIC, 0),
        inline(bitmap([1])[::-1], 1),
        inline(native([[1]], "little")[:-4], 1),
        DeletionVector("u", "short", 40, 6),
        DeletionVector("x", "a", 40, 6),
        DeletionVector("u", WITH_PREFIX.path_or_inline, 40, 6, offset=4),  # There is no such file.
    ],
)
def test_what_a_descriptor_does_not_hold_is_refused(vector: DeletionVector) -> None:
    """The vector is named, so that its file can be found."""
    with pytest.raises(DeltaLogError) as refused:
        positions(vector, "/t", read_nothing)
    assert refused.value.source == "/t"
    assert repr(vector.unique_id) in refused.value.reason
