"""Records: what is written is read, and nothing else is."""

import io
import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import errors
from penstock.core.records import FOOTER_BYTES, HEADER_BYTES, frame, masked_crc, read_records


def read_all(data):
    return list(read_records(io.BytesIO(data), "test.records"))


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_round_trip(items):
    assert read_all(b"".join(map(frame, items))) == items


def test_layout():
    record = frame(b"abc")
    assert len(record) == HEADER_BYTES + 3 + FOOTER_BYTES
    assert struct.unpack("<Q", record[:8]) == (3,)
    assert record[12:15] == b"abc"


def test_mask_is_undone_as_other_readers_do():
    masked = masked_crc(b"abc")
    rotated = (masked - 0xA282EAD8) & 0xFFFFFFFF
    assert (rotated >> 17 | rotated << 15) & 0xFFFFFFFF == google_crc32c.value(b"abc")


@given(st.integers(0, 40), st.integers(1, 255))
def test_a_changed_byte_is_noticed(position, change):
    first, second = frame(b"first"), bytearray(frame(b"x" * 25))
    second[position] ^= change
    records = read_records(io.BytesIO(first + bytes(second)), "test.records")
    assert next(records) == b"first"
    with pytest.raises(errors.DataLossError, match=rf" at {len(first)} of test\.records"):
        next(records)


@pytest.mark.parametrize("length", [1, 11, 12, 14, 18])
def test_a_cut_file_is_noticed(length):
    with pytest.raises(errors.DataLossError, match="truncated record at 0"):
        read_all(frame(b"abc")[:length])


def test_a_huge_length_allocates_nothing():
    length = struct.pack("<Q", 1 << 62)
    with pytest.raises(errors.DataLossError, match="truncated record at 0"):
        read_all(length + struct.pack("<I", masked_crc(length)) + b"abc")
