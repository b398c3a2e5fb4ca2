"""Gradients of `While`: another loop, over the rounds in reverse.

Its state is the gradients of the loop variables; a variable that all rounds share, a weight say,
adds up its gradient there. Values of each round that the reverse needs are kept: as rows of an
array where the loop's bound and their shapes are known, else in a list that grows. What depends
only on values that all rounds share is computed again instead.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.autodiff.branches import operation_of
from penstock.autodiff.calls import Reverse, build_reverse, call, gather, own_body, records_between
from penstock.autodiff.frames import FrameBody
from penstock.autodiff.walk import Record, as_dense, is_trainable, named_rules
from penstock.autodiff.widening import add_outputs, carries_gradient, zeros_for
from penstock.core import context
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.body import CallBody
from penstock.graph.operation import Operation
from penstock.graph.static_values import value_source
from penstock.graph.trip_count import bound_of
from penstock.ops.loops import while_loop
from penstock.ops.tensor_lists import shape_input
from penstock.types import dtypes as dt
from penstock.types.dims import Dims, is_full, union
from penstock.types.tensor_shape import TensorShape

COUNTER = "rounds"  # the key of the output that counts rounds, among those that keep values


def _gradient_of_while(record: Record, *grads: Any) -> list[Any]:
    """The gradient rule of While."""
    op = operation_of(record)
    with Inside(op.graph):
        own = {name: own_body(op.attrs[name]) for name in ("cond", "body")}  # to add to
    op.attrs = {**op.attrs, **own}
    body: CallBody = own["body"]
    given = [*grads, *[None] * (len(op._outputs) - len(grads))]
    needed = record.needed if record.needed is not None else [True] * len(record.inputs)
    reached = reached_from(body, {i for i, wanted in enumerate(needed) if wanted})
    start = {i for i in reached if given[i] is not None and carries_gradient(body.inputs[i])}
    if not start:
        return [None] * len(record.inputs)
    flowing, reverse = reverse_round(body, start, reached)
    _Keeper(op).keep(reverse.captured)
    found = Reversal(op, op._outputs, flowing, reverse, given, bound_of(op)).build()
    return [found.get(i) for i in range(len(record.inputs))]


def reached_from(body: CallBody, sources: set[int]) -> set[int]:
    """The loop variables that the ones in `sources` influence, over any number of rounds."""
    reached = {i for i in sources if is_trainable(body.inputs[i])}
    while True:
        inputs = [body.inputs[i] for i in sorted(reached)]
        _, ids = records_between(body.outputs, inputs, body.graph, body.inputs)
        more = {i for i, o in enumerate(body.outputs) if id(o) in ids} | reached
        if more == reached:
            return reached
        reached = more


def reverse_round(body: CallBody, flowing: set[int], reached: set[int]) -> tuple[set[int], Reverse]:
    """The reverse of a round, and the loop variables whose gradients it carries."""
    key = ("loop", frozenset(flowing), frozenset(reached))
    found = body.backward.get(key)
    while found is None:
        pattern = [i in flowing for i in range(len(body.outputs))]
        reverse = build_reverse(body, pattern, [i in reached for i in range(len(body.inputs))])
        more = flowing | {
            i
            for i, where in enumerate(reverse.layout)
            if where is not None and carries_gradient(body.inputs[i])
        }
        if more == flowing:
            found = body.backward[key] = (flowing, reverse)
        flowing = more
    return found  # type: ignore[no-any-return]


def _shared(body: CallBody) -> dict[int, int | None]:
    """Ids of tensors that all rounds share: the number of the input, None for computed ones.

    In a loop of the first kind none is computed again: it may be of a branch that is not taken.
    """
    found: dict[int, int | None] = {}
    for i, (given, back) in enumerate(zip(body.inputs, body.outputs, strict=False)):
        if value_source(back) is given:
            found[id(given)] = i
    if isinstance(body, FrameBody):
        return found
    for op in body.graph.get_operations():
        if op.op_def.stateful or op.type == "Placeholder" or op.op_def.calls:
            continue
        if all(id(t) in found for t in op.inputs):
            for output in op._outputs:
                found.setdefault(id(output), None)
    return found


def missing_of(body: CallBody, tensors: Sequence[Any]) -> list[Any]:
    """Those of `tensors` that are different in each round and that the loop does not keep yet."""
    kept, shared = kept_by(body), _shared(body)
    return [
        t
        for t in tensors
        if isinstance(t, SymbolicTensor)
        and t.graph is body.graph
        and id(t) not in shared
        and id(t) not in kept
    ]


class _Keeper:
    """Makes a loop keep values of its rounds."""

    def __init__(self, op: Operation) -> None:
        self._op = op
        self._body: CallBody = op.attrs["body"]
        self._cond: CallBody = op.attrs["cond"]
        self._bound = bound_of(op)
        self._outputs: list[Any] = []
        self._starts: list[Any] = []

    def keep(self, tensors: Sequence[Any]) -> None:
        """Adds what is not kept yet as loop variables."""
        kept = kept_by(self._body)
        missing = missing_of(self._body, tensors)
        if COUNTER not in kept:
            self._add_counter(kept)
        for tensor in missing:
            self._add(tensor, kept)
        if self._outputs:
            self._finish()

    def _place(self, dtype: Any, dims: Any, name: str) -> Any:
        self._cond.graph.add_input(dtype, dims, name, user=False)
        return self._body.graph.add_input(dtype, dims, name, user=False)

    def _note(self, key: Any, kept: dict[Any, int], start: Any, output: Any) -> None:
        kept[key] = len(self._op._outputs) + len(self._outputs)
        self._outputs.append(output)
        self._starts.append(start)

    def _add_counter(self, kept: dict[Any, int]) -> None:
        place = self._place(dt.int32, (), "round")
        with Inside(self._op.graph):
            start = convert_to_tensor(0, dt.int32)
        with Inside(self._body.graph):
            output = execute("AddV2", (place, 1))
        self._body.backward["round"] = place
        self._note(COUNTER, kept, start, output)

    def _add(self, tensor: Any, kept: dict[Any, int]) -> None:
        rows = tensor.dtype not in (dt.variant, dt.resource)
        dense = self._bound is not None and is_full(tensor.dims) and rows
        if dense:
            dims = (self._bound, *tensor.dims)
            place = self._place(tensor.dtype, dims, "stack")
            with Inside(self._op.graph):
                zero = execute("Cast", (np.zeros((), np.int32),), {"DstT": tensor.dtype})
                start = execute("Fill", (np.array(dims, np.int32), zero))
            with Inside(self._body.graph):
                round_ = self._body.backward["round"]
                output = execute("PenstockStackWrite", (place, round_, tensor))
        else:
            place = self._place(dt.variant, (), "history")
            with Inside(self._op.graph):
                shape = shape_input(_element_dims(tensor))
                attrs = {"element_dtype": tensor.dtype}
                start = execute("EmptyTensorList", (shape, -1), attrs)
            with Inside(self._body.graph):
                output = execute("TensorListPushBack", (place, tensor))
        self._note(id(tensor), kept, start, output)

    def _finish(self) -> None:
        body = self._body
        view = CallBody(body.name, body.graph, [*body.outputs, *self._outputs])
        view.backward = body.backward
        cond = CallBody(self._cond.name, self._cond.graph, self._cond.outputs)
        new = view.inputs[len(body.inputs) :]
        attrs = {"T": tuple(t.dtype for t in view.inputs), "body": view, "cond": cond}
        dtypes, shapes = [t.dtype for t in new], [t.dims for t in new]
        add_outputs(self._op, attrs, dtypes, shapes, self._starts)


class Inside:
    """The graph as the current one, without recorders and control inputs of the surroundings."""

    def __init__(self, graph: Any) -> None:
        self._scopes = [
            context.graph_scope(graph),
            context.no_recording(),
            graph.control_dependencies(None),
        ]

    def __enter__(self) -> None:
        for scope in self._scopes:
            scope.__enter__()

    def __exit__(self, *problem: Any) -> None:
        for scope in reversed(self._scopes):
            scope.__exit__(*problem)


def _element_dims(tensor: Any) -> Dims:
    """The shape of a tensor in a list; graphs state one of handles that their values lack."""
    return None if tensor.dtype is dt.resource else tensor.dims


def kept_by(body: CallBody) -> dict[Any, int]:
    """The outputs of the loop that keep values of its rounds, by the id of the value."""
    return body.backward.setdefault("kept", {})  # type: ignore[no-any-return]


class Reversal:
    """The loop that runs the reverse of each round.

    Args:
      op: the loop: a `While`, or what has its names.
      outputs: the loop's outputs.
      flowing: the loop variables whose gradients go from round to round.
      reverse: the reverse of a round.
      grads: the gradient of each output, None for those that have none.
      bound: the most rounds there can be, if that is known.

    Attributes:
      loop: the operation, once it is built.
    """

    loop: Operation

    def __init__(
        self,
        op: Any,
        outputs: Sequence[Any],
        flowing: set[int],
        reverse: Reverse,
        grads: Sequence[Any],
        bound: int | None,
    ) -> None:
        self._op = op
        self._outputs = outputs
        self._bound = bound
        self._body: CallBody = op.attrs["body"]
        self._reverse = reverse
        self._flowing = sorted(flowing)
        self._grads = grads
        self._kept = kept_by(self._body)
        self._shared = _shared(self._body)
        self._handles = [
            i
            for i, where in enumerate(reverse.layout)
            if where is not None and self._body.inputs[i].dtype is dt.resource
        ]
        self._histories = [
            t
            for t in reverse.captured
            if id(t) in self._kept and self._source(t).dtype is dt.variant
        ]

    def _source(self, tensor: Any) -> Any:
        return self._outputs[self._kept[id(tensor)]]

    def build(self) -> dict[int, Any]:
        """The gradients of the loop variables before the first round, by number."""
        outputs = self._outputs
        carried = [
            zeros_for(outputs[i]) if self._grads[i] is None else as_dense(self._grads[i])
            for i in self._flowing
        ]
        totals = [zeros_for(self._op.inputs[i]) for i in self._handles]
        histories = [self._source(t) for t in self._histories]
        state = [outputs[self._kept[COUNTER]], *carried, *totals, *histories]
        shapes = [
            (),
            *[
                union(self._body.inputs[i].dims, c.dims)
                for i, c in zip(self._flowing, carried, strict=True)
            ],
            *[t.dims for t in totals],
            *[() for _ in histories],
        ]
        invariants = [TensorShape(dims) for dims in shapes]
        results = while_loop(
            lambda k, *rest: execute("Greater", (k, 0)), self._round, state, invariants
        )
        loop = self.loop = results[0].op
        if self._bound is not None:
            loop.attrs = {**loop.attrs, "_maximum_iterations": self._bound}
        places = [*self._flowing, *self._handles]
        return dict(zip(places, results[1 : len(places) + 1], strict=True))

    def _round(self, k: Any, *state: Any) -> list[Any]:
        k = execute("Sub", (k, 1))
        count, handles = len(self._flowing), len(self._handles)
        grads = state[:count]
        totals = state[count : count + handles]
        left = list(state[count + handles :])
        values: dict[int, Any] = {}
        for i, tensor in enumerate(self._histories):
            attrs = {"element_dtype": tensor.dtype}
            dims = None if isinstance(self._body, FrameBody) else _element_dims(tensor)
            left[i], values[id(tensor)] = execute(
                "TensorListPopBack", (left[i], shape_input(dims)), attrs
            )
        arguments = [self._value(t, k, values) for t in self._reverse.captured]
        results = call(self._reverse.body, [*grads, *arguments])
        layout = self._reverse.layout
        new = []
        for i, old in zip(self._flowing, grads, strict=True):
            found = gather(results, layout[i])
            found = execute("ZerosLike", (old,)) if found is None else as_dense(found)
            if found.dtype is not dt.variant:
                found.set_shape(self._body.inputs[i].shape)
            new.append(found)
        sums = [
            execute("AddV2", (total, as_dense(gather(results, layout[i]))))
            for i, total in zip(self._handles, totals, strict=True)
        ]
        return [k, *new, *sums, *left]

    def _value(self, tensor: Any, k: Any, values: dict[int, Any]) -> Any:
        """What stands in this round for a tensor of the forward body."""
        if id(tensor) in values:
            return values[id(tensor)]
        if id(tensor) in self._kept:
            found = execute("PenstockStackRead", (self._source(tensor), k))
        elif id(tensor) not in self._shared:
            return tensor  # of a graph around the loop
        elif self._shared[id(tensor)] is not None:
            found = self._op.inputs[self._shared[id(tensor)]]
        else:
            return self._again(tensor, k, values)
        values[id(tensor)] = found
        return found

    def _again(self, tensor: Any, k: Any, values: dict[int, Any]) -> Any:
        """Computes once more what all rounds share."""
        op = tensor.op
        inputs = [self._value(t, k, values) for t in op.inputs]
        graph = context.state.graph
        made = graph.add_operation(op.op_def, inputs, op.input_counts, dict(op.attrs), op.type)
        values.update({id(o): m for o, m in zip(op._outputs, made._outputs, strict=True)})
        return values[id(tensor)]


for _name in ("While", "StatelessWhile"):
    named_rules[_name] = _gradient_of_while
