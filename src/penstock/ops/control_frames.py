"""Control flow of the first kind: operations that route values through a graph.

`Switch` and `Merge` make conditionals, `Enter`, `NextIteration` and `Exit` loops. In a graph the
executor gives them their meaning, see `penstock.runtime.flow`: a value that a `Switch` does not
pass on is dead, and so is what depends on it. The kernels here serve eager calls alone, where every
value is there and each operation hands on what it got.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray


def _scalar(c: ShapeContext, index: int, name: str) -> None:
    c.rank(index, 0, name)


def switch_shapes(c: ShapeContext) -> list[Dims]:
    """The shape of the first input, twice; the second one is a scalar."""
    _scalar(c, 1, "pred")
    return [c.shape(0), c.shape(0)]


def merge_shapes(c: ShapeContext) -> list[Dims]:
    """What the inputs have in common, and a scalar."""
    merged = c.shape(0)
    for dims in c.shapes[1:]:
        merged = d.union(merged, dims)
    return [merged, ()]


def enter_shape(c: ShapeContext) -> Dims:
    """What goes round a loop may change its shape; what is constant in it does not."""
    return c.shape(0) if c.attr("is_constant") else None


def _loop_cond_shape(c: ShapeContext) -> Dims:
    _scalar(c, 0, "input")
    return ()


def no_gradient(op: Any, *grads: Any) -> Any:
    """The rule where no other one is: `penstock.autodiff` has those of branches and whole loops.

    Raises:
      UnimplementedError: always.
    """
    raise errors.UnimplementedError(
        None,
        None,
        f"{op.type} '{op.name}': expected results and sources of a gradient outside of loops, got "
        "one inside. Take the gradient of what leaves the loop by what enters it.",
    )


def define_flow(text: str, shape: Any, doc: str) -> OpDef:
    """An operation of control flow; see `no_gradient` for its gradient."""
    op = define_op(text, shape=shape, doc=doc)
    op.gradient(no_gradient)
    return op


_FRAME = "T: type, frame_name: string, is_constant: bool = False, parallel_iterations: int = 10"

SWITCH = define_flow(
    "Switch(data: T, pred: bool; T: type) -> output_false: T, output_true: T",
    switch_shapes,
    "Passes `data` to the output that `pred` names; the other one is dead.",
)
MERGE = define_flow(
    "Merge(inputs: N*T; T: type, N: int >= 1) -> output: T, value_index: int32",
    merge_shapes,
    "Passes on the first input that is not dead, and its number.",
)
ENTER = define_flow(
    f"Enter(data: T; {_FRAME}) -> output: T",
    enter_shape,
    "Takes a value into the loop `frame_name`; with `is_constant` every round has it.",
)
EXIT = define_flow(
    "Exit(data: T; T: type) -> output: T", shapes.same, "Takes a value out of a loop."
)
NEXT_ITERATION = define_flow(
    "NextIteration(data: T; T: type) -> output: T", shapes.same, "Takes a value to the next round."
)
LOOP_COND = define_op(
    "LoopCond(input: bool) -> output: bool",
    shape=_loop_cond_shape,
    doc="Passes on the condition of a loop.",
).not_differentiable("a condition is no number")

CONTROL_TRIGGER = define_op(
    "ControlTrigger() -> ()",
    shape=shapes.no_output,
    stateful=False,
    doc="Does nothing; runs although what it waits for is dead.",
).not_differentiable("it has no outputs")

ABORT = define_op(
    "Abort(; error_msg: string = '', exit_without_error: bool = False) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Fails the step; with `exit_without_error` it does nothing.",
).not_differentiable("it has no outputs")


@host_kernel(SWITCH, limit=1 << 62)
def _switch(data: Array, pred: Array) -> tuple[Array, Array]:
    dead = np.empty(0, data.dtype) if isinstance(data, np.ndarray) else data
    return (dead, data) if pred else (data, dead)


@host_kernel(MERGE, limit=1 << 62)
def _merge(inputs: list[Array]) -> tuple[Array, Array]:
    return inputs[0], np.int32(0)


def _pass_on(value: Any) -> Any:
    return value


for _op in (ENTER, EXIT, NEXT_ITERATION, LOOP_COND):
    host_kernel(_op, limit=1 << 62)(_pass_on)


@host_kernel(CONTROL_TRIGGER)
def _control_trigger() -> None:
    return None


@host_kernel(ABORT)
def _abort(ctx: Any, *, error_msg: str, exit_without_error: bool) -> None:
    if not exit_without_error:
        raise errors.AbortedError(
            None,
            None,
            f"{error_msg or 'Abort'}: expected that the graph does not come to this operation. "
            "Pass exit_without_error=True to let the step go on.",
        )
