"""Products of tensors and polynomials in `tf.experimental.numpy`."""

from typing import Any

from penstock import errors
from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops import debug_asserts as asserts
from penstock.ops import math_arithmetic, math_compare, math_einsum, math_matmul
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_join import concat, stack, unstack
from penstock.ops.array_shape import ensure_shape, expand_dims, squeeze
from penstock.ops.conditionals import cond
from penstock.ops.math_cast import cast, conj
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.numpy_arrays import atleast_1d, moveaxis
from penstock.ops.numpy_dtypes import Value, as_tensor, promoted, promoted_as_arrays
from penstock.ops.numpy_elementwise import multiply
from penstock.ops.numpy_ranks import (
    any_rank,
    at_least_zero,
    grown,
    numbers_to,
    one_if,
    size_along,
    sizes_of,
    together,
)
from penstock.ops.numpy_turning import diagonal
from penstock.types import dtypes


def _through_int32(x: Any, y: Any, run: Any) -> Any:
    """Products that bools and small integers have no kernels for: in int32, and back."""
    dtype = x.dtype
    if not (dtype.is_bool or dtype in (dtypes.int8, dtypes.int16)):
        return run(x, y)
    return cast(run(cast(x, dtypes.int32), cast(y, dtypes.int32)), dtype)


def matmul(x1: Value, x2: Value) -> Any:
    """The matrix product, over leading axes one by one; a vector counts as a row or column.

    Args:
      x1: [..., M, K] or [K].
      x2: [..., K, N] or [K].

    Returns:
      [..., M, N], without the axes of vectors.

    Raises:
      ValueError: an argument is a scalar, or the sizes do not fit.
    """
    x, y = promoted(x1, x2)
    ranks = any_rank(x), any_rank(y)
    if 0 in [rank for rank in ranks if isinstance(rank, int)]:
        raise ValueError(
            f"matmul: expected two tensors of rank 1 or more, got shapes {x.shape} and {y.shape}."
            " Use multiply for scalars."
        )
    row, column = (one_if(rank < 2) for rank in ranks)
    try:
        found = _through_int32(grown(x, row), grown(y, 0, column), math_matmul.matmul)
    except errors.InvalidArgumentError as problem:  # as NumPy tells of sizes that do not fit
        raise ValueError(problem.message) from None
    if not (isinstance(row, int) and isinstance(column, int)):
        sizes = shape_of(found)
        return reshape(
            found, together(sizes[:-2], sizes[-2:-1][: 1 - row], sizes[-1:][: 1 - column])
        )
    if column:
        found = squeeze(found, axis=[-1])
    if row:
        found = squeeze(found, axis=[-1 if column else -2])
    return found


def tensordot(a: Value, b: Value, axes: Any = 2) -> Any:
    """The product summed over pairs of axes.

    Args:
      a: a tensor, array or list.
      b: another.
      axes: how many last axes of `a` meet the first ones of `b`, or two lists of axes.

    Returns:
      A tensor of the axes that are left.
    """
    x, y = promoted_as_arrays(a, b)
    return _through_int32(x, y, lambda p, q: math_einsum.tensordot(p, q, axes))


def dot(a: Value, b: Value) -> Any:
    """The sum of products over the last axis of `a` and the last but one of `b`.

    Args:
      a: a tensor, array, number or list.
      b: another.

    Returns:
      A tensor; the plain product when one is a scalar.
    """
    x, y = promoted_as_arrays(a, b)
    if () in (x.dims, y.dims):
        return multiply(x, y)
    if None in (x.dims, y.dims):
        return _product_of_any(x, y, last_but_one=True)
    rank_x, rank_y = len(x.dims), len(y.dims)
    return tensordot(x, y, [[rank_x - 1], [max(rank_y - 2, 0)]])


def _product_of_any(x: Any, y: Any, last_but_one: bool) -> Any:
    """Sums of products of tensors of unknown rank: `dot`, or `inner`."""

    def sums() -> Any:
        rank, sizes, other = any_rank(y), shape_of(y), y
        left = sizes[:-1]
        if last_but_one:
            wide = one_if(rank > 1)
            left = together(sizes[: at_least_zero(rank - 2)], sizes[rank - wide :])
            other = moveaxis(grown(y, 0, 1 - wide), -2, -1)
        rows, others = (reshape(t, together([-1], shape_of(t)[-1:])) for t in (x, other))
        found = _through_int32(rows, others, _by_rows)
        return reshape(found, together(shape_of(x)[:-1], left))

    scalar = (math_compare.equal(any_rank(t), 0) for t in (x, y))
    return cond(math_compare.logical_or(*scalar), lambda: multiply(x, y), sums)


def _by_rows(x: Any, y: Any) -> Any:
    return math_matmul.matmul(x, y, transpose_b=True)


def inner(a: Value, b: Value) -> Any:
    """The sum of products over the last axes.

    Args:
      a: a tensor, array, number or list.
      b: another.

    Returns:
      A tensor; the plain product when one is a scalar.
    """
    x, y = promoted_as_arrays(a, b)
    if () in (x.dims, y.dims):
        return multiply(x, y)
    if None in (x.dims, y.dims):
        return _product_of_any(x, y, last_but_one=False)
    return tensordot(x, y, [[-1], [-1]])


def vdot(a: Value, b: Value) -> Any:
    """The sum of products of the flat tensors, the first one conjugated.

    Args:
      a: a tensor, array, number or list.
      b: another.

    Returns:
      A scalar tensor.
    """
    x, y = promoted(a, b)
    x = conj(x) if x.dtype.is_complex else x
    return tensordot(reshape(x, [-1]), reshape(y, [-1]), 1)


def outer(a: Value, b: Value) -> Any:
    """All products of an element of `a` and one of `b`.

    Args:
      a: a tensor, array, number or list of M elements.
      b: another, of N elements.

    Returns:
      [M, N].
    """
    x, y = promoted_as_arrays(a, b)
    return multiply(reshape(x, [-1, 1]), reshape(y, [1, -1]))


def kron(a: Value, b: Value) -> Any:
    """The Kronecker product: each element of `a` times the whole of `b`.

    Args:
      a: a tensor, array, number or list.
      b: another.

    Returns:
      A tensor whose sizes are the products of theirs.
    """
    x, y = promoted(a, b)
    missing = any_rank(y) - any_rank(x)
    x, y = grown(x, at_least_zero(missing)), grown(y, at_least_zero(-missing))
    sizes, others = sizes_of(x), sizes_of(y)
    if isinstance(sizes, list) and isinstance(others, list):
        pairs = list(zip(sizes, others, strict=True))
        left = reshape(x, [size for m, _ in pairs for size in (m, 1)])
        right = reshape(y, [size for _, n in pairs for size in (1, n)])
        return reshape(multiply(left, right), [m * n for m, n in pairs])
    sizes, others = (convert_to_tensor(each, dtypes.int32) for each in (sizes, others))
    one = ones_like(sizes)
    left = reshape(x, reshape(stack([sizes, one], axis=1), [-1]))
    right = reshape(y, reshape(stack([one, others], axis=1), [-1]))
    return reshape(multiply(left, right), math_arithmetic.multiply(sizes, others))


def cross(
    a: Value, b: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of vectors of 3 or 2 numbers.

    Args:
      a: a tensor, array or list.
      b: another.
      axisa: the axis of `a` that holds its vectors.
      axisb: the same of `b`.
      axisc: where the result has it.
      axis: all three.

    Returns:
      A tensor; without the axis when both have vectors of 2.

    Raises:
      ValueError: vectors of other sizes.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promoted_as_arrays(a, b)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    sizes = [None if t.dims is None else t.dims[-1] for t in (x, y)]
    if not set(sizes) <= {2, 3, None}:
        raise ValueError(
            f"cross: expected vectors of 2 or 3 numbers, got sizes {sizes[0]} and {sizes[1]}."
            " Name the axis that holds them."
        )
    p, q = _coordinates(x), _coordinates(y)
    last = _minor(p, q, 0, 1)
    if sizes == [2, 2]:
        return last

    def vectors() -> Any:
        parts = [_minor(p, q, 1, 2), _minor(p, q, 2, 0), last]
        return moveaxis(stack(parts, axis=-1), -1, axisc)

    if 3 in sizes:
        return vectors()
    pairs = [math_compare.equal(size_along(t, -1), 2) for t in (x, y)]
    return cond(math_compare.logical_and(*pairs), lambda: last, vectors)


def _coordinates(x: Any) -> list[Any]:
    """The three numbers of each vector; the third is 0 for a vector of two."""
    count = size_along(x, -1)
    if not isinstance(count, int):
        message = "cross: expected vectors of 2 or 3 numbers. Name the axis that holds them."
        checks = [
            asserts.assert_greater_equal_v1(count, 2, message=message),
            asserts.assert_less_equal_v1(count, 3, message=message),
        ]
        with control_dependencies([c for c in checks if c is not None]):
            zero = zeros_like(x[..., :1])
        x = concat([x, zero], -1)
        return [x[..., i] for i in range(3)]
    found = [x[..., i] for i in range(count)]
    return [*found, zeros_like(found[0])][:3]


def _minor(p: list[Any], q: list[Any], i: int, j: int) -> Any:
    return math_arithmetic.subtract(
        math_arithmetic.multiply(p[i], q[j]), math_arithmetic.multiply(p[j], q[i])
    )


def einsum(subscripts: str, *operands: Value, **kwargs: Any) -> Any:
    """Products summed as a text of axis names says.

    Args:
      subscripts: such as "ij,jk->ik".
      *operands: tensors, arrays or lists.
      **kwargs: `casting` ('safe' or 'no') and `optimize` (a bool, 'greedy' or 'optimal'), as in
        NumPy; `order` has no effect: tensors have no layout.

    Returns:
      A tensor.

    Raises:
      ValueError: another casting, or an argument that is not known.
    """
    casting = kwargs.pop("casting", "safe")
    optimize = kwargs.pop("optimize", False)
    kwargs.pop("order", None)
    if optimize not in (True, False, None, "greedy", "optimal"):
        raise ValueError(
            f"einsum: expected optimize True, False, 'greedy' or 'optimal', got {optimize!r}."
            " Leave it out: the order of products is found by size."
        )
    if casting not in ("safe", "no") or kwargs:
        raise ValueError(
            f"einsum: expected casting 'safe' or 'no', and optimize, got casting={casting!r} and"
            f" {sorted(kwargs)}. Cast the operands and the result instead."
        )
    tensors = promoted(*operands) if casting == "safe" else [as_tensor(v) for v in operands]
    how = {True: "greedy", False: "optimal"}.get(optimize, optimize)
    return math_einsum.einsum(subscripts, *tensors, optimize=how)


def trace(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum along diagonals.

    Args:
      a: a tensor, array or list of rank 2 or more.
      offset: which diagonal; positive ones are above the main one.
      axis1: the axis of rows.
      axis2: the axis of columns.
      dtype: what to add in; that of `a` by default.

    Returns:
      A tensor without the two axes.
    """
    parts = diagonal(a, offset, axis1, axis2)
    return reduce_sum(parts if dtype is None else as_tensor(parts, dtype), axis=-1)


def polyval(p: Value, x: Value) -> Any:
    """A polynomial's values.

    Args:
      p: coefficients, that of the highest power first.
      x: where.

    Returns:
      A tensor of the shape of `x`.
    """
    coefficients, at = promoted(p, x)
    parts = unstack(atleast_1d(coefficients))
    found = math_arithmetic.add(parts[0], zeros_like(at)) if parts else zeros_like(at)
    for coefficient in parts[1:]:
        found = math_arithmetic.add(math_arithmetic.multiply(found, at), coefficient)
    return found


def vander(x: Value, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of the elements in columns.

    Args:
      x: a vector.
      N: the number of columns; as many as elements by default.
      increasing: lowest power first.

    Returns:
      [len(x), N].

    Raises:
      ValueError: N is negative or x no vector.
    """
    values = as_tensor(x)
    if values.dims is None:
        values = ensure_shape(values, [None])
    if len(values.dims) != 1:
        raise ValueError(f"vander: expected a vector, got shape {values.shape}. Flatten it first.")
    count = size_along(values, 0) if N is None else int(N)
    if isinstance(count, int) and count < 0:
        raise ValueError(f"vander: expected N >= 0, got {count}. Leave it out for a square matrix.")
    if values.dtype.is_bool:
        values = cast(values, dtypes.int64)
    powers = numbers_to(count)
    exponents = cast(powers if increasing else count - 1 - powers, values.dtype)
    return math_arithmetic.pow(expand_dims(values, -1), expand_dims(exponents, 0))
