"""Methods of datasets on padded stacks, rows of stacks, and windows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.data import structure as st
from penstock.data.base import DatasetBase, DatasetSpec
from penstock.data.padding import PADDED_BATCH
from penstock.data.unbatching import UNBATCH
from penstock.data.windowing import WINDOW
from penstock.graph.static_values import constant_value
from penstock.types import dtypes as dt
from penstock.types.composite_specs import SparseTensorSpec
from penstock.types.dims import Dims
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

_EMPTY: dict[dt.DType, Any] = {dt.string: "", dt.bool_: False}


class StackingMethods(DatasetBase):
    """Methods of `Dataset` on stacks and windows."""

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> "Dataset":
        """Stacks of elements that are padded to one shape.

        Args:
          batch_size: int64[], how many make a stack.
          padded_shapes: for each tensor of an element the shape that it is padded to, in the
            structure of elements; a dimension of None or -1 is the largest of each stack. None for
            such dimensions alone.
          padding_values: for each tensor what it is padded with, a scalar of its dtype; None for 0,
            False or "". A single one serves all tensors.
          drop_remainder: bool[], whether a last stack of fewer is left out.
          name: the operation's name in a graph.

        Raises:
          TypeError: elements are no tensors, or values of other dtypes.
          ValueError: shapes do not fit, or values are no scalars.
          InvalidArgumentError: the size is below 1.
          DataLossError: while it runs, an element is larger than its padded shape.

        Example:
          >>> import penstock as tf
          >>> ragged = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
          >>> [x.numpy().tolist() for x in ragged.padded_batch(2)]
          [[[1, 0], [2, 2]], [[3, 3, 3]]]
        """
        for spec in nest.flatten(self.element_spec):
            if not isinstance(spec, TensorSpec):
                raise TypeError(
                    "`padded_batch` is only supported for datasets that produce tensor elements but"
                    " type spec of elements in the input dataset is not a subclass of TensorSpec:"
                    f" `{spec}`. Use batch, or ragged_batch."
                )
        size = convert_to_tensor(batch_size, dt.int64)
        drops = convert_to_tensor(drop_remainder, dt.bool_)
        shapes, static = self._padded_shapes(padded_shapes)
        values = self._padding_values(padding_values)
        known = constant_value(size) if constant_value(drops) else None
        rows = None if known is None else int(known)
        specs = [
            TensorSpec(None if dims is None else (rows, *dims), dtype)
            for dims, dtype in zip(static, self._structure.types, strict=True)
        ]
        spec = nest.pack_sequence_as(self.element_spec, specs)
        inputs = (self._variant_tensor, size, shapes, values, drops)
        attrs = {"Toutput_types": self._structure.types}
        return self._derived(PADDED_BATCH, inputs, spec, attrs, name)  # type: ignore[no-any-return]

    def _padded_shapes(self, given: Any) -> tuple[list[Tensor], list[Dims]]:
        """The shapes as tensors, and as far as they are known."""
        specs = self._structure.flat
        if given is None:
            for i, spec in enumerate(specs):
                if spec.shape.rank is None:
                    raise ValueError(
                        f"You must provide `padded_shapes` argument because component {i} has"
                        " unknown rank."
                    )
            parts: list[Any] = [spec.shape for spec in specs]
        else:
            parts = _up_to(self.element_spec, given)
        found = [_as_shape(part) for part in parts]
        for (_, dims), spec in zip(found, specs, strict=True):
            if not _can_be_padded(spec.shape.dims_tuple, dims):
                raise ValueError(
                    f"The padded shape {tuple(dims or ())} is not compatible with the shape"
                    f" {spec.shape} of the corresponding input component."
                )
        return [tensor for tensor, _ in found], [dims for _, dims in found]

    def _padding_values(self, given: Any) -> list[Tensor]:
        types = self._structure.types
        if given is None or not isinstance(given, (tuple, Mapping)):
            parts = [given] * len(types)
        else:
            parts = _up_to(self.element_spec, given)
        return [_filler(part, dtype) for part, dtype in zip(parts, types, strict=True)]

    def unbatch(self, name: str | None = None) -> "Dataset":
        """The rows of elements, each an element.

        Args:
          name: the operation's name in a graph.

        Raises:
          ValueError: a tensor of elements is a scalar, or they have other numbers of rows.
          InvalidArgumentError: while it runs, they have.

        Example:
          >>> import penstock as tf
          >>> pairs = tf.data.Dataset.from_tensors(([1, 2], ["a", "b"])).unbatch()
          >>> [(int(n), s.numpy()) for n, s in pairs]
          [(1, b'a'), (2, b'b')]
        """
        spec = self.element_spec
        _check_rows(nest.flatten(spec))
        rows = st.Structure(st.unbatched(spec))
        source: Any = self
        if not all(isinstance(leaf, TensorSpec) for leaf in nest.flatten(spec)):
            source = source.map(_in_rows(spec), name=name)
        return source._derived(UNBATCH, (source._variant_tensor,), rows, None, name)  # type: ignore[no-any-return]

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> "Dataset":
        """Datasets of neighbouring elements.

        Args:
          size: int64[], how many elements a window has.
          shift: int64[], how far the next window begins behind one; None for `size`.
          stride: int64[], how far the elements of a window are apart.
          drop_remainder: bool[], whether windows at the end with fewer elements are left out.
          name: the operation's name in a graph.

        Returns:
          A dataset of structures like those of elements, with a dataset for each tensor.

        Raises:
          InvalidArgumentError: a number is below 1.

        Example:
          >>> import penstock as tf
          >>> windows = tf.data.Dataset.range(5).window(3, shift=2)
          >>> [[int(x) for x in window] for window in windows]
          [[0, 1, 2], [2, 3, 4], [4]]
        """
        numbers = [convert_to_tensor(n, dt.int64) for n in
                   (size, size if shift is None else shift, stride)]  # fmt: skip
        inputs = (self._variant_tensor, *numbers, convert_to_tensor(drop_remainder, dt.bool_))
        spec = st.map_leaves(DatasetSpec, self.element_spec)
        return self._derived(WINDOW, inputs, spec, None, name)  # type: ignore[no-any-return]


def _up_to(spec: Any, value: Any) -> list[Any]:
    """What `value` has at each leaf of a structure of TypeSpecs.

    Raises:
      TypeError, ValueError: it has another structure.
    """
    if isinstance(spec, tuple):
        if not isinstance(value, Sequence) or isinstance(value, (str, list)):
            raise TypeError(_other_structure(spec, value))
        if len(spec) != len(value):
            raise ValueError(_other_structure(spec, value))
        return [p for s, v in zip(spec, value, strict=True) for p in _up_to(s, v)]
    if isinstance(spec, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(_other_structure(spec, value))
        if set(spec) != set(value):
            raise ValueError(_other_structure(spec, value))
        return [p for key in sorted(spec) for p in _up_to(spec[key], value[key])]
    return [value]


def _other_structure(spec: Any, value: Any) -> str:
    return (
        "The two structures don't have the same sequence type. Input structure has type"
        f" '{type(value).__name__}', while shallow structure has type '{type(spec).__name__}':"
        f" expected one like {spec}, got {value!r}."
    )


def _as_shape(value: Any) -> tuple[Tensor, Dims]:
    """A padded shape as int64[rank] with -1 for what is not known, and as dimensions."""
    if isinstance(value, (Tensor, np.ndarray)):
        tensor = convert_to_tensor(value)
        if tensor.dtype not in (dt.int64, dt.int32):
            raise TypeError(
                f"Padded shape {value!r} must be a `tf.int64` vector tensor, but its type was"
                f" {tensor.dtype.name}."
            )
        if tensor.shape.rank not in (None, 1):
            raise ValueError(
                f"Padded shape {value!r} must be a `tf.int64` vector tensor, but its shape was"
                f" {tensor.shape}."
            )
        known = constant_value(tensor)
        if known is None:
            size = None if tensor.shape.rank is None else tensor.shape[0]
            wide = (
                tensor
                if tensor.dtype == dt.int64
                else execute("Cast", (tensor,), {"DstT": dt.int64})
            )
            return wide, None if size is None else (None,) * size
        value = [int(n) for n in known]
    if not isinstance(value, TensorShape):
        if isinstance(value, (int, np.integer)):
            value = [value]
        value = TensorShape([None if n == -1 else n for n in value])
    dims: Dims = value.dims_tuple
    if dims is None:
        raise ValueError("padded_shapes: expected shapes of known rank, got an unknown one.")
    sizes = np.array([-1 if n is None else n for n in dims], np.int64)
    return convert_to_tensor(sizes, dt.int64), dims


def _can_be_padded(dims: Dims, padded: Dims) -> bool:
    if dims is None or padded is None:
        return True
    return len(dims) == len(padded) and all(
        p is None or n is None or n <= p for n, p in zip(dims, padded, strict=True)
    )


def _filler(value: Any, dtype: dt.DType) -> Tensor:
    if value is None:
        if dtype == dt.variant:
            raise TypeError("Unable to create padding for field of type 'variant'.")
        empty: Tensor = convert_to_tensor(_EMPTY.get(dtype, 0), dtype)
        return empty
    tensor: Tensor = convert_to_tensor(value)
    if tensor.shape.rank not in (None, 0):
        raise ValueError(
            "Invalid `padding_values`. `padding_values` values should be scalars, but got"
            f" {tensor.shape}."
        )
    if tensor.dtype != dtype:
        raise TypeError(
            f"Invalid `padding_values`. `padding_values` values type {tensor.dtype!r} does not"
            f" match type {dtype!r} of the corresponding input component."
        )
    return tensor


def _check_rows(specs: Sequence[Any]) -> None:
    known: int | None = None
    for spec in specs:
        shape = getattr(spec, "shape", None)
        if shape is None or shape.rank is None:
            continue
        if shape.rank == 0:
            raise ValueError("Cannot unbatch an input with scalar components.")
        if shape[0] is not None and known is not None and shape[0] != known:
            raise ValueError(
                "`unbatch()` is only supported for datasets of elements whose components have a"
                f" matching leading dimension. Encountered both {known} and {shape[0]}."
            )
        known = shape[0] if shape[0] is not None else known


def _in_rows(spec: Any) -> Any:
    """A function that gives the components of an element, with rows that can be told apart."""
    leaves = nest.flatten(spec)

    def rows(*element: Any) -> Any:
        whole = element[0] if type(spec) is not tuple else element
        parts: list[Any] = []
        for leaf, value in zip(leaves, nest.flatten(whole), strict=True):
            found = st.to_batched_components(leaf, value)
            known = hasattr(leaf, "shape")  # a stack of datasets says it otherwise
            if known and not isinstance(leaf, (TensorSpec, SparseTensorSpec)):
                for each in found:
                    each.set_shape([leaf.shape[0], *each.shape[1:]])
            parts.extend(found)
        return tuple(parts)

    return rows
