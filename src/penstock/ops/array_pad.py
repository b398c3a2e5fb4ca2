"""Padding: with a constant, or with the tensor's own elements mirrored at its edges.

The host's kernels write slices of one fresh array: a call of `np.pad` costs ten times as much.
"""

from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.static_values import constant_value, value_source
from penstock.ops.array_basics import reshape, shape_of
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
_FEW = 1 << 14  # elements up to which gradients of paddings are folded axis by axis


def _matrix(c: ShapeContext) -> Dims:
    return c.rank(
        1,
        2,
        "paddings",
        lambda: f"paddings must be a matrix with 2 columns: {d.bracketed(c.shape(1))}",
    )


def _paddings(c: ShapeContext) -> tuple[Dims, Any]:
    """The input's shape as far as paddings tell it, and the known paddings."""
    dims, pads, value = c.shape(0), _matrix(c), c.constant(1)
    if pads is not None and pads[1] not in (2, None):
        kernel = f"paddings must be a matrix with 2 columns: {d.bracketed(pads)}"
        known = c.says(kernel, f"Dimension must be 2 but is {pads[1]}")
        c.fail("paddings of shape [rank, 2]", f"shape {d.text(pads)}: {known}")
    if dims is None:
        dims = None if pads is None or pads[0] is None else (None,) * pads[0]
    elif pads is not None and pads[0] not in (None, len(dims)):
        c.fail(
            f"paddings of shape ({len(dims)}, 2) for an input of shape {d.text(dims)}",
            f"shape {d.text(pads)}: {_wrong_count(c, dims, pads)}",
        )
    return dims, value


def _wrong_count(c: ShapeContext, dims: Any, pads: Any) -> str:
    if c.running:
        return (
            "The first dimension of paddings must be the rank of inputs"
            f"{d.bracketed(pads)} {d.bracketed(dims)}"
        )
    return f"Shape must be rank {pads[0]} but is rank {len(dims)}"


def _pad_shape(c: ShapeContext) -> Dims:
    dims, value = _paddings(c)
    if dims is None or value is None:
        return None if dims is None else (None,) * len(dims)
    if (value < 0).any():
        row = next(p for p in value.tolist() if min(p) < 0)
        c.fail(
            "paddings >= 0",
            f"{value.tolist()}: Paddings must be non-negative: {row[0]} {row[1]}",
        )
    pairs = zip(dims, value.tolist(), strict=True)  # Python's numbers, which do not wrap around
    padded = tuple(None if n is None else n + sum(p) for n, p in pairs)
    if any(n is not None and n >= 1 << 63 for n in padded):
        c.fail("paddings up to sizes below 2^63", f"{value.tolist()}: sizes of {d.text(padded)}")
    return padded


PAD = define_op(
    "Pad(input: T, paddings: Tpaddings; T: type, Tpaddings: {int32, int64} = int32) -> output: T",
    shape=_pad_shape,
    host_inputs=("paddings",),
    doc="The input with zeros around it.",
)


@host_kernel(PAD)
def _pad_host(x: Array, paddings: Array) -> Array:
    return padded(x, paddings.tolist(), b"" if x.dtype == object else None)


@compiled_kernel(PAD)
def _pad(xp: Any, x: Array, paddings: Array) -> Array:
    zero = np.zeros((), x.dtype)
    return xp.pad(x, paddings.tolist(), constant_values=zero) if x.ndim else x


def padded(x: Array, pairs: list[list[int]], value: Any = None) -> Array:
    """An array of NumPy's with `value` around it, or zeros; `pairs` has how many on either side."""
    sizes = [n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True)]
    if value is None:
        result = np.zeros(sizes, x.dtype)
    else:
        result = np.empty(sizes, x.dtype)
        result.fill(value)
    result[_inside(x.shape, pairs)] = x
    return result


def _inside(sizes: Any, pairs: list[list[int]]) -> tuple[Any, ...]:
    """Where an array of these sizes lies in the padded one."""
    # with an ellipsis the one place of a scalar is an array, too
    return (*[slice(a, a + n) for n, (a, _) in zip(sizes, pairs, strict=True)], ...)


PAD_V2 = define_op(
    "PadV2(input: T, paddings: Tpaddings, constant_values: T; T: type, Tpaddings: {int32, int64} "
    "= int32) -> output: T",
    shape=lambda c: _pad_shape(c) if c.rank(2, 0, "constant_values") == () else None,
    host_inputs=("paddings",),
    doc="The input with a value around it.",
)


@host_kernel(PAD_V2)
def _pad_v2_host(x: Array, paddings: Array, value: Array) -> Array:
    return padded(x, paddings.tolist(), value[()])


@compiled_kernel(PAD_V2)
def _pad_v2(xp: Any, x: Array, paddings: Array, value: Array) -> Array:
    return xp.pad(x, paddings.tolist(), constant_values=value) if x.ndim else x


def _inner(op: Any, grad: Any) -> Any:
    """The part of `grad` that belongs to the input."""
    x, paddings = op.inputs[0], op.inputs[1]
    begin = reshape(execute("Slice", (paddings, [0, 0], [-1, 1])), [-1])
    return execute("Slice", (grad, begin, execute("Cast", (shape_of(x),), {"DstT": begin.dtype})))


@PAD.gradient
def _pad_gradient(op: Any, grad: Any) -> list[Any]:
    return [_inner(op, grad), None]


@PAD_V2.gradient
def _pad_v2_gradient(op: Any, grad: Any) -> list[Any]:
    own = _inner(op, grad)
    axes = (
        np.arange(len(grad.dims), dtype=np.int32)
        if grad.dims is not None
        else execute("Range", (0, execute("Rank", (grad,)), 1))
    )
    inner_axes = np.arange(len(own.dims), dtype=np.int32) if own.dims is not None else axes
    return [
        own,
        None,
        execute("Sub", (execute("Sum", (grad, axes)), execute("Sum", (own, inner_axes)))),
    ]


# ---- mirrored


def _mirror_shape(c: ShapeContext) -> Dims:
    result = _pad_shape(c)
    value, dims = c.constant(1), c.shape(0)
    if value is None or dims is None:
        return result
    offset = 1 if c.attr("mode") == "REFLECT" else 0
    for i, (n, pad) in enumerate(zip(dims, value.tolist(), strict=True)):
        if n is not None and max(pad) > n - offset:
            c.fail_at_step(
                f"paddings at most {n - offset} for axis {i} of size {n} in mode {c.attr('mode')}",
                f"{pad}: paddings must be {_NO_MORE[offset].format(*pad, n)}",
                known=result,
            )
    return result


_NO_MORE = (  # for SYMMETRIC, for REFLECT
    "no greater than the dimension size: {}, {} greater than {}",
    "less than the dimension size: {}, {} not less than {}",
)


MIRROR_PAD = define_op(
    "MirrorPad(input: T, paddings: Tpaddings; T: type, Tpaddings: {int32, int64} = int32, mode: "
    "{'REFLECT', 'SYMMETRIC'}) -> output: T",
    shape=_mirror_shape,
    host_inputs=("paddings",),
    doc=(
        "The input with its elements mirrored around it, without (REFLECT) or with (SYMMETRIC) "
        "those at the edge."
    ),
)


@host_kernel(MIRROR_PAD)
def _mirror_pad_host(x: Array, paddings: Array, *, mode: str) -> Array:
    pairs, offset = paddings.tolist(), int(mode == "REFLECT")
    result = np.empty([n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True)], x.dtype)
    result[_inside(x.shape, pairs)] = x
    for axis, (before, after) in enumerate(pairs):
        # what lies outside along the axes that follow is written when it is their turn
        rows, end = result.swapaxes(0, axis), before + x.shape[axis]
        if before:
            rows[:before] = rows[before + offset : 2 * before + offset][::-1]
        if after:
            rows[end:] = rows[end - offset - after : end - offset][::-1]
    return result


@compiled_kernel(MIRROR_PAD)
def _mirror_pad(xp: Any, x: Array, paddings: Array, *, mode: str) -> Array:
    return xp.pad(x, paddings.tolist(), mode=mode.lower()) if x.ndim else x


@MIRROR_PAD.gradient
def _mirror_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(MIRROR_PAD_GRAD, (grad, op.inputs[1]), {"mode": op.get_attr("mode")}), None]


def _mirror_grad_shape(c: ShapeContext) -> Dims:
    dims, value = _paddings(c)
    if dims is None or value is None:
        return None if dims is None else (None,) * len(dims)
    for n, pair in zip(dims, value, strict=True):
        if n is not None and n < int(sum(pair)):
            c.fail(f"paddings that fit into shape {d.text(dims)}", f"{value.tolist()}")
    return tuple(None if n is None else n - int(sum(p)) for n, p in zip(dims, value, strict=True))


MIRROR_PAD_GRAD = define_op(
    "MirrorPadGrad(input: T, paddings: Tpaddings; T: type, Tpaddings: {int32, int64} = int32, "
    "mode: {'REFLECT', 'SYMMETRIC'}) -> "
    "output: T",
    shape=_mirror_grad_shape,
    host_inputs=("paddings",),
    doc="The gradient of MirrorPad: mirrored elements are added to those they came from.",
)


@host_kernel(MIRROR_PAD_GRAD, alone_from=1 << 17)
def _mirror_pad_grad_host(grad: Array, paddings: Array, *, mode: str) -> Array:
    pairs, offset = paddings.tolist(), int(mode == "REFLECT")
    padded = [axis for axis, pair in enumerate(pairs) if any(pair)]
    for axis in padded[:-2] if grad.size > _FEW else padded:  # parts of parts are many and small
        before, after = pairs[axis]
        grad = _folded_axis(grad, axis, before, after, offset)
        pairs[axis] = [0, 0]
    return _folded(grad, pairs, offset)


def _folded_axis(grad: Array, axis: int, before: int, after: int, offset: int) -> Array:
    rows = grad.swapaxes(0, axis)
    end = len(rows) - after
    inner = rows[before:end].copy()
    _add_edges(inner, rows[:before], rows[end:], offset)
    return inner.swapaxes(0, axis)


def _add_edges(rows: Array, before: Array, after: Array, offset: int) -> None:
    """Adds to rows what mirrored them in front and behind."""
    if len(before):
        rows[offset : offset + len(before)] += before[::-1]
    if len(after):
        end = len(rows) - offset
        rows[end - len(after) : end] += after[::-1]


def _folded(grad: Array, pairs: list[list[int]], offset: int) -> Array:
    """What is outside added to what it mirrors, axis by axis, along the first `len(pairs)` axes.

    The parts beside an axis's inner one are small, and folded along the axes before it alone.
    """
    folded = len(pairs)
    while folded and not any(pairs[folded - 1]):
        folded -= 1
    if not folded:
        return grad.copy()
    *rest, (before, after) = pairs[:folded]
    rows = grad.swapaxes(0, folded - 1)
    end = len(rows) - after
    inner, left, right = (
        _folded(part.swapaxes(0, folded - 1), rest, offset)
        if len(part)
        else part.swapaxes(0, folded - 1)
        for part in (rows[before:end], rows[:before], rows[end:])
    )
    rows, front, behind = (part.swapaxes(0, folded - 1) for part in (inner, left, right))
    _add_edges(rows, front, behind, offset)
    return inner


@compiled_kernel(MIRROR_PAD_GRAD)
def _mirror_pad_grad(xp: Any, grad: Array, paddings: Array, *, mode: str) -> Array:
    offset = 1 if mode == "REFLECT" else 0
    for axis, (before, after) in enumerate(paddings.tolist()):
        size = grad.shape[axis] - before - after
        places = np.arange(size)
        left = xp.take(grad, np.arange(before)[::-1], axis)
        right = xp.take(grad, before + size + np.arange(after)[::-1], axis)
        middle = xp.take(grad, before + places, axis)
        widths = [[0, 0]] * grad.ndim
        at_left, at_right = list(widths), list(widths)
        at_left[axis] = [offset, size - offset - before]
        at_right[axis] = [size - offset - after, offset]
        grad = middle + xp.pad(left, at_left) + xp.pad(right, at_right)
    return grad


@MIRROR_PAD_GRAD.gradient
def _mirror_grad_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(MIRROR_PAD, (grad, op.inputs[1]), {"mode": op.get_attr("mode")}), None]


# ---- public functions


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Any:
    """The input with more elements around it.

    Args:
      tensor: any tensor of rank R.
      paddings: int32 or int64 of shape [R, 2]: how many before and after along each axis.
      mode: "CONSTANT", "REFLECT" (mirrored without the edge) or "SYMMETRIC" (with it), in any case.
      constant_values: the value for mode "CONSTANT".
      name: the name in a graph.

    Returns:
      A tensor of rank R.

    Raises:
      ValueError: the mode is unknown.
      InvalidArgumentError, ValueError: paddings do not fit the shape.

    Example:
      >>> pad([1, 2], [[1, 0]]).numpy().tolist()
      [0, 1, 2]
    """
    kind = mode.upper()
    if kind == "CONSTANT":
        if (
            not hasattr(constant_values, "dtype")
            and not isinstance(constant_values, (list, tuple))
            and not constant_values
        ):
            return _told(execute(PAD, (tensor, paddings), None, name))
        tensor = convert_to_tensor(tensor)
        value = convert_to_tensor(constant_values, tensor.dtype)
        return _told(execute(PAD_V2, (tensor, paddings, value), None, name))
    if kind not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(
            "Value of argument `mode` expected to be one of 'CONSTANT', 'REFLECT' or "
            f"'SYMMETRIC'. Received `mode` = {mode}"
        )
    return _told(execute(MIRROR_PAD, (tensor, paddings), {"mode": kind}, name))


def _told(padded: Any) -> Any:
    """A padded tensor with the sizes of those axes whose paddings are known."""
    if not isinstance(padded, SymbolicTensor) or not padded.dims or d.is_full(padded.dims):
        return padded
    tensor, paddings = padded.op.inputs[:2]
    rows = value_source(paddings).op
    if rows.type != "Pack" or rows.attrs["axis"] != 0 or tensor.dims is None:
        return padded  # all are known, or none
    known = zip(tensor.dims, map(constant_value, rows.inputs), strict=True)
    sizes = [None if n is None or p is None else n + int(p.sum()) for n, p in known]
    padded.set_shape(sizes)
    return padded


def pad_v1(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Any:
    """The input with more elements around it; see `tf.pad`."""
    return pad(tensor, paddings, mode, constant_values, name)
