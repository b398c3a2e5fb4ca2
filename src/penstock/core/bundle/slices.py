"""Parts of tensors: how operations write them, how messages hold them, and keys for them.

A slice is a pair (start, length) for each axis; the length is `WHOLE` where it is the whole axis,
and then the start is 0. Operations write `shape_and_slice` as text, "4 2 0,2:-": the whole shape,
then the slice.
"""

import re
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.bundle.coding import ordered_number, ordered_signed, ordered_string

WHOLE = -1
LARGEST = 2**63 - 1
Slice = tuple[tuple[int, int], ...]
_PAIR = re.compile(r"(\d+),(\d+)", re.ASCII)


def parse_spec(spec: str) -> tuple[tuple[int, ...], Slice]:
    """The whole shape and the slice that `spec` writes.

    Raises:
      InvalidArgumentError: it writes none.

    Example:
      >>> parse_spec("4 2 0,2:-")
      ((4, 2), ((0, 2), (0, -1)))
    """
    *whole, parts = spec.strip().split(" ")
    if not whole:
        raise _bad(f"Need least two elements in shape_and_slice specification: {spec}")
    if not all(n.isascii() and n.isdigit() and int(n) <= LARGEST for n in whole):
        raise _bad(f"Non numerical dimension in shape_and_slice: {spec}")
    shape, slice_ = tuple(map(int, whole)), parse_slice(parts)
    if len(shape) != len(slice_):
        raise _bad(
            f"Mismatched ranks: {len(shape)} dimensions and {len(slice_)} in the slice: {spec}"
        )
    check_inside(shape, slice_, spec)
    return shape, slice_


def parse_slice(text: str) -> Slice:
    """The slice that "0,2:-" writes.

    Raises:
      InvalidArgumentError: it writes none.
    """
    result = []
    for part in text.split(":"):
        found = _PAIR.fullmatch(part)
        if part == "-":
            result.append((0, WHOLE))
        elif found is not None and 0 < int(found[2]) <= LARGEST and int(found[1]) <= LARGEST:
            result.append((int(found[1]), int(found[2])))
        else:
            raise _bad(f"Expected a pair of numbers or '-' but got '{part}': string = {text}")
    return tuple(result)


def check_inside(shape: Sequence[int], slice_: Slice, spec: str) -> None:
    """Refuses a slice that goes beyond the shape.

    Raises:
      InvalidArgumentError: it does.
    """
    for axis, (size, (start, length)) in enumerate(zip(shape, slice_, strict=True)):
        if length != WHOLE and start + length > size:
            raise _bad(
                f"slice '{spec}': expected axis {axis} to end by {size}, got "
                f"{start} + {length} = {start + length}"
            )


def _bad(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(
        None, None, f"{text}. Write 'dim0 dim1 start0,length0:start1,length1', or '' for the whole."
    )


def slice_shape(shape: Sequence[int], slice_: Slice) -> tuple[int, ...]:
    """The shape of a part of a tensor.

    Example:
      >>> slice_shape((4, 2), ((0, 2), (0, -1)))
      (2, 2)
    """
    return tuple(
        n if length == WHOLE else length for n, (_, length) in zip(shape, slice_, strict=True)
    )


def normalized(shape: Sequence[int], slice_: Slice) -> Slice:
    """The slice with `WHOLE` for each axis that it takes whole."""
    return tuple(
        (0, WHOLE) if length == WHOLE or (start == 0 and length == n) else (start, length)
        for n, (start, length) in zip(shape, slice_, strict=True)
    )


def slice_text(slice_: Slice) -> str:
    """The slice as operations write it."""
    return ":".join("-" if length == WHOLE else f"{start},{length}" for start, length in slice_)


def slice_key(name: bytes, slice_: Slice) -> bytes:
    """The key of a slice's entry; it cannot be the name of a tensor.

    Example:
      >>> slice_key(b"zz", ((0, 2), (0, -1))).hex()
      '007a7a000101028082807f'
    """
    numbers = b"".join(ordered_signed(n) for pair in slice_ for n in pair)
    return b"\x00" + ordered_string(name) + ordered_number(len(slice_)) + numbers


def to_proto(slice_: Slice, message: Any) -> None:
    """Writes a slice into an empty TensorSliceProto."""
    for start, length in slice_:
        extent = message.extent.add()
        if length != WHOLE:
            extent.start, extent.length = start, length


def from_proto(message: Any) -> Slice:
    """The slice that a TensorSliceProto holds."""
    return tuple(
        (e.start, e.length) if e.HasField("length") else (0, WHOLE) for e in message.extent
    )


Box = tuple[slice, ...]


def overlap(shape: Sequence[int], wanted: Slice, stored: Slice) -> tuple[Box, Box, int] | None:
    """Where two slices of one tensor meet.

    Returns:
      The place in the wanted part, the place in the stored part, and the number of elements; None
      when they do not meet.
    """
    into, out_of, count = [], [], 1
    for n, (a, length_a), (b, length_b) in zip(shape, wanted, stored, strict=True):
        begin = max(a, b)
        end = min(
            a + (n if length_a == WHOLE else length_a), b + (n if length_b == WHOLE else length_b)
        )
        if end <= begin and n:
            return None
        into.append(slice(begin - a, end - a))
        out_of.append(slice(begin - b, end - b))
        count *= max(end - begin, 0)
    return tuple(into), tuple(out_of), count
