"""Random operations that read on in a stream of their own.

Uniform, normal and truncated normal numbers, integers, shuffle, categorical. Streams and what they
give are TensorFlow's; see `random_philox` and `random_state`.
"""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_random
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jax, jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.traced import TraceContext
from penstock.ops import random_philox as philox
from penstock.ops.kernels import cpu_random
from penstock.ops.random_draw import SAMPLERS, draw
from penstock.ops.random_state import BLOCKS_PER_NUMBER, step_stream, stream_of, stream_on_host
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any


def shape_from_input(c: ShapeContext) -> Dims:
    """The output's shape is the value of input 0."""
    dims = c.shape(0)
    if dims is not None and len(dims) != 1:
        c.fail(
            "the shape as a vector of {int32,int64}",
            f"shape {list(dims)}",
            "Write [n] for one dimension.",
        )
    return c.sizes(0)


def dimensions(shape: Array) -> tuple[int, ...]:
    """A shape input as a tuple."""
    shape = np.asarray(shape)
    return tuple((shape if shape.ndim == 1 else shape.reshape(-1)).tolist())


def outer_dimensions(dims: tuple[int, ...], inner: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions in front of those of the parameters."""
    if dims[len(dims) - len(inner) :] != inner or len(inner) > len(dims):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Shape passed in must end with broadcasted shape {inner} of the parameters, got"
            f" {dims}. Append it to the shape.",
        )
    return dims[: len(dims) - len(inner)]


def check_range(ctx: Any, low: Array, high: Array) -> None:
    """Refuses an empty range of integers."""
    ctx.check(
        low < high,
        errors.InvalidArgumentError,
        lambda a, b: f"Need minval < maxval, got {a} >= {b}. Pass a maxval greater than minval.",
        low,
        high,
    )


def numbers_blocks(count: int, node: Any = None) -> int:
    """Blocks for a draw of `count` numbers."""
    return count * BLOCKS_PER_NUMBER


def _define(name: str, kind: str, doc: str) -> OpDef:
    op = define_op(
        f"{name}(shape: T; seed: int = 0, seed2: int = 0, dtype: {{half, bfloat16, float, "
        f"double}}, T: {{int32, int64}}) "
        "-> output: dtype",
        shape=shape_from_input,
        stateful=True,
        host_inputs=("shape",),
        step_input=step_stream(numbers_blocks),
        doc=doc,
    ).not_differentiable("its numbers do not depend on its inputs")

    @host_kernel(op, draws=True)
    def _host(ctx: KernelContext, shape: Array, *, dtype: DType) -> Array:
        dims = dimensions(shape)
        return draw(kind, stream_on_host(ctx, numbers_blocks(math.prod(dims))), dims, dtype)

    @compiled_kernel(op)
    def _compiled(ctx: TraceContext, shape: Array, *, dtype: DType) -> Array:
        return SAMPLERS[kind](jnp, stream_of(ctx.step_value), dimensions(shape), dtype)

    return op


def _truncated(ctx: TraceContext, shape: Array, *, dtype: DType) -> Array:
    return cpu_random.truncated_normal(stream_of(ctx.step_value), dimensions(shape), dtype)


RANDOM_UNIFORM = _define("RandomUniform", "uniform", "Numbers evenly distributed over [0, 1).")
RANDOM_STANDARD_NORMAL = _define(
    "RandomStandardNormal", "normal", "Normal numbers of mean 0 and deviation 1."
)
TRUNCATED_NORMAL = _define(
    "TruncatedNormal",
    "truncated_normal",
    "Normal numbers of mean 0 and deviation 1, drawn again while 2 or more away from 0.",
)
compiled_kernel(TRUNCATED_NORMAL, device="CPU", when=cpu_random.serves)(_truncated)

RANDOM_UNIFORM_INT = define_op(
    "RandomUniformInt(shape: T, minval: Tout, maxval: Tout; seed: int = 0, seed2: int = 0, Tout: "
    "{int32, int64}, "
    "T: {int32, int64}) -> output: Tout",
    shape=lambda c: _between_shape(c),
    stateful=True,
    host_inputs=("shape",),
    step_input=step_stream(numbers_blocks),
    fallible=True,
    doc="Integers in [minval, maxval).",
).not_differentiable("its numbers are integers")


def _between_shape(c: ShapeContext) -> Dims:
    c.rank(1, 0, "minval")
    c.rank(2, 0, "maxval")
    return shape_from_input(c)


@host_kernel(RANDOM_UNIFORM_INT, draws=True)
def _uniform_int(
    ctx: KernelContext, shape: Array, minval: Array, maxval: Array, *, Tout: DType
) -> Array:
    dims = dimensions(shape)
    if math.prod(dims):
        check_range(ctx, minval, maxval)
    return draw(
        "integers", stream_on_host(ctx, numbers_blocks(math.prod(dims))), dims, Tout, minval, maxval
    )


@compiled_kernel(RANDOM_UNIFORM_INT)
def _uniform_int_compiled(
    ctx: TraceContext, shape: Array, minval: Array, maxval: Array, *, Tout: DType
) -> Array:
    dims = dimensions(shape)
    if math.prod(dims):
        check_range(ctx, minval, maxval)
    return philox.integers(jnp, stream_of(ctx.step_value), dims, minval, maxval, Tout)


def _shuffle_blocks(count: int, node: Any = None) -> int:
    """Blocks for the words of a shuffle of `count` rows."""
    return -(-max(count - 1, 0) // 4)


def _rows(node: Any) -> int:
    return (node.shapes[0][0] if node.shapes[0] else None) or 0


RANDOM_SHUFFLE = define_op(
    "RandomShuffle(value: T; seed: int = 0, seed2: int = 0, T: type) -> output: T",
    shape=lambda c: c.shape(0),
    stateful=True,
    step_input=step_stream(_shuffle_blocks, _rows),
    doc="The rows of a tensor in random order.",
)


def permutation(stream: philox.Stream, count: int) -> Array:
    """A random order of `count` rows, drawn on the host: int64[count]."""
    found = native_random.order(stream, count)
    if found is not None:
        return found
    with np.errstate(all="ignore"):
        picks = philox.words(np, stream, max(count - 1, 0)).astype(np.int64) % np.arange(
            count, 1, -1
        )
    order = list(range(count))
    for i, pick in enumerate(picks.tolist()):
        j = i + pick
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def traced_permutation(stream: philox.Stream, count: int) -> Array:
    """`permutation` inside a region.

    A swap is one gather and one scatter: of two of each XLA makes a copy of the whole order.
    """
    if count < 2:
        return jnp.arange(count)
    picks = philox.words(jnp, stream, count - 1).astype(jnp.int64)
    sizes = jnp.arange(count, 1, -1)
    first = jnp.arange(count - 1)
    chosen = first + picks % sizes
    pairs, turned = jnp.stack([first, chosen], 1), jnp.stack([chosen, first], 1)

    def swap(i: Array, order: Array) -> Array:
        return order.at[turned[i]].set(order[pairs[i]])

    return jax.lax.fori_loop(0, count - 1, swap, jnp.arange(count))


@host_kernel(RANDOM_SHUFFLE, limit=1 << 62, draws=True)
def _shuffle(ctx: KernelContext, value: Array) -> Array:
    if value.ndim == 0 or value.shape[0] < 2:
        return value
    stream = stream_on_host(ctx, _shuffle_blocks(value.shape[0]))
    return value.take(permutation(stream, value.shape[0]), axis=0)


@compiled_kernel(RANDOM_SHUFFLE)
def _shuffle_compiled(ctx: TraceContext, value: Array) -> Array:
    if value.ndim == 0 or value.shape[0] < 2:
        return value
    return jnp.asarray(value)[traced_permutation(stream_of(ctx.step_value), value.shape[0])]


@compiled_kernel(RANDOM_SHUFFLE, device="CPU", when=cpu_random.orders)
def _shuffle_natively(ctx: TraceContext, value: Array) -> Array:
    return jnp.asarray(value)[cpu_random.order(stream_of(ctx.step_value), value.shape[0])]


RANDOM_SHUFFLE.not_differentiable("the order it drew is not an output")


def multinomial_shape(c: ShapeContext) -> Dims:
    """[rows of logits, num_samples]."""
    rows, classes = c.rank(  # type: ignore[misc]
        0, 2, "logits", lambda: f"logits should be a matrix, got shape {d.bracketed(c.shape(0))}"
    )
    c.rank(1, 0, "num_samples")
    if classes == 0:
        c.refuse("num_classes should be positive, got 0: expected logits with columns")
    count = c.constant(1)
    if count is not None and int(count) < 0:
        c.fail("a non-negative num_samples", f"{int(count)}")
    return rows, None if count is None else int(count)


def _multinomial_blocks(count: int, node: Any) -> int:
    rows, samples = node.shapes[0]
    return _blocks_of_samples(rows, samples)


def _blocks_of_samples(rows: int, samples: int) -> int:
    return rows * (-(-samples // 4) * 4) * 2 * BLOCKS_PER_NUMBER


MULTINOMIAL = define_op(
    "Multinomial(logits: T, num_samples: int32; seed: int = 0, seed2: int = 0, T: realnumbertype, "
    "output_dtype: {int32, int64} = int64) -> output: output_dtype",
    shape=multinomial_shape,
    stateful=True,
    host_inputs=("num_samples",),
    step_input=step_stream(_multinomial_blocks),
    doc="Class numbers drawn from unnormalised log probabilities.",
).not_differentiable("its numbers are integers")


def categories(xp: Any, stream: philox.Stream, logits: Array, samples: int, dtype: DType) -> Array:
    """[rows, samples] classes: where a uniform number falls among the summed probabilities."""
    if xp is np and isinstance(logits, np.ndarray):
        given = logits if logits.dtype in (np.float32, np.float64) else logits.astype(np.float64)
        drawn = native_random.categories(stream, given, samples, dtype.numpy_dtype)
        if drawn is not None:
            return drawn
    wide = logits.astype(xp.float64)
    usable = xp.isfinite(wide)
    top = xp.max(xp.where(usable, wide, -np.inf), axis=1, keepdims=True)
    weights = xp.where(usable, xp.exp(wide - top), 0.0)
    sums = xp.cumsum(weights, axis=1)
    points = philox.uniform(xp, stream, (logits.shape[0], samples), dtypes.float64) * sums[:, -1:]
    if logits.shape[0] == 0 or samples == 0:
        return xp.zeros((logits.shape[0], samples), dtype.numpy_dtype)
    rows = (
        [xp.searchsorted(sums[i], points[i], side="right") for i in range(len(sums))]
        if xp is np
        else None
    )
    found = (
        np.stack(rows)
        if rows
        else jax.vmap(lambda s, p: jnp.searchsorted(s, p, side="right"))(sums, points)
    )
    return xp.minimum(found, logits.shape[1] - 1).astype(dtype.numpy_dtype)


@host_kernel(MULTINOMIAL, draws=True)
def _multinomial(
    ctx: KernelContext, logits: Array, num_samples: Array, *, output_dtype: DType
) -> Array:
    samples = int(num_samples)
    stream = stream_on_host(ctx, _blocks_of_samples(logits.shape[0], samples))
    return categories(np, stream, logits, samples, output_dtype)


@compiled_kernel(MULTINOMIAL)
def _multinomial_compiled(
    ctx: TraceContext, logits: Array, num_samples: Array, *, output_dtype: DType
) -> Array:
    return categories(jnp, stream_of(ctx.step_value), logits, int(num_samples), output_dtype)
