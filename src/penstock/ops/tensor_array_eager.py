"""The elements of a TensorArray when operations run at once."""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.context import no_recording
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.tensor_lists import invalid, shape_input
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape


class Elements:
    """Elements in a Python list, None where none was written. Not thread-safe.

    Attributes:
      items: the elements.
    """

    __slots__ = ("_clear", "_cleared", "_dtype", "_dynamic", "items")

    def __init__(self, dtype: DType, items: list[Any], dynamic: bool, clear: bool) -> None:
        self.items = items
        self._dtype = dtype
        self._dynamic = dynamic
        self._clear = clear
        self._cleared: set[int] = set()

    def as_list(self, shape: TensorShape) -> Any:
        """The elements as a list tensor."""
        attrs = {"element_dtype": self._dtype}
        dims = shape_input(shape.dims_tuple)
        made = execute("TensorListReserve", (dims, len(self.items)), attrs)
        for i, item in enumerate(self.items):
            if item is not None:
                made = execute("TensorListSetItem", (made, i, item))
        return made

    def _refuse(self, text: str) -> errors.OutOfRangeError:
        return errors.OutOfRangeError(None, None, text)

    def check_writable(self, index: int) -> None:
        """Refuses an index that cannot be written.

        Raises:
          OutOfRangeError: it is negative, or past the end of an array that does not grow.
        """
        if index < 0:
            raise self._refuse(
                f"Writing to negative indices (index {index}) is not allowed. Count from 0."
            )
        if index >= len(self.items) and not self._dynamic:
            raise self._refuse(
                f"Tried to write to index {index} but array is not resizeable and size is: "
                f"{len(self.items)}. Make it with dynamic_size=True."
            )

    def write(self, index: int, value: Tensor) -> None:
        """Sets an element; the array becomes longer where it must."""
        if index >= len(self.items):
            self.items.extend([None] * (index + 1 - len(self.items)))
        self.items[index] = value
        self._cleared.discard(index)

    def read(self, index: int, shape: TensorShape) -> Any:
        """An element; it is cleared if that was asked for.

        Raises:
          OutOfRangeError: there is no such element.
          InvalidArgumentError: it is cleared.
        """
        if index < 0:
            raise self._refuse(
                f"Reading from negative indices (index {index}) is not allowed. Count from 0."
            )
        if index >= len(self.items):
            raise self._refuse(
                f"Tried to read from index {index} but array size is: {len(self.items)}. Read "
                "what was written."
            )
        result = self._filled(index, shape)
        if self._clear:
            self.items[index] = None
            self._cleared.add(index)
        return result

    def _filled(self, index: int, shape: TensorShape) -> Any:
        item = self.items[index]
        if item is not None:
            return item
        if index in self._cleared:
            raise invalid(
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)"
            )
        dims = self._known(shape)
        with no_recording():
            zero = execute("Cast", (0,), {"DstT": self._dtype}) if self._dtype != dt.string else b""
            return execute("Fill", (convert_to_tensor(dims, dt.int32), zero))

    def _known(self, shape: TensorShape) -> list[int]:
        """The shape of an element that was not written.

        Raises:
          ValueError: it is not known.
        """
        if not shape.is_fully_defined():
            raise ValueError(
                f"Cannot convert a partially known TensorShape {shape} to a Tensor: expected an "
                "element_shape for elements that were not written. Write them, or give it."
            )
        return [n or 0 for n in shape.as_list()]

    def stack(self, shape: TensorShape) -> Any:
        """All elements as rows."""
        if not self.items:
            dims = shape.as_list() if shape.rank is not None else []
            return convert_to_tensor([], self._dtype) if not dims else self._empty(dims)
        items = [self._filled(i, shape) for i in range(len(self.items))]
        return execute("Pack", (items,), {"axis": 0})

    def _empty(self, dims: Sequence[Any]) -> Any:
        flat = convert_to_tensor([], self._dtype)
        return execute("Reshape", (flat, [0, *[n or 0 for n in dims]]))

    def gather(self, indices: Sequence[int], shape: TensorShape) -> Any:
        """Some elements as rows.

        Raises:
          OutOfRangeError: there is no element at an index.
        """
        for index in indices:
            if not 0 <= index < len(self.items):
                raise self._refuse(
                    f"Tried to read from index {index} but array size is: {len(self.items)}. Use "
                    "indices of elements."
                )
        if not indices:
            return self._empty(shape.as_list() if shape.rank is not None else [])
        return execute("Pack", ([self._filled(i, shape) for i in indices],), {"axis": 0})

    def concat(self, shape: TensorShape) -> Any:
        """The elements one after the other.

        Raises:
          InvalidArgumentError: there are none, or they are scalars.
        """
        if not self.items:
            raise invalid(
                "TensorArray.concat: expected at least one element, got none. Write one first."
            )
        items = [self._filled(i, shape) for i in range(len(self.items))]
        for i, item in enumerate(items):
            if item.shape.rank == 0:
                raise invalid(
                    f"Concat saw a scalar shape at index {i} but requires at least vectors. Use "
                    "stack."
                )
        return execute("ConcatV2", (items, 0)) if len(items) > 1 else items[0]

    def check_size(self, count: int) -> None:
        """Refuses more rows than there is room for.

        Raises:
          ValueError: the array does not grow.
        """
        if count > len(self.items) and not self._dynamic:
            raise ValueError(
                f"Cannot unstack {count} tensors into a TensorArray of static size "
                f"{len(self.items)}. Make it with dynamic_size=True."
            )

    def split(self, value: Tensor, sizes: Any) -> None:
        """Sets the elements to the pieces of a tensor.

        Raises:
          InvalidArgumentError: the lengths do not fit to the tensor or to the array, or are no
            vector.
        """
        if sizes.ndim != 1:
            raise invalid(
                f"Expected lengths to be a vector, received shape: {list(sizes.shape)}. Give the "
                "length of each piece."
            )
        lengths = sizes.tolist()
        if not value.dims:
            raise invalid(
                f"Expected value to be at least a vector, but received shape: {value.shape}. Use "
                "write."
            )
        if sum(lengths) != value.dims[0]:
            raise invalid(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(lengths)} and value's shape is: {value.shape}. Give lengths that add up."
            )
        if len(lengths) != len(self.items) and not self._dynamic:
            raise invalid(
                f"TensorArray's size is not equal to the size of lengths ({len(self.items)} vs. "
                f"{len(lengths)}), and the TensorArray is not marked as dynamically resizeable."
            )
        self.items[:] = execute(
            "SplitV", (value, convert_to_tensor(lengths, dt.int64), 0),
            {"num_split": len(lengths)},
        )  # fmt: skip
