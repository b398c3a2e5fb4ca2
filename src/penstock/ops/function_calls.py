"""Calls of functions as operations: plans inline the body, the kernel serves single calls."""

from typing import Any

from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.control_flow import check_body, effects_after, needs_autodiff
from penstock.types import dims as d
from penstock.types.dims import Dims


def _call_shape(c: ShapeContext) -> list[Any]:
    body = c.attr("f")
    if "Tcaptured" not in c.attrs:
        check_body(c, body, c.attr("Tin"), c.attr("Tout"))
    return [t.dims for t in body.outputs]


_ATTRS = (
    "Tin: list(type) >= 0, Tout: list(type) >= 0, f: func, config: string = '', "
    "config_proto: string = '', executor_type: string = ''"
)

PARTITIONED_CALL = define_op(
    f"PartitionedCall(args: [Tin]; {_ATTRS}) -> output: [Tout]",
    shape=_call_shape,
    doc="Calls a function without effects.",
)

STATEFUL_PARTITIONED_CALL = define_op(
    f"StatefulPartitionedCall(args: [Tin]; {_ATTRS}) -> output: [Tout]",
    shape=_call_shape,
    stateful=True,
    doc="Calls a function that may have effects.",
)

for _op in (PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL):
    _op.calls = True
    _op.effect_rule = effects_after(0)
    _op.gradient(needs_autodiff)

_POLICIES = (
    "{'low_priority_padding_with_max_batch_size',"
    " 'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', 'priority_merge'}"
    " = 'low_priority_padding_with_max_batch_size'"
)

BATCH_FUNCTION = define_op(
    "BatchFunction(in_tensors: [Tin], captured_tensors: [Tcaptured]; f: func, num_batch_threads: "
    "int, max_batch_size: int, batch_timeout_micros: int, max_enqueued_batches: int = 10, "
    "allowed_batch_sizes: list(int) = [], container: string = '', shared_name: string = '', "
    "batching_queue: string = '', low_priority_max_batch_size: int = 0, "
    "low_priority_batch_timeout_micros: int = 0, low_priority_allowed_batch_sizes: list(int) = [], "
    f"low_priority_max_enqueued_batches: int = 0, mixed_priority_policy: {_POLICIES}, "
    "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP', "
    "Tin: list(type) >= 1, Tcaptured: list(type) >= 0, Tout: list(type) >= 1, "
    "enable_large_batch_splitting: bool = False) -> out_tensors: [Tout]",
    shape=_call_shape,
    stateful=True,
    doc="Calls a function once for the rows of several calls; its kernel is in the runtime.",
).without_gradient("what a batch holds besides differs from call to call")
BATCH_FUNCTION.calls = True
BATCH_FUNCTION.effect_rule = effects_after(0)


def _map_shape(c: ShapeContext) -> list[Any]:
    taken, types = c.attr("Targuments"), c.attr("output_types")
    if not c.running:  # the kernel says it in its own words
        check_body(c, c.attr("f"), (*taken, *c.attr("Tcaptured")), types)
    rows: Dims = (None,)
    for i in range(0 if c.running else len(taken)):
        dims = c.shape(i)
        if dims == ():
            c.refuse(f"Arguments must have rank at least 1. Input {i} has rank of 0")
        if dims:
            try:
                rows = d.merge(rows, dims[:1])
            except ValueError:
                c.refuse(f"Arguments must have the same dimension 0, got {rows} and {dims[:1]}")
    assert rows is not None
    if len(c.attr("output_shapes")) != len(types):
        c.refuse(
            "`output_shapes` and `output_types` must have the same length, got "
            f"{len(c.attr('output_shapes'))} vs. {len(types)}"
        )
    return [None if dims is None else (*rows, *dims) for dims in c.attr("output_shapes")]


MAP_DEFUN = define_op(
    "MapDefun(arguments: [Targuments], captured_inputs: [Tcaptured]; Targuments: list(type) >= 1, "
    "Tcaptured: list(type) >= 0 = [], output_types: list(type) >= 1, "
    "output_shapes: list(shape) >= 1, f: func, max_intra_op_parallelism: int = 1) -> "
    "output: [output_types]",
    shape=_map_shape,
    fallible=True,
    doc="Calls a function for each row of the arguments; its kernel is in the runtime.",
).without_gradient("tf.vectorized_map has one")
MAP_DEFUN.calls = True
MAP_DEFUN.effect_rule = effects_after(0)


def _remote_shape(c: ShapeContext) -> list[Any]:
    check_body(c, c.attr("f"), c.attr("Tin"), c.attr("Tout"))
    return [None] * len(c.attr("Tout"))


REMOTE_CALL = define_op(
    "RemoteCall(target: string, args: [Tin]; Tin: list(type) >= 1, Tout: list(type) >= 1, f: func)"
    " -> output: [Tout]",
    shape=_remote_shape,
    stateful=True,
    fallible=True,
    doc="Calls a function on a device of this process, whose name is known when it runs.",
).without_gradient("the call that has one is PartitionedCall, on a device of the graph")
REMOTE_CALL.calls = True
REMOTE_CALL.effect_rule = effects_after(1)


def _gradient_shape(c: ShapeContext) -> list[Any]:
    body, taken, given = c.attr("f"), c.attr("Tin"), c.attr("Tout")
    check_body(c, body, given, taken[len(given) :])
    if tuple(taken[: len(given)]) != tuple(given):
        c.fail(f"inputs of {[t.name for t in given]} first", f"{[t.name for t in taken]}")
    return list(c.shapes[: len(given)])


SYMBOLIC_GRADIENT = define_op(
    "SymbolicGradient(input: [Tin]; Tin: list(type) >= 1, Tout: list(type) >= 1, f: func) -> "
    "output: [Tout]",
    shape=_gradient_shape,
    doc="The gradients of a function's inputs, given these and the gradients of its outputs.",
).without_gradient("tf.gradients of a call of the function has any order")
SYMBOLIC_GRADIENT.calls = True
