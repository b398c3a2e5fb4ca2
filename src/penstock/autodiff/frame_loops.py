"""Gradients of loops of the first kind: the reverse is a `While` over lists of what rounds kept.

What the reverse needs of each round goes round the loop in a list, another variable of it. So the
loop stays what it was for everything else, and derivatives of the gradient find in these lists what
they depend on. A value that only some rounds have, those that take a branch, is kept as a number of
no meaning in the others, where its gradient is dead.
"""

from collections.abc import Sequence
from typing import Any

from penstock.autodiff.frame_guards import guards
from penstock.autodiff.frames import EXITS, FrameLoop, refused
from penstock.autodiff.loops import (
    COUNTER,
    Inside,
    Reversal,
    kept_by,
    missing_of,
    reached_from,
    reverse_round,
)
from penstock.autodiff.walk import Record, add_gradients, named_rules
from penstock.autodiff.widening import carries_gradient
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt

_ARRAYS = "PenstockReverseOfArrays"


def _gradient_of_frame_loop(record: Record, *grads: Any) -> list[Any]:
    """The gradient rule of a loop; the record is of its first `Exit`."""
    loop = FrameLoop(record.source)
    body = loop.attrs["body"]
    by_exit = dict(zip(map(id, record.outputs), grads, strict=True))
    given = [_sum([by_exit[id(op._outputs[0])] for op in leaving]) for leaving in loop.exits]
    needed = record.needed if record.needed is not None else [True] * len(record.inputs)
    reached = reached_from(body, {i for i, wanted in enumerate(needed) if wanted})
    start = {i for i in reached if given[i] is not None and carries_gradient(body.inputs[i])}
    if not start:
        return [None] * len(record.inputs)
    if any(given[i] is not None for i in body.backward.get("guarded", ())):
        raise refused(
            record.source,
            "first derivatives of a loop with a conditional inside",
            "what its first derivatives kept of rounds",
            "Build the loop with tf.while_loop and tf.cond",
        )
    flowing, reverse = reverse_round(body, start, reached)
    _Keeper(loop).keep(reverse.captured)
    with Inside(loop.graph):
        loop = FrameLoop(record.source)
        outputs = [loop.leaving(i) for i in range(len(loop.inputs))]
    reversal = Reversal(loop, outputs, flowing, reverse, given, None)
    found = reversal.build()
    if any(op.type.startswith("TensorArray") for op in reverse.body.graph.get_operations()):
        reversal.loop.attrs = {**reversal.loop.attrs, "_gradient_op_type": _ARRAYS}
    return [found.get(i) for i in range(len(record.inputs))]


def _sum(grads: Sequence[Any]) -> Any:
    """The gradient of a variable that leaves the loop by several operations."""
    given = [g for g in grads if g is not None]
    return add_gradients(given) if len(given) > 1 else next(iter(given), None)


def _refuse_arrays(record: Record, *grads: Any) -> None:
    """Arrays of gradients have no derivatives: the second ones would lack a part."""
    raise refused(
        record.source,
        "first derivatives of a loop that reads or writes TensorArrays",
        "second ones",
        "Build the loop with tf.while_loop and tf.TensorArray",
    )


class _Keeper:
    """Gives a loop further variables: a number of rounds, and lists of what rounds computed."""

    def __init__(self, loop: FrameLoop) -> None:
        self._loop = loop
        self._body = loop.attrs["body"]
        self._count = len(loop.inputs)
        self._round: Any = None

    def keep(self, tensors: Sequence[Any]) -> None:
        """Adds what is not kept yet."""
        kept = kept_by(self._body)
        with Inside(self._loop.graph):
            if COUNTER not in kept:
                start = self._outside(lambda: convert_to_tensor(0, dt.int32))
                kept[COUNTER] = self._add(
                    start, lambda now: execute("AddV2", (now, execute("OnesLike", (now,))))
                )
            self._round = self._body_input(kept[COUNTER])
            for tensor in missing_of(self._body, tensors):
                kept[id(tensor)] = self._keep_one(tensor)

    def _body_input(self, number: int) -> Any:
        return FrameLoop(self._leaving()).attrs["body"].inputs[number]

    def _leaving(self) -> Operation:
        return next(op for leaving in self._loop.exits for op in leaving)

    def _outside(self, make: Any) -> Any:
        """What is made where the loop is entered, in the frame and branch that it is in."""
        with self._loop.graph.control_dependencies([self._loop.enters[0].inputs[0].op]):
            return execute("Identity", (make(),))

    def _keep_one(self, tensor: Any) -> int:
        attrs = {"element_dtype": tensor.dtype}
        start = self._outside(lambda: execute("EmptyTensorList", (-1, -1), attrs))
        value = self._in_every_round(tensor)
        return self._add(start, lambda now: execute("TensorListPushBack", (now, value)))

    def _add(self, start: Any, advance: Any) -> int:
        """Another variable of the loop; returns its number."""
        first = self._loop.enters[0]
        attrs = {
            "frame_name": first.attrs["frame_name"],
            "parallel_iterations": first.attrs["parallel_iterations"],
        }
        enter = execute("Enter", (start,), attrs)
        merge = execute("Merge", ([enter, enter],))[0]
        enter.set_shape(())
        merge.set_shape(())
        leaving, staying = execute("Switch", (merge, self._loop.condition._outputs[0]))
        merge.op.update_input(1, execute("NextIteration", (advance(staying),)))
        execute("Exit", (leaving,)).set_shape(())
        self._count += 1
        return self._count - 1

    def _in_every_round(self, tensor: Any) -> Any:
        """The tensor; in rounds where it is dead something else of its dtype."""
        found = guards(tensor)
        if not found:
            return tensor
        self._body.backward.setdefault("guarded", set()).add(self._count)
        now, others = self._filler(tensor.dtype), []
        for condition, side in found:
            both = execute("Switch", (now, condition))
            others.append(both[1 - side])
            now = both[side]
        return execute("Merge", ([tensor, *others],))[0]

    def _filler(self, dtype: Any) -> Any:
        if dtype is dt.string:
            return execute("AsString", (self._round,))
        if dtype is dt.variant:
            unknown = execute("Neg", (execute("OnesLike", (self._round,)),))
            return execute("EmptyTensorList", (unknown, unknown), {"element_dtype": dt.float32})
        return execute("Cast", (self._round,), {"DstT": dtype})


named_rules[_ARRAYS] = _refuse_arrays
for _name in EXITS:
    named_rules[_name] = _gradient_of_frame_loop
