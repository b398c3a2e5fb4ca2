"""Tensors as text, the way `tf.print` and failed assertions show them.

`summarize` shows the first and last few elements along each axis, one row a line; `summarize_flat`
shows the first few elements in one line. Numbers are as short as reading them back allows: six
significant digits if that suffices for float32, else nine.
"""

import struct
from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op

Array = Any


_ESCAPES = {i: f"\\{i:03o}" for i in (*range(32), 127)} | {
    ord(c): f"\\{name}" for c, name in zip("\t\n\r\"'\\", "tnr\"'\\", strict=True)
}


def element_text(value: Any, quoted: bool) -> str:
    """One element of a tensor as text."""
    if isinstance(value, (bytes, str)):
        text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        text = text.translate(_ESCAPES)
        return f'"{text}"' if quoted else text
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (complex, np.complexfloating)):
        return f"({float_text(float(value.real), False)},{float_text(float(value.imag), False)})"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    try:
        wide = isinstance(value, (float, np.float64))
        return float_text(float(value), wide)
    except (TypeError, ValueError):
        return "?"


def float_text(value: float, wide: bool) -> str:
    """A number with as few digits as reading it back allows."""
    if value != value:
        return "nan"
    short, long = ("%.15g", "%.17g") if wide else ("%.6g", "%.9g")
    text = short % value
    same = float(text) == value if wide else _is_same_float(float(text), value)
    return text if same else long % value


_FLOAT = struct.Struct("f")


def _is_same_float(one: float, other: float) -> bool:
    """Whether two numbers are one in float32."""
    try:
        return _FLOAT.pack(one) == _FLOAT.pack(other)
    except OverflowError:
        return bool(np.float32(one) == np.float32(other))


def summarize(array: Array, limit: int) -> str:
    """The first and last `limit` elements along each axis; all for a negative limit."""
    array = np.asarray(array)
    ends = array.size if limit < 0 else min(limit, array.size)
    return _block(array, ends, 0, array.ndim)


def _block(array: Array, ends: int, level: int, rank: int) -> str:
    if level == rank:
        return element_text(array[()], True)
    count = len(array)
    if level == rank - 1:
        first = " ".join(_element_texts(array[: min(ends, count)]))
        rest = [f" {text}" for text in _element_texts(array[max(ends, count - ends) :])]
        return f"[{first}{' ...' if count > 2 * ends else ''}{''.join(rest)}]"
    separator = "\n" * (rank - level - 1) + " " * (level + 1)
    shown = [_block(array[i, ...], ends, level + 1, rank) for i in range(min(ends, count))]
    text = separator.join(shown)
    if count > 2 * ends:
        text += separator + "..."
    for i in range(max(ends, count - ends), count):
        text += separator + _block(array[i, ...], ends, level + 1, rank)
    return f"[{text}]"


def _element_texts(row: Array) -> list[str]:
    """The elements of a vector as texts."""
    kind = row.dtype.kind
    if kind in "iu":
        return list(map(str, row.tolist()))
    if kind == "f":
        wide = row.dtype.itemsize == 8
        return [float_text(value, wide) for value in row.tolist()]
    return [element_text(value, True) for value in row]


def summarize_flat(array: Array, limit: int) -> str:
    """The first `limit` elements in one line, inner rows in brackets; all for a negative limit."""
    array = np.asarray(array)
    left = [array.size if limit < 0 else min(limit, array.size)]
    if array.ndim == 0:
        return element_text(array[()], False)
    text = _row(array, left, array.ndim)
    return (
        text
        if 0 <= limit < array.size and text.endswith("...")
        else text + ("..." if 0 <= limit < array.size else "")
    )


def _row(array: Array, left: list[int], rank: int) -> str:
    if rank == 1:
        count = min(left[0], len(array))
        left[0] -= count
        return " ".join(element_text(v, False) for v in array[:count]) + (
            "..." if count < len(array) else ""
        )
    text = ""
    for item in array:
        if left[0] <= 0:
            break
        text += f"[{_row(item, left, rank - 1)}]"
    return text


STRING_FORMAT = define_op(
    "StringFormat(inputs: [T]; T: list(type) >= 0, template: string = '%s', placeholder: string = "
    "'%s', summarize: int = 3) -> "
    "output: string",
    shape=shapes.scalar,
    doc="A text with each placeholder replaced by a tensor.",
).not_differentiable("text has no gradient")


@host_kernel(STRING_FORMAT, limit=1 << 62)
def _string_format(
    inputs: list[Array], *, template: Any, placeholder: Any, summarize: int
) -> Array:
    text = template.decode() if isinstance(template, bytes) else template
    mark = placeholder.decode() if isinstance(placeholder, bytes) else placeholder
    pieces = text.split(mark)
    if len(pieces) - 1 != len(inputs):
        raise ValueError(
            f"StringFormat: expected {len(pieces) - 1} tensors for the template's placeholders, "
            f"got {len(inputs)}"
        )
    filled = [pieces[0]]
    for array, piece in zip(inputs, pieces[1:], strict=True):
        filled += [_SUMMARIZE(array, summarize), piece]
    result = np.empty((), object)
    result[()] = "".join(filled).encode("utf-8", "surrogateescape")
    return result


_SUMMARIZE = summarize


def string_format(
    template: Any, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Any:
    """A text with each placeholder replaced by a tensor.

    Args:
      template: text with one placeholder for each tensor.
      inputs: a tensor or a list of tensors.
      placeholder: what stands for a tensor in the template.
      summarize: elements shown at each end of each axis; negative shows all.
      name: the name in a graph.

    Returns:
      A scalar string tensor.

    Raises:
      ValueError: the number of placeholders differs from that of the tensors.

    Example:
      >>> string_format("x = {}, y = {}", ([1, 2], 3)).numpy()
      b'x = [1 2], y = 3'
    """
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(given):
        raise ValueError(
            f"The template expects {template.count(placeholder)} tensors, but the inputs only has "
            f"{len(given)}. Please ensure the "
            f"number of placeholders {placeholder!r} in the template matches the number of inputs."
        )
    attrs = {"template": template, "placeholder": placeholder, "summarize": summarize}
    return execute(STRING_FORMAT, ([convert_to_tensor(v) for v in given],), attrs, name)
