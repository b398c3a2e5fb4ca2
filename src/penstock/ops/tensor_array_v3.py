"""The TensorArray operations of TensorFlow 1's graphs: a resource that operations write and read.

`flow` is a number that only orders them. An array belongs to one step; its gradient is a second
array of the same size, found by name, in which what is written to one place adds up.
"""

import threading
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.core.shapes import ShapeContext
from penstock.ops.tensor_lists import dims_of, invalid, zeros_of
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any
TOUCHED = {"handle": "rw"}
SOURCE = "gradients"  # under which name our gradients are found
HANDLE = (2,)  # the shape that graphs state of handles: once a name and a container


class StepArray:
    """Elements that operations of one step share. Thread-safe.

    Attributes:
      items: the elements, None where none was written.
      gradients: the arrays of gradients, by source.
    """

    def __init__(
        self, dtype: DType, count: int, dims: Dims, dynamic: bool, clears: bool, adds: bool = False
    ) -> None:
        self.lock = threading.RLock()  # guards: all fields
        self.dtype = dtype
        self.items: list[Any] = [None] * count
        self.gradients: dict[str, StepArray] = {}
        self._dims = dims
        self._dynamic = dynamic
        self._clears = clears
        self._adds = adds
        self._cleared: set[int] = set()
        self._closed = False

    def _check(self, dtype: DType | None = None) -> None:
        if self._closed:
            raise invalid("TensorArray has already been closed. Close it last.")
        if dtype is not None and dtype is not self.dtype:
            raise invalid(
                f"TensorArray dtype is {self.dtype.name} but Op requested dtype {dtype.name}. Use "
                "the dtype that the array was made with."
            )

    def write(self, index: int, value: Array, dtype: DType) -> None:
        """Sets an element, or adds to it in an array of gradients."""
        with self.lock:
            self._check(dtype)
            if index < 0 or (index >= len(self.items) and not self._dynamic):
                raise invalid(
                    f"Tried to write to index {index} but array is not resizeable and size is: "
                    f"{len(self.items)}. Make it with dynamic_size=True."
                )
            self.items.extend([None] * (index + 1 - len(self.items)))
            if not d.compatible(self._dims, value.shape):
                raise invalid(
                    f"Could not write to TensorArray index {index} because the value shape is "
                    f"{d.text(value.shape)} which is incompatible with the TensorArray's inferred "
                    f"element shape: {d.text(self._dims)}."
                )
            old = self.items[index]
            if old is not None and not self._adds:
                raise invalid(
                    f"Could not write to TensorArray index {index} because it has already been "
                    "written to. Write each element once."
                )
            self.items[index] = value if old is None else old + value

    def read(self, index: int, dtype: DType) -> Array:
        """An element, which may be cleared then."""
        with self.lock:
            self._check(dtype)
            if not 0 <= index < len(self.items):
                raise invalid(
                    f"Tried to read from index {index} but array size is: {len(self.items)}. Read "
                    "what was written."
                )
            if index in self._cleared:
                raise invalid(
                    f"Could not read index {index} twice because it was cleared after a previous "
                    "read (perhaps try setting clear_after_read = false?)."
                )
            item = self.items[index]
            if item is None:
                item = self._zeros(index)
            elif self._clears:
                self._cleared.add(index)
                self.items[index] = None
            return item

    def _zeros(self, index: int) -> Array:
        dims = self._dims
        known = [i.shape for i in self.items if i is not None]
        if not d.is_full(dims) and known and self._adds:
            dims = known[0]
        if not d.is_full(dims):
            raise invalid(
                f"Could not read from TensorArray index {index}. Furthermore, the element shape is "
                f"not fully defined: {d.text(dims)}. It is possible you are working with a "
                "resizeable TensorArray and stop_gradients is not allowing the gradients to be "
                "written. Write it first."
            )
        return zeros_of(self.dtype, dims)

    def gradient(self, source: str, prepend: Dims = ()) -> "StepArray":
        """The array of gradients under a name; made when it is asked for first."""
        with self.lock:
            self._check()
            found = self.gradients.get(source)
            if found is None:
                dims = self._dims
                known = [i.shape for i in self.items if i is not None]
                if dims is None and known and len(set(known)) == 1:
                    dims = known[0]
                found = self.gradients[source] = StepArray(
                    self.dtype, len(self.items), d.concat(prepend, dims), False, False, adds=True
                )
            return found

    def close(self) -> None:
        """Lets go of the elements."""
        with self.lock:
            self._closed = True
            self.items = []


def _define(name: str, text: str, shape: Any, doc: str) -> OpDef:
    return define_op(
        f"{name}{text}", shape=shape, stateful=True, effects=TOUCHED, any_resource=True, doc=doc
    )


def _handle(array: StepArray, name: str) -> ResourceHandle:
    return ResourceHandle("", name, array)


NEW = define_op(
    "TensorArrayV3(size: int32; dtype: type, element_shape: shape = ?, dynamic_size: bool = False, "
    "clear_after_read: bool = True, identical_element_shapes: bool = False, tensor_array_name: "
    "string = '') -> (handle: resource, flow: float)",
    shape=lambda c: (c.rank(0, 0), [HANDLE, ()])[1],
    stateful=True,
    doc="An array of tensors that belongs to the step.",
).not_differentiable("its input is a size")


@host_kernel(NEW)
def _new(
    size: Array,
    *,
    dtype: DType,
    element_shape: Dims,
    dynamic_size: bool,
    clear_after_read: bool,
    tensor_array_name: str,
) -> Any:
    if int(size) < 0:
        raise invalid(f"Size should be >= 0, got {int(size)}.")
    array = StepArray(dtype, int(size), element_shape, dynamic_size, clear_after_read)
    return _handle(array, tensor_array_name), np.float32(0)


GRAD = _define(
    "TensorArrayGradV3",
    "(handle: resource, flow_in: float; source: string) -> (grad_handle: resource, "
    "flow_out: float)",
    lambda c: [HANDLE, ()],
    "The array of gradients of an array.",
).not_differentiable("it is an array of gradients itself")


@host_kernel(GRAD)
def _grad(handle: StepArray, flow_in: Array, *, source: str) -> Any:
    return _handle(handle.gradient(_text(source)), _text(source)), flow_in


GRAD_WITH_SHAPE = _define(
    "TensorArrayGradWithShape",
    "(handle: resource, flow_in: float, shape_to_prepend: int32; source: string) -> "
    "(grad_handle: resource, flow_out: float)",
    lambda c: [HANDLE, ()],
    "The array of gradients of an array, with more dimensions in front.",
).not_differentiable("it is an array of gradients itself")


@host_kernel(GRAD_WITH_SHAPE)
def _grad_with_shape(
    handle: StepArray, flow_in: Array, shape_to_prepend: Array, *, source: str
) -> Any:
    found = handle.gradient(_text(source), dims_of(shape_to_prepend))
    return _handle(found, _text(source)), flow_in


def _text(source: Any) -> str:
    return source.decode() if isinstance(source, bytes) else str(source)


WRITE = _define(
    "TensorArrayWriteV3",
    "(handle: resource, index: int32, value: T, flow_in: float; T: type) -> flow_out: float",
    lambda c: (c.rank(1, 0), ())[1],
    "Sets an element.",
)


@host_kernel(WRITE)
def _write(handle: StepArray, index: Array, value: Array, flow_in: Array, *, T: DType) -> Array:
    handle.write(int(index), value, T)
    return flow_in


READ = _define(
    "TensorArrayReadV3",
    "(handle: resource, index: int32, flow_in: float; dtype: type) -> value: dtype",
    lambda c: (c.rank(1, 0), None)[1],
    "An element.",
)


@host_kernel(READ)
def _read(handle: StepArray, index: Array, flow_in: Array, *, dtype: DType) -> Array:
    return handle.read(int(index), dtype)


GATHER = _define(
    "TensorArrayGatherV3",
    "(handle: resource, indices: int32, flow_in: float; dtype: type, element_shape: shape = ?) -> "
    "value: dtype",
    lambda c: _rows(c, "element_shape"),
    "Some elements as rows.",
)


def _rows(c: ShapeContext, attr: str) -> Dims:
    rows, dims = c.rank(1, 1), c.attr(attr)
    return None if dims is None or rows is None else (*rows, *dims)


@host_kernel(GATHER)
def _gather(
    handle: StepArray, indices: Array, flow_in: Array, *, dtype: DType, element_shape: Dims
) -> Array:
    items = [handle.read(int(i), dtype) for i in indices]
    if not items:
        if not d.is_full(element_shape):
            raise invalid(
                "TensorArray has size zero, but element shape is not fully defined: "
                f"{d.text(element_shape)}. Give element_shape."
            )
        return zeros_of(dtype, (0, *(element_shape or ())))
    if len({i.shape for i in items}) > 1:
        raise invalid(
            "TensorArray has inconsistent shapes: "
            + ", ".join(d.text(i.shape) for i in items)
            + ". Use concat for pieces of different lengths."
        )
    return np.stack(items)


SCATTER = _define(
    "TensorArrayScatterV3",
    "(handle: resource, indices: int32, value: T, flow_in: float; T: type) -> flow_out: float",
    lambda c: (c.rank(1, 1), c.rank_at_least(2, 1, "value"), ())[2],
    "Sets elements to rows.",
)


@host_kernel(SCATTER)
def _scatter(handle: StepArray, indices: Array, value: Array, flow_in: Array, *, T: DType) -> Array:
    if len(indices) != len(value):
        raise invalid(
            f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {len(value)}."
        )
    for position, index in enumerate(indices):
        handle.write(int(index), np.asarray(value[position], value.dtype), T)
    return flow_in


PACK = _define(
    "PenstockTensorArrayPack",
    "(handle: resource, flow_in: float; dtype: type, element_shape: shape = ?) -> value: dtype",
    lambda c: None if c.attr("element_shape") is None else (None, *c.attr("element_shape")),
    "All elements as rows: what GraphDefs before version 16 have as TensorArrayPack.",
)


@host_kernel(PACK)
def _pack(handle: StepArray, flow_in: Array, *, dtype: DType, element_shape: Dims) -> Array:
    indices = np.arange(len(handle.items), dtype=np.int32)
    return _gather(handle, indices, flow_in, dtype=dtype, element_shape=element_shape)


UNPACK = _define(
    "PenstockTensorArrayUnpack",
    "(handle: resource, value: T, flow_in: float; T: type) -> flow_out: float",
    lambda c: (c.rank_at_least(1, 1, "value"), ())[1],
    "Sets the elements to rows: what GraphDefs before version 20 have as TensorArrayUnpack.",
)


@host_kernel(UNPACK)
def _unpack(handle: StepArray, value: Array, flow_in: Array, *, T: DType) -> Array:
    return _scatter(handle, np.arange(len(value), dtype=np.int32), value, flow_in, T=T)


SIZE = _define(
    "TensorArraySizeV3",
    "(handle: resource, flow_in: float) -> size: int32",
    lambda c: (),
    "The number of elements.",
).not_differentiable("it is an integer")


@host_kernel(SIZE)
def _size(handle: StepArray, flow_in: Array) -> Array:
    return np.int32(len(handle.items))


CONCAT = _define(
    "TensorArrayConcatV3",
    "(handle: resource, flow_in: float; dtype: type, element_shape_except0: shape = ?) -> "
    "(value: dtype, lengths: int64)",
    lambda c: [
        None
        if c.attr("element_shape_except0") is None
        else (None, *c.attr("element_shape_except0")),
        (None,),
    ],
    "The elements one after the other, and their lengths.",
)


@host_kernel(CONCAT)
def _concat(handle: StepArray, flow_in: Array, *, dtype: DType, element_shape_except0: Dims) -> Any:
    items = [handle.read(i, dtype) for i in range(len(handle.items))]
    if not items:
        if not d.is_full(element_shape_except0):
            raise invalid(
                "TensorArray has size zero, but element_shape_except0 is not fully defined: "
                f"{d.text(element_shape_except0)}. Give it."
            )
        return zeros_of(dtype, (0, *(element_shape_except0 or ()))), np.zeros(0, np.int64)
    for i, item in enumerate(items):
        if not item.ndim:
            raise invalid(
                f"Concat saw a scalar shape at index {i} but requires at least vectors. Use gather."
            )
    return np.concatenate(items), np.array([len(i) for i in items], np.int64)


SPLIT = _define(
    "TensorArraySplitV3",
    "(handle: resource, value: T, lengths: int64, flow_in: float; T: type) -> flow_out: float",
    lambda c: (c.rank_at_least(1, 1, "value"), ())[1],
    "Sets the elements to the pieces of a tensor.",
)


@host_kernel(SPLIT)
def _split(handle: StepArray, value: Array, lengths: Array, flow_in: Array, *, T: DType) -> Array:
    if int(lengths.sum()) != len(value):
        raise invalid(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{int(lengths.sum())} and value's shape is: {d.text(value.shape)}."
        )
    ends = np.cumsum(lengths)
    for index, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        handle.write(index, value[end - length : end], T)
    return flow_in


CLOSE = _define(
    "TensorArrayCloseV3", "(handle: resource) -> ()", lambda c: [], "Lets go of the elements."
).not_differentiable("it has no output")


@host_kernel(CLOSE)
def _close(handle: StepArray) -> None:
    handle.close()


# ---- gradients: what an operation reads is written to the array of gradients, and the other way


def _gradients_of(op: Any, flow: Any) -> tuple[Any, Any]:
    """The array of gradients of the array that `op` works on, and the flow that orders its uses."""
    found = execute(GRAD, (op.inputs[0], flow), {"source": SOURCE})
    return found[0], found[1]


@READ.gradient
def _read_gradient(op: Any, grad: Any) -> list[Any]:
    handle, flow = _gradients_of(op, op.inputs[2])
    return [None, None, execute(WRITE, (handle, op.inputs[1], grad, flow))]


@WRITE.gradient
def _write_gradient(op: Any, flow: Any) -> list[Any]:
    handle, order = _gradients_of(op, flow)
    read = execute(READ, (handle, op.inputs[1], order), {"dtype": op.get_attr("T")})
    return [None, None, read, flow]


@GATHER.gradient
def _gather_gradient(op: Any, grad: Any) -> list[Any]:
    handle, flow = _gradients_of(op, op.inputs[2])
    return [None, None, execute(SCATTER, (handle, op.inputs[1], grad, flow))]


@SCATTER.gradient
def _scatter_gradient(op: Any, flow: Any) -> list[Any]:
    handle, order = _gradients_of(op, flow)
    read = execute(GATHER, (handle, op.inputs[1], order), {"dtype": op.get_attr("T")})
    return [None, None, read, flow]


@PACK.gradient
def _pack_gradient(op: Any, grad: Any) -> list[Any]:
    handle, flow = _gradients_of(op, op.inputs[1])
    return [None, execute(UNPACK, (handle, grad, flow))]


@UNPACK.gradient
def _unpack_gradient(op: Any, flow: Any) -> list[Any]:
    handle, order = _gradients_of(op, flow)
    return [None, execute(PACK, (handle, order), {"dtype": op.get_attr("T")}), flow]


@CONCAT.gradient
def _concat_gradient(op: Any, grad: Any, _: Any) -> list[Any]:
    handle, flow = _gradients_of(op, op.inputs[1])
    return [None, execute(SPLIT, (handle, grad, op.outputs[1], flow))]


@SPLIT.gradient
def _split_gradient(op: Any, flow: Any) -> list[Any]:
    handle, order = _gradients_of(op, flow)
    joined, _ = execute(CONCAT, (handle, order), {"dtype": op.get_attr("T")})
    return [None, joined, None, flow]


__all__ = ["StepArray"]
