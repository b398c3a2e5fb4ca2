"""What an operation costs by its static shapes: floating-point operations, and bytes moved.

A product counts two operations for each multiply-add, everything else one for each element it
computes; moving and renaming data counts none. Bytes are those of the inputs and outputs, as if
nothing were fused. A call counts what its body does. None stands for a count that depends on a
dimension, or on a choice while running, that is not known.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Shape = tuple[int, ...]
_FLOPS_A_BYTE = 4  # how many operations take as long as moving one byte, roughly

# No computation and no copy: the output is the input, or what the graph itself says.
_FREE = frozenset(
    "Const ExpandDims Identity IdentityN NoOp Placeholder PlaceholderWithDefault PreventGradient "
    "Rank ReadVariableOp Reshape Shape ShapeN Size Squeeze StopGradient VarHandleOp "
    "VarIsInitializedOp "
    "VariableV2".split()
)
# No computation, but data moves.
_MOVES = frozenset(
    "AssignVariableOp BroadcastTo Concat ConcatV2 Fill Gather GatherNd GatherV2 MirrorPad "
    "OnesLike Pack Pad PadV2 ResourceGather ResourceScatterUpdate Reverse ReverseV2 ScatterNd "
    "Slice Split SplitV StridedSlice TensorScatterUpdate Tile Transpose Unpack "
    "ZerosLike".split()
)
# One operation for each element of the first input.
_REDUCTIONS = frozenset(
    "All Any ArgMax ArgMin BiasAddGrad Cumprod Cumsum EuclideanNorm L2Loss Max Mean Min Prod "
    "SegmentSum Sum UnsortedSegmentSum".split()
)
# What runs is in the body of the function that they name ...
_CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])
# ... and how often, or which of several, is known only when they run.
_BRANCHES = frozenset("Case If StatelessCase StatelessIf StatelessWhile While".split())


class SizedOperation(Protocol):
    """The part of an Operation that counting needs."""

    @property
    def type(self) -> str:
        """The name of its kind."""

    @property
    def inputs(self) -> Sequence[Any]:  # tensors
        """What it reads: values with dtype and shape."""

    @property
    def outputs(self) -> Sequence[Any]:  # tensors
        """What it makes: values with dtype and shape."""

    @property
    def attrs(self) -> Mapping[str, Any]:  # of any attribute type
        """Its attributes."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Counts for one operation or a sum of them; None where a dimension is unknown."""

    flops: int | None
    bytes: int | None


def cost_of(op: SizedOperation, unknown: int | None = None) -> Cost:
    """The cost of one operation, unknown dimensions counted as `unknown` unless that is None."""
    inputs = [_shape(tensor, unknown) for tensor in op.inputs]
    outputs = [_shape(tensor, unknown) for tensor in op.outputs]
    if op.type in _FREE:
        return Cost(0, 0)
    if op.type in _BRANCHES:
        return Cost(None, None)
    if op.type in _CALLS:
        body = [cost_of(each, unknown) for each in op.attrs["f"].graph.get_operations()]
        return Cost(_total(each.flops for each in body), _total(each.bytes for each in body))
    sizes = [_bytes(t, s) for t, s in zip((*op.inputs, *op.outputs), inputs + outputs, strict=True)]
    return Cost(_flops(op, inputs, outputs), _total(sizes))


def total_cost(costs: Iterable[Cost]) -> Cost:
    """The sum of what is known."""
    costs = list(costs)
    return Cost(sum(each.flops or 0 for each in costs), sum(each.bytes or 0 for each in costs))


def weight(cost: Cost) -> int:
    """How much of a region's time an operation may take, in no unit: an estimate, from 1."""
    return 1 + (cost.flops or 0) // _FLOPS_A_BYTE + (cost.bytes or 0)


def _flops(
    op: SizedOperation, inputs: list[Shape | None], outputs: list[Shape | None]
) -> int | None:
    if op.type in _MOVES:
        return 0
    if op.type in _REDUCTIONS:
        return None if inputs[0] is None else math.prod(inputs[0])
    if op.type in _COUNTED:
        known = [shape for shape in inputs + outputs if shape is not None]
        if len(known) < len(inputs) + len(outputs):
            return None
        return _COUNTED[op.type](op, known[: len(inputs)], known[len(inputs) :])
    return _total([None if shape is None else math.prod(shape) for shape in outputs])


def _mat_mul(op: SizedOperation, inputs: list[Shape], outputs: list[Shape]) -> int:
    transposed = _transposed(op)
    return 2 * math.prod(outputs[0]) * inputs[0][-2 if transposed else -1]


def _transposed(op: SizedOperation) -> bool:
    name = "adj_x" if op.type.startswith("Batch") else "transpose_a"
    return bool(op.attrs[name])


def _conv(op: SizedOperation, inputs: list[Shape], outputs: list[Shape]) -> int:
    return 2 * math.prod(outputs[0]) * math.prod(inputs[1][:-1])


def _depthwise_conv(op: SizedOperation, inputs: list[Shape], outputs: list[Shape]) -> int:
    return 2 * math.prod(outputs[0]) * math.prod(inputs[1][:2])


def _conv_input(op: SizedOperation, inputs: list[Shape], outputs: list[Shape]) -> int:
    return 2 * math.prod(inputs[2]) * math.prod(inputs[1][:-1])


def _conv_filter(op: SizedOperation, inputs: list[Shape], outputs: list[Shape]) -> int:
    return 2 * math.prod(inputs[2]) * math.prod(outputs[0][:-1])


def _pool(op: SizedOperation, inputs: list[Shape], outputs: list[Shape]) -> int:
    window: list[int] = op.attrs["ksize"]
    return math.prod(outputs[0]) * math.prod(window)


_COUNTED: dict[str, Callable[[SizedOperation, list[Shape], list[Shape]], int]] = {
    "AvgPool": _pool,
    "BatchMatMul": _mat_mul,
    "BatchMatMulV2": _mat_mul,
    "BatchMatMulV3": _mat_mul,
    "Conv2D": _conv,
    "Conv2DBackpropFilter": _conv_filter,
    "Conv2DBackpropInput": _conv_input,
    "Conv3D": _conv,
    "DepthwiseConv2dNative": _depthwise_conv,
    "MatMul": _mat_mul,
    "MaxPool": _pool,
}


def _shape(tensor: Any, unknown: int | None) -> Shape | None:
    if tensor.shape.rank is None:
        return None
    dims: list[int | None] = tensor.shape.as_list()
    known = [unknown if dim is None else dim for dim in dims]
    return tuple(dim for dim in known if dim is not None) if None not in known else None


def _bytes(tensor: Any, shape: Shape | None) -> int | None:
    if tensor.dtype.name in ("resource", "variant"):
        return 0
    if shape is None or tensor.dtype.name == "string":
        return None
    size: int = tensor.dtype.base_dtype.size
    return math.prod(shape) * size


def _total(parts: Iterable[int | None]) -> int | None:
    total = 0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
