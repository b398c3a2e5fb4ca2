"""Variables in parts: `PartitionedVariable`, and the partitioners that count the parts."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.core.convert import convert_to_tensor, register_tensor_conversion_function
from penstock.core.execute import execute
from penstock.graph.behavior import name_scope_v1
from penstock.ops.array_join import concat
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape

Partitioner = Callable[..., list[int]]


class PartitionedVariable:
    """A variable whose parts are variables of their own, cut along one axis.

    Args:
      name: the name of the whole.
      shape: its shape.
      dtype: its dtype.
      variable_list: the parts in order, each with its SaveSliceInfo.
      partitions: the number of parts along each axis.

    Raises:
      TypeError: a list is expected and something else is given.
      ValueError: a part has no SaveSliceInfo, or there are too few.
    """

    def __init__(
        self, name: str, shape: Any, dtype: Any, variable_list: Any, partitions: Any
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for part in variable_list:
            if part._get_save_slice_info() is None:
                raise ValueError(f"All variables must have a save_slice_info available: {part}")
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = dtype
        self._variable_list = sorted(
            variable_list, key=lambda v: list(v._get_save_slice_info().var_offset)
        )
        self._partitions = list(partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        if len(self._partition_axes()) > 1:
            raise ValueError(
                f"Cannot get a length for {len(self._partition_axes())} > 1 partition axes"
            )
        return len(self._variable_list)

    def _partition_axes(self) -> list[int]:
        if all(p == 1 for p in self._partitions):
            return [0]
        return [i for i, p in enumerate(self._partitions) if p > 1]

    def as_tensor(self) -> Any:
        """The whole as one tensor."""
        with name_scope_v1(f"{self._name}/ConcatPartitions/"):
            whole = self._concat()
        with name_scope_v1(""):
            return execute("Identity", (whole,), None, self._name)

    def _concat(self) -> Any:
        values = [v.value() for v in self._variable_list]
        if len(values) == 1:
            return values[0]
        return concat(values, self._partition_axes()[0])

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self._shape

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _apply(self, function: Callable[[Any, Any], Any], value: Any) -> list[Any]:
        """`function(part, its piece of value)` for each part."""
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError("Cannot do assign action along more than one dimension.")
        if isinstance(value, (list, tuple)) and len(value) == len(self._variable_list):
            pieces = list(value)
        else:
            tensor = convert_to_tensor(value, self._dtype)
            pieces = [_piece(tensor, v._get_save_slice_info()) for v in self._variable_list]
        return [function(v, p) for v, p in zip(self._variable_list, pieces, strict=True)]

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Assigns to each part its piece of `value`; a list of what the parts' `assign` returns."""
        return self._apply(lambda v, p: v.assign(p, read_value=read_value), value)

    def assign_add(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Adds to each part its piece of `value`; otherwise as `assign`."""
        return self._apply(lambda v, p: v.assign_add(p, read_value=read_value), value)

    def assign_sub(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Subtracts from each part its piece of `value`; otherwise as `assign`."""
        return self._apply(lambda v, p: v.assign_sub(p, read_value=read_value), value)


def _piece(tensor: Any, info: Any) -> Any:
    return execute("Slice", (tensor, list(info.var_offset), list(info.var_shape)))


def _to_tensor(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{value.dtype.name}'"
        )
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _to_tensor)


def _check_axis(axis: int, shape: TensorShape) -> None:
    if shape.rank is None or not -shape.rank <= axis < shape.rank:
        raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {shape}")


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that cuts every variable into so many parts, fewer where the axis is shorter.

    Args:
      num_shards: the number of parts.
      axis: the axis to cut.
    """

    def partition(shape: Any, **unused: Any) -> list[int]:
        shape = TensorShape(shape)
        parts = [1] * len(shape)
        parts[axis] = min(num_shards, int(shape[axis]))
        return parts

    return partition


def _element_bytes(dtype: DType, bytes_per_string: int) -> int:
    return bytes_per_string if dtype.base_dtype is dt.string else dtype.size


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """A partitioner whose parts have at most so many bytes, as far as one axis allows.

    Args:
      max_shard_bytes: the most bytes of a part.
      axis: the axis to cut.
      bytes_per_string_element: what a string counts.
      max_shards: the most parts.

    Raises:
      ValueError: a number is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently, "
            f"max_shard_bytes is {max_shard_bytes} and bytes_per_string_element is "
            f"{bytes_per_string_element}"
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}")

    def partition(shape: Any, dtype: DType) -> list[int]:
        shape = TensorShape(shape)
        _check_axis(axis, shape)
        parts = [1] * len(shape)
        bytes_each = _element_bytes(dtype, bytes_per_string_element)
        total = math.prod(_full(shape)) * bytes_each
        length = _full(shape)[axis]
        per_slice = total // max(length, 1)
        slices = max(1, math.floor(max_shard_bytes / max(per_slice, 1)))
        count = math.ceil(length / slices)
        if max_shards:
            count = min(count, max_shards)
        parts[axis] = max(count, 1)
        return parts

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """A partitioner whose parts have at least so many bytes.

    Args:
      max_partitions: the most parts.
      axis: the axis to cut.
      min_slice_size: the fewest bytes of a part.
      bytes_per_string_element: what a string counts.

    Returns:
      A partitioner; it raises ValueError for a variable that has no such axis or an unknown size.
    """

    def partition(shape: Any, dtype: DType) -> list[int]:
        shape = TensorShape(shape)
        _check_axis(axis, shape)
        sizes = _full(shape)
        parts = [1] * len(sizes)
        total = math.prod(sizes) * _element_bytes(dtype, bytes_per_string_element)
        wanted = min(sizes[axis], max_partitions, math.ceil(total / min_slice_size))
        parts[axis] = max(1, wanted)
        return parts

    return partition


def _full(shape: TensorShape) -> list[int]:
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot partition a variable of unknown size: {shape}")
    return [n for n in shape.as_list() if n is not None]


def slices_along(
    shape: Sequence[int], partitions: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Offset and shape of each part; the first ones are longer where the axis does not divide.

    Raises:
      ValueError: more than one axis is cut.
    """
    cut = [i for i, n in enumerate(partitions) if n > 1] or [0]
    if len(cut) > 1:
        raise ValueError(f"Cannot slice variable along more than one dimension: {list(partitions)}")
    axis, count = cut[0], partitions[cut[0]]
    if shape[axis] < count:
        raise ValueError(
            f"partitions {list(partitions)}: expected at most {shape[axis]} parts along axis {axis}"
        )
    base, extra = divmod(shape[axis], count)
    offset = [0] * len(shape)
    for i in range(count):
        part = list(shape)
        part[axis] = base + (i < extra)
        yield offset[:], part
        offset[axis] += part[axis]
