"""The operation behind `tf.vectorized_map`: a body on all rows of tensors at the same time."""

from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.func_graph import bodies_of
from penstock.ops.control_flow import needs_autodiff
from penstock.types.dims import Dims


def _shapes(c: ShapeContext) -> list[Dims]:
    rows = c.rank_at_least(0, 1, "mapped")
    count = None if rows is None else rows[0]
    return [
        None if t.dims is None else (count, *t.dims) for body in bodies_of(c.attrs)
        for t in body.outputs
    ]  # fmt: skip


VECTORIZED_CALL = define_op(
    "PenstockVectorizedCall(mapped: [Tmapped], shared: [Tshared]; Tmapped: list(type) >= 1, "
    "Tshared: list(type) >= 0, Tout: list(type) >= 1, body: func) -> output: [Tout]",
    shape=_shapes,
    fallible=True,
    doc="The results of a body on each row of `mapped`, with all of `shared`, as rows.",
)
VECTORIZED_CALL.calls = True
VECTORIZED_CALL.gradient(needs_autodiff)
