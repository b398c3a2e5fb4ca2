"""Public functions that are operations as they are, under TensorFlow's names."""

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops import array_getitem as _getitem  # noqa: F401  tensor[...]
from penstock.ops.array_top_elements import approx_max_k, approx_min_k
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype

RaggedFillEmptyRows = namedtuple(
    "RaggedFillEmptyRows",
    ["output_value_rowids", "output_values", "empty_row_indicator", "reverse_index_map"],
)
RaggedFillEmptyRowsGrad = namedtuple("RaggedFillEmptyRowsGrad", ["d_values", "d_default_value"])


def ragged_fill_empty_rows(
    value_rowids: Any, values: Any, nrows: Any, default_value: Any, name: str | None = None
) -> Any:
    """Gives each row without values a default one.

    Args:
      value_rowids: int64[N], the row of each value, in order.
      values: T[N].
      nrows: int64 scalar, the number of rows.
      default_value: T scalar.
      name: the name of the operation in a graph.

    Returns:
      A named tuple: the rows of all values, the values, bool[nrows] which rows were empty, and
      int64[N] where each value went.

    Raises:
      InvalidArgumentError: a row is out of range, or rows are not in order.
    """
    inputs = (value_rowids, values, nrows, default_value)
    return RaggedFillEmptyRows(*execute("RaggedFillEmptyRows", inputs, None, name))


def ragged_fill_empty_rows_grad(
    reverse_index_map: Any, grad_values: Any, name: str | None = None
) -> Any:
    """The gradient of `ragged_fill_empty_rows` by its values and its default.

    Args:
      reverse_index_map: int64[N], where each value went.
      grad_values: T[M], the gradient by all values.
      name: the name of the operation in a graph.

    Returns:
      A named tuple: d_values T[N] and d_default_value, a T scalar.
    """
    inputs = (reverse_index_map, grad_values)
    return RaggedFillEmptyRowsGrad(*execute("RaggedFillEmptyRowsGrad", inputs, None, name))


def random_index_shuffle(
    index: Any, seed: Any, max_index: Any, rounds: int = 4, name: str | None = None
) -> Any:
    """Where a random permutation of 0 ... max_index puts an index, without making it.

    Args:
      index: int32, uint32, int64 or uint64, a scalar or vector.
      seed: three integers, or three for each index.
      max_index: the largest index, of the dtype of `index`.
      rounds: of the cipher; even, at least 4.
      name: the name of the operation in a graph.

    Returns:
      Of the dtype and shape of `index`.

    Raises:
      InvalidArgumentError: an index is out of range.
    """
    return execute("RandomIndexShuffle", (index, seed, max_index), {"rounds": rounds}, name)


def approx_top_k(
    input: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> Any:
    """The k largest or smallest elements along an axis; see `tf.math.approx_max_k`.

    Args:
      input: float16, bfloat16 or float32, of rank at least 1.
      k: how many.
      reduction_dimension: the axis.
      recall_target: how many of the k must be found, in (0, 1]; all are.
      is_max_k: whether the largest are wanted.
      reduction_input_size_override: no effect.
      aggregate_to_topk: no effect.
      name: the name of the operation in a graph.

    Returns:
      A named tuple (values, indices).
    """
    function = approx_max_k if is_max_k else approx_min_k
    return function(
        input, k, reduction_dimension, recall_target, reduction_input_size_override,
        aggregate_to_topk, name,
    )  # fmt: skip


def fftnd(input: Any, fft_length: Any, axes: Any, name: str | None = None) -> Any:
    """The discrete Fourier transform over any axes.

    Args:
      input: complex64 or complex128.
      fft_length: int32[axes], the size of each axis: it is cut or padded.
      axes: int32[axes].
      name: the name of the operation in a graph.

    Returns:
      Of the dtype of `input`.
    """
    return execute("FFTND", (input, fft_length, axes), None, name)


def ifftnd(input: Any, fft_length: Any, axes: Any, name: str | None = None) -> Any:
    """The inverse discrete Fourier transform over any axes.

    Args:
      input: complex64 or complex128.
      fft_length: int32[axes], the size of each axis: it is cut or padded.
      axes: int32[axes].
      name: the name of the operation in a graph.

    Returns:
      Of the dtype of `input`.
    """
    return execute("IFFTND", (input, fft_length, axes), None, name)


def rfftnd(
    input: Any, fft_length: Any, axes: Any, Tcomplex: Any = dt.complex64, name: str | None = None
) -> Any:
    """The discrete Fourier transform of real numbers over any axes.

    Args:
      input: float32 or float64.
      fft_length: int32[axes], the size of each axis.
      axes: int32[axes]; the last one is halved.
      Tcomplex: complex64 or complex128.
      name: the name of the operation in a graph.

    Returns:
      Of the dtype `Tcomplex`.
    """
    attrs = {"Tcomplex": as_dtype(Tcomplex)}
    return execute("RFFTND", (input, fft_length, axes), attrs, name)


def irfftnd(
    input: Any, fft_length: Any, axes: Any, Treal: Any = dt.float32, name: str | None = None
) -> Any:
    """The inverse of `rfftnd`.

    Args:
      input: complex64 or complex128.
      fft_length: int32[axes], the size of each axis of the result.
      axes: int32[axes].
      Treal: float32 or float64.
      name: the name of the operation in a graph.

    Returns:
      Of the dtype `Treal`.
    """
    attrs = {"Treal": as_dtype(Treal)}
    return execute("IRFFTND", (input, fft_length, axes), attrs, name)


def sampled_addmm(
    indices: Any, values: Any, dense_shape: Any, mat1: Any, mat2: Any, beta: float = 1.0,
    alpha: float = 1.0, output_type: Any = dt.float32,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """A matrix product at some places, added to values there.

    Args:
      indices: integers [N, 2], rows and columns.
      values: [N].
      dense_shape: [2], the shape of the product.
      mat1: [rows, K].
      mat2: [K, columns].
      beta: what `values` are multiplied by.
      alpha: what the product is multiplied by.
      output_type: the dtype of values and matrices.

    Returns:
      `indices`, beta * values + alpha * (mat1 @ mat2)[indices], and `dense_shape`.
    """
    dtype = as_dtype(output_type)
    indices, dense_shape = convert_to_tensor(indices), convert_to_tensor(dense_shape)
    values, mat1, mat2 = (convert_to_tensor(x, dtype) for x in (values, mat1, mat2))
    beta, alpha = (convert_to_tensor(x, dtype) for x in (beta, alpha))
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.dims is not None and len(matrix.dims) != 2:
            raise ValueError(f"sampled_addmm: expected {name} of rank 2, got {matrix.shape}.")
    rows = execute("GatherV2", (mat1, indices[:, 0], np.int32(0)))
    columns = execute("GatherV2", (mat2, indices[:, 1], np.int32(1)))
    product = execute("Einsum", ([rows, columns],), {"equation": "nk,kn->n"})
    scaled = execute("AddV2", (execute("Mul", (beta, values)), execute("Mul", (alpha, product))))
    return indices, scaled, dense_shape
