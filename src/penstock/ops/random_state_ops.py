"""Random operations that take a generator's state from a variable and move it on."""

import math
import secrets
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import determinism
from penstock.core.effects import drawn, switch
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.traced import TraceContext
from penstock.ops.kernels import cpu_random
from penstock.ops.random_draw import SAMPLERS, draw
from penstock.ops.random_philox import Stream
from penstock.ops.random_rejection import binomial_on
from penstock.ops.random_stateful import dimensions, outer_dimensions
from penstock.ops.random_stateless_ops import Algorithm
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any
PHILOX, THREEFRY = Algorithm.PHILOX.value, Algorithm.THREEFRY.value
_AUTO = Algorithm.AUTO_SELECT.value
STATE_SIZES = {PHILOX: 3, THREEFRY: 2, Algorithm.AUTO_SELECT.value: 3}
_STRIDE = 256  # counters that one number sets apart
_HOST = 1 << 62
_WHY = "random numbers have no derivative"


_ALGORITHMS = frozenset(a.value for a in Algorithm)
_WORD = (1 << 64) - 1


def _moved_on(state: Array, count: int) -> Array:
    """The state after `count` numbers, on the host, where Python is fast with three words."""
    low, high, key = state.tolist()
    counter = (low & _WORD | (high & _WORD) << 64) + (count * _STRIDE & _WORD)
    words = counter & _WORD, counter >> 64 & _WORD
    return np.array([w - (w >> 63 << 64) for w in words] + [key], np.int64)


def _moved(xp: Any, state: Array, count: Array) -> Array:
    """The state after `count` numbers."""
    words = xp.asarray(state).astype(xp.uint64)
    step = xp.asarray(count).astype(xp.uint64) * xp.asarray(_STRIDE, xp.uint64)
    low = words[0] + step
    high = words[1] + (low < step).astype(xp.uint64)
    return xp.stack([low, high, words[2]]).astype(xp.int64)


def _check(alg: Any, state: Array) -> None:
    number = int(alg)
    if number in (PHILOX, _AUTO) and state.shape == (STATE_SIZES[PHILOX],):
        return
    if number not in _ALGORITHMS:
        raise errors.InvalidArgumentError(
            None, None, f"Unsupported algorithm id: expected 1 (Philox), got {number}."
        )
    if number not in (PHILOX, _AUTO):
        raise errors.UnimplementedError(
            None,
            None,
            "The ThreeFry algorithm has no kernel: expected Philox. Make the generator with"
            " alg='philox'.",
        )
    raise errors.InvalidArgumentError(
        None,
        None,
        f"A state of Philox is a vector of 3 words, got shape {tuple(state.shape)}. Make it"
        " with tf.random.create_rng_state.",
    )


READ_AND_SKIP = define_op(
    "RngReadAndSkip(resource: resource, alg: int32, delta: uint64) -> value: int64",
    shape=lambda c: c.merge(c.variable_shape(0), (None,)),
    stateful=True,
    effects={"resource": "rw"},
    host_inputs=("alg",),
    doc="The state of a generator, which then moves on by `delta` numbers.",
).not_differentiable(_WHY)


@host_kernel(READ_AND_SKIP, limit=_HOST, draws=True)
def _read_and_skip(resource: Any, alg: Array, delta: Array) -> Array:
    state = np.asarray(resource.read())
    _check(alg, state)
    resource.write(_moved_on(state, int(delta)))
    return state.copy()


@compiled_kernel(READ_AND_SKIP)
def _read_and_skip_compiled(resource: Any, alg: Array, delta: Array) -> Array:
    state = resource.read()
    _check(alg, state)
    resource.write(_moved(jnp, state, delta))
    return state


SKIP = define_op(
    "RngSkip(resource: resource, algorithm: int64, delta: int64) -> ()",
    shape=lambda c: [],
    stateful=True,
    effects={"resource": "rw"},
    host_inputs=("algorithm",),
    doc="Moves the state of a generator on by `delta` numbers.",
).not_differentiable(_WHY)


@host_kernel(SKIP, limit=_HOST, draws=True)
def _skip(resource: Any, algorithm: Array, delta: Array) -> None:
    state = np.asarray(resource.read())
    _check(algorithm, state)
    resource.write(_moved_on(state, int(delta)))


@compiled_kernel(SKIP)
def _skip_compiled(resource: Any, algorithm: Array, delta: Array) -> None:
    _read_and_skip_compiled(resource, algorithm, delta)


def _drawn_shape(c: ShapeContext) -> Dims:
    c.rank(1, 0)
    return c.shape_value(2)


_WITH_SHAPE = "resource: resource, algorithm: int64, shape: shape_dtype"
_STATIC = "algorithm", "shape"  # what compiled code has to know


_INTEGERS = (dt.int32, dt.int64, dt.uint32, dt.uint64)
_FLOATS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)


def _define_stateful(name: str, kind: str, default: str, doc: str) -> OpDef:
    fitting = _INTEGERS if kind == "full_integers" else _FLOATS

    def drawn_shape(c: ShapeContext) -> Dims:
        dtype = c.attr("dtype")
        if dtype not in fitting:
            c.fail(f"dtype one of {[t.name for t in fitting]}", dtype.name)
        return _drawn_shape(c)

    op = define_op(
        f"{name}({_WITH_SHAPE}; dtype: type = {default}, shape_dtype: type = int64) -> output: "
        "dtype",
        shape=drawn_shape,
        stateful=True,
        effects={"resource": "rw"},
        host_inputs=_STATIC,
        doc=doc,
    ).without_gradient(_WHY)

    @host_kernel(op, limit=_HOST, draws=True)
    def run(resource: Any, algorithm: Array, shape: Array, *, dtype: DType) -> Array:
        return _drawn(kind, resource, algorithm, shape, dtype)

    @compiled_kernel(op)
    def traced(resource: Any, algorithm: Array, shape: Array, *, dtype: DType) -> Array:
        return _drawn_compiled(kind, resource, algorithm, shape, dtype)

    return op


def _drawn(
    kind: str, resource: Any, algorithm: Array, shape: Array, dtype: DType, *bounds: Array
) -> Array:
    """Numbers from a generator's state, which then moves on."""
    state = np.asarray(resource.read())
    _check(algorithm, state)
    dims = dimensions(shape)
    found = draw(kind, _stream_at(state), dims, dtype, *bounds)
    resource.write(_moved_on(state, math.prod(dims)))
    return found


def _stream_at(state: Array) -> Stream:
    low, high, key = state.view(np.uint64)
    return Stream(key, low, high)


def _drawn_compiled(
    kind: str, resource: Any, algorithm: Array, shape: Array, dtype: DType, *bounds: Array
) -> Array:
    """As `_drawn`, in a region."""
    dims = dimensions(shape)
    stream = _stream_compiled(resource, algorithm, math.prod(dims))
    return SAMPLERS[kind](jnp, stream, dims, dtype, *bounds)


def _stream_compiled(resource: Any, algorithm: Array, count: int) -> Stream:
    state = _read_and_skip_compiled(resource, algorithm, np.uint64(count))
    low, high, key = jnp.asarray(state).astype(np.uint64)
    return Stream(key, low, high)


UNIFORM = _define_stateful(
    "StatefulUniform", "uniform", "float", "Numbers evenly over [0, 1), from a generator's state."
)
FULL_INT = _define_stateful(
    "StatefulUniformFullInt",
    "full_integers",
    "uint64",
    "Integers evenly over all of a dtype, from a generator's state.",
)
NORMAL = _define_stateful(
    "StatefulStandardNormalV2",
    "normal",
    "float",
    "Normal numbers of mean 0 and deviation 1, from a generator's state.",
)
OLD_NORMAL = define_op(
    "PenstockStatefulStandardNormal(resource: resource, shape: shape_dtype; dtype: type = float, "
    "shape_dtype: type = int64) -> output: dtype",
    shape=lambda c: c.shape_value(1),
    stateful=True,
    effects={"resource": "rw"},
    doc="Normal numbers from a state that begins with the number of its algorithm.",
).without_gradient(_WHY)


@host_kernel(OLD_NORMAL, limit=_HOST, draws=True)
def _old_normal(resource: Any, shape: Array, *, dtype: DType) -> Array:
    state = np.asarray(resource.read())
    if state.ndim != 1 or not state.size:
        raise errors.InvalidArgumentError(
            None,
            None,
            "RNG state must have one and only one dimension, the algorithm and its words, got "
            f"shape {list(state.shape)}.",
        )
    _check(state[0], state[1:])
    dims = dimensions(shape)
    found = draw("normal", _stream_at(state[1:]), dims, dtype)
    moved = _moved_on(state[1:], math.prod(dims))
    resource.write(np.concatenate([state[:1], moved]))
    return found


TRUNCATED = _define_stateful(
    "StatefulTruncatedNormal",
    "truncated_normal",
    "float",
    "Normal numbers less than 2 away from 0, from a generator's state.",
)


def _are_many(attrs: dict[str, Any], resource: Any, algorithm: Array, shape: Array) -> bool:
    return cpu_random.serves(attrs, shape)


@compiled_kernel(TRUNCATED, device="CPU", when=_are_many)
def _truncated_natively(resource: Any, algorithm: Array, shape: Array, *, dtype: DType) -> Array:
    dims = dimensions(shape)
    stream = _stream_compiled(resource, algorithm, math.prod(dims))
    return cpu_random.truncated_normal(stream, dims, dtype)


def _between_shape(c: ShapeContext) -> Dims:
    c.rank(3, 0, "minval")
    c.rank(4, 0, "maxval")
    return _drawn_shape(c)


UNIFORM_INT = define_op(
    f"StatefulUniformInt({_WITH_SHAPE}, minval: dtype, maxval: dtype; dtype: type = int64, "
    "shape_dtype: type = int64) -> output: dtype",
    shape=_between_shape,
    stateful=True,
    effects={"resource": "rw"},
    host_inputs=_STATIC,
    fallible=True,
    doc="Integers evenly over [minval, maxval), from a generator's state.",
).without_gradient(_WHY)


@host_kernel(UNIFORM_INT, limit=_HOST, draws=True)
def _uniform_int(
    resource: Any, algorithm: Array, shape: Array, minval: Array, maxval: Array, *, dtype: DType
) -> Array:
    if minval >= maxval:
        raise errors.InvalidArgumentError(None, None, _no_integers(minval, maxval))
    return _drawn("integers", resource, algorithm, shape, dtype, minval, maxval)


def _no_integers(minval: Any, maxval: Any) -> str:
    return f"Need minval < maxval, got {minval} >= {maxval}. Swap them."


@compiled_kernel(UNIFORM_INT)
def _uniform_int_compiled(
    ctx: TraceContext,
    resource: Any,
    algorithm: Array,
    shape: Array,
    minval: Array,
    maxval: Array,
    *,
    dtype: DType,
) -> Array:
    ctx.check(minval < maxval, errors.InvalidArgumentError, _no_integers, minval, maxval)
    return _drawn_compiled("integers", resource, algorithm, shape, dtype, minval, maxval)


BINOMIAL = define_op(
    "StatefulRandomBinomial(resource: resource, algorithm: int64, shape: S, counts: T, probs: T; S:"
    " {int32, int64}, T: {half, float, double, int32, int64} = double, dtype: {half, float, double,"
    " int32, int64} = int64) -> output: dtype",
    shape=_drawn_shape,
    stateful=True,
    effects={"resource": "rw"},
    doc="How often something of a probability happens, from a generator's state.",
).without_gradient(_WHY)


@host_kernel(BINOMIAL, limit=_HOST, draws=True)
def _binomial(
    resource: Any, algorithm: Array, shape: Array, counts: Array, probs: Array, *, dtype: DType
) -> Array:
    state = np.asarray(resource.read())
    _check(algorithm, state)
    dims = dimensions(shape)
    inner = np.broadcast_shapes(counts.shape, probs.shape)
    outer_dimensions(dims, inner)
    pairs = math.prod(inner)
    each = math.prod(dims) // pairs if pairs else 0
    found = binomial_on(_stream_at(state), dims, counts, probs, dtype)
    # What TensorFlow sets apart; samples read beyond it.
    resource.write(_moved_on(state, pairs * 50 * (each + 3)))
    return found


NON_DETERMINISTIC = define_op(
    "NonDeterministicInts(shape: shape_dtype; dtype: type = int64, shape_dtype: type = int64) -> "
    "output: dtype",
    shape=lambda c: None if c.rank(0, 1, "shape") is None else c.shape_value(0),
    stateful=True,
    doc="Integers that the operating system draws.",
).without_gradient(_WHY)


@host_kernel(NON_DETERMINISTIC, limit=_HOST, draws=True)
def _non_deterministic(shape: Array, *, dtype: DType) -> Array:
    if determinism.required():
        raise errors.InvalidArgumentError(
            None,
            None,
            "NonDeterministicInts: expected an operation that repeats, got one that the operating"
            " system draws, while determinism is enabled. Use a seeded random operation.",
        )
    dims = dimensions(shape)
    size = math.prod(dims) * dtype.size
    if switch.log is None:
        found = np.frombuffer(bytearray(secrets.token_bytes(size)), dtype.numpy_dtype)
    else:  # which keeps texts
        text: str = drawn("random state", lambda: secrets.token_hex(size))
        found = np.frombuffer(bytes.fromhex(text), dtype.numpy_dtype)
    return found.reshape(dims)
