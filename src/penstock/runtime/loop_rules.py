"""What the operations of a loop's round are for the native library.

For `penstock.runtime.loop_calls`, which writes whole rounds down. `RULES` has the operations that
compute values, `SETTERS` those that set rows; a rule raises `Unfit` where the library cannot do
what one of them does.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.core.recurrence import Matrix, Recurrence, Value
from penstock.runtime.loop_nodes import Counter, constant_integer
from penstock.runtime.loop_parts import LoopForm
from penstock.runtime.program import Node, Ref


class Unfit(Exception):
    """The rounds are not of the kind that the library does."""


class Lowering(Protocol):
    """What a rule asks: `form` is the loop, `r` the rounds that are being written down."""

    form: LoopForm
    r: Recurrence
    feeds: Sequence[Any]
    numbers: dict[int, int]

    def value(self, ref: Ref) -> Value:
        """The value of an output of a node."""

    def given(self, node: Node) -> list[Value]:
        """The values of a node's inputs, which must agree in their columns."""

    def fixed(self, given: Any, dims: Sequence[int]) -> Value:
        """A value that is the same in all rounds."""

    def matrix(self, ref: Ref, transposed: bool, depth: int | None) -> Matrix:
        """A matrix that all rounds share."""

    def counter(self, ref: Ref) -> Counter:
        """The number of a row in each round."""

    def argument(self, given: Any) -> int:
        """The number of an argument: that of a feed, or a constant."""


def dims_of(value: Any) -> tuple[int, ...]:
    """The shape of an array of float32."""
    if getattr(value, "dtype", None) != np.float32:
        raise Unfit
    return tuple(int(n) for n in value.shape)


def _function(code: str) -> Any:
    return lambda lowering, node: lowering.r.apply(code, *lowering.given(node))


def _sum(lowering: Lowering, node: Node) -> Value:
    first, *rest = lowering.given(node)
    for each in rest:
        first = lowering.r.apply("ADD", first, each)
    return first


def _square(lowering: Lowering, node: Node) -> Value:
    (value,) = lowering.given(node)
    return lowering.r.apply("MULTIPLY", value, value)


def _relu6(lowering: Lowering, node: Node) -> Value:
    positive = lowering.r.apply("RELU", *lowering.given(node))
    return lowering.r.apply("MINIMUM", positive, lowering.r.number(6))


def _clip(lowering: Lowering, node: Node) -> Value:
    value, low, high = lowering.given(node)
    # Of equal ones the second is taken: a zero keeps its sign.
    return lowering.r.apply("MAXIMUM", low, lowering.r.apply("MINIMUM", high, value))


def _same(lowering: Lowering, node: Node) -> Value:
    return lowering.value(node.inputs[0])


def _zeros(lowering: Lowering, node: Node) -> Value:
    like = lowering.value(node.inputs[0])
    return lowering.r.number(0, like.width, like.rows)


def _constant(lowering: Lowering, node: Node) -> Value:
    array = node.attrs["value"].array
    if array.dtype != np.float32 or array.ndim > 2:
        raise Unfit
    return (
        lowering.r.number(array.item()) if array.size == 1 else lowering.fixed(array, array.shape)
    )


def _bias(lowering: Lowering, node: Node) -> Value:
    if node.attrs.get("data_format", "NHWC") != "NHWC":
        raise Unfit
    return _sum(lowering, node)


def _product(lowering: Lowering, node: Node) -> Value:
    if node.attrs["transpose_a"]:
        raise Unfit
    left = lowering.value(node.inputs[0])
    return lowering.r.product(
        left, lowering.matrix(node.inputs[1], bool(node.attrs["transpose_b"]), left.width)
    )


def _row(lowering: Lowering, node: Node) -> Value:
    """A row of an array that all rounds share."""
    number = lowering.numbers.get(id(node.inputs[0][0]))
    if number is None or number in lowering.form.carried:
        raise Unfit
    counter, dims = lowering.counter(node.inputs[1]), dims_of(lowering.feeds[number])
    within = len(dims) == 3 and counter.within(lowering.form.rounds, dims[0])
    if not within or dims[1] != lowering.r.batch or dims[2] < 2:
        raise Unfit
    argument = lowering.argument(number)
    return lowering.r.rows(argument, dims[2], counter.first, counter.step)


def _split(lowering: Lowering, node: Node) -> list[Value]:
    axis, value = constant_integer(node.inputs[0]), lowering.value(node.inputs[1])
    count = node.attrs["num_split"]
    if axis not in (1, -1) or value.width is None or value.width % count:
        raise Unfit
    width = value.width // count
    return [lowering.r.part(value, i * width, width) for i in range(count)]


def _split_in_sizes(lowering: Lowering, node: Node) -> list[Value]:
    value, sizes = lowering.value(node.inputs[0]), node.inputs[1][0]
    known = sizes.type == "Const" and constant_integer(node.inputs[2]) in (1, -1)
    widths = sizes.attrs["value"].array.tolist() if known else []
    if not widths or min(widths) < 1 or sum(widths) != value.width:
        raise Unfit
    return [lowering.r.part(value, sum(widths[:i]), width) for i, width in enumerate(widths)]


def _joined(lowering: Lowering, node: Node) -> Value:
    *parts, axis = node.inputs
    values = [lowering.value(ref) for ref in parts]
    if constant_integer(axis) not in (1, -1) or any(v.width is None for v in values):
        raise Unfit
    return lowering.r.joined(values)


def _columns(node: Node, ends: Sequence[Ref], rank: int, width: int | None) -> tuple[int, int]:
    """The columns, from and up to, that a slice such as x[:, 2:5] takes of `rank` axes."""
    if any(source.type != "Const" for source, _ in ends) or width is None:
        raise Unfit
    begin, end, strides = (source.attrs["value"].array.tolist() for source, _ in ends)
    masks = [node.attrs[f"{m}_mask"] for m in ("ellipsis", "new_axis", "shrink_axis")]
    rows = (1 << (rank - 1)) - 1
    whole = all(node.attrs[f"{m}_mask"] & rows == rows for m in ("begin", "end"))
    if any(masks) or not whole or strides != [1] * rank:
        raise Unfit
    last = 1 << (rank - 1)
    given = slice(
        None if node.attrs["begin_mask"] & last else begin[-1],
        None if node.attrs["end_mask"] & last else end[-1],
    )
    first, after, _ = given.indices(width)
    if after <= first:
        raise Unfit
    return first, after


def _slice(lowering: Lowering, node: Node) -> Value:
    value, dims = lowering.value(node.inputs[0]), node.shapes[0]
    if dims is None or len(dims) not in (1, 2):
        raise Unfit
    first, after = _columns(node, node.inputs[1:], len(dims), value.width)
    return lowering.r.part(value, first, after - first)


def _slice_grad(lowering: Lowering, node: Node) -> Value:
    """The gradient of a slice of columns: zeros beside it."""
    shape, *ends, grad = node.inputs
    sizes = shape[0].attrs["value"].array.tolist() if shape[0].type == "Const" else []
    value = lowering.value(grad)
    if len(sizes) != 2 or value.width is None:
        raise Unfit
    first, after = _columns(node, ends, 2, sizes[1])
    widths = ((first, None), (value.width, value), (sizes[1] - after, None))
    parts = [v or lowering.r.number(0, width) for width, v in widths if width]
    return lowering.r.joined(parts)


FUNCTIONS = {
    "Sub": "SUBTRACT",
    "Mul": "MULTIPLY",
    "RealDiv": "DIVIDE",
    "Maximum": "MAXIMUM",
    "Minimum": "MINIMUM",
    "Neg": "NEGATIVE",
    "Exp": "EXPONENTIAL",
    "Sigmoid": "SIGMOID",
    "Tanh": "TANH",
    "Relu": "RELU",
    "SigmoidGrad": "SIGMOID_GRAD",
    "TanhGrad": "TANH_GRAD",
    "ReluGrad": "RELU_GRAD",
}
RULES: dict[str, Callable[[Lowering, Node], Any]] = {
    **{name: _function(code) for name, code in FUNCTIONS.items()},
    **dict.fromkeys(("Add", "AddV2", "AddN"), _sum),
    **dict.fromkeys(("Identity", "StopGradient", "PreventGradient"), _same),
    "BiasAdd": _bias,
    "ClipByValue": _clip,
    "ConcatV2": _joined,
    "Const": _constant,
    "MatMul": _product,
    "PenstockStackRead": _row,
    "Relu6": _relu6,
    "Split": _split,
    "SplitV": _split_in_sizes,
    "Square": _square,
    "StridedSlice": _slice,
    "StridedSliceGrad": _slice_grad,
    "ZerosLike": _zeros,
}
SETTERS = {  # whether they add to what a row holds
    "PenstockStackWrite": False,
    "PenstockStackAdd": True,
    "TensorListSetItem": False,
    "PenstockTensorListAddItem": True,
}

__all__ = ["RULES", "SETTERS", "Lowering", "Unfit", "dims_of"]
