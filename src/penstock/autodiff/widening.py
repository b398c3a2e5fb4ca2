"""Making an operation that runs bodies give further values, for its reverse.

The operation stays the same object: what was built on its outputs goes on using them. Tapes that
saw it are told of the new outputs, so that derivatives of the gradient reach them.
"""

from collections.abc import Sequence
from typing import Any

from penstock.autodiff.walk import is_trainable
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt
from penstock.types.dims import Dims


def add_outputs(
    op: Operation,
    attrs: dict[str, Any],
    dtypes: Sequence[Any],
    shapes: Sequence[Dims],
    inputs: Sequence[SymbolicTensor] = (),
) -> None:
    """Gives `op` other attributes, and more outputs and inputs at their ends."""
    op.attrs = {**op.attrs, **attrs}  # plans of before keep the old ones
    start = len(op._outputs)
    new = [
        SymbolicTensor(op, start + i, dtype, dims)
        for i, (dtype, dims) in enumerate(zip(dtypes, shapes, strict=True))
    ]
    op._outputs = (*op._outputs, *new)
    op._inputs = (*op._inputs, *inputs)
    if inputs and op.input_counts is not None:
        op.input_counts = (*op.input_counts[:-1], op.input_counts[-1] + len(inputs))
    op.graph.touch()
    for recorder in state.recorders:
        for record in getattr(recorder, "_records", ()):
            if record.source is op:
                record.inputs, record.outputs, record.attrs = op.inputs, op._outputs, op.attrs
                recorder._tracked.update({id(o): o for o in new if is_trainable(o)})


def is_dense(tensor: Any) -> bool:
    """Whether gradients of a tensor are tensors of its own dtype."""
    return is_trainable(tensor) and tensor.dtype not in (dt.resource, dt.variant)


def carries_gradient(tensor: Any) -> bool:
    """Whether loops hand on gradients of a tensor: dense ones, and lists of lists' gradients."""
    return is_dense(tensor) or tensor.dtype is dt.variant


def zeros_for(tensor: Any) -> Any:
    """Zeros like a tensor, or like the variable that a handle refers to."""
    if tensor.dtype is not dt.resource:
        return execute("ZerosLike", (tensor,))
    dtype, _ = tensor._handle_data
    value = execute("ReadVariableOp", (tensor,), {"dtype": dtype})
    return execute("ZerosLike", (value,))
