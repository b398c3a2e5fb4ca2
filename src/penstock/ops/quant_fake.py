"""Fake quantisation: floats rounded to what a few bits hold, with derivatives for training.

The range is nudged so that zero is one of the steps (Jacob et al., arXiv:1712.05877, section 3).
Within the range derivatives pass, beyond it they go to the end that was hit.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from penstock.core import native_fake
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import named
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer
_BITS = "num_bits: int = 8, narrow_range: bool = False"
LEAST_END = float(np.finfo(np.float32).tiny)  # what is smaller counts as 0
_MOST_KNOWN = 1024  # bounds of channels whose ranges are kept
_RANGE = "min: float = -6.0, max: float = 6.0"


class _Steps(NamedTuple):
    """A range with zero on a step.

    Attributes:
      least: the lower end.
      most: the upper end.
      zero: how many steps zero is above the lower end.
      scale: the size of a step.
      rate: the steps of 1, rounded by itself.
      packed: all of them for native code, where they are known and none is empty; else None.
    """

    least: Array
    most: Array
    zero: Array
    scale: Array
    rate: Array
    packed: Array | None = None


def _nudged(xp: Any, low: Array, high: Array, bits: int, narrow: bool) -> _Steps:
    first, last = np.float32(1 if narrow else 0), np.float32((1 << bits) - 1)
    scale = (high - low) / (last - first)
    zero = first - low / scale
    nudged = xp.where(zero < first, first, xp.where(zero > last, last, xp.floor(zero + 0.5)))
    rate = (last - first) / (high - low)
    return _Steps((first - nudged) * scale, (last - nudged) * scale, nudged - first, scale, rate)


def _range(xp: Any, low: Array, high: Array, bits: int, narrow: bool) -> tuple[Any, _Steps]:
    """Whether a range is empty (its bounds are 0, or denormal), and its steps.

    The first is False, and no array, where it is known that none is empty.
    """
    if xp is np and low.size <= _MOST_KNOWN:
        return _known_range(low.tobytes(), high.tobytes(), low.shape, bits, narrow)
    empty = (abs(low) < LEAST_END) & (abs(high) < LEAST_END)
    return empty, _nudged(xp, low, xp.where(empty, np.float32(1), high), bits, narrow)


@functools.lru_cache(maxsize=256)
def _known_range(
    low: bytes, high: bytes, shape: tuple[int, ...], bits: int, narrow: bool
) -> tuple[Any, _Steps]:
    """The same of few numbers, by their bits: they take NumPy longer than inputs do."""
    first, last = [np.frombuffer(end, np.float32).reshape(shape) for end in (low, high)]
    empty = (abs(first) < LEAST_END) & (abs(last) < LEAST_END)
    with np.errstate(all="ignore"):
        steps = _nudged(np, first, np.where(empty, np.float32(1), last), bits, narrow)
    held = [np.asarray(each, np.float32) for each in steps[:-1]]
    if empty.any():
        return empty, _Steps(*held)
    return False, _Steps(*held)._replace(packed=native_fake.packed(held))


@functools.lru_cache(maxsize=256)
def _attribute_range(low: float, high: float, bits: int, narrow: bool) -> tuple[Any, _Steps]:
    """The same of two attributes."""
    return _range(np, np.array(low, np.float32), np.array(high, np.float32), bits, narrow)


def _quantized(xp: Any, x: Array, known: tuple[Any, _Steps], divides: bool) -> Array:
    """Rounded numbers; the steps in one come of a division, or by the rate, which decides halves.

    Zero's step is taken off before they are rounded, so that zero stays zero.
    """
    empty, (least, most, zero, scale, rate, packed) = known
    if xp is np and packed is not None:
        native = native_fake.rounded(x, packed, divides)
        if native is not None:
            return native
    found = xp.maximum(xp.minimum(x, most), least)
    found -= least  # NumPy writes into what is there
    if divides:
        found /= scale
    else:
        found *= rate
    found -= zero
    found += np.float32(0.5)
    found = xp.floor(found) * scale
    return found if empty is False else xp.where(empty, np.float32(0), found).astype(np.float32)


def _check(c: ShapeContext) -> None:
    bits = c.attr("num_bits")
    if not 2 <= bits <= 16:
        c.fail("num_bits between 2 and 16", f"{bits}", "Give the bits of the real quantisation.")


def _same(c: ShapeContext, last: int = 0) -> Dims:
    _check(c)
    return c.shape(last)


def _check_range(c: ShapeContext) -> None:
    if not c.attr("min") < c.attr("max"):
        c.fail("min < max", f"{c.attr('min')} and {c.attr('max')}", "Swap them.")


def _args_shape(c: ShapeContext) -> Dims:
    _check_range(c)
    return c.merge(_same(c), c.shape(len(c) - 1))


ARGS = define_op(
    f"FakeQuantWithMinMaxArgs(inputs: float; {_RANGE}, {_BITS}) -> outputs: float",
    shape=_args_shape,
    doc="Numbers rounded to the steps of a range that attributes say.",
)


@kernel(ARGS)
def _args(
    xp: Any, inputs: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Array:
    return _quantized(xp, inputs, _attribute_range(min, max, num_bits, narrow_range), divides=False)


ARGS_GRAD = define_op(
    f"FakeQuantWithMinMaxArgsGradient(gradients: float, inputs: float; {_RANGE}, {_BITS}) -> "
    "backprops: float",
    shape=_args_shape,
    doc="What flows back through FakeQuantWithMinMaxArgs: all within the range.",
).not_differentiable("steps have no second derivative")


@kernel(ARGS_GRAD)
def _args_gradient(
    xp: Any,
    gradients: Array,
    inputs: Array,
    *,
    min: float,
    max: float,
    num_bits: int,
    narrow_range: bool,
) -> Array:
    _, (least, most, *_, packed) = _attribute_range(min, max, num_bits, narrow_range)
    if xp is np and packed is not None:
        native = native_fake.back(gradients, inputs, packed)
        if native is not None:
            return native[0]
    return gradients * ((inputs >= least) & (inputs <= most)).astype(np.float32)


def _attrs(op: Any, *names: str) -> dict[str, Any]:
    return {n: op.get_attr(n) for n in (*names, "num_bits", "narrow_range")}


@ARGS.gradient
def _differentiate_args(op: Any, grad: Any) -> Any:
    return execute(ARGS_GRAD, (grad, op.inputs[0]), _attrs(op, "min", "max"))


def _match_channels(c: ShapeContext, rank: int, dims: Dims, low: Dims) -> None:
    """Bounds that are vectors have one number for each channel, the input's last dimension."""
    if rank and dims is not None:
        if not dims:
            c.fail("an input with channels", "a scalar", "Give at least one dimension.")
        c.merge(dims[-1:], low)


def _bounded_gradient(
    gradients: Array, inputs: Array, min: Array, max: Array, rounding: tuple[int, bool], xp: Any
) -> tuple[Array, Array, Array]:
    """What flows back to the numbers within the range, and to its ends.

    All passes through an empty range, and nothing reaches its ends, not even 0 times infinity.
    """
    empty, (least, most, *_, packed) = _range(xp, min, max, *rounding)
    if xp is np and packed is not None:
        native = native_fake.back(gradients, inputs, packed)
        if native is not None:
            backs, below, above = native
            return backs, below.reshape(min.shape), above.reshape(min.shape)
    axes = tuple(range(inputs.ndim - min.ndim))
    inside, below, above = (inputs >= least) & (inputs <= most), inputs < least, inputs > most
    if empty is False:
        shares = [np.add.reduce(gradients * where, axis=axes) for where in (below, above)]
        return gradients * inside, shares[0], shares[1]
    backs, *ends = (gradients * where for where in (inside | empty, below, above))
    shares = [xp.where(empty, np.float32(0), end.sum(axis=axes)) for end in ends]
    return backs, shares[0], shares[1]


def _define_vars(name: str, rank: int, doc: str) -> tuple[OpDef, OpDef]:
    """Rounding to a range whose bounds are inputs of a rank, and its gradient."""

    def shape(c: ShapeContext) -> Dims:
        dims = _same(c)
        _match_channels(c, rank, dims, c.merge(c.rank(1, rank), c.rank(2, rank)))
        return dims

    def gradient_shape(c: ShapeContext) -> list[Dims]:
        dims = c.merge(c.shape(0), _same(c, 1))
        low = c.merge(c.rank(2, rank), c.rank(3, rank))
        _match_channels(c, rank, dims, low)
        return [dims, low, low]

    forward = define_op(
        f"{name}(inputs: float, min: float, max: float; {_BITS}) -> outputs: float",
        shape=shape,
        doc=doc,
    )
    backward = define_op(
        f"{name}Gradient(gradients: float, inputs: float, min: float, max: float; {_BITS}) -> "
        "backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float",
        shape=gradient_shape,
        doc=f"What flows back through {name}: to the numbers within the range, and to its ends.",
    ).not_differentiable("steps have no second derivative")

    @kernel(forward)
    def run(
        xp: Any, inputs: Array, min: Array, max: Array, *, num_bits: int, narrow_range: bool
    ) -> Array:
        return _quantized(xp, inputs, _range(xp, min, max, num_bits, narrow_range), rank == 0)

    @kernel(backward)
    def run_back(
        xp: Any, gradients: Array, inputs: Array, min: Array, max: Array,
        *, num_bits: int, narrow_range: bool,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        return _bounded_gradient(gradients, inputs, min, max, (num_bits, narrow_range), xp)

    @forward.gradient
    def differentiate(op: Any, grad: Any) -> Any:
        return list(execute(backward, (grad, *op.inputs), _attrs(op)))

    return forward, backward


VARS, VARS_GRAD = _define_vars(
    "FakeQuantWithMinMaxVars", 0, "Numbers rounded to the steps of a range."
)
CHANNELS, CHANNELS_GRAD = _define_vars(
    "FakeQuantWithMinMaxVarsPerChannel",
    1,
    "Numbers rounded to the steps of a range for each channel.",
)


# ---- public functions


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """Numbers rounded to the steps that a few bits hold.

    Args:
      inputs: float32 tensor.
      min: the lower end of the range.
      max: the upper end.
      num_bits: between 2 and 16.
      narrow_range: whether the lowest step is left out, so that the range is symmetric.
      name: the name of the operation in a graph.

    Returns:
      float32 tensor of the same shape; derivatives pass within the range.

    Raises:
      ValueError, InvalidArgumentError: the bits or the range are not possible.
    """
    attrs = {"min": min, "max": max, "num_bits": num_bits, "narrow_range": narrow_range}
    return execute(ARGS, (inputs,), attrs, name)


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """What flows back through `fake_quant_with_min_max_args`; arguments as there."""
    attrs = {"min": min, "max": max, "num_bits": num_bits, "narrow_range": narrow_range}
    return execute(ARGS_GRAD, (gradients, inputs), attrs, name)


def _bits(num_bits: int, narrow_range: bool) -> dict[str, Any]:
    return {"num_bits": num_bits, "narrow_range": narrow_range}


def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """Numbers rounded to the steps of a range that is trained with them.

    Args:
      inputs: float32 tensor.
      min: the lower end of the range, float32[].
      max: the upper end, float32[].
      num_bits: between 2 and 16.
      narrow_range: whether the lowest step is left out.
      name: the name of the operation in a graph.

    Returns:
      float32 tensor of the same shape.

    Raises:
      ValueError, InvalidArgumentError: the bits are not possible, or an end is no scalar.
    """
    return execute(VARS, (inputs, min, max), _bits(num_bits, narrow_range), name)


def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """What flows back through `fake_quant_with_min_max_vars`: to inputs, `min` and `max`."""
    return named(VARS_GRAD, (gradients, inputs, min, max), _bits(num_bits, narrow_range), name)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """As `fake_quant_with_min_max_vars`, with a range for each entry of the last dimension.

    Args:
      inputs: float32 tensor, [..., channels].
      min: the lower ends, float32[channels].
      max: the upper ends, float32[channels].
      num_bits: between 2 and 16.
      narrow_range: whether the lowest step is left out.
      name: the name of the operation in a graph.

    Returns:
      float32 tensor of the same shape.

    Raises:
      ValueError, InvalidArgumentError: the bits are not possible, or shapes do not fit.
    """
    return execute(CHANNELS, (inputs, min, max), _bits(num_bits, narrow_range), name)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """What flows back through `fake_quant_with_min_max_vars_per_channel`."""
    attrs = _bits(num_bits, narrow_range)
    return named(CHANNELS_GRAD, (gradients, inputs, min, max), attrs, name)
