"""Stacks of a step: where loops of the first kind keep values for their gradients.

`StackV2` makes a stack, which lives as long as something refers to it: the loops that push and pop
get it as a constant. GraphDefs of TensorFlow 1 also hold the operations of the first kind, whose
handle is a string reference: the planner puts these in their place, see
`penstock.runtime.references`.
"""

import threading
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.resources import ResourceHandle
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray or jax.Array


class Stack:
    """Values of one dtype, the last first out. Thread-safe."""

    def __init__(self, name: str, dtype: DType, bound: int) -> None:
        self.name = name
        self.dtype = dtype
        self._bound = bound  # negative: none
        self._lock = threading.Lock()  # guards: _values, _closed
        self._values: list[Array] = []
        self._closed = False

    def push(self, value: Array) -> None:
        """Adds a value.

        Raises:
          InvalidArgumentError: the stack is full, or closed.
        """
        with self._lock:
            self._check_open()
            if 0 <= self._bound <= len(self._values):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Stack[{self.name}] overflowed its max_size ({self._bound}): expected a pop "
                    "before the next push. Give StackV2 a larger max_size, or -1 for no bound.",
                )
            self._values.append(value)

    def pop(self) -> Array:
        """Takes the last value.

        Raises:
          InvalidArgumentError: the stack is empty, or closed.
        """
        with self._lock:
            self._check_open()
            if not self._values:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Stack[{self.name}] is empty when calling Pop(): expected a push before each "
                    "pop.",
                )
            return self._values.pop()

    def close(self) -> None:
        """Drops all values and takes no more. A second call does nothing."""
        with self._lock:
            self._closed = True
            self._values.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise errors.InvalidArgumentError(
                None, None, f"Stack[{self.name}] has already been closed."
            )


STACK = define_op(
    "StackV2(max_size: int32; elem_type: type, stack_name: string = '') -> handle: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="A stack of values of one dtype, bounded when `max_size` is not negative.",
).not_differentiable("a handle is no number")

STACK_PUSH = define_op(
    "StackPushV2(handle: resource, elem: T; T: type, swap_memory: bool = False) -> output: T",
    shape=lambda c: c.shape(1),
    stateful=True,
    doc="Puts `elem` on the stack, and hands it on.",
).without_gradient("a stack keeps values for a gradient that is there already")

STACK_POP = define_op(
    "StackPopV2(handle: resource; elem_type: type) -> elem: elem_type",
    shape=shapes.unknown,
    stateful=True,
    doc="Takes the last value off the stack.",
).without_gradient("a stack keeps values for a gradient that is there already")

STACK_CLOSE = define_op(
    "StackCloseV2(handle: resource) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Drops what is on the stack; it takes no more.",
).not_differentiable("it has no outputs")


OPEN_STACK = define_op(
    "PenstockStack(; elem_type: type, stack_name: string = '') -> handle: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="A stack of values of one dtype without a bound.",
).not_differentiable("it has no inputs")

FIRST = (
    define_op(
        "Stack(; elem_type: type, stack_name: string = '') -> ref handle: string",
        shape=lambda c: (2,),
        stateful=True,
        doc="A stack of values of one dtype. The handle is a reference, as in TensorFlow 1.",
    ).not_differentiable("it has no inputs"),
    define_op(
        "StackPush(ref handle: string, elem: T; T: type, swap_memory: bool = False) -> output: T",
        shape=lambda c: c.shape(1),
        stateful=True,
        doc="As StackPushV2, for a stack that a reference names.",
    ).without_gradient("a stack keeps values for a gradient that is there already"),
    define_op(
        "StackPop(ref handle: string; elem_type: type) -> elem: elem_type",
        shape=shapes.unknown,
        stateful=True,
        doc="As StackPopV2, for a stack that a reference names.",
    ).without_gradient("a stack keeps values for a gradient that is there already"),
    define_op(
        "StackClose(ref handle: string) -> ()",
        shape=shapes.no_output,
        stateful=True,
        doc="As StackCloseV2, for a stack that a reference names.",
    ).not_differentiable("it has no outputs"),
)


@host_kernel(OPEN_STACK)
def _make_open_stack(ctx: KernelContext, *, elem_type: DType, stack_name: str) -> Any:
    name = stack_name or ctx.op_name
    return ResourceHandle("", name, Stack(name, elem_type, -1))


@host_kernel(STACK)
def _make_stack(ctx: KernelContext, max_size: Array, *, elem_type: DType, stack_name: str) -> Any:
    if max_size.ndim:
        raise errors.InvalidArgumentError(
            None, None, f"Stack size must be a scalar, but had shape: {list(max_size.shape)}"
        )
    name = stack_name or ctx.op_name
    return ResourceHandle("", name, Stack(name, elem_type, int(max_size)))


@host_kernel(STACK_PUSH, limit=1 << 62)
def _push(handle: Any, elem: Array, *, T: DType) -> Array:
    stack = _stack(handle, T)
    kept = elem
    if isinstance(elem, np.ndarray) and elem.base is not None:
        kept = elem.copy()  # a view of something that may be written
    stack.push(kept)
    return elem


@host_kernel(STACK_POP, limit=1 << 62)
def _pop(handle: Any, *, elem_type: DType) -> Array:
    return _stack(handle, elem_type).pop()


@host_kernel(STACK_CLOSE)
def _close(handle: Any) -> None:
    _stack(handle, None).close()


def _stack(handle: Any, dtype: DType | None) -> Stack:
    stack = handle.resource
    if not isinstance(stack, Stack):
        raise errors.InvalidArgumentError(
            None, None, f"expected the handle of a stack, got that of a {type(stack).__name__}."
        )
    if dtype is not None and dtype is not stack.dtype:
        raise errors.InvalidArgumentError(
            None, None, f"Type mismatch: actual {dtype.name} vs. expect {stack.dtype.name}"
        )
    return stack
