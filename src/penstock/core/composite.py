"""Values made of several tensors: `IndexedSlices` and `SparseTensor`.

`CompositeTensor` is the base class: a subclass has a `_type_spec` that names its components, which
is all that `nest` with `expand_composites=True` and functions need to take it apart and build it
again. `IndexedSlices` is some rows of a dense tensor with their indices: the gradient of a gather.
`SparseTensor` is the non-zero elements of a tensor with their positions. The operations on sparse
tensors live with their family; the containers are here so that gradients can carry them.
"""

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core import convert
from penstock.core.context import at_home, state
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.types import dtypes
from penstock.types.composite_specs import IndexedSlicesSpec, SparseTensorSpec
from penstock.types.composite_values import IndexedSlicesValue, SparseTensorValue
from penstock.types.dims import Dims, num_elements
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape
from penstock.types.type_spec import (
    TypeSpec,
    ValueHooks,
    attach_values,
    register_type_spec_from_value_converter,
)
from penstock.util import nest

LARGE_SPARSE_NUM_ELEMENTS = 100_000_000  # a dense form of this size is worth a warning


class CompositeTensor:
    """The base class of values made of several tensors; subclasses define `_type_spec`."""

    __slots__ = ("__weakref__",)
    _counts_as_tensor = False  # whether `tf.is_tensor` says so
    _is_one_tensor = False  # whether it is converted where a tensor is wanted, without a loss

    @property
    def _type_spec(self) -> TypeSpec:
        """The TypeSpec that takes the value apart and builds it again."""
        raise NotImplementedError(f"{type(self).__name__}._type_spec")

    def _shape_invariant_to_type_spec(self, shape: Any) -> TypeSpec:
        """The spec of values like this one, of `shape`."""
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    def consumers(self) -> list[Any]:
        """The operations that take one of the component tensors as an input."""
        found: list[Any] = []
        for tensor in nest.flatten(self, expand_composites=True):
            if hasattr(tensor, "graph"):
                found.extend(op for op in tensor.consumers() if op not in found)
        return found


class IndexedSlices(CompositeTensor):
    """Some slices of a dense tensor, along its first axis.

    Row `indices[i]` of the dense tensor is the sum of all `values[j]` with `indices[j] ==
    indices[i]`; the other rows are 0.

    Args:
      values: any dtype, [N, ...].
      indices: an integer vector of N entries.
      dense_shape: an integer vector, the shape of the dense tensor; None when it is not known.
    """

    __slots__ = ("_dense_shape", "_indices", "_values")
    _counts_as_tensor = True

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The slices."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The row that each slice belongs to."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the dense tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor, as far as it is known."""
        if self._dense_shape is None:
            return TensorShape(None)
        return TensorShape.from_dims(known_shape(self._dense_shape))

    @property
    def dims(self) -> Dims:
        """The static shape as a tuple."""
        return self.shape.dims_tuple

    @property
    def name(self) -> str:
        """The name of `values`."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device of `values`."""
        return self._values.device  # type: ignore[attr-defined,no-any-return]

    @property
    def op(self) -> Any:
        """The Operation that makes `values`."""
        return self._values.op  # type: ignore[attr-defined]

    @property
    def graph(self) -> Any:
        """The Graph of `values`."""
        return self._values.graph  # type: ignore[attr-defined]

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._values.dtype

    def __neg__(self) -> "IndexedSlices":
        return IndexedSlices(
            convert.execute("Neg", (self._values,)), self._indices, self._dense_shape
        )

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}" + (
            f", dense_shape={self._dense_shape!s})" if self._dense_shape is not None else ")"
        )

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        length = TensorShape(self._values.shape[:1]).merge_with(self._indices.shape[:1])
        known = self.shape
        if known.rank is None:
            known = TensorShape([None]).concatenate(self._values.shape[1:])
        dense_dtype = None if self._dense_shape is None else self._dense_shape.dtype
        return IndexedSlicesSpec(known, self.dtype, self._indices.dtype, dense_dtype, length)

    def _shape_invariant_to_type_spec(self, shape: Any) -> IndexedSlicesSpec:
        dense_dtype = None if self._dense_shape is None else self._dense_shape.dtype
        return IndexedSlicesSpec(shape, self.dtype, self._indices.dtype, dense_dtype, [shape[0]])


def slices_to_tensor(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """The dense tensor of `value`; in a graph, warns when it is large.

    Raises:
      ValueError: another dtype is asked for, or the dense shape is not known.
    """
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"IndexedSlices to Tensor conversion: expected dtype {dtype.name}, got "
            f"{value.dtype.name}: {value!r}. Cast its values."
        )
    if value.dense_shape is None:
        raise ValueError(
            f"IndexedSlices to Tensor conversion: expected a dense_shape, got None: {value!r}. "
            "Make it with dense_shape=..."
        )
    if not isinstance(value.dense_shape, EagerTensor):
        _warn_if_large(value, num_elements(known_shape(value.dense_shape)) or 0)
    rows = convert.execute(
        "StridedSlice", (value.dense_shape, [0], [1], [1]), {"shrink_axis_mask": 1}
    )
    return convert.execute("UnsortedSegmentSum", (value.values, value.indices, rows), None, name)


def _warn_if_large(value: IndexedSlices, count: int) -> None:
    """Warns of a dense tensor of many elements; that their number is unknown is no reason to."""
    if count >= LARGE_SPARSE_NUM_ELEMENTS:
        warnings.warn(
            f"Converting sparse {value!r} to a dense Tensor with {count} elements. This may consume"
            " a large amount of memory.",
            stacklevel=4,
        )


convert.register_tensor_conversion_function(IndexedSlices, slices_to_tensor)


_sparse_loaders: list[Callable[[], object]] = []  # run before the first SparseTensor is made


def add_sparse_loader(load: Callable[[], object]) -> None:
    """Has `load` run once, before there is a sparse tensor: it registers what takes them."""
    _sparse_loaders.append(load)


def _load_sparse() -> None:
    """Runs the loaders. Thread-safe: to load twice does nothing."""
    for load in tuple(_sparse_loaders):
        load()
    _sparse_loaders.clear()


def _parts_scope() -> contextlib.AbstractContextManager[Any]:
    """In a graph, the name scope of the constants that are made of a SparseTensor's parts."""
    graph = state.graph
    return contextlib.nullcontext() if graph is None else graph.name_scope("SparseTensor")


class SparseTensor(CompositeTensor):
    """The explicitly given elements of a tensor; all others are 0.

    Args:
      indices: int64[N, R], the positions, by convention in row-major order.
      values: any dtype, [N].
      dense_shape: int64[R].

    Example:
      >>> SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4]).shape
      TensorShape([3, 4])
    """

    __slots__ = ("_dense_shape", "_dense_shape_default", "_indices", "_values")
    _counts_as_tensor = True
    __array_priority__ = 200  # a dense tensor leaves `dense * sparse` to the sparse one

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        if _sparse_loaders:
            _load_sparse()
        with at_home(indices, values, dense_shape), _parts_scope():
            self._indices = convert.convert_to_tensor(indices, dtypes.int64, name="indices")
            self._values = convert.convert_to_tensor(values, name="values")
            self._dense_shape = convert.convert_to_tensor(
                dense_shape, dtypes.int64, name="dense_shape"
            )
        self._dense_shape_default: TensorShape | None = None
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        dense_dims = self._dense_shape.shape.with_rank(1)
        indices_shape.dims[0].assert_is_compatible_with(values_shape.dims[0])
        indices_shape.dims[1].assert_is_compatible_with(dense_dims.dims[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> "SparseTensor":
        """A SparseTensor from a SparseTensorValue or a SparseTensor.

        Raises:
          TypeError: it is neither.
        """
        if not is_sparse(sparse_tensor_value):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        v = sparse_tensor_value
        return cls(v.indices, v.values, v.dense_shape)

    @property
    def indices(self) -> Tensor:
        """The positions, int64[N, R]."""
        return self._indices  # type: ignore[no-any-return]

    @property
    def values(self) -> Tensor:
        """The elements at the positions, [N]."""
        return self._values  # type: ignore[no-any-return]

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the dense tensor, int64[R]."""
        return self._dense_shape  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """The static dense shape, as far as it is known."""
        known = TensorShape.from_dims(known_shape(self._dense_shape))
        return (
            known
            if self._dense_shape_default is None
            else known.merge_with(self._dense_shape_default)
        )

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Adds what is known about the static dense shape."""
        shape = TensorShape(shape)
        self._dense_shape_default = self.shape.merge_with(shape)

    @property
    def dims(self) -> Dims:
        """The static dense shape as a tuple."""
        return self.shape.dims_tuple

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def op(self) -> Any:
        """The Operation that makes `values`."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The Graph of the component tensors."""
        return self._indices.graph

    def with_values(self, new_values: Any) -> "SparseTensor":
        """The same positions and shape with other values.

        Args:
          new_values: one element for each position, of any dtype.
        """
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def _with_dense(self, kind: str, dense: Any) -> "SparseTensor":
        """An element-wise operation with what broadcasts to the dense shape."""
        inputs = (self._indices, self._values, self._dense_shape, dense)
        name = "mul" if kind == "Mul" else "truediv"
        result = self.with_values(convert.execute(f"SparseDenseCwise{kind}", inputs, None, name))
        result._dense_shape_default = self._dense_shape_default
        return result

    def _as_mine(self, value: Any) -> Any:
        return convert.convert_to_tensor(value, self.dtype.base_dtype)

    def __mul__(self, other: Any) -> "SparseTensor":
        return self._with_dense("Mul", self._as_mine(other))

    def __rmul__(self, other: Any) -> "SparseTensor":
        return self._with_dense("Mul", other) if _is_dense(other) else NotImplemented

    def __truediv__(self, other: Any) -> "SparseTensor":
        if not self.dtype.is_integer:
            return self._with_dense("Div", self._as_mine(other))
        wide = dtypes.float64 if self.dtype.size > 2 else dtypes.float32
        dense = (self._values, self._as_mine(other))
        parts = (convert.execute("Cast", (t,), {"DstT": wide}) for t in dense)
        values, dense = parts
        return self.with_values(values)._with_dense("Div", dense)

    __div__ = __truediv__

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """The value as NumPy arrays, computed in `session` or the default session."""
        parts = [
            t.eval(feed_dict, session) for t in (self._indices, self._values, self._dense_shape)
        ]
        return SparseTensorValue(*parts)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )

    def __len__(self) -> int:
        raise TypeError(
            "Sparse tensors do not support `len`. Use `x.shape[0]` or `x.dense_shape[0]`."
        )

    def __bool__(self) -> bool:
        return True  # as any object without a length; programs test for None so

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def _shape_invariant_to_type_spec(self, shape: Any) -> SparseTensorSpec:
        rank = self._dense_shape.shape[0]
        known = TensorShape(shape)
        return SparseTensorSpec(
            TensorShape([None] * rank) if known.rank is None and rank is not None else known,
            self.dtype,
        )


def _is_dense(value: Any) -> bool:
    """Whether a value is a tensor, a weak one too, or a variable."""
    one = isinstance(value, Tensor) or hasattr(value, "read_value")
    return one or getattr(value, "_is_one_tensor", False)


def is_sparse(value: Any) -> bool:
    """Whether `value` is a SparseTensor or a SparseTensorValue."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


# ---- specs


def _sparse_components(spec: Any, value: Any) -> list[Any]:
    return [value.indices, value.values, value.dense_shape]


def _sparse_from(spec: Any, components: Any) -> Any:
    if all(isinstance(c, np.ndarray) for c in components):
        return SparseTensorValue(*components)
    result = SparseTensor(*components)
    if spec.shape.rank is not None:
        result._dense_shape_default = result.shape.merge_with(spec.shape)
    return result


def _slices_components(spec: Any, value: IndexedSlices) -> tuple[Any, ...]:
    return (
        (value.values, value.indices)
        if value.dense_shape is None
        else (value.values, value.indices, value.dense_shape)
    )


def _slices_from(spec: Any, components: Any) -> Any:
    if all(isinstance(c, np.ndarray) for c in components):
        return IndexedSlicesValue(*components)
    return IndexedSlices(*components)


attach_values(SparseTensorSpec, ValueHooks(SparseTensor, _sparse_components, _sparse_from))
attach_values(IndexedSlicesSpec, ValueHooks(IndexedSlices, _slices_components, _slices_from))


def _spec_of_sparse_value(value: SparseTensorValue) -> SparseTensorSpec:
    sparse = SparseTensor.from_value(value)
    return SparseTensorSpec(sparse.shape, sparse.dtype)


register_type_spec_from_value_converter(SparseTensorValue, _spec_of_sparse_value)


# ---- static shapes


def known_shape(tensor: Tensor | Sequence[int]) -> Dims:
    """What is known of `tensor`, an integer vector, read as a shape."""
    if not isinstance(tensor, Tensor):  # IndexedSlices keep what they were given
        return tuple(int(n) for n in tensor)
    if isinstance(tensor, EagerTensor):
        return tuple(None if n < 0 else int(n) for n in host_array(tensor).reshape(-1))
    return _shape_reader(tensor)


def _length_only(tensor: Tensor) -> Dims:
    dims = tensor.dims
    return None if dims is None or len(dims) != 1 or dims[0] is None else (None,) * dims[0]


_shape_reader: Callable[[Tensor], Dims] = _length_only


def set_shape_reader(function: Callable[[Tensor], Dims]) -> None:
    """Installs how a symbolic vector is read as a shape.

    Called by the graph's module of static values.
    """
    global _shape_reader
    _shape_reader = function
