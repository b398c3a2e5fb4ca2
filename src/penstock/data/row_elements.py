"""Rules of operations that work element by element: on numbers, on strings, with broadcasting."""

from collections.abc import Sequence

from penstock.data.row_graph import NoRule, RowGraph, Value, rule
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt

UNARY = (
    "Identity IdentityN StopGradient PreventGradient Snapshot CheckNumerics CheckNumericsV2 Neg"
    " LogicalNot Invert IsNan IsInf IsFinite Exp Expm1 Log Log1p Square Sqrt Rsqrt Reciprocal Inv"
    " Sigmoid Tanh Sin Cos Tan Atan Sinh Cosh Asinh Acosh Atanh Ceil Floor Rint Round Sign Abs Cast"
    " Real Imag Angle ComplexAbs Conj ZerosLike OnesLike PopulationCount Erf Erfc Erfinv Ndtri"
    " Lgamma Digamma BesselI0 BesselI1 BesselI0e BesselI1e Spence Expint Dawsn FresnelCos"
    " FresnelSin Relu Relu6 Elu Selu LeakyRelu Softplus Softsign Bitcast Bucketize"
    " StringToHashBucket StringToHashBucketFast StringToHashBucketStrong AsString"
    " StringToNumber StringLower StringUpper StringStrip StringLength EncodeBase64"
    " DecodeBase64 DecodeCompressed StaticRegexFullMatch StaticRegexReplace"
    " UnicodeTranscode UnicodeScript DecodeRaw"
)
BROADCAST = (
    "AddV2 Add Sub Mul MulNoNan SquaredDifference Maximum Minimum Pow Less LessEqual Greater"
    " GreaterEqual LogicalAnd LogicalOr BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift"
    " RealDiv Div DivNoNan TruncateDiv FloorDiv FloorMod TruncateMod Mod Xlogy Xlog1py Xdivy"
    " Complex Zeta Polygamma Igamma Igammac Atan2 NextAfter SelectV2"
)


@rule(*UNARY.split())
def _each(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    if op.type == "IdentityN":
        return [Value(rows.add("Identity", (v.tensor,))[0], v.rows) for v in values]
    return rows.again(op, values)


@rule("Asin", "Acos")
def _each_but_half(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    if values[0].tensor.dtype is dt.float16:
        raise NoRule  # NumPy rounds those of vectors otherwise
    return rows.again(op, values)


@rule(*BROADCAST.split())
def _broadcast(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return rows.again(op, rows.aligned(values))


@rule("Equal", "NotEqual")
def _equality(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    if not op.attrs["incompatible_shape_error"] and all(v.dims != () for v in values):
        raise NoRule  # shapes that do not broadcast make it a single boolean
    return rows.again(op, rows.aligned(values))


@rule("ApproximateEqual", "AddN")
def _same_shapes(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return rows.again(op, [rows.spread(v) for v in values])


@rule("Select")
def _select(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    condition, x, _ = (v.rank for v in values)
    if condition not in (0, x):
        raise NoRule  # a vector that chooses rows of its own
    return rows.again(op, [rows.spread(v) for v in values])


@rule("ClipByValue")
def _clip(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    if any(v.rows or v.dims != () for v in values[1:]):
        raise NoRule
    return rows.again(op, values)


@rule("RegexReplace", "RegexFullMatch", "DecodePaddedRaw", "DecodeCSV")
def _first_alone(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    """What else they take is the same for all."""
    if any(v.rows for v in values[1:]):
        raise NoRule
    return rows.again(op, values)


@rule("Substr")
def _substr(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    if any(v.rows or v.dims != () for v in values[1:]):
        raise NoRule
    return rows.again(op, values)


@rule("StringJoin")
def _join(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    rank = max(v.rank for v in values)
    if rank and any(v.rank != rank for v in values if v.rows):
        raise NoRule  # a number of strings beside a vector of them
    return rows.again(op, [v if v.dims == () else rows.spread(v) for v in values])
