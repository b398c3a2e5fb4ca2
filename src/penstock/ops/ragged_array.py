"""Axes of ragged tensors added, removed and reversed; one-hot codes, running sums, products."""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import dispatch
from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import debug_asserts as asserts
from penstock.ops.array_fill import one_hot as dense_one_hot
from penstock.ops.array_shape import one_of
from penstock.ops.composing import scope
from penstock.ops.math_arithmetic import add_n as dense_add_n
from penstock.ops.math_cast import bitcast as dense_bitcast
from penstock.ops.math_count import bincount as dense_bincount
from penstock.ops.math_count import counted_values
from penstock.ops.math_matmul import matmul as dense_matmul
from penstock.ops.math_scan import cumsum as dense_cumsum
from penstock.ops.nn_dropout import dropout as dense_dropout
from penstock.ops.nn_dropout import dropout_v1 as dense_dropout_v1
from penstock.ops.nn_dropout import stateless_dropout as dense_stateless_dropout
from penstock.ops.nn_embedding import embedding_lookup as dense_lookup
from penstock.ops.nn_embedding import embedding_lookup_v1 as dense_lookup_v1
from penstock.ops.ragged_class import RaggedTensor, axis_of
from penstock.ops.ragged_count_ops import BINCOUNT, COUNT_SPARSE
from penstock.ops.ragged_elementwise import ragged_or_tensor
from penstock.ops.ragged_parts import after, cast, number
from penstock.ops.ragged_reduce import keep_axis
from penstock.ops.ragged_rows import is_ragged, take_rows
from penstock.ops.sparse_counts import bincount as dense_sparse_bincount
from penstock.types import dtypes as dt
from penstock.types.dimension import dimension_value

Function = Callable[..., Any]


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """`tf.expand_dims` of a ragged tensor."""
    with scope(name, "RaggedExpandDims"):
        rank = input.shape.rank
        if isinstance(axis, Tensor):
            axis = int(_known(axis, "axis"))
        return keep_axis(input, axis_of(int(axis), None if rank is None else rank + 1))


def expand_dims_v1(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """`tf.compat.v1.expand_dims` of a ragged tensor."""
    return expand_dims(input, one_of(axis, "axis", dim, "dim"), name)


def _known(value: Any, what: str) -> Any:
    found = constant_value(value) if isinstance(value, Tensor) else value
    if found is None:
        raise ValueError(f"{what} must be known when the graph is built, for ragged tensors.")
    return found


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """`tf.squeeze` of a ragged tensor; the axes must be named."""
    with scope(name, "RaggedSqueeze"):
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        listed = list(axis) if isinstance(axis, (list, tuple, np.ndarray)) else [axis]
        rank = input.shape.rank
        where = {axis_of(int(a), rank, f"axis[{i}]") for i, a in enumerate(listed)}
        result = input
        for each in sorted(where, reverse=True):
            result = _without(result, each)
        return result


def squeeze_v1(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Any:
    """`tf.compat.v1.squeeze` of a ragged tensor."""
    return squeeze(input, squeeze_dims if axis is None else axis, name)


def _without(x: Any, axis: int) -> Any:
    if not is_ragged(x):
        return execute("Squeeze", (x,), {"squeeze_dims": [axis]})
    if axis > 1:
        return x.with_values(_without(x.values, axis - 1))
    partition = x._row_partition
    sizes = partition.nrows() if axis == 0 else partition.row_lengths()
    fits = execute("Equal", (sizes, number(1, partition.dtype)))
    if axis == 1:
        fits = execute("All", (fits, np.array([0], np.int32)))
    check = asserts.assert_that(fits, [f"the given axis (axis = {axis}) is not squeezable!"])
    values = x.values
    if not is_ragged(values):
        return after([check], values)
    return RaggedTensor._from_row_partition(
        values.values, values._row_partition._after([check]), validate=False
    )


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """`tf.reverse` of a ragged tensor."""
    if isinstance(axis, Tensor):
        axis = np.asarray(_known(axis, "axis")).tolist()
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    if not isinstance(axis, (list, tuple)):
        raise TypeError(
            "`axis` must be a list of int or a constant tensor when reversing axes in a ragged "
            f"tensor, got {axis!r}."
        )
    with scope(name, "Reverse"):
        rank = tensor.shape.rank
        where = {axis_of(int(a), rank, f"axis[{i}]") for i, a in enumerate(axis)}
        result = tensor
        for each in where:
            result = result[(*(slice(None),) * each, slice(None, None, -1))]
        return result


def size(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """`tf.size` of a ragged tensor."""
    kind = dt.int32 if out_type is None else dt.as_dtype(out_type)
    return execute("Size", (input.flat_values,), {"out_type": kind}, name)


def size_v1(input: Any, name: str | None = None, out_type: Any = None) -> Any:
    """`tf.compat.v1.size` of a ragged tensor."""
    return size(input, out_type, name)


def rank(input: Any, name: str | None = None) -> Any:
    """`tf.rank` of a ragged tensor."""
    with scope(name, "RaggedRank"):
        known = input.shape.rank
        if known is not None:
            return number(known, dt.int32)
        return execute("Rank", (input.flat_values,)) + number(input.ragged_rank, dt.int32)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """`tf.one_hot` of ragged indices."""
    if axis is not None and axis >= 0:
        if axis <= indices.ragged_rank:
            raise ValueError(
                f"axis ({axis}) must be greater than indices.ragged_rank ({indices.ragged_rank})."
            )
        axis -= indices.ragged_rank
    with scope(name, "RaggedOneHot"):
        return indices.with_flat_values(
            dense_one_hot(indices.flat_values, depth, on_value, off_value, axis, dtype)
        )


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """`tf.cumsum` of a ragged tensor: over its padded form, where the axis is ragged."""
    with scope(name, "RaggedCumSum"):
        where = axis_of(int(_known(axis, "axis")), x.shape.rank)
        if where > x.ragged_rank:
            inner = where - x.ragged_rank
            return x.with_flat_values(dense_cumsum(x.flat_values, inner, exclusive, reverse))
        total = dense_cumsum(x.to_tensor(), where, exclusive, reverse)
        lengths = list(x.nested_row_lengths())
        again = RaggedTensor.from_tensor(
            total, lengths=lengths, row_splits_dtype=x._row_partition.dtype
        )
        return x.with_flat_values(again.flat_values)


def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """`tf.bitcast` of a ragged tensor."""
    return input.with_flat_values(dense_bitcast(input.flat_values, type, name))


def add_n(inputs: Any, name: str | None = None) -> Any:
    """`tf.add_n` of ragged tensors with the same rows."""
    parts = [ragged_or_tensor(v) for v in inputs]
    ragged = [p for p in parts if is_ragged(p)]
    if len(ragged) < len(parts) or len({p.ragged_rank for p in ragged}) > 1:
        raise ValueError("All inputs of add_n must be ragged tensors of one ragged_rank.")
    first, checks = ragged[0], []
    for other in ragged[1:]:
        for a, b in zip(first.nested_row_splits, other.nested_row_splits, strict=True):
            if a is not b:
                message = "partitions have incompatible row_splits"
                checks.append(asserts.assert_equal_v1(a, b, message=message))
    flat = dense_add_n([p.flat_values for p in ragged], name)
    return first.with_flat_values(after(checks, flat))


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> list[Any]:
    """`tf.dynamic_partition` of ragged tensors: the elements of each partition."""
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise ValueError(f"num_partitions must be a non-negative integer, got {num_partitions!r}.")
    with scope(name, "RaggedDynamicPartition"):
        data, partitions = ragged_or_tensor(data), ragged_or_tensor(partitions)
        while is_ragged(partitions):
            data = ragged_of(data)
            message = "data and partitions have incompatible row_splits"
            check = asserts.assert_equal_v1(data.row_splits, partitions.row_splits, message=message)
            data, partitions = data.values, partitions.values
            if not is_ragged(partitions):
                partitions = after([check], partitions)
        partitions = cast(partitions, dt.int32)
        if not is_ragged(data):
            attrs = {"num_partitions": num_partitions}
            return execute("DynamicPartition", (data, partitions), attrs)  # type: ignore[no-any-return]
        data.shape[:1].assert_is_compatible_with(partitions.shape)
        chosen = []
        for i in range(num_partitions):
            found = execute("Where", (execute("Equal", (partitions, np.int32(i))),))
            chosen.append(take_rows(data, execute("Reshape", (found, [-1]))))
        return chosen


# ---- products


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    """`tf.matmul` of batches of matrices of which each may have its own size."""
    del a_is_sparse, b_is_sparse, grad_a, grad_b
    turned = (transpose_a or adjoint_a, transpose_b or adjoint_b)
    options = {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "adjoint_a": adjoint_a,
        "adjoint_b": adjoint_b,
        "output_type": output_type,
    }
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("Only one of transpose and adjoint can be True for each operand.")
    with scope(name, "RaggedMatMul"):
        a, b = ragged_or_tensor(a), ragged_or_tensor(b)
        depth = a.shape.rank
        if depth is None or depth != b.shape.rank or depth < 2:
            raise ValueError(
                f"a and b must have one known rank of at least 2, got {a.shape} and {b.shape}."
            )
        if depth == 2:
            return dense_matmul(_whole(a), _whole(b), **options)
        if depth > 3:
            a, b = ragged_of(a), ragged_of(b)
            inner = matmul(a.values, b.values, **options)
            check = asserts.assert_equal_v1(a.row_splits, b.row_splits)
            return RaggedTensor._from_row_partition(
                inner, a._row_partition._after([check]), validate=False
            )
        return _batches(a, b, turned, options)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """`tf.linalg.matvec` of batches of matrices of which each may have its own size."""
    column = keep_axis(ragged_or_tensor(b), ragged_or_tensor(b).shape.rank)
    product = matmul(
        a, column, transpose_a, False, adjoint_a, False, a_is_sparse, b_is_sparse, name=name
    )
    return squeeze(product, -1) if is_ragged(product) else product[..., 0]


def ragged_of(x: Any) -> Any:
    """A tensor as a ragged tensor; ragged ones as they are."""
    return x if is_ragged(x) else RaggedTensor.from_tensor(x)


_RAGGED_INSIDE = "The matrices in `a` and `b` may not be ragged in their innermost dimension"


def _whole(x: Any) -> Any:
    """A matrix as a tensor; its rows must have one length."""
    if not is_ragged(x):
        return x
    dense = x.to_tensor()
    found = execute("Size", (x.flat_values,), {"out_type": dt.int64})
    wanted = execute("Size", (dense,), {"out_type": dt.int64})
    check = asserts.assert_equal_v1(found, wanted, message=_RAGGED_INSIDE)
    return after([check], dense)


def _sides(x: Any) -> tuple[Any, Any, Any]:
    """For a batch of matrices: the padded tensor, and the height and width of each."""
    ragged = RaggedTensor.from_tensor(x, ragged_rank=2) if not is_ragged(x) else x
    heights = cast(ragged.row_lengths(), dt.int64)
    if ragged.ragged_rank > 1:
        rows = cast(ragged.values.row_lengths(), dt.int64)
        widths = execute("UnsortedSegmentMax", (rows, ragged.value_rowids(), ragged.nrows()))
        widths = execute("Maximum", (widths, np.int64(0)))
        area = execute("Sum", (heights * widths, np.array([0], np.int32)))
        total = execute("Sum", (rows, np.array([0], np.int32)))
        check = asserts.assert_equal_v1(total, area, message=_RAGGED_INSIDE)
        widths = after([check], widths)
    else:
        last = execute("Shape", (ragged.flat_values,), {"out_type": dt.int64})[-1]
        widths = execute("Fill", (execute("Shape", (heights,)), last))
    return ragged.to_tensor() if is_ragged(x) else x, heights, widths


def _batches(a: Any, b: Any, turned: tuple[bool, bool], options: dict[str, Any]) -> Any:
    padded_a, high_a, wide_a = _sides(a)
    padded_b, high_b, wide_b = _sides(b)
    rows, inner_a = (wide_a, high_a) if turned[0] else (high_a, wide_a)
    inner_b, columns = (wide_b, high_b) if turned[1] else (high_b, wide_b)
    empty = execute("Equal", (rows * columns, np.int64(0)))
    message = "The matrices in `a` and `b` do not fit: the columns of a and the rows of b"
    check = asserts.assert_equal_v1(
        execute("SelectV2", (empty, inner_b, inner_a)), inner_b, message=message
    )
    padded_a, padded_b = _same_inner(padded_a, padded_b, turned)
    product = dense_matmul(after([check], padded_a), padded_b, **options)
    width = dimension_value(b.shape[1] if turned[1] else b.shape[2])
    if is_ragged(b) and width is None and (turned[1] or not _is_even(b)):
        lengths = [rows, execute("GatherV2", (columns, _ids(rows), np.int32(0)))]
        return RaggedTensor.from_tensor(product, lengths=lengths)
    return RaggedTensor.from_tensor(product, lengths=rows)


def _is_even(b: Any) -> bool:
    """Whether the columns of the right operand are of one number: they are dense."""
    return b.ragged_rank < 2  # type: ignore[no-any-return]


def _ids(lengths: Any) -> Any:
    return RaggedTensor.from_row_lengths(
        execute("Range", (np.int64(0), execute("Sum", (lengths, [0])), np.int64(1))),
        lengths,
        validate=False,
    ).value_rowids()


def _same_inner(a: Any, b: Any, turned: tuple[bool, bool]) -> tuple[Any, Any]:
    """Zeros put to the shorter of the axes that are summed over."""
    axis_a, axis_b = (1 if turned[0] else 2), (2 if turned[1] else 1)
    size_a, size_b = execute("Shape", (a,))[axis_a], execute("Shape", (b,))[axis_b]
    most = execute("Maximum", (size_a, size_b))
    return _padded(a, axis_a, most - size_a), _padded(b, axis_b, most - size_b)


def _padded(x: Any, axis: int, more: Any) -> Any:
    zero = number(0, dt.int32)
    rows = [[zero, more if i == axis else zero] for i in range(3)]
    paddings = execute(
        "Reshape", (execute("Pack", ([v for r in rows for v in r],), {"axis": 0}), [3, 2])
    )
    return execute("Pad", (x, paddings))


# ---- counts


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dt.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """`tf.math.bincount` of a ragged tensor: of all its values, or of each row."""
    if axis not in (None, 0, -1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported."
        )
    if not is_ragged(arr):
        return dispatch.UNHANDLED
    if weights is not None and not is_ragged(weights):
        raise ValueError(
            "`weights` must be a RaggedTensor if `values` is a RaggedTensor. Received argument "
            f"weights={weights} of type: {type(weights).__name__}."
        )
    flat_weights = None if weights is None else weights.flat_values
    if axis != -1:
        return dense_bincount(
            arr.flat_values, flat_weights, minlength, maxlength, dtype, name, 0, binary_output
        )
    if arr.ragged_rank > 1:
        raise ValueError("bincount of each row takes a ragged tensor with one ragged dimension.")
    values = counted_values(arr.values)
    kind = values.dtype
    size = execute("Max", (execute("ConcatV2", ([values, _minus_one(kind)], np.int32(0))), [0])) + 1
    if minlength is not None:
        size = execute("Maximum", (size, cast(as_number(minlength), kind)))
    if maxlength is not None:
        size = execute("Minimum", (size, cast(as_number(maxlength), kind)))
    given = dt.as_dtype(dtype) if weights is None else weights.dtype
    empty = np.zeros(0, given.numpy_dtype)
    inputs = (cast(arr.row_splits, dt.int64), values, size, empty if weights is None else
              flat_weights)  # fmt: skip
    return execute(BINCOUNT, inputs, {"binary_output": binary_output}, name)


def bincount_v1(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dt.int32,
) -> Any:
    """`tf.compat.v1.bincount` of a ragged tensor."""
    return bincount(arr, weights, minlength, maxlength, dtype)


def sparse_bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> Any:
    """`tf.sparse.bincount` of a ragged tensor: of all its values, or of each row."""
    if not is_ragged(values):
        return dispatch.UNHANDLED
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported axis value {axis}. Only 0 and -1 are currently supported.")
    if weights is not None and not is_ragged(weights):
        raise ValueError("`weights` must be a RaggedTensor if `values` is a RaggedTensor.")
    flat = None if weights is None else weights.flat_values
    if axis != -1:
        return dense_sparse_bincount(
            values.flat_values, flat, 0, minlength, maxlength, binary_output, name
        )
    attrs = {
        "minlength": -1 if minlength is None else minlength,
        "maxlength": -1 if maxlength is None else maxlength,
        "binary_output": binary_output,
    }
    given = np.zeros(0, values.dtype.numpy_dtype) if flat is None else flat
    splits = cast(values.row_splits, dt.int64)
    return SparseTensor(*execute(COUNT_SPARSE, (splits, values.values, given), attrs, name))


def _minus_one(kind: Any) -> Any:
    dtype = kind.numpy_dtype
    return np.full(1, -1 if dtype.kind == "i" else 0, dtype)  # those without a sign are refused


def as_number(value: Any) -> Tensor:
    """A number as a tensor."""
    return convert_to_tensor(value)  # type: ignore[no-any-return]


# ---- functions of the flat values


def _of_flat(function: Function, parameter: str) -> Function:
    """A function that works on flat values; `noise_shape` would not fit them."""

    def handle(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("noise_shape") is not None:
            raise ValueError("noise_shape is not supported yet for RaggedTensor x")
        given = dict(kwargs)
        x = args[0] if args else given.pop(parameter)
        return x.with_flat_values(function(x.flat_values, *args[1:], **given))

    return handle


def _lookup(function: Function) -> Function:
    def handle(params: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_ragged(ids):
            return dispatch.UNHANDLED
        if ids.dtype not in (dt.int32, dt.int64):
            raise ValueError(
                "embedding_lookup: expected ragged ids of dtype int32 or int64, got"
                f" {ids.dtype.name}. Cast them."
            )
        return ids.with_flat_values(function(params, ids.flat_values, *args, **kwargs))

    return handle


for _key, _function in (
    ("array_shape.expand_dims", expand_dims),
    ("array_shape.expand_dims_v1", expand_dims_v1),
    ("array_shape.squeeze", squeeze),
    ("array_shape.squeeze_v1", squeeze_v1),
    ("array_shape.size", size),
    ("array_shape.size_v1", size_v1),
    ("array_shape.rank", rank),
    ("array_order.reverse", reverse),
    ("array_fill.one_hot", one_hot),
    ("math_scan.cumsum", cumsum),
    ("math_cast.bitcast", bitcast),
    ("math_arithmetic.add_n", add_n),
    ("math_matmul.matmul", matmul),
    ("math_matmul.matvec", matvec),
    ("array_partition.dynamic_partition", dynamic_partition),
    ("math_count.bincount", bincount),
    ("math_count.bincount_v1", bincount_v1),
    ("sparse_counts.bincount", sparse_bincount),
    ("nn_dropout.dropout", _of_flat(dense_dropout, "x")),
    ("nn_dropout.dropout_v1", _of_flat(dense_dropout_v1, "x")),
    ("nn_dropout.stateless_dropout", _of_flat(dense_stateless_dropout, "x")),
    ("nn_embedding.embedding_lookup", _lookup(dense_lookup)),
    ("nn_embedding.embedding_lookup_v1", _lookup(dense_lookup_v1)),
):
    dispatch.handler(_key, RaggedTensor)(_function)
