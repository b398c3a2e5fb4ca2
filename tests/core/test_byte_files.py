"""Files that are read to their end, and what fails while they are."""

import contextlib
import os

import pytest

from penstock import errors
from penstock.core import files
from penstock.core.byte_files import open_bytes
from penstock.core.record_files import TFRecordWriter
from penstock.core.records import RecordReader, frame
from penstock.core.snappy import Unpacking, pack

FULL = "/dev/full"
full = pytest.mark.skipif(not os.path.exists(FULL), reason="the system has no full device")


class Flaky:
    """Gives some bytes at a time, and fails once, in between."""

    def __init__(self, data, piece, fails_at):
        self._data, self._piece, self._fails_at = data, piece, fails_at
        self._at = self._calls = 0

    def read(self, size):
        self._calls += 1
        if self._calls == self._fails_at:
            raise errors.UnavailableError(None, None, "later")
        found = self._data[self._at : self._at + min(size, self._piece)]
        self._at += len(found)
        return found


@pytest.mark.parametrize("fails_at", range(1, 12))
def test_an_error_that_passes_loses_no_bytes_of_records(fails_at):
    records = [bytes([i]) * 9 for i in range(5)]
    reader = RecordReader(Flaky(b"".join(map(frame, records)), 11, fails_at), "f")
    found, failed = [], 0
    while len(found) < len(records):
        try:
            found += reader.take(10)
        except errors.UnavailableError:
            failed += 1
    assert found == records
    assert failed <= 1


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "SNAPPY"])
def test_a_file_that_cannot_be_passed_over_is_closed(tmp_path, kind):
    path = tmp_path / "f"
    path.write_bytes(b"\xff" * 100)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(errors.DataLossError) as caught:  # it has the frames of what was called
        open_bytes(path, kind, 10)
    assert len(os.listdir("/proc/self/fd")) == before
    del caught


def test_blocks_in_small_pieces(tmp_path):
    path = tmp_path / "f"
    data = os.urandom(700_000)
    path.write_bytes(pack(data) + pack(b"") + pack(b"end"))
    with open(path, "rb") as file:
        unpacking, found = Unpacking(file, "f"), []
        while piece := unpacking.read(999):
            found.append(piece)
    assert b"".join(found) == data + b"end"


@full
@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_a_full_device_is_said_in_the_class_for_it(kind):
    before = len(os.listdir("/proc/self/fd"))
    said = pytest.raises(errors.ResourceExhaustedError, match="/dev/full; No space left")
    writer = TFRecordWriter(FULL, kind)
    with said:
        writer.write(os.urandom(100_000))
    with contextlib.suppress(errors.ResourceExhaustedError):
        writer.close()
    writer = TFRecordWriter(FULL, kind)
    writer.write(b"short")
    with said:
        writer.close()
    writer.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_failures_of_the_system_become_errors():
    with pytest.raises(errors.PermissionDeniedError, match="some; no"), files.translating("some"):
        raise PermissionError(13, "no")
