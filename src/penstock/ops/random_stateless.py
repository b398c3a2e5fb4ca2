"""Random operations without state: their numbers follow from a seed, or from a key and a counter.

The operations of the second generation (V2) take key, counter and algorithm, which
`StatelessRandomGetKeyCounter` makes from a seed; the first generation takes the seed itself. Philox
is the one algorithm.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import random_philox as philox
from penstock.ops.kernels import cpu_random
from penstock.ops.random_draw import SAMPLERS, draw
from penstock.ops.random_philox import Stream, stream_of_seed_pair
from penstock.ops.random_stateful import (
    categories,
    check_range,
    dimensions,
    multinomial_shape,
    permutation,
    shape_from_input,
    traced_permutation,
)
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any
PHILOX = 1  # the number of the algorithm
FLOATS = "{half, bfloat16, float, double} = float"
NO_GRADIENT = "its numbers do not depend on its inputs"


def _seed(c: ShapeContext, index: int) -> None:
    dims = c.shape(index)
    if dims is not None and not d.compatible(dims, (2,)):
        known = f"seed must have shape [2], not {d.bracketed(dims)}"
        if not c.running and len(dims) == 1:
            known = f"Dimension must be 2 but is {dims[0]}"
        c.fail("a seed of shape [2]", f"shape {list(dims)}: {known}", "Pass two integers.")


def _seeded_shape(c: ShapeContext) -> Dims:
    _seed(c, 1)
    _scalars(c, 2)
    return shape_from_input(c)


def _scalars(c: ShapeContext, first: int) -> None:
    """The bounds of integers are scalars."""
    for index in range(first, len(c)):
        c.rank(index, 0, ("minval", "maxval")[index - first])


def _keyed_shape(c: ShapeContext) -> Dims:
    check_key(c, 1)
    _scalars(c, 4)
    return shape_from_input(c)


def check_key(c: ShapeContext, first: int) -> None:
    """Checks key, counter and algorithm at flat inputs first, first + 1, first + 2."""
    key, counter = c.shape(first), c.shape(first + 1)
    if key is not None and not d.compatible(key, (1,)):
        c.fail("a key of shape [1]", f"shape {list(key)}")
    if counter is not None and (len(counter) != 1 or (counter[0] is not None and counter[0] < 2)):
        c.fail("a counter vector of length at least 2", f"shape {list(counter)}")
    c.rank(first + 2, 0, "alg")


def require_philox(alg: Array) -> None:
    """Refuses other algorithms."""
    if int(alg) not in (PHILOX, 3):  # 3 leaves the choice to the system
        raise errors.InvalidArgumentError(
            None, None, f"Unsupported algorithm id: {int(alg)}. Expected 1 (Philox)."
        )


def keyed_stream(key: Array, counter: Array) -> Stream:
    """The stream of a key and a counter input."""
    return Stream(key[0], counter[0], counter[1])


def _define_pair(
    name: str, kind: str, types: str, seed_types: str, doc: str
) -> tuple[OpDef, OpDef]:
    """An operation that takes a seed, and its second generation that takes key and counter."""
    old = define_op(
        f"Stateless{name}(shape: T, seed: Tseed; dtype: {types}, T: {{int32, int64}} = int32, "
        f"Tseed: {{{seed_types}}} = int64) -> output: dtype",
        shape=_seeded_shape,
        host_inputs=("shape",),
        doc=doc + " The seed decides.",
    ).not_differentiable(NO_GRADIENT)
    new = define_op(
        f"Stateless{name}V2(shape: Tshape, key: uint64, counter: uint64, alg: int32; dtype: "
        f"{types}, "
        "Tshape: {int32, int64} = int32) -> output: dtype",
        shape=_keyed_shape,
        host_inputs=("shape", "alg"),
        doc=doc + " Key and counter decide.",
    ).not_differentiable(NO_GRADIENT)

    @host_kernel(old)
    def _old_host(shape: Array, seed: Array, *, dtype: DType) -> Array:
        return draw(kind, stream_of_seed_pair(np, seed), dimensions(shape), dtype)

    @compiled_kernel(old)
    def _old_compiled(shape: Array, seed: Array, *, dtype: DType) -> Array:
        return SAMPLERS[kind](jnp, stream_of_seed_pair(jnp, seed), dimensions(shape), dtype)

    @host_kernel(new)
    def _new_host(shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType) -> Array:
        require_philox(alg)
        return draw(kind, keyed_stream(key, counter), dimensions(shape), dtype)

    @compiled_kernel(new)
    def _new_compiled(
        shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType
    ) -> Array:
        require_philox(alg)
        return SAMPLERS[kind](jnp, keyed_stream(key, counter), dimensions(shape), dtype)

    return old, new


_INTS = "{int32, int64, uint32, uint64} = uint64"
UNIFORM, UNIFORM_V2 = _define_pair(
    "RandomUniform", "uniform", FLOATS, "int32, int64", "Numbers evenly over [0, 1)."
)
NORMAL, NORMAL_V2 = _define_pair(
    "RandomNormal", "normal", FLOATS, "int32, int64", "Normal numbers of mean 0 and deviation 1."
)
TRUNCATED, TRUNCATED_V2 = _define_pair(
    "TruncatedNormal",
    "truncated_normal",
    FLOATS,
    "int32, int64",
    "Normal numbers less than 2 away from 0.",
)


@compiled_kernel(TRUNCATED, device="CPU", when=cpu_random.serves)
def _truncated(shape: Array, seed: Array, *, dtype: DType) -> Array:
    stream = stream_of_seed_pair(jnp, seed)
    return cpu_random.truncated_normal(stream, dimensions(shape), dtype)


@compiled_kernel(TRUNCATED_V2, device="CPU", when=cpu_random.serves)
def _truncated_v2(shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType) -> Array:
    require_philox(alg)
    return cpu_random.truncated_normal(keyed_stream(key, counter), dimensions(shape), dtype)


FULL_INT, FULL_INT_V2 = _define_pair(
    "RandomUniformFullInt",
    "full_integers",
    _INTS,
    "int32, int64, uint32, uint64",
    "Integers over the whole range of the dtype.",
)

UNIFORM_INT = define_op(
    "StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype; dtype: {int32, "
    "int64}, T: {int32, int64}, "
    "Tseed: {int32, int64} = int64) -> output: dtype",
    shape=_seeded_shape,
    host_inputs=("shape",),
    fallible=True,
    doc="Integers in [minval, maxval). The seed decides.",
).not_differentiable(NO_GRADIENT)

UNIFORM_INT_V2 = define_op(
    "StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: "
    "dtype, maxval: dtype; "
    "dtype: {int32, int64, uint32, uint64}, Tshape: {int32, int64} = int32) -> output: dtype",
    shape=_keyed_shape,
    host_inputs=("shape", "alg"),
    fallible=True,
    doc="Integers in [minval, maxval). Key and counter decide.",
).not_differentiable(NO_GRADIENT)


@host_kernel(UNIFORM_INT)
def _uniform_int(
    ctx: KernelContext, shape: Array, seed: Array, minval: Array, maxval: Array, *, dtype: DType
) -> Array:
    check_range(ctx, minval, maxval)
    return draw("integers", stream_of_seed_pair(np, seed), dimensions(shape), dtype, minval, maxval)


@compiled_kernel(UNIFORM_INT)
def _uniform_int_compiled(
    ctx: KernelContext, shape: Array, seed: Array, minval: Array, maxval: Array, *, dtype: DType
) -> Array:
    check_range(ctx, minval, maxval)
    return philox.integers(
        jnp, stream_of_seed_pair(jnp, seed), dimensions(shape), minval, maxval, dtype
    )


@host_kernel(UNIFORM_INT_V2)
def _uniform_int_v2(
    ctx: KernelContext,
    shape: Array,
    key: Array,
    counter: Array,
    alg: Array,
    minval: Array,
    maxval: Array,
    *,
    dtype: DType,
) -> Array:
    require_philox(alg)
    check_range(ctx, minval, maxval)
    return draw("integers", keyed_stream(key, counter), dimensions(shape), dtype, minval, maxval)


@compiled_kernel(UNIFORM_INT_V2)
def _uniform_int_v2_compiled(
    ctx: KernelContext,
    shape: Array,
    key: Array,
    counter: Array,
    alg: Array,
    minval: Array,
    maxval: Array,
    *,
    dtype: DType,
) -> Array:
    require_philox(alg)
    check_range(ctx, minval, maxval)
    return philox.integers(
        jnp, keyed_stream(key, counter), dimensions(shape), minval, maxval, dtype
    )


def _key_counter_shape(c: ShapeContext) -> list[Dims]:
    _seed(c, 0)
    return [(1,), (2,)]


GET_KEY_COUNTER = define_op(
    "StatelessRandomGetKeyCounter(seed: Tseed; Tseed: {int32, int64} = int64) -> key: uint64, "
    "counter: uint64",
    shape=_key_counter_shape,
    doc="The key and the first counter of the stream that a seed stands for.",
).not_differentiable("its numbers are integers")


@kernel(GET_KEY_COUNTER)
def _get_key_counter(xp: Any, seed: Array) -> tuple[Array, Array]:
    stream = stream_of_seed_pair(xp, seed)
    if xp is np:
        return np.array([stream.key]), np.array([stream.low, stream.high])
    return xp.stack([stream.key]), xp.stack([stream.low, stream.high])


GET_KEY_COUNTER_ALG = define_op(
    "StatelessRandomGetKeyCounterAlg(seed: Tseed; Tseed: {int32, int64} = int64) -> key: uint64, "
    "counter: uint64, alg: int32",
    shape=lambda c: [*_key_counter_shape(c), ()],
    doc="The key, the first counter and the algorithm of the stream that a seed stands for.",
).not_differentiable("its numbers are integers")


@kernel(GET_KEY_COUNTER_ALG)
def _get_key_counter_alg(xp: Any, seed: Array) -> tuple[Array, Array, Array]:
    return (*_get_key_counter(xp, seed), np.int32(PHILOX))


GET_ALG = define_op(
    "StatelessRandomGetAlg() -> alg: int32",
    shape=shapes.scalar,
    stateful=True,
    doc="The number of the best algorithm: Philox.",
).not_differentiable("it has no inputs")


@kernel(GET_ALG)
def _get_alg(xp: Any) -> Array:
    return np.int32(PHILOX)


def _shuffle_shape(c: ShapeContext) -> Dims:
    check_key(c, 1)
    return c.shape(0)


SHUFFLE = define_op(
    "StatelessShuffle(value: T, key: uint64, counter: uint64, alg: int32; T: type) -> output: T",
    shape=_shuffle_shape,
    host_inputs=("alg",),
    doc="The rows of a tensor in an order that key and counter decide.",
).without_gradient("the order it drew is not an output")


@host_kernel(SHUFFLE, limit=1 << 62)
def _shuffle(value: Array, key: Array, counter: Array, alg: Array) -> Array:
    require_philox(alg)
    if value.ndim == 0 or value.shape[0] < 2:
        return value
    return value.take(permutation(keyed_stream(key, counter), value.shape[0]), axis=0)


@compiled_kernel(SHUFFLE)
def _shuffle_compiled(value: Array, key: Array, counter: Array, alg: Array) -> Array:
    require_philox(alg)
    if value.ndim == 0 or value.shape[0] < 2:
        return value
    return jnp.asarray(value)[traced_permutation(keyed_stream(key, counter), value.shape[0])]


@compiled_kernel(SHUFFLE, device="CPU", when=cpu_random.orders)
def _shuffle_natively(value: Array, key: Array, counter: Array, alg: Array) -> Array:
    require_philox(alg)
    return jnp.asarray(value)[cpu_random.order(keyed_stream(key, counter), value.shape[0])]


def _multinomial_shape(c: ShapeContext) -> Dims:
    _seed(c, 2)
    return multinomial_shape(c)


MULTINOMIAL = define_op(
    "StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed; T: realnumbertype, Tseed: "
    "{int32, int64} = int64, "
    "output_dtype: {int32, int64} = int64) -> output: output_dtype",
    shape=_multinomial_shape,
    host_inputs=("num_samples",),
    doc="Class numbers drawn from unnormalised log probabilities. The seed decides.",
).not_differentiable("its numbers are integers")


@kernel(MULTINOMIAL)
def _multinomial(
    xp: Any, logits: Array, num_samples: Array, seed: Array, *, output_dtype: DType
) -> Array:
    return categories(xp, stream_of_seed_pair(xp, seed), logits, int(num_samples), output_dtype)
