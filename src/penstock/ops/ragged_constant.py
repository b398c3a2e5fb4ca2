"""`tf.ragged.constant`, `constant_value` and `placeholder`: ragged values from nested lists."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import constant as dense_constant
from penstock.ops.array_basics import placeholder as dense_placeholder
from penstock.ops.composing import scope
from penstock.ops.ragged_parts import splits_dtype
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.types import dtypes as dt
from penstock.types.ragged_value import RaggedTensorValue
from penstock.types.tensor_shape import TensorShape


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dt.int64,
) -> Any:
    """A ragged tensor from nested lists.

    Args:
      pylist: nested lists or tuples; all scalars are equally deep.
      dtype: the type of the elements; inferred when None.
      ragged_rank: the number of ragged dimensions; all but the first, less those of `inner_shape`,
        when None.
      inner_shape: the shape of the innermost values; inferred when None.
      name: a scope in a graph.
      row_splits_dtype: int32 or int64.

    Returns:
      A RaggedTensor; a Tensor when there is no ragged dimension.

    Raises:
      ValueError: the lists do not fit `ragged_rank` and `inner_shape`.

    Example:
      >>> constant([[1, 2], [3]])
      <tf.RaggedTensor [[1, 2], [3]]>
    """
    kind = splits_dtype(row_splits_dtype, "row_splits_dtype")

    def make_splits(values: Any) -> Any:
        return convert_to_tensor(np.asarray(values, kind.numpy_dtype))

    def make_ragged(values: Any, splits: Any) -> Any:
        return RaggedTensor.from_row_splits(values, splits, validate=False)

    def make_values(values: Any, shape: Any) -> Any:
        return dense_constant(values, dtype, shape, name="values")

    with scope(name, "RaggedConstant"):
        return _build(pylist, ragged_rank, inner_shape, make_ragged, make_splits, make_values)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """A RaggedTensorValue from nested lists; see `tf.ragged.constant`.

    Args:
      pylist: nested lists or tuples; all scalars are equally deep.
      dtype: the NumPy dtype of the elements; inferred when None.
      ragged_rank: the number of ragged dimensions.
      inner_shape: the shape of the innermost values.
      row_splits_dtype: int32 or int64.

    Returns:
      A RaggedTensorValue; an array when there is no ragged dimension.
    """
    if dtype is not None and isinstance(dtype, dt.DType):
        dtype = dtype.as_numpy_dtype
    kind = dt.as_dtype(row_splits_dtype).numpy_dtype

    def make_values(values: Any, shape: Any) -> Any:
        array = np.array(values, dtype)
        return array if shape is None else array.reshape(shape)

    return _build(
        pylist,
        ragged_rank,
        inner_shape,
        RaggedTensorValue,
        lambda values: np.array(values, kind),
        make_values,
    )


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """A ragged tensor whose value is fed when the graph runs.

    Args:
      dtype: the type of the elements.
      ragged_rank: the number of ragged dimensions.
      value_shape: the shape of an innermost value; unknown when None.
      name: a scope.

    Returns:
      A RaggedTensor of placeholders; a Tensor for rank 0.

    Raises:
      RuntimeError: eagerly.
    """
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with scope(name, "RaggedPlaceholder"):
        shape = TensorShape([None]).concatenate(value_shape)
        result = dense_placeholder(dtype, shape, "flat_values")
        for level in reversed(range(ragged_rank)):
            splits = dense_placeholder(dt.int64, [None], f"row_splits_{level}")
            result = RaggedTensor.from_row_splits(result, splits, validate=False)
        return result


# ---- nested lists


def _build(
    pylist: Any,
    ragged_rank: int | None,
    inner_shape: Any,
    make_ragged: Callable[[Any, Any], Any],
    make_splits: Callable[[Any], Any],
    make_values: Callable[[Any, Any], Any],
) -> Any:
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    nested = _as_lists(pylist)
    shape = None if inner_shape is None else tuple(TensorShape(inner_shape).as_list())
    scalar_depth, most = _depths(nested)
    if scalar_depth is not None and most > scalar_depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: all scalar values must have the same nesting depth, got "
            f"depths {scalar_depth} and {most}."
        )
    if ragged_rank is None:
        ragged_rank = max(0, most - 1 - (0 if shape is None else len(shape)))
    elif shape is None:
        shape = None if ragged_rank == 0 else _inner_shape(nested, ragged_rank)
    _check_depth(pylist, scalar_depth, most, ragged_rank, shape)
    if ragged_rank == 0:
        return make_values(nested, shape)
    values, made = nested, []
    for level in range(ragged_rank):
        splits, inner = [0], []
        for row in values:
            if not isinstance(row, list):
                raise ValueError(
                    f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}: "
                    f"expected a list at depth {level + 1}, got {row!r}."
                )
            inner.extend(row)
            splits.append(len(inner))
        made.append(make_splits(splits))
        values = inner
    result = make_values(values, (len(values), *(shape or ())))
    for each in reversed(made):
        result = make_ragged(result, each)
    return result


def _as_lists(value: Any) -> Any:
    """Nested lists of scalars: tuples and arrays become lists."""
    if isinstance(value, np.ndarray):
        return _as_lists(value.tolist()) if value.dtype == object else value.tolist()
    if isinstance(value, (list, tuple)):
        return [_as_lists(v) for v in value]
    return value


def _depths(value: Any) -> tuple[int | None, int]:
    """The depth of the scalars, None when there are none, and of the deepest list."""
    if not isinstance(value, list):
        return 0, 0
    scalar: int | None = None
    most = 1
    for each in value:
        inner, deep = _depths(each)
        most = max(most, deep + 1)
        if inner is not None:
            if scalar is not None and scalar != inner + 1:
                raise ValueError(
                    "all scalar values must have the same nesting depth: tf.ragged.constant got "
                    f"scalars at depths {scalar} and {inner + 1} below {value!r}."
                )
            scalar = inner + 1
    return scalar, most


def _check_depth(
    pylist: Any, scalar_depth: int | None, most: int, ragged_rank: int, shape: Any
) -> None:
    if scalar_depth is None:
        return
    if ragged_rank and ragged_rank >= scalar_depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: pylist has scalar values depth {scalar_depth}, but "
            f"ragged_rank={ragged_rank} requires scalar value depth greater than {ragged_rank}"
        )
    if shape is not None and ragged_rank and scalar_depth != ragged_rank + 1 + len(shape):
        raise ValueError(
            f"Invalid pylist={pylist!r}: its scalars have depth {scalar_depth}, but ragged_rank="
            f"{ragged_rank} and inner_shape={shape} need depth {ragged_rank + 1 + len(shape)}."
        )


def _inner_shape(nested: Any, ragged_rank: int) -> tuple[int, ...]:
    """The shape that all values below `ragged_rank + 1` lists have."""
    values: Sequence[Any] = [nested]
    for _ in range(ragged_rank + 1):
        values = [v for row in values if isinstance(row, list) for v in row]
    shape: list[int] = []
    while any(isinstance(v, list) for v in values):
        sizes = {len(v) if isinstance(v, list) else None for v in values}
        if len(sizes) > 1:
            raise ValueError(
                f"inner values have inconsistent shape: sizes {sorted(map(str, sizes))} at depth "
                f"{ragged_rank + 1 + len(shape)}. Give a greater ragged_rank."
            )
        shape.append(sizes.pop() or 0)
        values = [v for row in values for v in row]
    return tuple(shape)
