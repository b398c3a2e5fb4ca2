"""Fractional pooling: cells of two neighbouring sizes, placed at random.

Boundaries along an axis are 0 = a[0] < a[1] < ... = the size. Pseudorandom ones are
ceil(alpha (i + u)) for one random u, where alpha is the size over the number of cells; random ones
are a shuffled sequence of the same steps. Cells overlap by one place if asked. The random numbers
are our own: TensorFlow's seeds give other boundaries.

Source: B. Graham, "Fractional Max-Pooling", 2014, https://arxiv.org/abs/1412.6071.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import native_images
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import named
from penstock.ops.random_state import get_seed
from penstock.ops.string_arrays import invalid
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
TYPES = "T: {float, double, int32, int64}"
OUTPUTS = "output: T, row_pooling_sequence: int64, col_pooling_sequence: int64"


def _shape(c: ShapeContext) -> list[Dims]:
    dims, ratios = c.rank(0, 4, "value"), c.attr("pooling_ratio")
    assert dims is not None
    if len(ratios) != 4:
        c.fail("four numbers in pooling_ratio", f"{list(ratios)}")
    if ratios[0] != 1 or ratios[3] != 1:
        c.fail("pooling_ratio of 1 for batch and channels", f"{list(ratios)}")
    if (c.attr("seed") or c.attr("seed2")) and not c.attr("deterministic"):
        c.fail("seeds of 0 unless deterministic", f"{c.attr('seed')} and {c.attr('seed2')}")
    if min(ratios) < 1:
        c.fail("pooling ratios of at least 1", f"{list(ratios)}")
    if dims[0] == 0 or dims[3] == 0:
        c.fail("a value with elements", f"shape {list(dims)}", "Leave out empty batches.")
    sizes: list[int | None] = []
    for axis in (1, 2):
        size = dims[axis]
        if size is not None and size < ratios[axis]:
            c.fail(
                "pooling ratios of at most the input's sizes",
                f"Pooling ratio is higher than input dimension size for dimension {axis}. Input "
                f"dim size: {size} pooling ratio: {ratios[axis]:g}",
            )
        sizes.append(None if size is None else math.floor(size / ratios[axis]))
    counts = [None if n is None else n + 1 for n in sizes]
    return [(dims[0], *sizes, dims[3]), (counts[0],), (counts[1],)]


def _define(name: str, doc: str) -> OpDef:
    return define_op(
        f"{name}(value: T; pooling_ratio: list(float) >= 4, pseudo_random: bool = False, "
        "overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0, "
        f"{TYPES}) -> {OUTPUTS}",
        shape=_shape,
        stateful=True,
        doc=doc,
    )


MAX_POOL = _define("FractionalMaxPool", "The largest element of cells of two sizes, at random.")
AVG_POOL = _define("FractionalAvgPool", "The average of cells of two sizes, placed at random.")


def boundaries(rng: np.random.Generator, size: int, count: int, pseudo: bool) -> Array:
    """Where cells begin, and the end: int64[count + 1]."""
    steps = np.arange(count + 1)
    u = rng.random() if pseudo else 0.0
    alpha = size / count
    found = (np.ceil(alpha * (steps + u)) - math.ceil(alpha * u)).astype(np.int64)
    found[-1] = size
    if not pseudo:
        lengths = np.diff(found)
        rng.shuffle(lengths)
        found[1:] = np.cumsum(lengths)
    return found


def _lengths(edges: Array, overlapping: bool) -> Array:
    """The sizes of cells; those that overlap have the next one's first place too."""
    lengths = np.diff(edges)
    lengths[:-1] += overlapping
    return lengths


def _along(axis: int, places: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + (places,)


def _pooled(x: Array, edges: Array, axis: int, overlapping: bool, reduce: np.ufunc) -> Array:
    """Cells along an axis reduced, one by one: `reduceat` takes eight times as long."""
    ends = edges[:-1] + _lengths(edges, overlapping)
    cells = [slice(a, b) for a, b in zip(edges[:-1].tolist(), ends.tolist(), strict=True)]
    return np.stack([reduce.reduce(x[_along(axis, cell)], axis) for cell in cells], axis)


def _edges(
    rng: np.random.Generator, height: int, width: int, down: float, across: float, pseudo: bool
) -> list[Array]:
    """The boundaries of rows and columns for two ratios."""
    pairs = (height, down), (width, across)
    return [boundaries(rng, n, math.floor(n / ratio), pseudo) for n, ratio in pairs]


@functools.lru_cache(maxsize=64)
def _fixed_edges(
    seed: int, seed2: int, height: int, width: int, down: float, across: float, pseudo: bool
) -> list[Array]:
    """Those of seeds: to seed a generator takes longer than to pool a small image."""
    return _edges(np.random.default_rng([seed, seed2]), height, width, down, across, pseudo)


def _forward(
    value: Array, pooling_ratio: Sequence[float], pseudo_random: bool, overlapping: bool,
    deterministic: bool, seed: int, seed2: int, mean: bool,
) -> list[Array]:  # fmt: skip
    sizes = *value.shape[1:3], *pooling_ratio[1:3], pseudo_random
    if deterministic:
        edges = [each.copy() for each in _fixed_edges(abs(seed), abs(seed2), *sizes)]
    else:
        edges = _edges(np.random.default_rng(), *sizes)
    found = native_images.pool(value, edges[0], edges[1], overlapping, mean)
    if found is not None:
        return [found, *edges]
    result = value.astype(np.float64) if mean and value.dtype.kind == "f" else value
    for axis, each in enumerate(edges, 1):
        result = _pooled(result, each, axis, overlapping, np.add if mean else np.maximum)
    if mean:
        sizes = _sizes(edges, overlapping)
        result = result / sizes if value.dtype.kind == "f" else result // sizes.astype(value.dtype)
    return [result.astype(value.dtype), *edges]


def _sizes(edges: Sequence[Array], overlapping: bool) -> Array:
    """The number of places in each cell: [rows, columns, 1]."""
    rows, columns = (_lengths(e, overlapping) for e in edges)
    return np.multiply.outer(rows, columns)[..., None].astype(np.float64)


@host_kernel(MAX_POOL)
def _max_pool(
    value: Array, *, pooling_ratio: Sequence[float], pseudo_random: bool, overlapping: bool,
    deterministic: bool, seed: int, seed2: int,
) -> list[Array]:  # fmt: skip
    return _forward(
        value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, mean=False
    )


@host_kernel(AVG_POOL)
def _avg_pool(
    value: Array, *, pooling_ratio: Sequence[float], pseudo_random: bool, overlapping: bool,
    deterministic: bool, seed: int, seed2: int,
) -> list[Array]:  # fmt: skip
    return _forward(
        value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, mean=True
    )


# ---- gradients

MAX_POOL_GRAD = define_op(
    "FractionalMaxPoolGrad(orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: "
    f"int64, col_pooling_sequence: int64; overlapping: bool = False, {TYPES}) -> output: T",
    shape=lambda c: c.rank(0, 4, "orig_input"),
    doc="The gradient of FractionalMaxPool: to the first largest place of each cell.",
).not_differentiable("the choice of the largest place has no derivative")


def _input_shape(c: ShapeContext) -> Dims:
    sizes = c.shape_value(0)
    return (None,) * 4 if sizes is None else sizes


AVG_POOL_GRAD = define_op(
    "FractionalAvgPoolGrad(orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: "
    f"int64, col_pooling_sequence: int64; overlapping: bool = False, {TYPES}) -> output: T",
    shape=_input_shape,
    doc="The gradient of FractionalAvgPool: evenly over each cell.",
)


def _checked(edges: Array, count: int, size: int, what: str) -> Array:
    if (
        edges.shape != (count + 1,)
        or edges[0] != 0
        or edges[-1] != size
        or not (edges[1:] > edges[:-1]).all()
    ):
        raise invalid(
            f"expected {what}_pooling_sequence that rises from 0 to {size} in {count} steps, got "
            f"{edges.tolist()}. Give what the pooling returned."
        )
    return edges


@host_kernel(MAX_POOL_GRAD)
def _max_pool_grad(
    x: Array, y: Array, grad: Array, rows: Array, columns: Array, *, overlapping: bool
) -> Array:
    if y.shape != grad.shape:
        raise invalid(f"expected out_backprop of shape {list(y.shape)}, got {list(grad.shape)}.")
    found = native_images.pool_back(x, y, grad, rows, columns, overlapping)
    if found is not None:
        return found
    _checked(rows, y.shape[1], x.shape[1], "row")
    _checked(columns, y.shape[2], x.shape[2], "col")
    result = np.zeros_like(x)
    batch, _, _, depth = np.ogrid[: x.shape[0], :1, :1, : x.shape[3]]
    heights, widths = _lengths(rows, overlapping), _lengths(columns, overlapping)
    for height, width in itertools.product(np.unique(heights), np.unique(widths)):
        cells = np.ix_(heights == height, widths == width)
        top, left = (e[:-1][c.reshape(-1)] for e, c in zip((rows, columns), cells, strict=True))
        place = _first_largest(x, y[:, *cells], top, left, (height, width))
        down, right = place // width, place % width
        at = (batch, top[:, None, None] + down, left[:, None] + right, depth)
        np.add.at(result, at, grad[:, *cells])
    return result


def _first_largest(x: Array, y: Array, top: Array, left: Array, size: tuple[int, int]) -> Array:
    """The first place in cells of one size that has the largest element: [N, rows, columns, C]."""
    height, width = size
    down, right = top[:, None] + np.arange(height), left[:, None] + np.arange(width)
    found = x[:, down[:, None, :, None], right[None, :, None, :]]  # [N, rows, columns, h, w, C]
    flat = found.reshape(*found.shape[:3], -1, x.shape[3])
    place = flat.argmax(3)
    if not np.array_equal(np.take_along_axis(flat, place[:, :, :, None], 3)[:, :, :, 0], y):
        raise invalid("expected orig_output to be the pooled orig_input, got another one.")
    return place


@host_kernel(AVG_POOL_GRAD)
def _avg_pool_grad(
    shape: Array, grad: Array, rows: Array, columns: Array, *, overlapping: bool
) -> Array:
    sizes = tuple(int(n) for n in shape)
    if len(sizes) != 4 or min(sizes) < 0:
        raise invalid(f"orig_input_tensor_shape must be four sizes, got {list(sizes)}.")
    if (grad.shape[0], grad.shape[3]) != (sizes[0], sizes[3]):
        raise invalid(
            f"expected out_backprop of batch {sizes[0]} and depth {sizes[3]}, got shape"
            f" {list(grad.shape)}."
        )
    found = native_images.spread(grad, sizes, rows, columns, overlapping)
    if found is not None:
        return found
    _checked(rows, grad.shape[1], sizes[1], "row")
    _checked(columns, grad.shape[2], sizes[2], "col")
    result = grad / _sizes((rows, columns), overlapping)
    for axis, edges in enumerate((rows, columns), 1):
        shares = result
        result = np.repeat(shares, np.diff(edges), axis)
        if overlapping:
            result[_along(axis, edges[1:-1])] += shares[_along(axis, slice(0, -1))]
    return result.astype(grad.dtype)


@MAX_POOL.gradient
def _max_pool_gradient(op: Any, grad: Any, *_: Any) -> Any:
    value, (output, rows, columns) = op.inputs[0], op.outputs
    attrs = {"overlapping": op.get_attr("overlapping")}
    return execute(MAX_POOL_GRAD, (value, output, grad, rows, columns), attrs)


@AVG_POOL.gradient
def _avg_pool_gradient(op: Any, grad: Any, *_: Any) -> Any:
    from_shape = execute("Shape", (op.inputs[0],), {"out_type": np.int64})
    attrs = {"overlapping": op.get_attr("overlapping")}
    return execute(AVG_POOL_GRAD, (from_shape, grad, *op.outputs[1:]), attrs)


AVG_POOL_GRAD.not_differentiable("pooling along given boundaries is no operation")


# ---- public functions


def _ratio(ratio: Any) -> list[float]:
    """The ratio of each of four axes, checked."""
    given = list(ratio) if isinstance(ratio, (list, tuple)) else None
    if given is None:
        if ratio < 1.0:
            raise ValueError(f"`pooling_ratio` should be >= 1.0. Received: pooling_ratio={ratio}.")
        return [1.0, float(ratio), float(ratio), 1.0]
    if len(given) == 2:
        given = [1.0, *given, 1.0]
    if len(given) == 1:
        given = [1.0, *(given * 2), 1.0]
    if given[0] != 1.0 or given[-1] != 1.0:
        raise ValueError(
            "`pooling_ratio` should have first and last elements with value 1.0. Received: "
            f"pooling_ratio={ratio}."
        )
    if any(r < 1.0 for r in given):
        raise ValueError(f"`pooling_ratio` should be >= 1.0. Received: pooling_ratio={ratio}.")
    return [float(r) for r in given]


def _public(op: OpDef, name: str, word: str) -> tuple[Any, Any]:
    def pool(
        value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False,
        seed: int = 0, name: str | None = None,
    ) -> Any:  # fmt: skip
        one, two = get_seed(seed) if seed else (0, 0)
        ratio = _ratio(pooling_ratio)
        return pool_v1(
            value, ratio, pseudo_random, overlapping, bool(seed), one or 0, two or 0, name
        )

    def pool_v1(
        value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False,
        deterministic: bool = False, seed: int = 0, seed2: int = 0, name: str | None = None,
    ) -> Any:  # fmt: skip
        attrs = {
            "pooling_ratio": _ratio(pooling_ratio), "pseudo_random": pseudo_random,
            "overlapping": overlapping, "deterministic": deterministic, "seed": seed,
            "seed2": seed2,
        }  # fmt: skip
        return named(op, (value,), attrs, name)

    pool.__name__ = pool.__qualname__ = name
    pool_v1.__name__ = pool_v1.__qualname__ = f"{name}_v1"
    pool.__doc__ = f"""The {word} of cells of two sizes, placed at random.

    Args:
      value: float32, float64, int32 or int64 [N, H, W, C].
      pooling_ratio: how many times smaller height and width become: a number of at least 1, or one
        each; or four numbers of which the first and last are 1.
      pseudo_random: whether cells follow one random offset, or are shuffled.
      overlapping: whether neighbouring cells share a place.
      seed: not 0 for the same cells in each run.
      name: the name of the operation in a graph.

    Returns:
      A named tuple: output [N, H', W', C] with H' = floor(H / ratio), and the boundaries of cells,
      row_pooling_sequence int64[H' + 1] and col_pooling_sequence int64[W' + 1].

    Raises:
      ValueError: a ratio is below 1, or not 1 for batch and channels.
      InvalidArgumentError: `value` is not of rank 4, or smaller than a ratio.
    """
    pool_v1.__doc__ = f"""`{name}` with compat.v1's arguments.

    Args:
      value: as there.
      pooling_ratio: as there.
      pseudo_random: as there.
      overlapping: as there.
      deterministic: whether cells are the same in each run.
      seed: the first seed.
      seed2: the second seed.
      name: the name of the operation in a graph.

    Returns:
      As there.
    """
    return pool, pool_v1


fractional_max_pool, fractional_max_pool_v1 = _public(
    MAX_POOL, "fractional_max_pool", "largest element"
)
fractional_avg_pool, fractional_avg_pool_v1 = _public(AVG_POOL, "fractional_avg_pool", "average")
