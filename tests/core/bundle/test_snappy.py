"""Snappy: against bytes that its own library packed, damage, and tables with packed blocks."""

import contextlib
import pathlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import errors
from penstock.core.bundle import snappy, table
from penstock.core.bundle.coding import varint
from penstock.core.bundle.reader import BundleReader
from penstock.core.records import masked_crc

DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "checkpoints"
PLAIN = b"variables/" * 30 + bytes(range(100)) + b"variables/" * 10
# as cramjam 2 packs them: literals, copies with two bytes, copies that reach into themselves
PACKED = (
    bytes.fromhex("f403247661726961626c65732ffe0a00fe0a00fe0a00fe0a00860a00f069")
    + bytes(range(100))
    + bytes.fromhex("766172696162fe9001769001")
)


def literals(data):
    """Packed without any copies."""
    packed = bytearray(varint(len(data)))
    for at in range(0, len(data), 256):
        piece = data[at : at + 256]
        packed += bytes([60 << 2, len(piece) - 1]) + piece
    return bytes(packed)


def test_what_the_library_packed():
    assert snappy.unpack(PACKED, "here") == PLAIN


@pytest.mark.parametrize(
    ("packed", "plain"),
    [
        (b"\x00", b""),
        (bytes([3, 2 << 2]) + b"abc", b"abc"),
        (bytes([5, 0, 97, 1, 1]), b"aaaaa"),  # a copy of four bytes from one back
        (bytes([6, 1 << 2, 97, 98, 3 << 2 | 2, 2, 0]), b"ababab"),
        (bytes([4, 1 << 2, 97, 98, 1 << 2 | 3, 2, 0, 0, 0]), b"abab"),
        (literals(bytes(range(256)) * 9), bytes(range(256)) * 9),
    ],
)
def test_each_kind_of_element(packed, plain):
    assert snappy.unpack(packed, "here") == plain


@pytest.mark.parametrize(
    ("packed", "problem"),
    [
        (b"", "at most 64 bits"),
        (varint(2**40) + b"abc", "bytes unpacked"),  # nothing is allocated for it
        (bytes([3, 2 << 2]) + b"ab", "3 bytes at 2"),
        (bytes([5, 0, 97, 1, 2]), "a copy from within 1 bytes, got one from 2 back"),
        (bytes([5, 0, 97, 1, 0]), "one from 0 back"),
        (bytes([5, 0, 97, 1]), "1 bytes at 4"),
        (bytes([9, 0, 97]), "9 bytes unpacked, got 1"),
        (bytes([2, 2 << 2]) + b"abc", "2 bytes unpacked, got more"),
    ],
)
def test_damage_is_named(packed, problem):
    with pytest.raises(errors.DataLossError, match=f"here: .*{problem}"):
        snappy.unpack(packed, "here")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_unpacked_or_refused(data):
    try:
        found = snappy.unpack(data, "here")
    except errors.DataLossError:
        return
    assert len(found) <= 64 * len(data)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(PACKED) - 1), st.integers(0, 255)), max_size=4))
def test_changed_bytes_are_unpacked_or_refused(changes):
    data = bytearray(PACKED)
    for at, value in changes:
        data[at] = value
    with contextlib.suppress(errors.DataLossError):
        assert len(snappy.unpack(bytes(data), "here")) <= 64 * len(data)


def packed_block(entries):
    """A block, packed, with what comes after it."""
    plain = bytearray()
    for key, value in entries:
        plain += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    plain += struct.pack("<II", 0, 1)  # where keys are whole: at the beginning
    stored = literals(bytes(plain)) + b"\x01"
    return stored + struct.pack("<I", masked_crc(stored))


def test_a_table_of_packed_blocks_is_read(tmp_path):
    source = DATA / "dtypes"
    entries = list(table.Table((source.with_suffix(".index")).read_bytes(), "index").items())
    data = packed_block(entries)
    empty = packed_block([])
    handle = [varint(0) + varint(len(data) - table.TRAILER_BYTES)]
    index_at = len(data) + len(empty)
    index = packed_block([(entries[-1][0], handle[0])])
    footer = varint(len(data)) + varint(len(empty) - table.TRAILER_BYTES)
    footer += varint(index_at) + varint(len(index) - table.TRAILER_BYTES)
    footer = footer.ljust(40, b"\0") + struct.pack("<Q", table.MAGIC)
    (tmp_path / "dtypes.index").write_bytes(data + empty + index + footer)
    name = "dtypes.data-00000-of-00001"
    (tmp_path / name).write_bytes((DATA / name).read_bytes())
    with BundleReader(tmp_path / "dtypes") as ours, BundleReader(source) as theirs:
        assert ours.names() == theirs.names()
        for each in ours.names():
            assert ours.read(each).tolist() == theirs.read(each).tolist()
