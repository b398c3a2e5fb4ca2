"""`WeakTensor`: a tensor whose dtype gives way to that of the value it is combined with.

It is what Python's numbers become in the dtype conversion modes "safe" and "all" of
`tf.experimental.numpy`; `penstock.ops.weak_functions` says which functions make and keep them. To
every other function it is the tensor inside. Being an extension type, it passes through functions,
control flow, `nest` and datasets; the operators and methods come from `penstock.ops`.
"""

from collections.abc import Iterator
from typing import Any

from penstock import errors
from penstock.core import convert, dispatch
from penstock.core.convert import register_tensor_conversion_function
from penstock.core.extension_type import BatchableExtensionType
from penstock.core.tensor import EagerTensor, Reference, Tensor
from penstock.types import dtypes
from penstock.types.dtypes import DType

WEAK_DTYPES = (  # what Python's numbers may become, the narrower first
    dtypes.int32,
    dtypes.int64,
    dtypes.float32,
    dtypes.float64,
    dtypes.complex128,
)


class WeakTensor(BatchableExtensionType):
    """A tensor of int32, int64, float32, float64 or complex128 with a dtype that gives way."""

    __name__ = "tf.WeakTensor"
    __array_priority__ = 100  # NumPy arrays leave operators to it, as to tensors
    _counts_as_tensor = True
    _is_one_tensor = True

    tensor: Tensor

    class Spec:
        """The spec of a weak tensor."""

        def _from_components(self, components: Any) -> Any:
            (tensor,) = components
            return WeakTensor(tensor) if isinstance(tensor, Tensor) else tensor  # what was fetched

    def __validate__(self) -> None:
        if self.tensor.dtype not in WEAK_DTYPES:
            raise TypeError(
                f"WeakTensor: expected a tensor of {', '.join(d.name for d in WEAK_DTYPES)}, got"
                f" {self.tensor.dtype.name}. Other dtypes are never weak: use the tensor itself."
            )

    def __getattr__(self, name: str) -> Any:
        """What the tensor inside has: device, op, name, ref, ..."""
        if name.startswith(("__", "_tf_extension_type")) or "tensor" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.tensor, name)

    @property
    def _gradient_part(self) -> Tensor:
        return self.tensor

    def _with_gradient(self, gradient: Any) -> Any:
        return gradient if gradient is None else weak(convert.convert_to_tensor(gradient))

    def to_tensor(self) -> Tensor:
        """The tensor inside, whose dtype does not give way."""
        return self.tensor

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.tensor.dtype

    @property
    def shape(self) -> Any:
        """The shape, as far as it is known."""
        return self.tensor.shape

    def get_shape(self) -> Any:
        """The same as `shape`."""
        return self.tensor.shape

    @property
    def dims(self) -> Any:
        """The shape as a tuple."""
        return self.tensor.dims

    @property
    def is_tensor_like(self) -> bool:
        """True."""
        return True

    def numpy(self) -> Any:
        """A copy of the data as a NumPy array or scalar.

        Raises:
          ValueError: the tensor is symbolic.
        """
        if not isinstance(self.tensor, EagerTensor):
            raise ValueError(
                f"WeakTensor.numpy() is only supported in eager mode: expected a tensor with a"
                f" value, got {self!s}. Return it from the function and read it there."
            )
        return self.tensor.numpy()

    def consumers(self) -> list[Any]:
        """The operations that take the tensor inside as an input."""
        return self.tensor.consumers()  # type: ignore[attr-defined,no-any-return]

    def ref(self) -> Reference:
        """A hashable stand-in for the tensor inside."""
        return self.tensor.ref()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.tensor)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tensor.__array__(*args, **kwargs)  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __int__(self) -> int:
        return int(self.tensor)  # type: ignore[call-overload,no-any-return]

    def __float__(self) -> float:
        return float(self.tensor)  # type: ignore[arg-type]

    def __complex__(self) -> complex:
        return complex(self.tensor)  # type: ignore[call-overload,no-any-return]

    def __index__(self) -> int:
        return self.tensor.__index__()  # type: ignore[attr-defined,no-any-return]

    def __len__(self) -> int:
        return len(self.tensor)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator["WeakTensor"]:
        if isinstance(self.tensor, EagerTensor):
            return map(WeakTensor, self.tensor)
        raise errors.OperatorNotAllowedInGraphError(
            f"Iterating over a symbolic `tf.WeakTensor` is not allowed: got {self!s}. Use"
            " tf.unstack, or tf.map_fn."
        )

    def __reduce__(self) -> Any:
        return WeakTensor, (self.tensor,)

    def __copy__(self) -> "WeakTensor":
        return WeakTensor(self.tensor)

    def __deepcopy__(self, memo: dict[int, Any]) -> "WeakTensor":
        return WeakTensor(self.tensor)

    def __format__(self, spec: str) -> str:
        return f"{format(self.tensor, spec)} weakly typed"

    def __str__(self) -> str:
        return f"{str(self.tensor)[:-1]}, weak=True)"

    def __repr__(self) -> str:
        return f"{repr(self.tensor)[:-1]}, weak=True>"


dispatch.kinds.discard(WeakTensor)  # a mode with weak tensors looks at every call; others at none


def weak(tensor: Any) -> Any:
    """A tensor as a WeakTensor where its dtype can be weak; anything else as it is."""
    if isinstance(tensor, Tensor) and tensor.dtype in WEAK_DTYPES:
        return WeakTensor(tensor)
    return tensor


def strong(value: Any) -> Any:
    """The tensor inside a WeakTensor; anything else as it is."""
    return value.tensor if isinstance(value, WeakTensor) else value


def _convert(value: WeakTensor, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    del name, as_ref
    return convert.convert_to_tensor(value.tensor, dtype)


register_tensor_conversion_function(WeakTensor, _convert)
