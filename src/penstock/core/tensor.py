"""Tensors: values of one dtype and shape.

`EagerTensor` has data: a NumPy array, a NumPy scalar, a JAX array or, for resources and variants,
the Python object itself. `SymbolicTensor`, in a module of its own, is an output of an Operation in
a Graph. Both share `Tensor`, whose operators and methods that are operations themselves (`x + y`,
`x[1:]`) are attached by the package of operations through `attach_method`, so that this module
knows no operation.

An eager tensor's array is never written to. If the array is a variable's current buffer, the tensor
holds the variable's lease in `_lease`; as long as it lives the variable does not give its buffer
away.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import errors
from penstock.core.lazy import check_not_forked, jax, jnp, wide_types
from penstock.core.memory import located_read
from penstock.core.native_buffers import Exporter
from penstock.types import dtypes
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape


class _NumpyName:
    """A name of NumPy's arrays that tensors have once NumPy's behavior is enabled."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, tensor: Any, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__} object has no attribute '{self._name}'. If you are looking for"
            " numpy-related methods, please run the following:"
            " tf.experimental.numpy.experimental_enable_numpy_behavior()",
            name=self._name,
            obj=tensor,
        )


class TensorBase:
    """What counts as a tensor: tensors, variables, and classes of others that convert themselves.

    A class of another library inherits from it, has `dtype` and `shape`, and says in
    `__tf_tensor__(self, dtype=None, name=None)` which tensor it stands for: `dtype` is the one
    wanted, None for any. Then operations take its objects, alone and in lists, and `tf.is_tensor`
    is true of them.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # subclasses have them, as properties or attributes

        @property
        def dtype(self) -> Any:
            """The DType of the elements."""

        @property
        def shape(self) -> Any:
            """The TensorShape."""


class Tensor(TensorBase):
    """A multi-dimensional array of one dtype: eager (has data) or symbolic (of a graph)."""

    __slots__ = ("__dict__", "__weakref__")
    __nest_leaf__ = True  # a structure ends here, although specs describe tensors
    __array_priority__ = 100  # NumPy arrays leave binary operators with a Tensor to the Tensor

    _dtype: DType
    equality_by_value = True  # turned off by compat.v1.disable_tensor_equality
    OVERLOADABLE_OPERATORS = frozenset(  # what classes that stand for tensors forward
        f"__{name}__"
        for name in (
            "abs add and div eq floordiv ge getitem gt invert le lt matmul mod mul ne neg or pow"
            " radd rand rdiv rfloordiv rmatmul rmod rmul ror rpow rsub rtruediv rxor sub truediv"
            " xor"
        ).split()
    )

    if TYPE_CHECKING:  # the operators and methods that penstock.ops attaches

        def __add__(self, other: Any, /) -> "Tensor": ...
        def __radd__(self, other: Any, /) -> "Tensor": ...
        def __sub__(self, other: Any, /) -> "Tensor": ...
        def __rsub__(self, other: Any, /) -> "Tensor": ...
        def __mul__(self, other: Any, /) -> "Tensor": ...
        def __rmul__(self, other: Any, /) -> "Tensor": ...
        def __truediv__(self, other: Any, /) -> "Tensor": ...
        def __rtruediv__(self, other: Any, /) -> "Tensor": ...
        def __floordiv__(self, other: Any, /) -> "Tensor": ...
        def __rfloordiv__(self, other: Any, /) -> "Tensor": ...
        def __mod__(self, other: Any, /) -> "Tensor": ...
        def __rmod__(self, other: Any, /) -> "Tensor": ...
        def __pow__(self, other: Any, /) -> "Tensor": ...
        def __rpow__(self, other: Any, /) -> "Tensor": ...
        def __matmul__(self, other: Any, /) -> "Tensor": ...
        def __rmatmul__(self, other: Any, /) -> "Tensor": ...
        def __and__(self, other: Any, /) -> "Tensor": ...
        def __rand__(self, other: Any, /) -> "Tensor": ...
        def __or__(self, other: Any, /) -> "Tensor": ...
        def __ror__(self, other: Any, /) -> "Tensor": ...
        def __xor__(self, other: Any, /) -> "Tensor": ...
        def __rxor__(self, other: Any, /) -> "Tensor": ...
        def __lt__(self, other: Any, /) -> "Tensor": ...
        def __le__(self, other: Any, /) -> "Tensor": ...
        def __gt__(self, other: Any, /) -> "Tensor": ...
        def __ge__(self, other: Any, /) -> "Tensor": ...
        def __neg__(self) -> "Tensor": ...
        def __invert__(self) -> "Tensor": ...
        def __abs__(self) -> "Tensor": ...
        def __getitem__(self, key: Any, /) -> "Tensor": ...
        def __iter__(self) -> Iterator["Tensor"]: ...

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def dims(self) -> Dims:
        """The shape as a tuple with None for unknown dimensions; None when the rank is unknown."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known without running anything."""
        return TensorShape.from_dims(self.dims)

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    @property
    def ndim(self) -> int | None:
        """The number of dimensions."""
        dims = self.dims
        return None if dims is None else len(dims)

    def _rank(self) -> int | None:
        return self.ndim

    def _shape_tuple(self) -> Dims:
        return self.dims

    @property
    def name(self) -> str:
        """The name of a symbolic tensor."""
        raise NotImplementedError

    def set_shape(self, shape: Any) -> None:
        """Says, or checks, what is known of the shape.

        Args:
          shape: what converts to a TensorShape.

        Raises:
          ValueError: it contradicts what is known.
        """
        raise NotImplementedError

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value of a symbolic tensor in a session.

        Args:
          feed_dict: values by tensor, as for `Session.run`.
          session: the session; the default one when None.

        Returns:
          A NumPy array.

        Raises:
          ValueError: there is no default session.
          NotImplementedError: the tensor is eager; it has `numpy`.
        """
        raise NotImplementedError

    def __bool__(self) -> bool:  # also borrowed by classes that stand for tensors
        named = f"the value of {self.name}" if hasattr(self, "_op") else "its value"
        raise errors.OperatorNotAllowedInGraphError(
            f"Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: {named} is known"
            " only when the graph runs. Use tf.cond to choose between tensors, or run eagerly."
        )

    __nonzero__ = __bool__

    def ref(self) -> "Reference":
        """A hashable stand-in for this tensor, to be used as a dictionary key."""
        return Reference(self)

    def experimental_ref(self) -> "Reference":
        """The same as `ref`."""
        return self.ref()

    @property
    def _id(self) -> int:
        return id(self)

    @property
    def compares_by_value(self) -> bool:
        """Whether == compares elements (no dictionary key then); in plain graphs it is identity."""
        return Tensor.equality_by_value and bool(
            getattr(getattr(self, "_op", None), "graph", _NO_GRAPH).building_function
        )

    def __hash__(self) -> int:
        if self.compares_by_value:
            raise TypeError(
                "Tensor is unhashable: == compares tensors element by element. "
                "Use tensor.ref() as the key instead."
            )
        return id(self)


class _NoGraph:
    """Stands for the graph of an eager tensor."""

    building_function = True


_NO_GRAPH = _NoGraph()


class Reference:
    """A hashable reference to a tensor or variable: equal when it refers to the same object."""

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Any) -> None:  # any: a Tensor, or a Variable of a higher layer
        self._wrapped = wrapped

    def deref(self) -> Any:
        """The object referred to."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        if other is None:
            return False
        if not isinstance(other, Reference):
            raise TypeError(
                "Cannot compare wrapped object with unwrapped object: expected a reference, got a "
                f"{type(other).__name__}. Use other.ref()."
            )
        return self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"


class EagerTensor(Tensor, Exporter):
    """A tensor that has data."""

    __slots__ = ("_array", "_device", "_dtype", "_handle_data", "_lease")

    _handle_data: Any
    _device: str  # set where it is not what the array says: on logical CPUs after the first

    _array: Any  # numpy.ndarray, numpy.generic, jax.Array, or an object for resource and variant
    _lease: Any

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape as a tuple."""
        return getattr(self._array, "shape", ())

    @property
    def shape(self) -> TensorShape:
        """The shape, which is fully known."""
        return TensorShape.from_dims(getattr(self._array, "shape", ()))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(getattr(self._array, "shape", ()))

    @property
    def device(self) -> str:
        """The full name of the device that holds the data."""
        return getattr(self, "_device", None) or _device_of(self._array)

    @property
    def backing_device(self) -> str:
        """The same as `device`."""
        return self.device

    @property
    def is_packed(self) -> bool:
        """Whether it stands for tensors on several devices; never so."""
        return False

    def cpu(self) -> "EagerTensor":
        """The same values in the host's memory, on the first CPU.

        Raises:
          TypeError: the tensor holds a resource or a variant.
        """
        return wrap(host_array(self), self._dtype)

    def gpu(self, gpu_index: int = 0) -> "EagerTensor":
        """The same values in the memory of a GPU.

        Raises:
          RuntimeError: there is no such GPU.
          TypeError: the tensor holds a resource or a variant.
        """
        try:
            device = jax.local_devices(backend="gpu")[gpu_index]
        except (RuntimeError, IndexError):
            raise RuntimeError(
                f"GPU:{gpu_index} unknown device: expected one of"
                " tf.config.list_logical_devices('GPU'). Use Tensor.cpu() without a GPU."
            ) from None
        with wide_types():
            return wrap(jax.device_put(host_array(self), device), self._dtype)

    @property
    def op(self) -> Any:
        """Refused: only a symbolic tensor has an operation."""
        raise AttributeError(_no_graph("op"))

    @property
    def graph(self) -> Any:
        """Refused: only a symbolic tensor has a graph."""
        raise AttributeError(_no_graph("graph"))

    @property
    def name(self) -> str:
        """Refused: only a symbolic tensor has a name."""
        raise AttributeError(_no_graph("name"))

    @property
    def value_index(self) -> int:
        """Refused: only a symbolic tensor has a place among outputs."""
        raise AttributeError(_no_graph("value_index"))

    def consumers(self) -> list[Any]:
        """Refused: only a symbolic tensor knows its consumers."""
        raise NotImplementedError(_no_graph("consumers"))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Refused: an eager tensor has its value already."""
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're looking"
            " for?"
        )

    def set_shape(self, shape: Any) -> None:
        """Checks that the tensor's shape is compatible with `shape`."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape"
                f" {TensorShape(shape)}."
            )

    def numpy(self) -> Any:
        """A copy of the data as a NumPy array; a scalar of NumPy, or bytes, for rank 0.

        `np.asarray(tensor)` shares memory instead where it can, and cannot be written to.

        Raises:
          TypeError: the tensor holds a resource or a variant.
        """
        array = host_array(self)
        if array.ndim:
            return array.copy()
        return array.item() if self._dtype is dtypes.string else array[()]

    def _numpy(self) -> Any:
        return host_array(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = host_array(self)
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(
                    f"np.asarray of a tensor of dtype {self._dtype.name}: expected the same "
                    f"dtype for copy=False, got {np.dtype(dtype)}. Allow a copy with copy=None."
                )
            return array.astype(dtype)
        if copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = False
        return view

    def __dlpack__(self, **arguments: Any) -> Any:
        return _exchangeable(self).__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return _exchangeable(self).__dlpack_device__()

    def __bytes__(self) -> bytes:
        return host_array(self).tobytes()

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(host_array(self)).toreadonly()  # type: ignore[arg-type]

    def __len__(self) -> int:
        dims = self.dims
        if not dims:
            raise TypeError("Scalar tensor has no `len()`")
        return dims[0]

    def __bool__(self) -> bool:
        array = host_array(self)
        if array.size > 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous: expected a"
                f" tensor of one element, got shape {self.shape}. Use tf.reduce_any or"
                " tf.reduce_all."
            )
        if not array.size:
            return False
        return bool(array.reshape(()).item())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if not self._dtype.is_integer:
            raise TypeError(
                f"only integer scalar tensors can be converted to an index, got {self._dtype.name}"
            )
        return int(self._scalar("index"))

    def _scalar(self, kind: str) -> Any:
        array = host_array(self)
        if array.ndim:
            raise TypeError(
                f"{kind}() of a tensor: only 0-dimensional arrays can be converted to Python"
                f" scalars, got shape {self.shape}. Take one element, as tensor[0]."
            )
        return array.item()

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.numpy(), digits) if digits is not None else round(self.numpy())

    def __format__(self, spec: str) -> str:
        return (
            format(self.numpy(), spec)
            if self._dtype is not dtypes.resource
            else format(str(self), spec)
        )

    def __reduce__(self) -> Any:
        if self._dtype in (dtypes.resource, dtypes.variant):
            raise TypeError(f"a tensor of dtype {self._dtype.name} cannot be pickled")
        return eager_tensor, (host_array(self), self._dtype)

    def __copy__(self) -> "EagerTensor":
        return self  # it never changes, and tapes know it by itself

    def __deepcopy__(self, memo: dict[int, Any]) -> "EagerTensor":
        return self

    def __str__(self) -> str:
        text = _own_lines(value_text(self, False))
        return f"tf.Tensor({text}, shape={self.shape}, dtype={self._dtype.name})"

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self._dtype.name}, {value_text(self, True)}>"
        )

    def _repr_html_(self) -> str:
        text = repr(self).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return f"<pre>{text}</pre>"


_new_tensor = EagerTensor.__new__


def wrap(array: Any, dtype: DType) -> EagerTensor:
    """An eager tensor around `array` itself, which has the storage type and never changes."""
    tensor = _new_tensor(EagerTensor)
    tensor._array = array
    tensor._dtype = dtype
    return tensor


def eager_tensor(array: Any, dtype: DType | None = None) -> EagerTensor:
    """An eager tensor from a NumPy array, whose dtype follows from the array's unless given."""
    return wrap(array, dtype if dtype is not None else dtypes.from_numpy(array.dtype))


def host_array(tensor: EagerTensor) -> np.ndarray[Any, Any]:
    """The tensor's data as a NumPy array, without a copy where the data is in host memory.

    Raises:
      TypeError: the tensor holds a resource or a variant.
      RuntimeError: it is XLA's, in a process that was forked.
      ResourceExhaustedError: there was no memory to compute it.
    """
    array = tensor._array
    if array.__class__ is np.ndarray:
        return array
    if tensor._dtype is dtypes.resource or tensor._dtype is dtypes.variant:
        raise TypeError(f"Cannot convert a Tensor of dtype {tensor._dtype.name} to a NumPy array.")
    return on_host(array)


def on_host(array: Any) -> np.ndarray[Any, Any]:
    """An array of XLA's as one of NumPy's, when it is computed.

    Raises:
      RuntimeError: the process was forked since.
      ResourceExhaustedError: there was no memory to compute it.
    """
    check_not_forked()
    try:
        return np.asarray(array)
    except RuntimeError as problem:
        raise located_read(problem) from None


def value_text(tensor: EagerTensor, is_repr: bool) -> str:
    """The data as it is shown in `repr` ("numpy=...") and `str`."""
    array = tensor._array
    if tensor._dtype in (dtypes.resource, dtypes.variant):
        return f"value={array!r}" if is_repr else repr(array)
    value = tensor.numpy()
    if not is_repr:
        return repr(value) if tensor._dtype is dtypes.string and not tensor.ndim else str(value)
    if not tensor.ndim:
        return f"numpy={value!r}" if tensor._dtype is dtypes.string else f"numpy={value}"
    return f"numpy={_own_lines(repr(value))}"


def _own_lines(text: str) -> str:
    """Text of several lines begins on a line of its own."""
    return f"\n{text}" if "\n" in text else text


def _exchangeable(tensor: EagerTensor) -> Any:
    """The array behind a tensor in a form that DLPack can hand to others.

    Raises:
      InvalidArgumentError: the elements are no numbers.
    """
    if tensor._dtype in (dtypes.string, dtypes.resource, dtypes.variant):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"DLPack: expected a tensor of numbers or bools, got dtype {tensor._dtype.name}.",
        )
    array = tensor._array
    if not isinstance(array, (np.ndarray, np.generic)):
        return array
    if array.dtype.kind == "V":  # bfloat16 and its like, which NumPy does not export
        with wide_types():
            return jnp.asarray(array)
    return np.asarray(array) if array.flags.writeable else np.array(array)


def _no_graph(what: str) -> str:
    return f"Tensor.{what} is undefined when eager execution is enabled."


def _device_of(array: Any) -> str:
    devices = getattr(array, "devices", None)
    if devices is None or isinstance(array, (np.ndarray, np.generic)):
        return "/job:localhost/replica:0/task:0/device:CPU:0"
    (device,) = tuple(devices())[:1]
    kind = {"gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}.get(device.platform, "CPU")
    return f"/job:localhost/replica:0/task:0/device:{kind}:{device.local_hardware_id or 0}"


for _name in ("T", "astype", "clip", "data", "ravel", "reshape", "size", "tolist", "transpose"):
    setattr(Tensor, _name, _NumpyName(_name))


def attach_method(name: str, function: Callable[..., Any]) -> None:
    """Makes `function` a method (or an operator, or a property object) of every tensor."""
    setattr(Tensor, name, function)
    if name == "__eq__":  # a class that defines __eq__ loses its hash
        for cls in Tensor.__subclasses__():
            cls.__hash__ = Tensor.__hash__  # type: ignore[method-assign]
