"""Methods of datasets that put elements together by keys and lengths, or in other stacks."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.data.base import DatasetBase, DatasetSpec
from penstock.data.functions import Traced, trace
from penstock.data.grouping import GROUP_BY_WINDOW
from penstock.data.mapping import MAP
from penstock.data.rebatching import REBATCH, SPARSE_BATCH
from penstock.data.structure import Structure, map_leaves
from penstock.graph.static_values import constant_value
from penstock.ops.debug_asserts import assert_less, waits
from penstock.ops.ragged_class import RaggedTensor
from penstock.types import dtypes as dt
from penstock.types.composite_specs import SparseTensorSpec
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

KEY = TensorSpec((), dt.int64)


def trace_key(function: Callable[..., Any], structure: Structure, what: str) -> Traced:
    """A function that gives the key of an element, int64[].

    Raises:
      ValueError: it gives something else.
    """
    traced = trace(
        function, [structure], what, convert=lambda key: convert_to_tensor(key, dt.int64)
    )
    if not KEY.is_compatible_with(traced.output.spec):
        raise ValueError(
            f"Invalid `key_func`. Expected `key_func` to return a scalar tf.int64 tensor, but it"
            f" returns {traced.output.spec}. Cast it, and give one key an element."
        )
    return traced


class GroupingMethods(DatasetBase):
    """Methods of `Dataset` on groups of elements and on stacks."""

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """What a function makes of windows of elements that have one key.

        Args:
          key_func: takes an element, returns its key, int64[].
          reduce_func: takes a key and a dataset of the elements of a window, returns a dataset.
          window_size: int64[], how many elements make a window.
          window_size_func: takes a key, returns the size of its windows; in place of `window_size`.
          name: the operation's name in a graph.

        Returns:
          A dataset of the elements of the datasets that were made. Windows that are not full come
          at the end, in the order of their keys.

        Raises:
          ValueError: both sizes are given, or neither; or a key is not int64[].
          TypeError: `reduce_func` returns no dataset.
          InvalidArgumentError: while it runs, a size is below 1.

        Example:
          >>> import penstock as tf
          >>> groups = tf.data.Dataset.range(5).group_by_window(
          ...     key_func=lambda x: x % 2, reduce_func=lambda key, w: w.batch(9), window_size=2)
          >>> [x.numpy().tolist() for x in groups]
          [[0, 2], [1, 3], [4]]
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be"
                " specified."
            )
        if window_size_func is None:
            window_size_func = _always(window_size)
        key = trace_key(key_func, self._structure, "group_by_window")
        size = trace(
            window_size_func, [Structure(KEY)], "group_by_window",
            convert=lambda value: convert_to_tensor(value, dt.int64),
        )  # fmt: skip
        if not KEY.is_compatible_with(size.output.spec):
            raise ValueError(
                "Invalid `window_size_func`. Expected `window_size_func` to return a single"
                f" tf.int64 scalar, but it returns {size.output.spec}."
            )
        given = [Structure(KEY), Structure(DatasetSpec(self.element_spec))]
        reduced = trace(reduce_func, given, "group_by_window", unpack=False)
        spec = reduced.output.spec
        if not isinstance(spec, DatasetSpec):
            raise TypeError(
                "Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` object"
                f" but its return type is {spec}."
            )
        inputs = (self._variant_tensor, key.captured, reduced.captured, size.captured)
        attrs = {
            "key_func": key.body, "reduce_func": reduced.body, "window_size_func": size.body,
        }  # fmt: skip
        return self._derived(GROUP_BY_WINDOW, inputs, spec.element_spec, attrs, name)  # type: ignore[no-any-return]

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> "Dataset":
        """Stacks of elements of about one length, padded.

        Args:
          element_length_func: takes an element, returns its length, int32[].
          bucket_boundaries: increasing lengths where one bucket ends and the next begins.
          bucket_batch_sizes: how many elements make a stack, for each bucket: one more.
          padded_shapes: a structure of shapes, as for `padded_batch`.
          padding_values: what fills them up.
          pad_to_bucket_boundary: whether elements are padded to the length before which their
            bucket ends, in place of the longest of the stack.
          no_padding: whether they are stacked as they are.
          drop_remainder: whether stacks that are not full are left out.
          name: the operations' name in a graph.

        Raises:
          ValueError: there is not one size more than there are boundaries.
          InvalidArgumentError: while it runs, an element is longer than all boundaries, where it is
            to be padded to one.

        Example:
          >>> import penstock as tf
          >>> rows = tf.data.Dataset.from_tensor_slices([1, 4, 2]).map(lambda n: tf.range(n))
          >>> stacks = rows.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3], [2, 1])
          >>> [x.numpy().tolist() for x in stacks]
          [[[0, 1, 2, 3]], [[0, 0], [0, 1]]]
        """
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but"
                f" `len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and"
                f" `len(bucket_boundaries)={len(bucket_boundaries)}`."
            )
        if pad_to_bucket_boundary and no_padding:
            raise ValueError("`no_padding` and `pad_to_bucket_boundary` cannot both be True.")
        buckets = _Buckets(bucket_boundaries, bucket_batch_sizes, element_length_func)
        shapes = padded_shapes if padded_shapes is not None else _shapes_of(self.element_spec)

        def stacked(bucket: Any, window: Any) -> Any:
            size = buckets.size(bucket)
            if no_padding:
                return window.batch(size, drop_remainder=drop_remainder, name=name)
            wanted = buckets.filled(shapes, bucket) if pad_to_bucket_boundary else shapes
            return window.padded_batch(size, wanted, padding_values, drop_remainder, name=name)

        return self.group_by_window(
            buckets.number, stacked, window_size_func=buckets.size, name=name
        )

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        row_splits_dtype: Any = dt.int64,
        name: str | None = None,
    ) -> "Dataset":
        """Stacks of elements of different sizes, as ragged tensors.

        Args:
          batch_size: int64[], how many make a stack.
          drop_remainder: bool[], whether a last stack of fewer is left out.
          row_splits_dtype: int32 or int64.
          name: the operations' name in a graph.

        Returns:
          A dataset where components of unknown sizes are ragged tensors.

        Example:
          >>> import penstock as tf
          >>> rows = tf.data.Dataset.range(3).map(tf.range)
          >>> [x.to_list() for x in rows.ragged_batch(3)]
          [[[], [0], [0, 1]]]
        """
        splits = as_dtype(row_splits_dtype)
        spec = map_leaves(lambda leaf: _as_ragged(leaf, splits), self.element_spec)
        if spec == self.element_spec:
            return self.batch(batch_size, drop_remainder, name=name)  # type: ignore[attr-defined,no-any-return]
        leaves = list(zip(nest.flatten(self.element_spec), nest.flatten(spec), strict=True))

        def encode(*element: Any) -> Any:
            values = nest.flatten(element[0] if len(element) == 1 else element)
            found = [
                part
                for value, (before, after) in zip(values, leaves, strict=True)
                for part in (
                    after._to_tensor_list(value)
                    if before is after or not isinstance(after, RaggedTensorSpec)
                    else after._to_tensor_list(_ragged_row(value, after))
                )
            ]
            return tuple(found)

        traced = trace(encode, [self._structure], "ragged_batch")
        inputs = (self._variant_tensor, traced.captured)
        rows = self._derived(MAP, inputs, spec, {"f": traced.body}, name)
        return rows.batch(batch_size, drop_remainder, name=name)  # type: ignore[no-any-return]

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> "Dataset":
        """Stacks of dense elements of different sizes, as sparse tensors.

        Args:
          batch_size: int64[], how many make a stack.
          row_shape: the shape that an element fits in; None for a size that follows from the
            largest element of each stack.
          name: the operation's name in a graph.

        Raises:
          TypeError: elements have several components.
          DataLossError: while it runs, an element is larger than `row_shape`.
        """
        spec = self.element_spec
        if not isinstance(spec, TensorSpec):
            raise TypeError(
                "`dense_to_sparse_batch` requires an input dataset whose elements have a single"
                f" component, but the given dataset has the following component types: {spec}."
            )
        shape = row_shape if isinstance(row_shape, TensorShape) else None
        if shape is None and not hasattr(row_shape, "dtype"):
            shape = TensorShape(row_shape)
        if shape is None:
            given = convert_to_tensor(row_shape, dt.int64)
            known = constant_value(given)
            sizes = [None] * (given.shape[0] or 0) if known is None else known.tolist()
            shape = TensorShape([None if n is None or n < 0 else n for n in sizes])
        else:
            given = convert_to_tensor([-1 if n is None else n for n in shape.as_list()], dt.int64)
        result = SparseTensorSpec(TensorShape([None]).concatenate(shape), spec.dtype)
        inputs = (self._variant_tensor, convert_to_tensor(batch_size, dt.int64), given)
        return self._derived(SPARSE_BATCH, inputs, result, None, name)  # type: ignore[no-any-return]

    def rebatch(
        self, batch_size: Any, drop_remainder: Any = False, name: str | None = None
    ) -> "Dataset":
        """The rows of elements, in stacks of other sizes.

        Args:
          batch_size: int64[] or int64[N], the sizes, over and over.
          drop_remainder: bool[], whether a last stack that is not full is left out.
          name: the operation's name in a graph.

        Raises:
          ValueError: elements have no rows.
          InvalidArgumentError: a size is below 1.

        Example:
          >>> import penstock as tf
          >>> [x.numpy().tolist() for x in tf.data.Dataset.range(4).batch(4).rebatch([1, 3])]
          [[0], [1, 2, 3]]
        """
        sizes = convert_to_tensor(batch_size, dt.int64)
        drops = convert_to_tensor(drop_remainder, dt.bool_)
        if sizes.shape.rank == 0 and not all(map(_is_dense, nest.flatten(self.element_spec))):
            return self.unbatch().batch(sizes, drops, name=name)  # type: ignore[attr-defined,no-any-return]
        rows = _rows_of_all(constant_value(sizes), constant_value(drops), self._structure.shapes)
        spec = map_leaves(lambda leaf: _with_rows(leaf, rows), self.element_spec)
        return self._derived(REBATCH, (self._variant_tensor, sizes, drops), spec, None, name)  # type: ignore[no-any-return]


def _always(window_size: Any) -> Callable[..., Any]:
    return lambda key: window_size


class _Buckets:
    """Which bucket elements are in, by their lengths."""

    def __init__(
        self, boundaries: Sequence[int], sizes: Sequence[int], length: Callable[..., Any]
    ) -> None:
        self._boundaries = list(boundaries)
        self._sizes = list(sizes)
        self._length = length

    def number(self, *element: Any) -> Any:
        """The number of an element's bucket, int64[]."""
        length = execute("Cast", (convert_to_tensor(self._length(*element)),), {"DstT": dt.int64})
        edges = convert_to_tensor(self._boundaries, dt.int64)
        reached = execute("LessEqual", (edges, length))
        return execute("Sum", (execute("Cast", (reached,), {"DstT": dt.int64}), [0]))

    def size(self, bucket: Any) -> Any:
        """How many elements make a stack, int64[]."""
        return execute("GatherV2", (convert_to_tensor(self._sizes, dt.int64), bucket, 0))

    def filled(self, shapes: Any, bucket: Any) -> Any:
        """Shapes whose unknown sizes are the largest length of the bucket."""
        edges = convert_to_tensor(self._boundaries, dt.int64)
        message = (
            "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
        )
        check = assert_less(
            bucket, convert_to_tensor(len(self._boundaries), dt.int64), message=message
        )
        with bucket.graph.control_dependencies(waits(check)):
            last = execute("AddV2", (execute("GatherV2", (edges, bucket, 0)), -1))
        return map_leaves(lambda shape: _filled(shape, last), shapes)


def _filled(shape: Any, last: Any) -> Any:
    dims = TensorShape(shape).as_list()
    parts = [last if n is None else convert_to_tensor(n, dt.int64) for n in dims]
    return execute("Pack", (parts,)) if parts else convert_to_tensor([], dt.int64)


def _shapes_of(spec: Any) -> Any:
    return map_leaves(lambda leaf: leaf.shape, spec)


def _as_ragged(spec: Any, splits: Any) -> Any:
    """The spec of a component of unknown sizes as a ragged tensor."""
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(spec.shape, spec.dtype, spec.ragged_rank, splits)
    if not isinstance(spec, TensorSpec) or spec.shape.is_fully_defined():
        return spec
    if spec.shape.rank is None:
        raise ValueError(f"ragged_batch: expected components of known rank, got {spec}.")
    rank = max(axis for axis, size in enumerate(spec.shape.as_list()) if size is None)
    return RaggedTensorSpec(spec.shape, spec.dtype, rank, splits)


def _ragged_row(value: Any, spec: RaggedTensorSpec) -> Any:
    if spec.ragged_rank == 0 or hasattr(value, "row_splits"):
        return value
    return RaggedTensor.from_tensor(
        value, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype
    )


def _is_dense(spec: Any) -> bool:
    return isinstance(spec, TensorSpec)


def _rows_of_all(sizes: Any, drops: Any, shapes: Sequence[Dims]) -> int | None:
    """How many rows each of the other stacks has, where it is the same number for all.

    Args:
      sizes: int64[] or int64[N] that were asked for; None where they are not known.
      drops: whether a last stack that is not full is left out.
      shapes: of the stacks that there are.
    """
    same = set() if sizes is None else set(np.asarray(sizes).reshape(-1).tolist())
    if len(same) != 1:
        return None
    (rows,) = same
    full = all(dims and dims[0] is not None and rows > 0 and dims[0] % rows == 0 for dims in shapes)
    return int(rows) if drops or full else None


def _with_rows(spec: Any, rows: int | None) -> Any:
    if not hasattr(spec, "_unbatch") or not hasattr(spec, "shape") or spec.shape.rank == 0:
        raise ValueError(
            "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with"
            " scalar elements. Fix the issue by adding the `batch` transformation to the dataset."
        )
    return spec._unbatch()._batch(rows)
