"""The abstract classes of traced functions, for `isinstance` and annotations."""

import abc
from typing import Any


class Callable(abc.ABC):
    """Something that is called with the arguments of a function type."""

    @property
    @abc.abstractmethod
    def function_type(self) -> Any:
        """The function type: parameters with their types, and the type of the result."""

    @abc.abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""


class AtomicFunction(Callable):
    """A function of flat tensors."""

    def call_with_captures(self, args: Any, kwargs: Any, captures: Any) -> Any:
        """Calls with the captured values given explicitly."""
        raise NotImplementedError(
            f"{type(self).__name__}: expected a class that defines call_with_captures, got one"
            " that does not. Define it."
        )


class ConcreteFunction(Callable):
    """A function traced for one signature."""

    @property
    @abc.abstractmethod
    def inference_fn(self) -> Any:
        """The function of flat tensors that a call runs."""


class PolymorphicFunction(Callable):
    """A function that is traced for each signature of its calls."""

    @abc.abstractmethod
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments."""

    def experimental_get_compiler_ir(self, *args: Any, **kwargs: Any) -> Any:
        """What the compiler makes of the function."""
        raise NotImplementedError(
            f"{type(self).__name__}: expected a class that defines experimental_get_compiler_ir,"
            " got one that does not. Use a tf.function with jit_compile=True."
        )
