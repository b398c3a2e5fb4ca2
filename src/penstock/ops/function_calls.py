"""Calls of functions as operations: plans inline the body, the kernel serves single calls."""

from typing import Any

from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.control_flow import effects_after, needs_autodiff


def _call_shape(c: ShapeContext) -> list[Any]:
    body = c.attr("f")
    return (
        [t.dims for t in body.outputs] if hasattr(body, "outputs") else [None] * len(c.attr("Tout"))
    )


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
