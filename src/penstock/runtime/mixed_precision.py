"""The pass that computes a float32 program partly in half precision.

`ALLOWED` operations are products: they gain most, and their sums are kept in float32 inside XLA's
kernels. They take their operands in half precision. `FOLLOWING` ones move values about or change
them element by element, without growing them: they stay in half precision where what they work on
is there already, beside constants and variables. `KEPT` ones, and all others, compute in float32:
sums over many elements, exponentials, losses, normalisation, updates of variables. Variables stay
float32 throughout; their values are cast where they are used.

It is off until the option `auto_mixed_precision` of `tf.config.optimizer` (float16) or
`auto_mixed_precision_onednn_bfloat16` (bfloat16) is set, or the field of that name in a session's
ConfigProto. Where both are on, float16 counts. What is fetched has the dtype that it always had.

Source of the idea: Micikevicius et al., "Mixed Precision Training", arXiv:1710.03740; the lists are
our own.
"""

from typing import Any

from penstock.config.optimizer_options import half_precision
from penstock.core.op_def import lookup
from penstock.runtime.program import Node, Program, Ref
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

ALLOWED = frozenset(
    "BatchMatMul BatchMatMulV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D "
    "Conv3DBackpropFilterV2 Conv3DBackpropInputV2 DepthwiseConv2dNative "
    "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Einsum MatMul".split()
)
FOLLOWING = frozenset(
    "Abs Add AddN AddV2 BatchToSpaceND BiasAdd ConcatV2 ExpandDims Identity "
    "LeakyRelu LeakyReluGrad MaxPool MaxPoolGrad Maximum Minimum MirrorPad Mul Neg Pack Pad PadV2 "
    "Relu Relu6 Relu6Grad ReluGrad Reshape ResizeNearestNeighbor ReverseV2 Select SelectV2 Sigmoid "
    "SigmoidGrad Slice Snapshot SpaceToBatchND Split SplitV Squeeze StopGradient StridedSlice Sub "
    "Tanh TanhGrad Tile Transpose Unpack".split()
)
KEPT = frozenset(
    "Acos Asin Atan Atan2 AvgPool BiasAddGrad Cumprod Cumsum Digamma Div DivNoNan Elu Erf Exp "
    "Expm1 FusedBatchNormV3 FusedBatchNormGradV3 L2Loss LRN Lgamma Log Log1p LogSoftmax Mean Pow "
    "Prod RealDiv Reciprocal Rsqrt Selu Softmax SoftmaxCrossEntropyWithLogits Softplus "
    "SparseSoftmaxCrossEntropyWithLogits Sqrt Square SquaredDifference Sum".split()
)
_SOURCES = frozenset({"Const", "ReadVariableOp"})
_DTYPES = {"": None, "float16": dt.float16, "bfloat16": dt.bfloat16}


def half_wanted() -> DType | None:
    """The dtype that the options of `tf.config.optimizer` ask for; None when they ask for none."""
    return _DTYPES[half_precision()]


def in_half_precision(program: Program, half: DType) -> Program:
    """The program with its products, and what follows them, in `half`.

    Args:
      program: placed, not yet simplified; it is changed.
      half: float16 or bfloat16.
    """
    if not any(_takes_half(node) and node.type in ALLOWED for node in program.nodes):
        return program
    return _Rewriter(program, half).run()


def _takes_half(node: Node) -> bool:
    """Whether it is an operation of the lists that works on float32."""
    listed = node.type in ALLOWED or node.type in FOLLOWING
    return listed and node.op is not None and node.attrs.get("T") is dt.float32


def _value_positions(node: Node) -> list[int]:
    """The flat positions of the inputs of the dtype T."""
    assert node.op is not None
    found: list[int] = []
    position = 0
    counts = node.counts or [1] * len(node.op.inputs)
    for arg, count in zip(node.op.inputs, counts, strict=True):
        if arg.type_attr == "T":
            found.extend(range(position, position + count))
        position += count
    return found


class _Rewriter:
    """Walks the nodes in order, and puts casts where the dtype changes."""

    def __init__(self, program: Program, half: DType) -> None:
        self._program = program
        self._half = half
        self._nodes: list[Node] = []
        self._in_half: set[int] = set()  # nodes whose float results are in half precision
        self._casts: dict[tuple[int, int, DType], Ref] = {}

    def run(self) -> Program:
        program = self._program
        for node in program.nodes:
            if _takes_half(node) and (node.type in ALLOWED or self._follows(node)):
                self._convert(node)
            else:
                node.inputs = [self._as(ref, dt.float32) for ref in node.inputs]
                self._nodes.append(node)
        program.fetches = [self._as(ref, dt.float32) for ref in program.fetches]
        program.nodes = self._nodes
        return program

    def _follows(self, node: Node) -> bool:
        """Whether what it works on is in half precision, beside constants and variables."""
        sources = [node.inputs[i][0] for i in _value_positions(node)]
        converted = [source for source in sources if id(source) in self._in_half]
        others = [source for source in sources if id(source) not in self._in_half]
        return bool(converted) and all(source.type in _SOURCES for source in others)

    def _convert(self, node: Node) -> None:
        assert node.op is not None
        positions = set(_value_positions(node))
        node.inputs = [
            self._as(ref, self._half if i in positions else dt.float32)
            for i, ref in enumerate(node.inputs)
        ]
        node.attrs = {**node.attrs, "T": self._half}
        node.dtypes = [self._half if t is dt.float32 else t for t in node.dtypes]
        self._in_half.add(id(node))
        self._nodes.append(node)

    def _as(self, ref: Ref, wanted: DType) -> Ref:
        """A value in the dtype that its user needs: itself, or a cast of it."""
        source, index = ref
        given = source.dtypes[index]
        is_half = given is self._half and id(source) in self._in_half
        if (given is not dt.float32 and not is_half) or given is wanted:
            return ref
        key = (id(source), index, wanted)
        if key not in self._casts:
            made = _cast(source, index, wanted)
            self._nodes.append(made)
            self._casts[key] = (made, 0)
        return self._casts[key]


def _cast(source: Node, index: int, wanted: DType) -> Node:
    attrs: dict[str, Any] = {"SrcT": source.dtypes[index], "DstT": wanted, "Truncate": False}
    return Node(
        "Cast",
        lookup("Cast"),
        f"{source.name}/{wanted.name}" + (f"_{index}" if index else ""),
        attrs,
        [(source, index)],
        [],
        [wanted],
        [source.shapes[index]],
        device=source.device,
        location=source.location,
        origin=source.origin,
    )
