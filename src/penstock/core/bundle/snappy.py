"""Unpacking what Snappy packed: https://github.com/google/snappy, format_description.txt.

The data say how long they are unpacked; then come literals, and copies of what was unpacked before.
"""

from penstock.core.bundle.coding import data_loss, read_varint

_MOST = 64  # bytes that one element, of at least three bytes but for literals, can add
_LITERAL, _COPY_1, _COPY_2 = 0, 1, 2  # the kinds of elements; the last copies with four bytes


def unpack(data: bytes, where: str) -> bytes:
    """The bytes that were packed.

    Args:
      data: what they were packed to.
      where: the file, for errors.

    Raises:
      DataLossError: no packed data, or data that say another length than they have. Nothing is
        allocated for a length that they cannot have.

    Example:
      >>> unpack(bytes([5, 0 << 2, 97, 1 | 0 << 2, 1]), "here")
      b'aaaaa'
    """
    size, at = read_varint(data, 0, where)
    if size > len(data) * _MOST:
        raise data_loss(where, f"packed data of {len(data)} bytes", f"{size} bytes unpacked")
    out = bytearray()
    while at < len(data):
        tag = data[at]
        kind, at = tag & 3, at + 1
        if kind == _LITERAL:
            length, at = _literal_length(data, tag, at, where)
            if at + length > len(data):
                raise data_loss(where, f"{length} bytes at {at}", f"{len(data) - at}")
            out += data[at : at + length]
            at += length
        else:
            length, offset, at = _copy(data, tag, at, where)
            _repeat(out, length, offset, where)
        if len(out) > size:
            raise data_loss(where, f"{size} bytes unpacked", "more")
    if len(out) != size:
        raise data_loss(where, f"{size} bytes unpacked", f"{len(out)}")
    return bytes(out)


def _number(data: bytes, at: int, count: int, where: str) -> int:
    if at + count > len(data):
        raise data_loss(where, f"{count} bytes at {at}", f"{len(data) - at}")
    return int.from_bytes(data[at : at + count], "little")


def _literal_length(data: bytes, tag: int, at: int, where: str) -> tuple[int, int]:
    length = tag >> 2
    if length < 60:
        return length + 1, at
    count = length - 59  # bytes that say the length
    return _number(data, at, count, where) + 1, at + count


def _copy(data: bytes, tag: int, at: int, where: str) -> tuple[int, int, int]:
    """Length, how far back, and where the next element begins."""
    if tag & 3 == _COPY_1:
        return (tag >> 2 & 7) + 4, tag >> 5 << 8 | _number(data, at, 1, where), at + 1
    count = 2 if tag & 3 == _COPY_2 else 4
    return (tag >> 2) + 1, _number(data, at, count, where), at + count


def _repeat(out: bytearray, length: int, offset: int, where: str) -> None:
    begin = len(out) - offset
    if offset == 0 or begin < 0:
        raise data_loss(where, f"a copy from within {len(out)} bytes", f"one from {offset} back")
    piece = bytes(out[begin : begin + length])
    out += (piece * (length // len(piece) + 1))[:length]  # it may reach into itself
