"""`tf.debugging.enable_check_numerics`: the first operation that gives NaN or infinity is named.

While it is on, every operation of this thread is looked at as it runs, or as it is added to a
graph. In a graph a `CheckNumericsV2` follows each floating-point output and takes its place, so the
check is there wherever the graph runs: in sessions, functions, loops, compiled regions and
gradients. Operations that only move values along are passed over: what they hand on was looked at
where it came from, or was written down by the program as a constant.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef
from penstock.core.tensor import EagerTensor
from penstock.ops import observers
from penstock.ops.array_identity import CHECK_NUMERICS, CHECK_NUMERICS_V2
from penstock.ops.grouping import group
from penstock.types import dtypes as dt
from penstock.util.frames import Frame, user_stack

CHECKED_DTYPES = (dt.bfloat16, dt.float16, dt.float32, dt.float64)
MOVES = frozenset(
    (
        "CheckNumerics CheckNumericsV2 Const Placeholder PlaceholderV2 PlaceholderWithDefault "
        "Identity IdentityN StopGradient PreventGradient Snapshot EnsureShape Reshape ExpandDims "
        "Squeeze Transpose Concat ConcatV2 Pack ParallelConcat Unpack Split SplitV Slice "
        "StridedSlice StridedSliceGrad Gather GatherV2 GatherNd Fill Tile BroadcastTo Reverse "
        "ReverseV2 Roll ZerosLike OnesLike Enter Exit NextIteration Switch Merge RefEnter RefExit "
        "RefNextIteration RefSwitch RefMerge RefIdentity If StatelessIf While StatelessWhile Case "
        "StatelessCase"
    ).split()
)
SHOWN_INPUTS = 4  # input tensors that an error shows


class NumericsObserver:
    """Looks at the floating-point outputs of every operation of a thread.

    Args:
      stack_height_limit: lines of the user's stack that an error shows.
      path_length_limit: characters of a file's path that are shown, its last ones; None for all.
    """

    key = "numerics"

    def __init__(self, stack_height_limit: int, path_length_limit: int | None) -> None:
        self.stack_height_limit = stack_height_limit
        self.path_length_limit = path_length_limit

    def observe(
        self, op: OpDef, inputs: Sequence[Any], outputs: Sequence[Any], node: Any
    ) -> Sequence[Any]:
        """The outputs that take the place of an operation's own; `node` is None eagerly."""
        if op.name in MOVES:
            return outputs
        if node is None:
            self.look_at(op.name, inputs, outputs, None)
            return outputs
        before, state.observer = state.observer, None
        try:
            return [self._checked(node, i, tensor) for i, tensor in enumerate(outputs)]
        finally:
            state.observer = before

    def look_at(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], graph: Any) -> None:
        """Checks values that are there.

        Raises:
          InvalidArgumentError: one holds NaN or infinity; it names the operation and the line.
        """
        for index, tensor in enumerate(outputs):
            if tensor.__class__ is not EagerTensor or tensor.dtype not in CHECKED_DTYPES:
                continue
            if all_finite(tensor._array):
                continue
            array = np.asarray(tensor._array)
            lines = [
                f'!!! Detected Infinity or NaN in output {index} of eagerly-executing op "{name}"'
                f" (# of outputs: {len(outputs)}) !!!",
                *_described(tensor),
                *_counts(array),
                *_inputs(inputs),
                *self._stack(user_stack(limit=self.stack_height_limit)),
            ]
            raise errors.InvalidArgumentError(
                None, None, "\n".join(lines) + f"\n : {_kinds(array)} [Op:{name}]"
            )

    def _checked(self, node: Any, index: int, tensor: Any) -> Any:
        if tensor.dtype not in CHECKED_DTYPES:
            return tensor
        graph = node.graph
        lines = [
            f'!!! Detected Infinity or NaN in output {index} of graph op "{node.type}" named'
            f' "{node.name}" (# of outputs: {len(node.outputs)}) !!!',
            *_described(tensor),
            *_inputs(node.inputs),
            *([f'  Graph name: "{graph.name}"'] if getattr(graph, "name", None) else []),
            *self._stack(user_stack(limit=self.stack_height_limit)),
        ]
        name = f"{node.name}/CheckNumericsV2_{index}/"
        return execute(CHECK_NUMERICS_V2, (tensor,), {"message": "\n".join(lines) + "\n"}, name)

    def _stack(self, frames: Sequence[Frame]) -> list[str]:
        """The user's lines, the one that made the operation last."""
        if not frames:
            return []
        shown = [f"    {self._shortened(f.file)}:{f.line} in {f.function}" for f in frames]
        return ["  Stack trace of op's creation, innermost line last:", *shown]

    def _shortened(self, path: str) -> str:
        limit = self.path_length_limit
        return path if limit is None or len(path) <= limit else f"...{path[len(path) - limit :]}"


_OF_FRAMES = frozenset(
    {"Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration", "LoopCond"}
    | {"Switch", "RefSwitch", "Merge", "RefMerge"}
)


def all_finite(array: Any) -> bool:
    """Whether an array of the host or of a device holds neither NaN nor infinity."""
    xp = np if isinstance(array, (np.ndarray, np.generic)) else jnp
    return bool(xp.isfinite(array).all())


def _described(tensor: Any) -> list[str]:
    return [f"  dtype: {tensor.dtype!r}", f"  shape: {tensor.shape}"]


def _counts(array: Any) -> list[str]:
    found = (
        ("-Inf", np.isneginf(array).sum()),
        ("+Inf", np.isposinf(array).sum()),
        ("NaN", np.isnan(array).sum()),
    )
    return [f"  # of {word} elements: {count}" for word, count in found if count]


def _kinds(array: Any) -> str:
    tests = (("-Inf", np.isneginf), ("+Inf", np.isposinf), ("NaN", np.isnan))
    found = [word for word, test in tests if test(array).any()]
    return f"Tensor had {' and '.join(found)} values"


def _inputs(tensors: Sequence[Any]) -> list[str]:
    if not tensors:
        return []
    shown = [f"    {i}: {tensor}" for i, tensor in enumerate(tensors[:SHOWN_INPUTS])]
    left = len(tensors) - SHOWN_INPUTS
    return [
        f"  Input tensors ({len(tensors)}):",
        *shown,
        *([f"    and {left} more"] if left > 0 else []),
    ]


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int | None = 50) -> None:
    """Makes the first operation of this thread that gives NaN or infinity raise an error.

    Eager operations are looked at as they run. Graphs and functions that are built from now on
    carry checks, which hold in compiled regions and gradients too; a `tf.function` that was traced
    before is traced again. Operations that only move values, and constants, are passed over.

    Args:
      stack_height_limit: lines of the user's stack that an error shows.
      path_length_limit: characters of a file's path that are shown, its last ones; None for all.

    Raises:
      TypeError, ValueError: a limit is no integer, or negative.

    Example:
      >>> import penstock as tf
      >>> tf.debugging.enable_check_numerics()
      >>> try:
      ...     tf.math.log(tf.constant(-1.0))
      ... except tf.errors.InvalidArgumentError as error:
      ...     print(error.message.split(" (#")[0])
      !!! Detected Infinity or NaN in output 0 of eagerly-executing op "Log"
      >>> tf.debugging.disable_check_numerics()
    """
    _check_limit("stack_height_limit", stack_height_limit)
    if path_length_limit is not None:
        _check_limit("path_length_limit", path_length_limit)
    if observers.find(NumericsObserver) is None:  # TensorFlow keeps the limits of the first call
        observers.add(NumericsObserver(stack_height_limit, path_length_limit))


def _check_limit(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"enable_check_numerics: expected an integer {name}, got {value!r}. Leave it out for"
            " the default."
        )
    if value < 0:
        raise ValueError(
            f"enable_check_numerics: expected {name} >= 0, got {value}. Leave it out for the"
            " default."
        )


def disable_check_numerics() -> None:
    """Undoes `enable_check_numerics` in this thread; does nothing when it is off.

    Graphs that were built meanwhile keep their checks; functions are traced again without them.
    """
    observers.remove(NumericsObserver)


def add_check_numerics_ops() -> Any:
    """Adds a check of every floating-point tensor of the current graph, in the graph's order.

    Returns:
      An operation that runs all checks, each naming its tensor.

    Raises:
      RuntimeError: in eager mode; `enable_check_numerics` is for it.
      ValueError: the graph holds control flow of the first kind, where a check may never run.

    Example:
      >>> from penstock.graph.graph import Graph
      >>> with Graph().as_default():
      ...     add_check_numerics_ops().type
      'NoOp'
    """
    graph = state.graph
    if graph is None:
        raise RuntimeError(
            "add_check_numerics_ops() is not compatible with eager execution: expected a graph."
            " Call tf.debugging.enable_check_numerics() once before what is to be checked."
        )
    checks: list[Any] = []  # the last one, which waits for those before it
    for op in graph.get_operations():
        for output in op.outputs:
            if output.dtype.base_dtype not in (dt.float16, dt.bfloat16, dt.float32, dt.float64):
                continue
            if op.type in _OF_FRAMES:
                raise ValueError(
                    f"add_check_numerics_ops: '{op.name}' of type {op.type} is control flow of the"
                    " first kind: expected operations that always run. Use"
                    " tf.debugging.enable_check_numerics()."
                )
            with graph.control_dependencies(checks):
                checks = [execute(CHECK_NUMERICS, (output,), {"message": output.name}).op]
    return group(*checks)
