"""Strings one by one: case, spaces, length, parts, joined element by element."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_strings, shapes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext, not_broadcast
from penstock.ops.string_arrays import (
    HOST,
    array_of,
    as_bytes,
    as_text,
    character_starts,
    count_characters,
    decoded,
    each,
    invalid,
    shown,
)
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "strings have no gradient"

# ---- case and spaces ----------------------------------------------------------------------------


def _define_case(name: str, doc: str) -> OpDef:
    text = f"{name}(input: string; encoding: string = '') -> output: string"
    return define_op(text, shape=shapes.same, doc=doc).not_differentiable(NO_GRADIENT)


LOWER = _define_case("StringLower", "Upper-case letters become lower-case.")
UPPER = _define_case("StringUpper", "Lower-case letters become upper-case.")


def _is_utf8(op: OpDef, encoding: Any) -> bool:
    wanted = as_text(encoding)
    if wanted not in ("", "utf-8"):
        raise invalid(
            f"{op.name}: only utf-8 or '' (no encoding) is supported, received {wanted}. Give one"
            " of these, or transcode the strings before."
        )
    return wanted == "utf-8"


@host_kernel(LOWER, limit=HOST)
def _lower(input: Array, *, encoding: Any) -> Array:
    if _is_utf8(LOWER, encoding):
        return each(lambda s: decoded(s).lower().encode(), input)
    found = native_strings.changed(input, native_strings.LOWER)
    return each(bytes.lower, input) if found is None else found


@host_kernel(UPPER, limit=HOST)
def _upper(input: Array, *, encoding: Any) -> Array:
    if _is_utf8(UPPER, encoding):
        return each(lambda s: decoded(s).upper().encode(), input)
    found = native_strings.changed(input, native_strings.UPPER)
    return each(bytes.upper, input) if found is None else found


def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Upper-case letters become lower-case.

    Args:
      input: string, any shape.
      encoding: "" changes ASCII letters only; "utf-8" all letters of UTF-8 text.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Raises:
      InvalidArgumentError: another encoding.

    Example:
      >>> lower("CamelCase").numpy()
      b'camelcase'
    """
    return execute(LOWER, (input,), {"encoding": encoding}, name)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Lower-case letters become upper-case.

    Args:
      input: string, any shape.
      encoding: "" changes ASCII letters only; "utf-8" all letters of UTF-8 text.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Raises:
      InvalidArgumentError: another encoding.

    Example:
      >>> upper("CamelCase").numpy()
      b'CAMELCASE'
    """
    return execute(UPPER, (input,), {"encoding": encoding}, name)


STRIP = define_op(
    "StringStrip(input: string) -> output: string",
    shape=shapes.same,
    doc="Strings without white space at their ends.",
).not_differentiable(NO_GRADIENT)


@host_kernel(STRIP, limit=HOST)
def _strip(input: Array) -> Array:
    found = native_strings.changed(input, native_strings.STRIP)
    return each(bytes.strip, input) if found is None else found


def strip(input: Any, name: str | None = None) -> Any:
    r"""Strings without white space (ASCII) at their ends.

    Args:
      input: string, any shape.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Example:
      >>> strip([" a b\n", "c"]).numpy().tolist()
      [b'a b', b'c']
    """
    return execute(STRIP, (input,), None, name)


# ---- length -------------------------------------------------------------------------------------

LENGTH = define_op(
    "StringLength(input: string; unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE') -> output: int32",
    shape=shapes.same,
    doc="The length of each string in bytes or characters.",
).not_differentiable("a length is an integer")


@host_kernel(LENGTH, limit=HOST)
def _length(input: Array, *, unit: Any) -> Array:
    by_bytes = as_text(unit) == "BYTE"
    found = native_strings.lengths(input, not by_bytes)
    if found is not None:
        return found
    count = len if by_bytes else count_characters
    counts = map(count, input.reshape(-1).tolist())
    return np.fromiter(counts, np.int32, input.size).reshape(input.shape)


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    r"""The length of each string.

    Args:
      input: string, any shape.
      unit: "BYTE", or "UTF8_CHAR" to count code points of UTF-8 text; of other bytes, those that do
        not continue a character.
      name: the name in a graph.

    Returns:
      int32 of the shape of `input`.

    Raises:
      InvalidArgumentError, ValueError: another unit.

    Example:
      >>> length(["TensorFlow", "\u00e9"], unit="UTF8_CHAR").numpy().tolist()
      [10, 1]
    """
    return execute(LENGTH, (input,), {"unit": unit}, name)


def length_v1(input: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """The length of each string; see `tf.strings.length`, whose last arguments change places.

    Args:
      input: string, any shape.
      name: the name in a graph.
      unit: "BYTE" or "UTF8_CHAR".

    Returns:
      int32 of the shape of `input`.
    """
    return length(input, unit, name)


# ---- joined element by element ------------------------------------------------------------------


def _join_shape(c: ShapeContext) -> Dims:
    result: Dims = ()
    for dims in c.shapes:
        if dims == ():
            continue
        if result == ():
            result = dims
        elif not d.compatible(result, dims):
            said = f"Input shapes do not match: {d.text(result)} vs. {d.text(dims)}"
            c.merge(result, dims, lambda said=said: said)  # type: ignore[misc]
        else:
            result = d.merge(result, dims)
    return None if any(dims is None for dims in c.shapes) and result == () else result


JOIN = define_op(
    "StringJoin(inputs: N*string; N: int >= 0, separator: string = '') -> output: string",
    shape=_join_shape,
    doc="Strings joined element by element; scalars go with every element.",
).not_differentiable(NO_GRADIENT)


@host_kernel(JOIN, limit=HOST)
def _join(inputs: list[Array], *, separator: Any) -> Array:
    between = as_bytes(separator)
    shape = next((a.shape for a in inputs if a.shape), ())
    found = native_strings.joined(inputs, shape, between) if inputs else None
    if found is not None:
        return found
    count = int(np.prod(shape))
    columns = [a.reshape(-1).tolist() if a.shape else [a.item()] * count for a in inputs]
    if not columns:
        return array_of([b""], ())
    return array_of([between.join(row) for row in zip(*columns, strict=True)], shape)


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Joins strings element by element.

    Args:
      inputs: a list of string tensors of one shape; scalars go with every element.
      separator: what stands between them.
      name: the name in a graph.

    Returns:
      Strings of that shape.

    Raises:
      InvalidArgumentError, ValueError: the shapes differ.

    Example:
      >>> join([["a", "b"], "x"], separator="-").numpy().tolist()
      [b'a-x', b'b-x']
    """
    if not isinstance(inputs, (list, tuple)):
        inputs = list(convert_to_tensor(inputs))
    return execute(JOIN, (list(inputs),), {"separator": separator}, name)


# ---- parts --------------------------------------------------------------------------------------


def _substr_shape(c: ShapeContext) -> Dims:
    pos, size = c.shape(1), c.shape(2)
    if not d.compatible(pos, size):
        c.fail(
            "pos and len of one shape",
            c.says(
                f"pos and len should have the same shape, got: {d.text(pos)} vs. {d.text(size)}",
                f"pos and len shapes must match: {d.bracketed(pos)} vs. {d.bracketed(size)}",
            ),
        )
    wanted = d.merge(pos, size)
    if wanted == ():
        return c.shape(0)
    try:
        return d.broadcast(c.shape(0), wanted)
    except ValueError:
        c.fail(
            "pos and len that broadcast with the input",
            f"Incompatible shapes: {d.text(c.shape(0))} vs. {d.text(wanted)}"
            + c.says("", f": {not_broadcast(c.shape(0), wanted)}"),
        )


SUBSTR = define_op(
    "Substr(input: string, pos: T, len: T; T: {int32, int64}, unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE')"
    " -> output: string",
    shape=_substr_shape,
    host_inputs=("pos", "len"),
    doc="A part of each string.",
).not_differentiable(NO_GRADIENT)

_MOST_RANK = 2  # of broadcasting, as in TensorFlow


@host_kernel(SUBSTR, limit=HOST)
def _substr(input: Array, pos: Array, len: Array, *, unit: Any) -> Array:
    if pos.shape and max(input.ndim, pos.ndim) > _MOST_RANK and input.shape != pos.shape:
        raise errors.UnimplementedError(
            None,
            None,
            f"Substr: broadcast not implemented for {max(input.ndim, pos.ndim)} dimensions:"
            f" expected at most {_MOST_RANK}. Reshape, or give pos and len the input's shape.",
        )
    by_bytes = as_text(unit) == "BYTE"
    if by_bytes and not pos.shape:
        start, size = pos.item(), len.item()
        found = native_strings.part(input, start, size) if start >= 0 and size >= 0 else None
        if found is not None:
            return found
    part = _byte_part if by_bytes else _character_part
    texts, starts, sizes = np.broadcast_arrays(input, pos, len)
    rows = zip(
        texts.reshape(-1).tolist(),
        starts.reshape(-1).tolist(),
        sizes.reshape(-1).tolist(),
        strict=True,
    )
    return array_of([part(*row, i) for i, row in enumerate(rows)], texts.shape)


def _out_of_range(data: bytes, pos: int, size: int, index: int) -> Exception:
    return invalid(
        f"Substr: pos {pos} out of range for string {shown(data)} at index {index}: expected"
        f" -{size} <= pos <= {size}. Take the length first, with tf.strings.length."
    )


def _byte_part(data: bytes, pos: int, size: int, index: int) -> bytes:
    count = len(data)
    if not -count <= pos <= count:
        raise _out_of_range(data, pos, count, index)
    start = pos if pos >= 0 else count + pos
    return data[start:] if size < 0 else data[start : start + size]


def _character_part(data: bytes, pos: int, size: int, index: int) -> bytes:
    starts = character_starts(data).tolist()
    count = len(starts)
    if not -count <= pos <= count or (pos < 0 and size < 0):
        raise _out_of_range(data, pos, count, index)
    if size <= 0:
        return b""
    first = pos if pos >= 0 else count + pos
    begin = starts[first] if first < count else len(data)
    return data[begin : starts[first + size] if first + size < count else len(data)]


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """A part of each string.

    Args:
      input: string, any shape.
      pos: int32 or int64, where the part begins; negative counts from the end. It broadcasts with
        `input`.
      len: like `pos`, how much to take; as much as there is when there is less.
      unit: "BYTE" or "UTF8_CHAR": what `pos` and `len` count.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`, broadcast with that of `pos`.

    Raises:
      InvalidArgumentError: `pos` lies outside of a string; the shapes do not broadcast.

    Example:
      >>> substr(["hello", "world"], 1, 3).numpy().tolist()
      [b'ell', b'orl']
    """
    return execute(SUBSTR, (input, pos, len), {"unit": unit}, name)


def substr_v1(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """A part of each string; see `tf.strings.substr`, whose last arguments change places.

    Args:
      input: string, any shape.
      pos: int32 or int64, where the part begins.
      len: like `pos`, how much to take.
      name: the name in a graph.
      unit: "BYTE" or "UTF8_CHAR".

    Returns:
      Strings of the shape of `input`, broadcast with that of `pos`.
    """
    return substr(input, pos, len, unit, name)
