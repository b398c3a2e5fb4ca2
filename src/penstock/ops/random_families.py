"""Gamma, Poisson and binomial numbers: stateful and stateless operations.

The numbers are drawn on the host by `random_rejection`, and are TensorFlow's.
"""

import math
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import lax
from penstock.core.op_def import define_op
from penstock.core.shapes import LeftToTheStepError, ShapeContext
from penstock.ops import random_philox as philox
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_shape import broadcast_dynamic_shape, broadcast_to
from penstock.ops.composing import scope
from penstock.ops.math_arithmetic import maximum, multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_division import divide
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.math_special import on_native_host
from penstock.ops.random_ops import of_shape, shape_tensor
from penstock.ops.random_philox import Stream
from penstock.ops.random_rejection import RESERVED, binomial_on, gamma_on, poisson_on
from penstock.ops.random_state import seed_pair, step_stream, stream_on_host
from penstock.ops.random_stateful import dimensions, outer_dimensions
from penstock.ops.random_stateless import check_key, keyed_stream, require_philox
from penstock.ops.random_stateless_ops import key_counter_alg
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

Array = Any
_HOST = 1 << 62
_NUMBERS = "{half, float, double, int32, int64}"
_WHY = "random numbers of whole values have no derivative"


def _blocks(count: int, node: Any = None) -> int:
    return count * RESERVED


def _appended(c: ShapeContext) -> Dims:
    """The shape of samples, and behind it that of the parameters."""
    c.rank(0, 1, "shape")
    inner = c.shape(1)
    try:
        outer, late = c.sizes(0), None
    except LeftToTheStepError as problem:
        outer, late = problem.known, problem
    whole = None if outer is None or inner is None else (*outer, *inner)
    if late is not None:
        raise LeftToTheStepError(str(late), whole)
    return whole


def _ordered(draw: Any, outer: int, parameter: Array, shape: tuple[int, ...]) -> Array:
    """Numbers of `outer` samples of each parameter; one parameter's follow each other."""
    flat = parameter.reshape(-1).astype(np.float64)
    index = np.arange(outer * flat.size, dtype=np.uint64)
    found = draw(index, np.repeat(flat, outer))
    return found.reshape(flat.size, outer).T.reshape(shape)


# ---- gamma

GAMMA = define_op(
    "RandomGamma(shape: S, alpha: T; seed: int = 0, seed2: int = 0, S: {int32, int64}, T: {half, "
    "float, double}) -> output: T",
    shape=_appended,
    stateful=True,
    host_inputs=("shape",),
    step_input=step_stream(_blocks),
    doc="Gamma numbers of scale 1: for each shape parameter as many as `shape` says.",
)


@host_kernel(GAMMA, limit=_HOST, draws=True)
def _gamma(ctx: KernelContext, shape: Array, alpha: Array) -> Array:
    dims = dimensions(shape)
    total = math.prod(dims) * alpha.size
    stream = stream_on_host(ctx, _blocks(total))
    return _gammas(stream, dims, alpha)


def _gammas(stream: Stream, dims: tuple[int, ...], alpha: Array) -> Array:
    found = _ordered(
        lambda index, a: gamma_on(stream, index, a), math.prod(dims), alpha, (*dims, *alpha.shape)
    )
    return found.astype(alpha.dtype)


@GAMMA.gradient
def _gamma_gradient(op: Any, grad: Any) -> list[Any]:
    return [None, _through_samples(op.inputs[1], op.outputs[0], grad)]


def _through_samples(alpha: Any, sample: Any, grad: Any) -> Any:
    """What flows back to the parameters: each sample moves with them, at its own quantile."""
    wide = broadcast_to(alpha, shape_of(sample))
    partial = multiply(grad, execute(GAMMA_GRAD, (wide, sample)))
    extra = (
        None if alpha.dims is None or sample.dims is None else len(sample.dims) - len(alpha.dims)
    )
    if extra is None:
        count = execute("Sub", (execute("Rank", (sample,)), execute("Rank", (alpha,))))
        return reduce_sum(partial, axis=execute("Range", (np.int32(0), count, np.int32(1))))
    return reduce_sum(partial, axis=list(range(extra)))


GAMMA_GRAD = define_op(
    "RandomGammaGrad(alpha: T, sample: T; T: {float, double}) -> output: T",
    shape=lambda c: d.broadcast(c.shape(0), c.shape(1)),
    doc="How a gamma number moves with its shape parameter, its quantile kept.",
).without_gradient("implicit derivatives of second order are not there, as in TensorFlow")


@compiled_kernel(GAMMA_GRAD)
def _gamma_grad(alpha: Array, sample: Array) -> Array:
    wide = np.broadcast_shapes(alpha.shape, sample.shape)
    return lax.random_gamma_grad(_spread(alpha, wide), _spread(sample, wide))


on_native_host(GAMMA_GRAD)


def _spread(x: Array, dims: tuple[int, ...]) -> Array:
    return lax.full(dims, 0, x.dtype) + x if x.shape != dims else x


def seeded_shape(c: ShapeContext) -> Dims:
    """The shape that the first input has as its value, where the second one is a seed."""
    c.merge(c.rank(1, 1, "seed"), (2,))
    return c.sizes(0)


GAMMA_V2 = define_op(
    "StatelessRandomGammaV2(shape: T, seed: Tseed, alpha: dtype; dtype: {half, float, double}, T: "
    "{int32, int64}, Tseed: {int32, int64} = int64) -> output: dtype",
    shape=seeded_shape,
    host_inputs=("shape",),
    doc="Gamma numbers of scale 1, of a shape that ends with that of the parameters.",
)


@host_kernel(GAMMA_V2, limit=_HOST)
def _gamma_v2(shape: Array, seed: Array, alpha: Array) -> Array:
    dims = outer_dimensions(dimensions(shape), alpha.shape)
    return _gammas(philox.stream_of_seed_pair(np, seed), dims, alpha)


@GAMMA_V2.gradient
def _gamma_v2_gradient(op: Any, grad: Any) -> list[Any]:
    return [None, None, _through_samples(op.inputs[2], op.outputs[0], grad)]


def _keyed(c: ShapeContext) -> Dims:
    check_key(c, 1)
    return c.sizes(0)


GAMMA_V3 = define_op(
    "StatelessRandomGammaV3(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: "
    "dtype; dtype: {half, float, double}, shape_dtype: {int32, int64} = int32) -> output: dtype",
    shape=_keyed,
    host_inputs=("shape", "alg"),
    doc="Gamma numbers of scale 1; key and counter decide.",
)


@host_kernel(GAMMA_V3, limit=_HOST)
def _gamma_v3(shape: Array, key: Array, counter: Array, alg: Array, alpha: Array) -> Array:
    require_philox(alg)
    return _gammas(
        keyed_stream(key, counter), outer_dimensions(dimensions(shape), alpha.shape), alpha
    )


@GAMMA_V3.gradient
def _gamma_v3_gradient(op: Any, grad: Any) -> list[Any]:
    return [None, None, None, None, _through_samples(op.inputs[4], op.outputs[0], grad)]


# ---- Poisson

POISSON_V2 = define_op(
    f"RandomPoissonV2(shape: S, rate: R; seed: int = 0, seed2: int = 0, S: {{int32, int64}}, R: "
    f"{_NUMBERS} = double, dtype: {_NUMBERS} = int64) -> output: dtype",
    shape=_appended,
    stateful=True,
    host_inputs=("shape",),
    step_input=step_stream(_blocks),
    doc="Poisson numbers: for each rate as many as `shape` says.",
).without_gradient(_WHY)


@host_kernel(POISSON_V2, limit=_HOST, draws=True)
def _poisson_v2(ctx: KernelContext, shape: Array, rate: Array, *, dtype: DType) -> Array:
    dims = dimensions(shape)
    stream = stream_on_host(ctx, _blocks(math.prod(dims) * rate.size))
    return _poissons(stream, dims, rate, dtype)


def _poissons(stream: Stream, dims: tuple[int, ...], rate: Array, dtype: DType) -> Array:
    kind = dtype.numpy_dtype
    most = float(np.iinfo(kind).max if dtype.is_integer else np.finfo(kind).max)
    found = _ordered(
        lambda index, r: poisson_on(stream, index, r, most),
        math.prod(dims),
        rate,
        (*dims, *rate.shape),
    )
    return found.astype(kind)


POISSON = define_op(
    "RandomPoisson(shape: S, rate: dtype; seed: int = 0, seed2: int = 0, S: {int32, int64}, dtype: "
    "{half, float, double}) -> output: dtype",
    shape=_appended,
    stateful=True,
    host_inputs=("shape",),
    step_input=step_stream(_blocks),
    doc="Poisson numbers in the dtype of the rates.",
).without_gradient(_WHY)


@host_kernel(POISSON, limit=_HOST, draws=True)
def _poisson(ctx: KernelContext, shape: Array, rate: Array, *, dtype: DType) -> Array:
    dims = dimensions(shape)
    stream = stream_on_host(ctx, _blocks(math.prod(dims) * rate.size))
    return _poissons(stream, dims, rate, dtype)


STATELESS_POISSON = define_op(
    f"StatelessRandomPoisson(shape: T, seed: Tseed, lam: Rtype; Rtype: {_NUMBERS}, dtype: "
    f"{_NUMBERS}, T: {{int32, int64}}, Tseed: {{int32, int64}} = int64) -> output: dtype",
    shape=seeded_shape,
    host_inputs=("shape",),
    doc="Poisson numbers of a shape that ends with that of the rates.",
).not_differentiable(_WHY)


@host_kernel(STATELESS_POISSON, limit=_HOST)
def _stateless_poisson(shape: Array, seed: Array, lam: Array, *, dtype: DType) -> Array:
    dims = outer_dimensions(dimensions(shape), lam.shape)
    return _poissons(philox.stream_of_seed_pair(np, seed), dims, lam, dtype)


# ---- binomial

STATELESS_BINOMIAL = define_op(
    f"StatelessRandomBinomial(shape: S, seed: Tseed, counts: T, probs: T; S: {{int32, int64}}, "
    f"Tseed: {{int32, int64}} = int64, T: {_NUMBERS} = double, dtype: {_NUMBERS} = int64) -> "
    "output: dtype",
    shape=seeded_shape,
    host_inputs=("shape",),
    doc="How often something of a probability happens in a number of trials.",
).not_differentiable(_WHY)


@host_kernel(STATELESS_BINOMIAL, limit=_HOST)
def _stateless_binomial(
    shape: Array, seed: Array, counts: Array, probs: Array, *, dtype: DType
) -> Array:
    dims = dimensions(shape)
    outer_dimensions(dims, np.broadcast_shapes(counts.shape, probs.shape))
    return binomial_on(philox.stream_of_seed_pair(np, seed), dims, counts, probs, dtype)


# ---- public functions


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dt.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Gamma numbers, for each pair of parameters as many as `shape` says.

    The derivative by the parameters is there: each sample moves with them, at its own quantile
    (Figurnov et al., arXiv:1805.08498).

    Args:
      shape: int32 or int64 vector.
      alpha: shapes, a tensor of `dtype`.
      beta: inverse scales, broadcast with `alpha`; 1 by default.
      dtype: float16, float32 or float64.
      seed: the seed of the operation.
      name: the name in a graph.

    Returns:
      Tensor of `dtype`, of `shape` and behind it the broadcast shape of `alpha` and `beta`.
    """
    kind = as_dtype(dtype)
    with scope(name, "random_gamma"):
        alpha, beta = _gamma_parameters(alpha, beta, kind)
        first, second = seed_pair(seed)
        attrs = {"seed": first, "seed2": second}
        drawn = execute(GAMMA, (shape_tensor(shape), alpha), attrs)
        return maximum(_tiny(kind), divide(drawn, beta))


def _gamma_parameters(alpha: Any, beta: Any, kind: DType) -> tuple[Any, Any]:
    alpha = convert_to_tensor(alpha, kind, name="alpha")
    beta = convert_to_tensor(1 if beta is None else beta, kind, name="beta")
    dims = broadcast_dynamic_shape(shape_of(alpha), shape_of(beta))
    return broadcast_to(alpha, dims), beta


def _tiny(kind: DType) -> Any:
    return convert_to_tensor(np.finfo(kind.numpy_dtype).tiny, kind)


def random_poisson(
    shape: Any, lam: Any, dtype: Any = dt.float32, seed: int | None = None, name: str | None = None
) -> Any:
    """Poisson numbers, for each rate as many as `shape` says.

    Args:
      shape: int32 or int64 vector.
      lam: rates, a tensor of a real dtype.
      dtype: float16, float32, float64, int32 or int64.
      seed: the seed of the operation.
      name: the name in a graph.

    Returns:
      Tensor of `dtype`, of `shape` and behind it the shape of `lam`.
    """
    with scope(name, "random_poisson") as full:
        first, second = seed_pair(seed)
        attrs = {"dtype": dtype, "seed": first, "seed2": second}
        lam = convert_to_tensor(lam, name="lam")
        return execute(POISSON_V2, (shape_tensor(shape), lam), attrs, full)


def random_poisson_v1(
    lam: Any, shape: Any, dtype: Any = dt.float32, seed: int | None = None, name: str | None = None
) -> Any:
    """`random_poisson` with the older order of arguments."""
    return random_poisson(shape, lam, dtype, seed, name)


def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dt.float32,
    name: str | None = None,
) -> Any:
    """Gamma numbers, the same ones for the same seed; derivatives as for `tf.random.gamma`.

    Args:
      shape: int32 or int64 vector; it ends with the broadcast shape of the parameters.
      seed: int32 or int64 [2].
      alpha: shapes, a tensor of `dtype`.
      beta: inverse scales; 1 by default.
      dtype: float16, float32 or float64.
      name: the name in a graph.

    Returns:
      Tensor of `dtype` and `shape`.

    Raises:
      InvalidArgumentError: the shape does not end with that of the parameters.
    """
    kind = as_dtype(dtype)
    with scope(name, "stateless_random_gamma"):
        dims = shape_tensor(shape)
        alpha, beta = _gamma_parameters(alpha, beta, kind)
        key, counter, algorithm = key_counter_alg(seed, "auto_select")
        drawn = execute(GAMMA_V3, (dims, key, counter, np.int32(algorithm), alpha))
        return of_shape(maximum(_tiny(kind), divide(drawn, beta)), dims)


def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = dt.int32, name: str | None = None
) -> Any:
    """Poisson numbers, the same ones for the same seed.

    Args:
      shape: int32 or int64 vector; it ends with the shape of `lam`.
      seed: int32 or int64 [2].
      lam: rates, a tensor of a real dtype.
      dtype: float16, float32, float64, int32 or int64.
      name: the name in a graph.

    Returns:
      Tensor of `dtype` and `shape`.

    Raises:
      InvalidArgumentError: the shape does not end with that of the rates.
    """
    with scope(name, "stateless_random_poisson") as full:
        lam = convert_to_tensor(lam, name="lam")
        attrs = {"dtype": as_dtype(dtype)}
        return execute(STATELESS_POISSON, (shape_tensor(shape), seed, lam), attrs, full)


def stateless_binomial(
    shape: Any,
    seed: Any,
    counts: Any,
    probs: Any,
    output_dtype: Any = dt.int32,
    name: str | None = None,
) -> Any:
    """How often something of a probability happens, the same numbers for the same seed.

    Args:
      shape: int32 or int64 vector; it ends with the broadcast shape of `counts` and `probs`.
      seed: int32 or int64 [2].
      counts: numbers of trials, a tensor of a real dtype.
      probs: probabilities, of the same dtype.
      output_dtype: float16, float32, float64, int32 or int64.
      name: the name in a graph.

    Returns:
      Tensor of `output_dtype` and `shape`.

    Raises:
      InvalidArgumentError: the shape does not end with that of the parameters.
    """
    with scope(name, "stateless_random_binomial") as full:
        probs = convert_to_tensor(probs, name="probs")
        counts = convert_to_tensor(counts, dtype_hint=probs.dtype, name="counts")
        counts = cast(counts, probs.dtype)
        attrs = {"dtype": output_dtype}
        parts = (shape_tensor(shape), seed, counts, probs)
        return execute(STATELESS_BINOMIAL, parts, attrs, full)
