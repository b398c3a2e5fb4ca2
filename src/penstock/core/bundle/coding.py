"""Numbers as bytes: varints, and the order-preserving code that keys of slices are written in."""

from penstock import errors

Buffer = bytes | memoryview


def data_loss(where: str, expected: str, got: str) -> errors.OpError:
    """The error for bytes that are not what was written."""
    return errors.DataLossError(
        None,
        None,
        f"{where}: expected {expected}, got {got}. The file is damaged or was not written to its "
        "end; restore another checkpoint.",
    )


def varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte, the lowest first.

    Example:
      >>> varint(300).hex()
      'ac02'
    """
    if value < 0x80:
        return bytes((value,))
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def read_varint(data: Buffer, at: int, where: str) -> tuple[int, int]:
    """The varint that begins at byte `at`, and where it ends.

    Raises:
      DataLossError: the data end inside of it, or it has more than 64 bits.
    """
    value = shift = 0
    end = min(len(data), at + 10)
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
        shift += 7
    raise data_loss(where, "a number of at most 64 bits", f"none that ends at byte {at}")


def ordered_number(value: int) -> bytes:
    """A number that is not negative, so that byte order is number order."""
    body = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(body)]) + body


_ESCAPED = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}


def ordered_string(value: bytes) -> bytes:
    """A string, so that byte order is string order, also with something after it."""
    if 0x00 in value or 0xFF in value:
        value = b"".join(_ESCAPED.get(byte, bytes([byte])) for byte in value)
    return value + b"\x00\x01"


def ordered_signed(value: int) -> bytes:
    """A signed number of 64 bits, so that byte order is number order.

    As many bytes as the number needs, of which the leading bits tell how many.

    Example:
      >>> [ordered_signed(n).hex() for n in (0, -1, 63, 64)]
      ['80', '7f', 'bf', 'c040']
    """
    magnitude = value if value >= 0 else ~value
    size = magnitude.bit_length() // 7 + 1
    mask = ((1 << size) - 1) << (7 * size)
    bits = value & ((1 << (8 * size)) - 1)
    return (bits ^ mask).to_bytes(size, "big")
