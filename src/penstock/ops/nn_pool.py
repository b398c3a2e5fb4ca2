"""Pooling operations over two and three spatial axes, and their gradients.

A gradient of `MaxPool` goes to the first maximum of each window, in row-major order. Small work is
done by native passes on the host, the rest compiled; `nn_pool_kernels` says how either works.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.native_images import LIBRARY
from penstock.core.native_pools import TYPES, to_places
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import nn_pool_kernels as k
from penstock.ops.composing import shape_of
from penstock.ops.nn_conv_geometry import output_size, too_large
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
MAX_TYPES = (
    "{half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float"
)
FLOATS = "{half, bfloat16, float, double}"
SMALL_FLOATS = "{half, bfloat16, float}"
EITHER = "padding: {'SAME', 'VALID'}"
ANY_PADDING = "padding: {'SAME', 'VALID', 'EXPLICIT'}, explicit_paddings: list(int) = []"
FORMAT_2D = "data_format: {'NHWC', 'NCHW'} = 'NHWC'"
FORMAT_MAX = "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"
FORMAT_3D = "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'"
SIZES_2D = "ksize: list(int) >= 4, strides: list(int) >= 4"
SIZES_3D = "ksize: list(int) >= 5, strides: list(int) >= 5"


def _check(c: ShapeContext, name: str, values: Any, rank: int) -> None:
    if len(values) != rank:
        c.fail(f"{name} with {rank} entries", f"{list(values)}")
    if any(v is not None and v <= 0 for v in values):
        least = min(v for v in values if v is not None)
        fact = f"Stride must be > 0, but got {least}"
        if name == "ksize":
            listed = ",".join(str(v) for v in values)
            fact = f"Sliding window ksize must be positive. The specified or inferred is: {listed}"
        c.fail(f"{name} with positive entries", f"{list(values)}: {fact}")
    if values[0] not in (1, None):
        c.fail(
            f"{name} of 1 for the batch dimension",
            f"{list(values)}: Pooling is not yet supported on the batch dimension",
        )


def pooled(c: ShapeContext, dims: Dims, ksize: Any, strides: Any) -> Dims:
    """The dimensions of the pooled tensor."""
    rank = len(c.attr("data_format")) if c.attr("data_format") != "NCHW_VECT_C" else 5
    if dims is not None and len(dims) != rank:
        plain = c.op_name in ("MaxPool", "MaxPoolV2", "AvgPool")
        kernel = f"tensor_in must be {rank}-dimensional"
        if plain:
            kernel = f"tensor_in_shape must have 2 spatial dimensions. {len(dims)} 0"
        known = c.says(kernel, f"Shape must be rank {rank} but is rank {len(dims)}")
        c.fail(f"input of rank {rank}", f"shape {d.text(dims)}: {known}")
    _check(c, "ksize", ksize, rank)
    _check(c, "strides", strides, rank)
    pads = c.attrs.get("explicit_paddings", ())
    explicit = c.attr("padding") == "EXPLICIT"
    if explicit and len(pads) != 2 * rank:
        c.fail(f"explicit_paddings with {2 * rank} entries", f"{len(pads)} entries")
    result = []
    for axis in range(rank):
        pair = (pads[2 * axis], pads[2 * axis + 1]) if explicit else (0, 0)
        size, stride = None if dims is None else dims[axis], strides[axis]
        found = (
            None
            if stride is None
            else output_size(size, ksize[axis], stride, 1, c.attr("padding"), pair, c.running)
        )
        if found is not None and found < 0:
            c.fail(
                "a window that fits into the input",
                f"window {ksize[axis]} over size {size}: {too_large(c, ksize[axis], size)}",
                "Use padding='SAME' or a smaller window.",
            )
        result.append(found)
    return tuple(result)


def _pool_shape(c: ShapeContext) -> Dims:
    return pooled(c, c.shape(0), c.attr("ksize"), c.attr("strides"))


def _pool_shape_v2(c: ShapeContext) -> Dims:
    rank = 4
    ksize, strides = c.shape_value(1), c.shape_value(2)
    unknown = (None,) * rank
    return pooled(
        c, c.shape(0), unknown if ksize is None else ksize, unknown if strides is None else strides
    )


def _grad_shape(c: ShapeContext) -> Dims:
    """The gradient of the input: checks that output and gradient have the pooled shape."""
    wanted = _pool_shape(c) if "ksize" in c.attrs else _grad_sizes_v2(c)
    for index in (1, 2):
        if not d.compatible(c.shape(index), wanted):
            c.fail(f"input {index} of shape {d.text(wanted)}", d.text(c.shape(index)))
    assert wanted is not None
    return c.rank(0, len(wanted))


def _grad_sizes_v2(c: ShapeContext) -> Dims:
    ksize, strides = c.shape_value(3), c.shape_value(4)
    unknown = (None,) * 4
    return pooled(
        c, c.shape(0), unknown if ksize is None else ksize, unknown if strides is None else strides
    )


def _grad_grad_shape(c: ShapeContext) -> Dims:
    wanted = _pool_shape(c) if "ksize" in c.attrs else _grad_sizes_v2(c)
    if not d.compatible(c.shape(2), c.shape(0)):
        c.fail(f"grad of the input's shape {d.text(c.shape(0))}", d.text(c.shape(2)))
    return c.merge(wanted, c.shape(1))


def _window(
    ctx: Any, shape: tuple[int, ...], ksize: Any = None, strides: Any = None
) -> k.PoolWindow:
    attrs = ctx.attrs
    given = attrs["ksize"] if ksize is None else ksize
    steps = attrs["strides"] if strides is None else strides
    return k.pool_window(shape, given, steps, attrs)


def _fits(ctx: Any, index: int, x: Array, wanted: tuple[int, ...]) -> None:
    """Refuses an input of another shape, which graphs of unknown shapes find out here."""
    if x.shape != wanted:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: expected input {index} of shape {d.text(wanted)}, got"
            f" {d.text(x.shape)}. Give what the pooling gave, and the gradient of that.",
        )


def _laid(ctx: Any, shape: tuple[int, ...], *given: Array) -> k.Laid:
    """The same for a host kernel; `given`: window and strides where they are inputs."""
    attrs = ctx.attrs
    ksize, strides = (tuple(a.tolist()) for a in given) if given else (
        attrs["ksize"], attrs["strides"]
    )  # fmt: skip
    pads = attrs.get("explicit_paddings", ())
    whole = attrs.get("include_batch_in_index", True)
    return k.laid(shape, ksize, strides, attrs["padding"], pads, whole)


# How host kernels that begin here are registered.
_NATIVE: dict[str, Any] = {"device": "CPU", "available": LIBRARY.is_in_use}
_ON_CPU = {**_NATIVE, "types": {"T": TYPES}}
_FLOATS_ON_CPU = {**_NATIVE, "types": {"T": ["float", "double"]}}
_SAME_ON_CPU = {**_NATIVE, "types": {"T": ["float"], "TInput": ["float"]}}


def _define_max(
    name: str, attrs: str, types: str, grad_attrs: str, grad_types: str
) -> tuple[OpDef, OpDef, OpDef]:
    """A max pooling and its first and second gradient, with sizes as attributes."""
    ahead = define_op(
        f"{name}(input: T; {attrs.format(types)}) -> output: T",
        shape=_pool_shape,
        doc="The largest element of each window.",
    )
    three = name == "MaxPool3D"
    source = "TInput" if three else "T"
    back = define_op(
        f"{name}Grad(orig_input: {source}, orig_output: {source}, grad: T; {grad_attrs}, "
        f"{grad_types}) -> output: T",
        shape=_grad_shape,
        doc=f"The gradient of {name}.",
    )
    sizes, layout = (SIZES_3D, FORMAT_3D) if three else (SIZES_2D, FORMAT_2D)
    again = define_op(
        f"{name}GradGrad(orig_input: T, orig_output: T, grad: T; {sizes}, {EITHER}, {layout}, "
        "T: realnumbertype) -> output: T",
        shape=_grad_grad_shape,
        doc=f"The second gradient of {name}.",
    )
    return ahead, back, again


MAX_POOL, MAX_POOL_GRAD, MAX_POOL_GRAD_GRAD = _define_max(
    "MaxPool",
    "T: {}, " + f"{SIZES_2D}, {ANY_PADDING}, {FORMAT_MAX}".replace("{", "{{").replace("}", "}}"),
    MAX_TYPES,
    f"{SIZES_2D}, {ANY_PADDING}, {FORMAT_2D}",
    "T: realnumbertype = float",
)
MAX_POOL_3D, MAX_POOL_3D_GRAD, MAX_POOL_3D_GRAD_GRAD = _define_max(
    "MaxPool3D",
    f"{SIZES_3D}, {EITHER}, {FORMAT_3D}".replace("{", "{{").replace("}", "}}") + ", T: {}",
    SMALL_FLOATS,
    f"{SIZES_3D}, {EITHER}, {FORMAT_3D}",
    f"T: {SMALL_FLOATS} = float, TInput: {SMALL_FLOATS} = float",
)
INPUTS_V2 = "ksize: int32, strides: int32"
MAX_POOL_V2 = define_op(
    f"MaxPoolV2(input: T, {INPUTS_V2}; T: {MAX_TYPES}, {EITHER}, {FORMAT_MAX}) -> output: T",
    shape=_pool_shape_v2,
    host_inputs=("ksize", "strides"),
    doc="The largest element of each window; window and strides are inputs.",
)
MAX_POOL_GRAD_V2 = define_op(
    f"MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, {INPUTS_V2}; {EITHER}, {FORMAT_2D}, "
    "T: realnumbertype = float) -> output: T",
    shape=_grad_shape,
    host_inputs=("ksize", "strides"),
    doc="The gradient of MaxPoolV2.",
)
MAX_POOL_GRAD_GRAD_V2 = define_op(
    f"MaxPoolGradGradV2(orig_input: T, orig_output: T, grad: T, {INPUTS_V2}; {EITHER}, "
    f"{FORMAT_2D}, T: realnumbertype) -> output: T",
    shape=_grad_grad_shape,
    host_inputs=("ksize", "strides"),
    doc="The second gradient of MaxPoolV2.",
)


def _register_max(ops: tuple[OpDef, OpDef, OpDef], names: tuple[str, ...], sizes: int) -> None:
    """Kernels and gradients of a max pooling; `sizes`: how many inputs give window and strides."""
    ahead, back, again = ops

    @compiled_kernel(ahead)
    def _ahead(ctx: Any, x: Array, *given: Array) -> Array:
        return k.max_pool(x, _window(ctx, x.shape, *given))

    @compiled_kernel(back)
    def _back(ctx: Any, x: Array, y: Array, grad: Array, *given: Array) -> Array:
        window = _window(ctx, x.shape, *given)
        for index, pooled in ((1, y), (2, grad)):
            _fits(ctx, index, pooled, window.output(x.shape))
        return k.max_pool_grad(x, y, grad, window)

    @compiled_kernel(again)
    def _again(ctx: Any, x: Array, y: Array, grad: Array, *given: Array) -> Array:
        window = _window(ctx, x.shape, *given)
        _fits(ctx, 1, y, window.output(x.shape))
        _fits(ctx, 2, grad, x.shape)
        return k.max_pool_grad_grad(x, y, grad, window)

    @host_kernel(ahead, **_ON_CPU)
    def _ahead_host(ctx: Any, x: Array, *given: Array) -> Array:
        return k.host_max_pool(x, _laid(ctx, x.shape, *given))

    @host_kernel(back, **(_SAME_ON_CPU if "TInput" in back.attrs else _ON_CPU))
    def _back_host(ctx: Any, x: Array, y: Array, grad: Array, *given: Array) -> Array:
        return k.host_max_pool_grad(x, y, grad, _laid(ctx, x.shape, *given))

    @host_kernel(again, **_ON_CPU)
    def _again_host(ctx: Any, x: Array, y: Array, grad: Array, *given: Array) -> Array:
        return k.host_max_pool_grad_grad(x, y, grad, _laid(ctx, x.shape, *given))

    def attrs(op: Any, target: OpDef) -> dict[str, Any]:
        return {
            name: op.get_attr(name)
            for name in names
            if name in target.attrs and name in op.op_def.attrs
        }

    @ahead.gradient
    def _ahead_gradient(op: Any, grad: Any) -> Any:
        given = tuple(op.inputs[1:])
        result = execute(back, (op.inputs[0], op.outputs[0], grad, *given), attrs(op, back))
        return [result, *([None] * sizes)]

    @back.gradient
    def _back_gradient(op: Any, grad: Any) -> Any:
        x, y, _, *given = op.inputs
        by_grad = execute(again, (x, y, grad, *given), attrs(op, again))
        return [_flat(x), _flat(y), by_grad, *([None] * sizes)]

    @again.gradient
    def _again_gradient(op: Any, grad: Any) -> Any:
        x, y, _, *given = op.inputs
        by_grad = execute(back, (x, y, grad, *given), attrs(op, back))
        return [_flat(x), _flat(y), by_grad, *([None] * sizes)]


def _flat(x: Any) -> Any:
    """The gradient with respect to what only says where the largest elements are."""
    return execute("ZerosLike", (x,))


NAMES = ("ksize", "strides", "padding", "data_format", "explicit_paddings")
_register_max((MAX_POOL, MAX_POOL_GRAD, MAX_POOL_GRAD_GRAD), NAMES, 0)
_register_max((MAX_POOL_3D, MAX_POOL_3D_GRAD, MAX_POOL_3D_GRAD_GRAD), NAMES, 0)
_register_max((MAX_POOL_V2, MAX_POOL_GRAD_V2, MAX_POOL_GRAD_GRAD_V2), NAMES, 2)


def _avg_grad_shape(c: ShapeContext) -> Dims:
    sizes = c.shape_value(0)
    if sizes is None:
        return (None,) * len(c.attr("data_format"))
    wanted = pooled(c, sizes, c.attr("ksize"), c.attr("strides"))
    if not d.compatible(wanted, c.shape(1)):
        c.fail(f"grad of shape {d.text(wanted)}", d.text(c.shape(1)))
    return sizes


def _define_avg(name: str, sizes: str, layout: str) -> None:
    """An average pooling and its gradient."""
    attrs = f"{sizes}, {EITHER}, {layout}, T: {FLOATS}"
    ahead = define_op(
        f"{name}(value: T; {attrs}) -> output: T".replace(
            "value", "input" if "3D" in name else "value"
        ),
        shape=_pool_shape,
        doc="The mean of each window; padding does not count.",
    )
    back = define_op(
        f"{name}Grad(orig_input_shape: int32, grad: T; {attrs}) -> output: T",
        shape=_avg_grad_shape,
        host_inputs=("orig_input_shape",),
        doc=f"The gradient of {name}.",
    )
    names = ("ksize", "strides", "padding", "data_format")

    @compiled_kernel(ahead)
    def _ahead(ctx: Any, x: Array) -> Array:
        return k.avg_pool(x, _window(ctx, x.shape))

    @compiled_kernel(back)
    def _back(ctx: Any, sizes: Array, grad: Array) -> Array:
        shape = tuple(int(n) for n in sizes)
        window = _window(ctx, shape)
        _fits(ctx, 1, grad, window.output(shape))
        return k.avg_pool_grad(shape, grad, window)

    @host_kernel(ahead, **_FLOATS_ON_CPU)
    def _ahead_host(ctx: Any, x: Array) -> Array:
        return k.host_avg_pool(x, _laid(ctx, x.shape))

    @host_kernel(back, **_FLOATS_ON_CPU)
    def _back_host(ctx: Any, sizes: Array, grad: Array) -> Array:
        return k.host_avg_pool_grad(grad, _laid(ctx, tuple(sizes.tolist())))

    @ahead.gradient
    def _ahead_gradient(op: Any, grad: Any) -> Any:
        attrs = {n: op.get_attr(n) for n in names}
        return execute(back, (shape_of(op.inputs[0]), grad), attrs)

    @back.gradient
    def _back_gradient(op: Any, grad: Any) -> Any:
        return [None, execute(ahead, (grad,), {n: op.get_attr(n) for n in names})]


_define_avg("AvgPool", SIZES_2D, FORMAT_2D)
_define_avg("AvgPool3D", SIZES_3D, FORMAT_3D)


def _nhwc(rule: Callable[[ShapeContext], Any]) -> Callable[[ShapeContext], Any]:
    """A rule for operations without data_format: channels last."""

    def checked(c: ShapeContext) -> Any:
        c.attrs = {**c.attrs, "data_format": "NHWC"}
        return rule(c)

    return checked


MAX_POOL_ARGMAX = define_op(
    f"MaxPoolWithArgmax(input: T; {SIZES_2D}, Targmax: {{int32, int64}} = int64, {EITHER}, "
    "include_batch_in_index: bool = False, T: realnumbertype) -> output: T, argmax: Targmax",
    shape=_nhwc(lambda c: [_pool_shape(c)] * 2),
    doc="The largest element of each window and its flat index.",
)


@compiled_kernel(MAX_POOL_ARGMAX)
def _max_pool_argmax(ctx: Any, x: Array, *, include_batch_in_index: bool) -> tuple[Array, Array]:
    window = _window(ctx, x.shape)
    y = k.max_pool(x, window)
    return y, k.argmax(x, y, window, include_batch_in_index)


@host_kernel(MAX_POOL_ARGMAX, **_ON_CPU)
def _max_pool_argmax_host(ctx: Any, x: Array) -> tuple[Array, Array]:
    laid = _laid(ctx, x.shape)
    y = k.host_max_pool(x, laid)
    return y, k.host_argmax(x, y, laid)


MAX_POOL_ARGMAX_GRAD = define_op(
    f"MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax; {SIZES_2D}, {EITHER}, "
    "include_batch_in_index: bool = False, Targmax: {int32, int64}, T: realnumbertype) "
    "-> output: T",
    shape=_nhwc(lambda c: _argmax_grad_shape(c)),
    doc="The gradient of MaxPoolWithArgmax.",
).without_gradient("no operation takes its second gradient")


def _argmax_grad_shape(c: ShapeContext) -> Dims:
    dims = c.rank(0, 4, "input")
    wanted = c.merge(pooled(c, dims, c.attr("ksize"), c.attr("strides")), c.rank(1, 4, "grad"))
    c.merge(wanted, c.rank(2, 4, "argmax"))
    return dims


@compiled_kernel(MAX_POOL_ARGMAX_GRAD)
def _max_pool_argmax_grad(
    x: Array, grad: Array, argmax: Array, *, include_batch_in_index: bool
) -> Array:
    index = argmax.astype(np.int64)
    if not include_batch_in_index:
        each = x.size // max(x.shape[0], 1)
        index = index + (np.arange(x.shape[0]) * each).reshape(-1, 1, 1, 1)
    flat = jnp.zeros((x.size,), grad.dtype)
    return flat.at[index.reshape(-1)].add(grad.reshape(-1)).reshape(x.shape)


@host_kernel(MAX_POOL_ARGMAX_GRAD, **_ON_CPU)
def _max_pool_argmax_grad_host(
    x: Array, grad: Array, argmax: Array, *, include_batch_in_index: bool
) -> Array:
    places = argmax.astype(np.int64)
    found = to_places(grad, places, x.shape, not include_batch_in_index)
    if found is not None:
        return found
    whole = include_batch_in_index
    return k.in_xla(_max_pool_argmax_grad, x, grad, argmax, include_batch_in_index=whole)


@MAX_POOL_ARGMAX.gradient
def _max_pool_argmax_gradient(op: Any, grad: Any, _: Any) -> Any:
    names = ("ksize", "strides", "padding", "include_batch_in_index")
    attrs = {n: op.get_attr(n) for n in names}
    return execute(MAX_POOL_ARGMAX_GRAD, (op.inputs[0], grad, op.outputs[1]), attrs)
