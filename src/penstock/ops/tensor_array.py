"""`tf.TensorArray`: an array of tensors that is written and read element by element.

At once, it holds its elements in a Python list, which writing changes. In a graph it holds a list
tensor (`tensor_lists`), and writing gives a new TensorArray; so it goes through conditionals, loops
and functions as a composite of that one tensor.
"""

from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops.composing import scope
from penstock.ops.tensor_array_eager import Elements
from penstock.ops.tensor_lists import invalid, list_of, shape_input
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_array_spec import TensorArraySpec
from penstock.types.tensor_shape import TensorShape
from penstock.types.type_spec import ValueHooks, attach_values


class TensorArray(CompositeTensor):
    """An array of tensors of one dtype, written and read element by element.

    In a graph or function, use what `write`, `unstack`, `scatter` and `split` return.

    Args:
      dtype: the type of the elements.
      size: int32[], the number of elements to begin with.
      dynamic_size: whether writing past the end makes the array longer.
      clear_after_read: whether an element can be read once only (eager); True if None.
      tensor_array_name: accepted for compatibility.
      handle: must be None.
      flow: a list tensor that this array stands for, instead of a new one of `size`.
      infer_shape: whether all elements have one shape.
      element_shape: the shape of the elements, as far as it is known.
      colocate_with_first_write_call: accepted for compatibility.
      name: the name in a graph.

    Raises:
      ValueError: there is neither `size` nor `flow`, or a `handle`.

    Example:
      >>> import penstock as tf
      >>> squares = tf.TensorArray(tf.int32, size=3)
      >>> for i in range(3):
      ...     squares = squares.write(i, i * i)
      >>> squares.stack().numpy().tolist()
      [0, 1, 4]
    """

    __slots__ = (
        "_clear",
        "_dtype",
        "_dynamic",
        "_elements",
        "_flow",
        "_infer_shape",
        "_shape",
        "_size",
    )

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            raise ValueError(
                "TensorArray handles are not supported: expected handle=None. Give `flow`, or make"
                " the array with a size."
            )
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic = bool(dynamic_size)
        self._clear = clear_after_read is None or bool(clear_after_read)
        self._infer_shape = infer_shape
        self._shape = TensorShape(element_shape)
        self._size: int | None = None
        self._elements: Elements | None = None
        self._flow: Any = None
        if flow is not None and flow.dtype is dt.variant:
            self._take(flow)
        elif size is None:
            raise ValueError(
                "Size must be declared for TensorArrays: argument `size` must be provided if "
                "argument `flow` is not provided. Give a size, 0 with dynamic_size=True say."
            )
        elif state.graph is None:
            count = int(convert_to_tensor(size, dt.int32))
            self._elements = Elements(self._dtype, [None] * count, self._dynamic, self._clear)
        else:
            self._reserve(size, name)

    def _reserve(self, size: Any, name: str | None) -> None:
        with scope(name, "TensorArrayV2"):
            count = convert_to_tensor(size, dt.int32)
            known = constant_value(count)
            self._size = None if known is None or self._dynamic else int(known)
            self._flow = execute(
                "TensorListReserve",
                (shape_input(self._shape.dims_tuple), count),
                {"element_dtype": self._dtype},
            )

    def _take(self, flow: Any) -> None:
        """Makes the array hold what a list tensor holds."""
        if state.graph is not None or isinstance(flow, SymbolicTensor):
            self._flow = flow
            return
        held = list_of(flow._array, self._dtype)
        attrs = {"element_dtype": self._dtype}
        items = [
            None
            if item is None
            else execute("TensorListGetItem", (flow, i, shape_input(item.shape)), attrs)
            for i, item in enumerate(held.items)
        ]
        if self._shape.rank is None:
            self._shape = TensorShape(held.dims)
        self._elements = Elements(self._dtype, items, self._dynamic, self._clear)

    # ---- what it is

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the elements, as far as it is known."""
        return self._shape

    @property
    def dynamic_size(self) -> bool:
        """Whether writing past the end makes the array longer."""
        return self._dynamic

    @property
    def handle(self) -> None:
        """None: there is no resource behind the array."""
        return None

    @property
    def flow(self) -> Tensor:
        """The list tensor; eagerly an integer 0 that stands for order."""
        if self._elements is not None:
            return convert_to_tensor(0, dt.int32)  # type: ignore[no-any-return]
        return self._flow  # type: ignore[no-any-return]

    @property
    def _type_spec(self) -> TensorArraySpec:
        return TensorArraySpec(self._shape, self._dtype, self._dynamic, self._infer_shape)

    def _shape_invariant_to_type_spec(self, shape: Any) -> TensorArraySpec:
        return TensorArraySpec(shape, self._dtype, self._dynamic, self._infer_shape)

    def __repr__(self) -> str:
        return f"<TensorArray dtype={self._dtype.name} element_shape={self._shape}>"

    def identity(self) -> "TensorArray":
        """The array; in a graph one that later control dependencies wait for."""
        if self._now() is not None:
            return self
        return self._with(execute("Identity", (self._list(),)))

    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> Any:
        """Refused: gradients pass through arrays by themselves."""
        raise NotImplementedError(
            "TensorArray.grad is not supported: gradients pass through arrays by themselves. Use "
            "tf.GradientTape or tf.gradients."
        )

    # ---- helpers

    def _now(self) -> Elements | None:
        """The elements when operations run at once."""
        return self._elements if state.graph is None else None

    def _list(self) -> Any:
        """The list tensor; that of an eager array which a graph uses is made of its elements."""
        return self._flow if self._elements is None else self._elements.as_list(self._shape)

    def _with(self, flow: Any) -> "TensorArray":
        """The array after a change, in a graph."""
        made = object.__new__(TensorArray)
        for slot in TensorArray.__slots__:
            setattr(made, slot, getattr(self, slot))
        made._flow, made._elements = flow, None
        return made

    def _attrs(self) -> dict[str, Any]:
        return {"element_dtype": self._dtype}

    def _element(self, value: Any) -> Any:
        """A value to be written, checked and noted."""
        value = convert_to_tensor(value, dtype_hint=self._dtype)
        if value.dtype is not self._dtype:
            raise invalid(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{value.dtype.name}. Cast the value."
            )
        return value

    def _note(self, shape: TensorShape) -> None:
        """Takes over what an element tells about the shape of all, where that is to be inferred.

        Raises:
          ValueError: it has another shape than is known or was given.
        """
        if not self._shape.is_compatible_with(shape):
            raise ValueError(
                f"Incompatible shape for value ({shape}), expected ({self._shape}). Inconsistent "
                f"shapes: saw {shape} but expected {self._shape}. Use infer_shape=False and no "
                "element_shape for elements of different shapes."
            )
        if self._infer_shape:
            self._shape = self._shape.merge_with(shape)

    def _row_shape(self, rows: Tensor) -> TensorShape:
        return TensorShape(None) if rows.shape.rank is None else rows.shape[1:]

    # ---- elements

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """An element.

        Args:
          index: int32[].
          name: the name in a graph.

        Returns:
          A tensor of the array's dtype.

        Raises:
          OutOfRangeError, InvalidArgumentError: there is no such element (eager, in a graph).
          InvalidArgumentError: it was read before and is cleared.
        """
        now = self._now()
        if now is not None:
            return now.read(int(convert_to_tensor(index)), self._shape)  # type: ignore[no-any-return]
        return execute(  # type: ignore[no-any-return]
            "TensorListGetItem",
            (self._list(), _index(index), shape_input(self._known_shape())),
            self._attrs(),
            name or "TensorArrayV2Read",
        )

    def write(self, index: Any, value: Any, name: str | None = None) -> "TensorArray":
        """Sets an element.

        Args:
          index: int32[].
          value: a tensor of the array's dtype and of a shape that fits the other elements'.
          name: the name in a graph.

        Returns:
          The array to go on with.

        Raises:
          OutOfRangeError, InvalidArgumentError: `index` is outside of the array.
          ValueError: the shape differs from that of other elements.
        """
        value = self._element(value)
        now = self._now()
        if now is not None:
            at = int(convert_to_tensor(index))
            now.check_writable(at)
            self._note(value.shape)
            now.write(at, value)
            return self
        self._note(value.shape)
        attrs = {"resize_if_index_out_of_bounds": self._dynamic}
        flow = execute(
            "TensorListSetItem",
            (self._list(), _index(index), value),
            attrs,
            name or "TensorArrayV2Write",
        )
        return self._with(flow)

    def _known_shape(self) -> Any:
        return self._shape.dims_tuple

    # ---- rows

    def stack(self, name: str | None = None) -> Tensor:
        """The elements as rows of a tensor."""
        now = self._now()
        if now is not None:
            return now.stack(self._shape)  # type: ignore[no-any-return]
        attrs = {**self._attrs(), "num_elements": -1 if self._size is None else self._size}
        return execute(  # type: ignore[no-any-return]
            "TensorListStack",
            (self._list(), shape_input(self._known_shape())),
            attrs,
            name or "TensorArrayV2Stack",
        )

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at `indices`, int32[N], as rows of a tensor."""
        now = self._now()
        if now is not None:
            at = np.asarray(convert_to_tensor(indices)).tolist()
            return now.gather(at, self._shape)  # type: ignore[no-any-return]
        return execute(  # type: ignore[no-any-return]
            "TensorListGather",
            (self._list(), indices, shape_input(self._known_shape())),
            self._attrs(),
            name,
        )

    def unstack(self, value: Any, name: str | None = None) -> "TensorArray":
        """Sets all elements to the rows of a tensor.

        Args:
          value: [N, ...], of the array's dtype.
          name: the name in a graph.

        Returns:
          The array to go on with.

        Raises:
          ValueError: a scalar; there are more rows than elements (eager).
        """
        value = self._element(value)
        if value.dims == ():
            raise ValueError(
                f"TensorArray.unstack: expected a value with rows, got the scalar {value!r}. Use"
                " write for one element."
            )
        now = self._now()
        if now is not None:
            rows = execute("Unpack", (value,), {"num": value.dims[0], "axis": 0})
            now.check_size(len(rows))
            self._note(self._row_shape(value))
            now.items[:] = rows
            return self
        self._note(self._row_shape(value))
        shape = shape_input(None if value.dims is None else value.dims[1:])
        return self._with(execute("TensorListFromTensor", (value, shape), None, name))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> "TensorArray":
        """Sets some elements to the rows of a tensor.

        Args:
          indices: int32[N].
          value: [N, ...], of the array's dtype.
          name: the name in a graph.

        Returns:
          The array to go on with.
        """
        value = self._element(value)
        now = self._now()
        if now is not None:
            rows = execute("Unpack", (value,), {"num": value.dims[0], "axis": 0})
            for index, row in zip(np.asarray(convert_to_tensor(indices)), rows, strict=False):
                self.write(index, row)
            return self
        self._note(self._row_shape(value))
        flow = execute("TensorListScatterIntoExistingList", (self._list(), value, indices))
        return self._with(flow)

    # ---- pieces

    def concat(self, name: str | None = None) -> Tensor:
        """The elements one after the other along their first axis.

        Raises:
          InvalidArgumentError: there are none, or they are scalars.
        """
        now = self._now()
        if now is not None:
            return now.concat(self._shape)  # type: ignore[no-any-return]
        dims = self._shape.dims_tuple
        shape = dims if not dims else (None, *dims[1:])
        flow, none = self._list(), np.zeros(0, np.int64)
        joined, _ = execute(
            "TensorListConcatV2", (flow, shape_input(shape), none), self._attrs(), name
        )
        return joined  # type: ignore[no-any-return]

    def split(self, value: Any, lengths: Any, name: str | None = None) -> "TensorArray":
        """Sets the elements to the pieces of a tensor.

        Args:
          value: the tensor; cut along its first axis.
          lengths: int64[N], the length of each piece.
          name: the name in a graph.

        Raises:
          InvalidArgumentError: the lengths do not add up to that of `value`, or are not as many as
            the elements (eager); they are no vector, or `value` is a scalar (a ValueError in a
            graph).
        """
        value = self._element(value)
        lengths = convert_to_tensor(lengths)
        if lengths.dtype is not dt.int64:
            lengths = execute("Cast", (lengths,), {"DstT": dt.int64})
        now = self._now()
        if now is not None:
            now.split(value, np.asarray(lengths))
            return self
        known = constant_value(lengths)
        pieces = set() if known is None else set(known.reshape(-1).tolist())
        length = pieces.pop() if len(pieces) == 1 else None
        shape = TensorShape([length]).concatenate(self._row_shape(value))
        self._note(shape)
        wanted = shape_input(shape.dims_tuple)
        return self._with(execute("TensorListSplit", (value, wanted, lengths), None, name))

    # ---- the array

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements: int32[]."""
        now = self._now()
        if now is not None:
            return convert_to_tensor(len(now.items), dt.int32)  # type: ignore[no-any-return]
        if self._size is not None and self._elements is None and not self._dynamic:
            return convert_to_tensor(self._size, dt.int32)  # type: ignore[no-any-return]
        return execute("TensorListLength", (self._list(),), None, name)  # type: ignore[no-any-return]

    def close(self, name: str | None = None) -> Any:
        """Lets go of the elements (eager); in a graph an operation that does nothing."""
        now = self._now()
        if now is not None:
            now.items.clear()
            return None
        return execute("NoOp", (), None, name)


def _index(index: Any) -> Any:
    found = convert_to_tensor(index, dtype_hint=dt.int32)
    return found if found.dtype is dt.int32 else execute("Cast", (found,), {"DstT": dt.int32})


def _components(spec: Any, value: TensorArray) -> list[Any]:
    return [value._list()]


def _from_components(spec: Any, components: Any) -> Any:
    (flow,) = components
    if not isinstance(flow, Tensor):
        return flow
    return TensorArray(
        spec.dtype,
        dynamic_size=spec.dynamic_size,
        flow=flow,
        infer_shape=spec.infer_shape,
        element_shape=spec.element_shape,
    )


attach_values(TensorArraySpec, ValueHooks(TensorArray, _components, _from_components))

__all__ = ["TensorArray"]
