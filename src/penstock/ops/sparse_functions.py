"""Public functions that combine and reduce sparse tensors, and map functions over their values."""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.composite import SparseTensor, is_sparse
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_equal
from penstock.ops.sparse_common import after, components, integers, sparse
from penstock.ops.sparse_math import ADD, DENSE_ADD, MAXIMUM, MINIMUM, SOFTMAX
from penstock.ops.sparse_matmul import PRODUCT
from penstock.ops.sparse_parts import CONCAT, SLICE, SPLIT
from penstock.ops.sparse_reduce import MAX, MAX_SPARSE, SUM, SUM_SPARSE
from penstock.types.tensor_shape import TensorShape


def _list_of(values: Any) -> list[SparseTensor]:
    if not isinstance(values, (list, tuple)):
        raise TypeError(
            f"Inputs must be a list or tuple. Expected one of SparseTensors, got {values!r}."
        )
    return [sparse(v) for v in values]


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum of two tensors, of which at least one is sparse.

    Args:
      a: SparseTensor or Tensor of numbers.
      b: SparseTensor or Tensor of the same dtype and shape.
      threshold: real scalar: where both are sparse and have an element, a sum of smaller magnitude
        is left out.

    Returns:
      A SparseTensor when both are sparse, else a Tensor.

    Raises:
      TypeError: neither is sparse.
      InvalidArgumentError: the shapes differ.

    Example:
      >>> x = SparseTensor([[0, 1]], [2.0], [1, 2])
      >>> add(x, x).values.numpy(), add(x, [[1.0, 1.0]]).numpy()
      (array([4.], dtype=float32), array([[1., 3.]], dtype=float32))
    """
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError(
            "At least one input should be SparseTensor; do you mean to use tf.add()? Got "
            f"{type(a).__name__} and {type(b).__name__}."
        )
    if is_sparse(a) and is_sparse(b):
        a, b = sparse(a), sparse(b)
        real = a.values.dtype.base_dtype.real_dtype
        limit = convert_to_tensor(threshold, real, name="threshold")
        total = SparseTensor(*execute(ADD, (*components(a), *components(b), limit)))
        total.set_shape(a.shape.merge_with(b.shape))
        return total
    if is_sparse(b):
        a, b = b, a
    return execute(DENSE_ADD, (*components(sparse(a)), b))


def _one_of(name: str, value: Any, old: str, old_value: Any, default: Any = None) -> Any:
    """An argument that compat.v1 knows by two names."""
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{name}'. Leave out '{old}'.")
    given = old_value if value is None else value
    return default if given is None else given


def add_v1(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """`add` with compat.v1's arguments: `thresh` is the old name of `threshold`."""
    return add(a, b, _one_of("threshold", threshold, "thresh", thresh, 0))


def _define_pair(op: Any, name: str, word: str) -> Callable[..., SparseTensor]:
    def function(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
        with scope(name, op.name):
            a, b = sparse(sp_a), sparse(sp_b)
            indices, values = execute(op, (*components(a), *components(b)))
            made = SparseTensor(indices, values, a.dense_shape)
            made.set_shape(a.shape.merge_with(b.shape))
            return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {word} of two sparse tensors' elements; one that is not there is 0.

Args:
  sp_a: SparseTensor of real numbers.
  sp_b: SparseTensor of the same dtype and shape.
  name: the name of the scope in a graph.

Returns:
  SparseTensor with an element wherever one of the two has one.

Raises:
  TypeError: one of them is no SparseTensor.
  InvalidArgumentError: the shapes differ.
"""
    return function


maximum = _define_pair(MAXIMUM, "maximum", "larger")
minimum = _define_pair(MINIMUM, "minimum", "smaller")


def concat(
    axis: int, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Sparse tensors one after the other along an axis.

    Args:
      axis: the axis.
      sp_inputs: list of SparseTensors of one dtype and rank.
      expand_nonconcat_dims: whether the other dimensions may differ; the largest are taken then.
      name: the name of the operation in a graph.

    Returns:
      SparseTensor in row-major order.

    Raises:
      TypeError: the inputs are no list of SparseTensors.
      InvalidArgumentError: other dimensions differ.

    Example:
      >>> x = SparseTensor([[0, 1]], [2.0], [1, 2])
      >>> concat(1, [x, x]).indices.numpy().tolist()
      [[0, 1], [0, 3]]
    """
    inputs = _list_of(sp_inputs)
    if len(inputs) == 1:
        return inputs[0]
    shapes: list[Any] = [s.dense_shape for s in inputs]
    if expand_nonconcat_dims:
        shapes = _expanded(shapes, axis)
    lists = ([s.indices for s in inputs], [s.values for s in inputs], shapes)
    joined = SparseTensor(*execute(CONCAT, lists, {"concat_dim": axis}, name))
    if all(s.shape.rank is not None for s in inputs):
        joined.set_shape(_joined_shape([s.shape.as_list() for s in inputs], axis))
    return joined


def _joined_shape(shapes: list[list[int | None]], axis: int) -> list[int | None]:
    """The static shape of sparse tensors along an axis; elsewhere the largest size."""
    result: list[int | None] = []
    for i, sizes in enumerate(zip(*shapes, strict=True)):
        known = None not in sizes
        combine = sum if i == axis % len(shapes[0]) else max
        result.append(combine(sizes) if known else None)
    return result


def _expanded(shapes: list[Any], axis: int) -> list[Any]:
    """Shapes that have the largest size along all other axes."""
    largest = execute("Max", (execute("Pack", (shapes,)), np.array([0], np.int32)))
    rank = execute("Size", (largest,))
    hot = execute("OneHot", (_wrapped(axis, rank), rank, np.bool_(True), np.bool_(False)))
    return [execute("SelectV2", (hot, shape, largest)) for shape in shapes]


def _wrapped(axis: int, rank: Any) -> Any:
    return execute("FloorMod", (np.int32(axis), rank))


def concat_v1(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """`concat` with compat.v1's arguments: `concat_dim` is the old name of `axis`."""
    expand = _one_of(
        "expand_nonconcat_dims", expand_nonconcat_dims, "expand_nonconcat_dim",
        expand_nonconcat_dim or None, False,
    )  # fmt: skip
    return concat(_one_of("axis", axis, "concat_dim", concat_dim), sp_inputs, expand, name)


def slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """A box of a sparse tensor, as a sparse tensor.

    Args:
      sp_input: SparseTensor of rank R.
      start: int64[R], the box's corner.
      size: int64[R], its size; what lies beyond the end is left out.
      name: the name of the scope in a graph.

    Example:
      >>> x = SparseTensor([[0, 1], [1, 2]], [7, 8], [2, 3])
      >>> slice(x, [1, 1], [1, 2]).indices.numpy().tolist()
      [[0, 1]]
    """
    sp_input = sparse(sp_input)
    with scope(name, "SparseSlice"):
        box = (integers(start), integers(size))
        return SparseTensor(*execute(SLICE, (*components(sp_input), *box)))


def split(
    sp_input: Any = None, num_split: int | None = None, axis: Any = None, name: str | None = None
) -> list[SparseTensor]:
    """A sparse tensor cut along an axis.

    Args:
      sp_input: SparseTensor.
      num_split: the number of parts; the first are one longer where it does not divide.
      axis: the axis, an int64 scalar.
      name: the name of the operation in a graph.

    Returns:
      `num_split` SparseTensors.

    Raises:
      ValueError: an argument is missing.
      TypeError: `sp_input` is no SparseTensor.

    Example:
      >>> [s.shape.as_list() for s in split(SparseTensor([[0]], [1], [5]), 2, 0)]
      [[3], [2]]
    """
    for what, given in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if given is None:
            raise ValueError(f"{what} is required: split(sp_input, num_split, axis).")
    sp_input = sparse(sp_input)
    inputs = (axis, *components(sp_input))
    found = execute(SPLIT, inputs, {"num_split": num_split}, name)
    return [SparseTensor(*each) for each in zip(*found, strict=True)]


class KeywordRequired:
    """The default of an argument before those that are given by keyword."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


def split_v1(
    keyword_required: Any = KeywordRequired(),  # noqa: B008 (a marker without state)
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """`split` with compat.v1's arguments, all by keyword: `split_dim` is the old name of `axis`."""
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function: sp_input=..., ...")
    return split(sp_input, num_split, _one_of("axis", axis, "split_dim", split_dim), name)


def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax along the last axis over the elements that are there.

    Args:
      sp_input: SparseTensor of floats, of rank at least 2.
      name: the name of the operation in a graph.

    Returns:
      SparseTensor of the same positions.
    """
    sp_input = sparse(sp_input)
    with scope(name, "SparseSoftmax"):
        values = execute(SOFTMAX, components(sp_input))
    return sp_input.with_values(values)  # type: ignore[no-any-return]


# ---- reductions


def _reduce(
    ops: tuple[Any, Any], sp_input: Any, axis: Any, keepdims: Any, is_sparse: bool, name: str | None
) -> Any:
    sp_input = sparse(sp_input)
    if axis is None:
        rank = sp_input.shape.rank
        axis = (
            np.arange(rank, dtype=np.int32)
            if rank is not None
            else execute(
                "Range", (np.int32(0), execute("Size", (sp_input.dense_shape,)), np.int32(1))
            )
        )
    attrs = {"keep_dims": bool(keepdims)}
    result = execute(ops[is_sparse], (*components(sp_input), axis), attrs, name)
    return SparseTensor(*result) if is_sparse else result


_REDUCE_DOC = """{word} of a sparse tensor's elements along axes.

Args:
  sp_input: SparseTensor of numbers.
  axis: an axis or a list of axes; None for all.
  keepdims: whether the axes stay, with size 1.
  output_is_sparse: whether the result is a SparseTensor.
  name: the name of the operation in a graph.

Returns:
  Tensor, or SparseTensor in row-major order; 0 where there is no element.
"""
_REDUCE_V1_DOC = """{word} of a sparse tensor's elements along axes; of compat.v1.

Args:
  sp_input: SparseTensor of numbers.
  axis: an axis or a list of axes; None for all.
  keepdims: whether the axes stay, with size 1.
  reduction_axes: the old name of `axis`.
  keep_dims: the old name of `keepdims`.

Returns:
  {result}.
"""


def _define_reductions(ops: tuple[Any, Any], kind: str, word: str) -> list[Callable[..., Any]]:
    def reduce(
        sp_input: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        output_is_sparse: bool = False,
        name: str | None = None,
    ) -> Any:
        return _reduce(ops, sp_input, axis, keepdims, output_is_sparse, name)

    def old(is_sparse: bool) -> Callable[..., Any]:
        def reduce_v1(
            sp_input: Any,
            axis: Any = None,
            keepdims: bool | None = None,
            reduction_axes: Any = None,
            keep_dims: bool | None = None,
        ) -> Any:
            axis = _one_of("axis", axis, "reduction_axes", reduction_axes)
            keepdims = _one_of("keepdims", keepdims, "keep_dims", keep_dims, False)
            return _reduce(ops, sp_input, axis, keepdims, is_sparse, None)

        return reduce_v1

    made = [reduce, old(False), old(True)]
    results = ("Tensor", "SparseTensor in row-major order")
    made[0].__doc__ = _REDUCE_DOC.format(word=word)
    for function, result in zip(made[1:], results, strict=True):
        function.__doc__ = _REDUCE_V1_DOC.format(word=word, result=result)
    for function, name in zip(made, ("", "_v1", "_sparse"), strict=True):
        function.__name__ = function.__qualname__ = f"reduce_{kind}{name}"
    return made


reduce_sum, reduce_sum_v1, reduce_sum_sparse = _define_reductions(
    (SUM, SUM_SPARSE), "sum", "The sum"
)
reduce_max, reduce_max_v1, reduce_max_sparse = _define_reductions(
    (MAX, MAX_SPARSE), "max", "The largest"
)


# ---- products


def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of two matrices, of which one is sparse.

    Args:
      sp_a: SparseTensor of shape [M, K], or a dense matrix when `b` is sparse.
      b: matrix [K, N] of the same dtype, or a SparseTensor.
      adjoint_a: whether to take the adjoint of `sp_a`.
      adjoint_b: whether to take the adjoint of `b`.
      name: the name of the operation in a graph.

    Returns:
      Tensor [M, N].

    Raises:
      TypeError: neither is sparse.

    Example:
      >>> x = SparseTensor([[0, 1]], [2.0], [1, 2])
      >>> sparse_dense_matmul(x, [[1.0], [10.0]]).numpy()
      array([[20.]], dtype=float32)
    """
    if is_sparse(b) and not is_sparse(sp_a):
        turned = _times(b, sp_a, not adjoint_b, not adjoint_a, name)
        flipped = execute("Transpose", (turned, np.array([1, 0], np.int32)))
        return execute("Conj", (flipped,)) if flipped.dtype.is_complex else flipped  # type: ignore[no-any-return]
    return _times(sp_a, b, adjoint_a, adjoint_b, name)


def _times(sp_a: Any, b: Any, adjoint_a: bool, adjoint_b: bool, name: str | None) -> Tensor:
    sp_a = sparse(sp_a)
    with scope(name, "SparseTensorDenseMatMul"):
        wanted = None if isinstance(b, Tensor) else sp_a.values.dtype.base_dtype
        b = convert_to_tensor(b, wanted)
        attrs = {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
        return execute(PRODUCT, (*components(sp_a), b), attrs)  # type: ignore[no-any-return]


# ---- mapping


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """Applies a function to the values of sparse tensors.

    Args:
      op: takes and returns a vector of values.
      *args: its arguments; SparseTensors among them, also within lists, tuples and dictionaries,
        are replaced by their values. They must have the same positions and shape.
      **kwargs: likewise.

    Returns:
      SparseTensor of the same positions and shape.

    Raises:
      ValueError: there is no SparseTensor among the arguments.
      InvalidArgumentError: their positions differ.

    Example:
      >>> map_values(lambda v: v * 2, SparseTensor([[0, 1]], [2.0], [1, 2])).values.numpy()
      array([4.], dtype=float32)
    """
    found: list[SparseTensor] = []
    inner_args, inner_kwargs = _values_of(args, found), _values_of(kwargs, found)
    if not found:
        raise ValueError(
            "No SparseTensor in argument list of map_values: expected at least one. Call the "
            "function itself for dense tensors."
        )
    first, checks = found[0], []
    for other in found[1:]:
        message = "Mismatched {}! Expected sparse tensors of the same positions and shape."
        checks.append(assert_equal(first.dense_shape, other.dense_shape, message.format("shapes")))
        checks.append(assert_equal(first.indices, other.indices, message.format("indices")))
    result = convert_to_tensor(op(*inner_args, **inner_kwargs))
    result.shape.assert_has_rank(1)
    TensorShape(first.values.shape).assert_is_compatible_with(result.shape)
    return first.with_values(after(checks, result) if checks else result)


def _values_of(value: Any, found: list[SparseTensor]) -> Any:
    """The same arguments with values in place of sparse tensors, which go to `found`."""
    if isinstance(value, SparseTensor):
        found.append(value)
        return value.values
    if isinstance(value, (list, tuple)):
        return type(value)(_values_of(v, found) for v in value)
    if isinstance(value, dict):
        return {k: _values_of(v, found) for k, v in value.items()}
    return value
