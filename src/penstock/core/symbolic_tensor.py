"""`SymbolicTensor`: an output of an operation of a graph, which has a value when the graph runs.

The layer that has sessions installs what `eval` calls, by `set_evaluator`.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.tensor import Tensor
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape


class SymbolicTensor(Tensor):
    """An output of an Operation: where in a graph a value will be."""

    __slots__ = ("_dims", "_dtype", "_handle_data", "_op", "_value_index")

    _handle_data: Any

    def __init__(self, op: Any, value_index: int, dtype: DType, dims: Dims) -> None:
        self._op = op
        self._value_index = value_index
        self._dtype = dtype
        self._dims = dims

    @property
    def op(self) -> Any:
        """The Operation that makes this tensor."""
        return self._op

    @property
    def graph(self) -> Any:
        """The Graph that the operation is in."""
        return self._op.graph

    @property
    def name(self) -> str:
        """The name of the operation and the index of its output, as `add:0`."""
        return f"{self._op.name}:{self._value_index}"

    @property
    def value_index(self) -> int:
        """Which output of its operation this is."""
        return self._value_index

    @property
    def device(self) -> str:
        """The device string of the operation."""
        return str(self._op.device)

    @property
    def dims(self) -> Dims:
        """The static shape as a tuple: None for unknown sizes, None for an unknown rank."""
        return self._dims

    @property
    def shape(self) -> TensorShape:
        """The static shape, as far as it is known."""
        return TensorShape.from_dims(self._dims)

    def set_shape(self, shape: Any) -> None:
        """Adds what is known about the shape.

        Raises:
          ValueError: `shape` contradicts what is already known.
        """
        self._dims = self.shape.merge_with(shape).dims_tuple

    def consumers(self) -> list[Any]:
        """The operations that take this tensor as an input, in the order they were added."""
        return list(self.graph.consumers(self))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, computed in `session` or the default session."""
        return evaluate(self, feed_dict, session)

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). Please call `x.shape`"
            " rather than `len(x)` for shape information."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may"
            " indicate that you're trying to pass a Tensor to a NumPy call, which is not"
            " supported."
        )

    def __index__(self) -> int:
        raise TypeError(
            f"'{type(self).__name__}' object cannot be interpreted as an integer: {self.name} is"
            " symbolic"
        )

    def __int__(self) -> int:
        raise TypeError(self._no_number("int", "a string, a bytes-like object or a real number"))

    def __float__(self) -> float:
        raise TypeError(self._no_number("float", "a string or a real number"))

    def _no_number(self, kind: str, wanted: str) -> str:
        return (
            f"{kind}() argument must be {wanted}, not '{type(self).__name__}': the value of"
            f" {self.name} is known only when the graph runs"
        )

    def __reduce__(self) -> Any:
        raise TypeError(
            f"cannot pickle '{type(self).__name__}' object: {self.name} is a part of its graph;"
            " pickle the graph's GraphDef instead"
        )

    def __copy__(self) -> "SymbolicTensor":
        return self

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{self._device_text()})'

    def _device_text(self) -> str:
        device = self.device
        return f", device={device}" if device else ""

    def __repr__(self) -> str:
        shape = "<unknown>" if self._dims is None else str(self.shape)
        return f"<tf.Tensor '{self.name}' shape={shape} dtype={self._dtype.name}>"


def set_evaluator(function: Callable[..., Any]) -> None:
    """Installs what `Tensor.eval` calls: `function(tensor, feed_dict, session)`."""
    global evaluate
    evaluate = function


def _no_evaluator(tensor: Tensor, feed_dict: Any, session: Any) -> Any:
    raise ValueError(
        "Cannot evaluate tensor using `eval()`: No default session is registered."
        " Use `with sess.as_default()` or pass an explicit session to `eval(session=sess)`"
    )


evaluate: Callable[..., Any] = _no_evaluator
