"""Up to which size single calls run on the host, operation by operation.

XLA shares a call among threads and hands its result back in some 40 to 100 microseconds, in which
NumPy passes over a hundred thousand numbers or more; for cheap arithmetic it stays ahead as long as
memory sets the pace. `benchmarks/host_sizes.py` measures both ways for each operation. Plans do not
ask here: a region computes such operations together with those beside them.

The sizes depend on the number of processors, and the ways differ in what a cast makes of numbers
that its integers do not have, and below the least normal number; with `enable_op_determinism`
nothing here holds.
"""

import os
from collections.abc import Sequence

from penstock.core import native_arrays, native_images
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

# One pass of NumPy, or a view; in time not above that of compiled calls up to `_PASS` elements.
_PASSES = frozenset(
    """
    Abs Add AddN AddV2 All Angle Any AssignAddVariableOp AssignSubVariableOp BiasAdd BiasAddV1
    BitwiseAnd BitwiseOr BitwiseXor Cast Ceil CheckNumerics CheckNumericsV2 ComplexAbs Conj
    ConjugateTranspose DeepCopy Div Equal Floor Greater GreaterEqual
    Imag Inv Invert IsFinite IsInf IsNan Less LessEqual LogicalAnd LogicalNot LogicalOr Maximum
    Minimum Mul Neg NotEqual OnesLike Pow QuantizedReshape Real RealDiv Reciprocal
    RequantizationRange Rint Roll Round Square Sub UniformQuantizedClipByValue
    Unpack ZerosLike
    """.split()
)
# The same for functions whose loops of NumPy have vectors for these dtypes alone.
_FUNCTIONS = frozenset("Atan ClipByValue Exp Expm1 Log Log1p Softplus Sqrt Tanh".split())
_VECTORS = frozenset({dt.float32, dt.float64})
# One native pass of these dtypes (core/native_passes.py, native_fake.py) in place of several.
_NATIVE = frozenset(
    """
    DivNoNan EluGrad FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars
    FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel
    FakeQuantWithMinMaxVarsPerChannelGradient InvGrad LeakyRelu LeakyReluGrad MulNoNan
    ReciprocalGrad Relu Relu6Grad ReluGrad Rsqrt RsqrtGrad Select SelectV2 SeluGrad SigmoidGrad Sign
    SqrtGrad SquaredDifference TanhGrad Xdivy
    """.split()
)
# Two or three passes, sums, or copies of parts: ahead up to `_PART` elements.
_PARTS = frozenset(
    """
    ApproximateEqual BiasAddGrad Complex Concat ConcatV2 EuclideanNorm FloorDiv InplaceUpdate
    L2Loss LeftShift MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixSetDiag MatrixSetDiagV2
    MatrixSetDiagV3 Max Mean Min MirrorPad Pad PadV2 PopulationCount Relu6 RightShift SoftplusGrad
    Softsign SoftsignGrad Sum
    """.split()
)
# More passes: ahead up to `_SHORT` elements.
_SHORTER = frozenset(
    """
    Elu LogSoftmax MatrixBandPart Pack Selu Sigmoid Softmax StridedSliceGrad TruncateDiv
    """.split()
)
# A dozen passes over as many arrays, which a compiled call takes and hands back one by one.
_GATES = frozenset({"LSTMBlockCellGrad"})
# Passes over whole numbers of few bytes, which XLA makes wider one by one: up to `_BYTES`.
_QUANTISED = frozenset(
    """
    QuantizedAdd QuantizedBiasAdd QuantizedRelu QuantizedRelu6
    """.split()
)
# One native pass of these dtypes, over the variables themselves where nothing else has them: up to
# `_RULE`. Other dtypes, and all without the library, are many passes of NumPy: the kernel's limit.
# Ftrl's are native with a power of -0.5, which is not known here: NumPy's passes with another one
# take up to twice XLA's time.
_RULES = frozenset(
    """
    ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA
    ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad ResourceApplyAddSign
    ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent
    ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyProximalAdagrad
    ResourceApplyPowerSign ResourceApplyProximalGradientDescent ResourceApplyRMSProp
    """.split()
)
# One native pass over windows (native/image_pools.h) of these dtypes, ahead up to `_SHORT`.
_POOLS = frozenset("AvgPool AvgPoolGrad MaxPool".split())
# One native pass over neighbours, or indices that XLA scatters one by one: ahead at every size.
_EVERY = frozenset(
    """
    InplaceAdd InplaceSub MaxPoolGradWithArgmax SparseFillEmptyRowsGrad
    SparseSegmentMeanGrad SparseSegmentMeanWithNumSegments SparseSegmentSqrtNGrad
    SparseSegmentSqrtNWithNumSegments SparseSegmentSumGrad SparseSegmentSumWithNumSegments
    SparseTensorDenseMatMul TridiagonalMatMul
    """.split()
)
# One native pass over rows and columns (native/image_resize.h), of images of any dtype: the same.
_RESIZED = frozenset(
    """
    ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ScaleAndTranslate
    ScaleAndTranslateGrad
    """.split()
)
# A copy and sums of its small edges, for which XLA gathers and pads the whole: the same.
_EDGES = frozenset({"MirrorPadGrad"})
# The same of elements that are not looked at, or of integers.
_MOVED = frozenset({"OneHot", "QuantizedMul", "SparseBincount", "SparseToDense"})
# Numbers of less than four bytes that NumPy computes one by one.
_SLOW = frozenset({dt.float16, dt.bfloat16})

_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
_PASS = max(1 << 17, (1 << 23) // max(2, _PROCESSORS))  # more processors, more for XLA to gain
_PART, _SHORT, _BYTES, _RULE, _ANY = 1 << 18, 1 << 16, 3 << 16, 1 << 20, 1 << 62


def single_limit(name: str, types: Sequence[DType], limit: int) -> int:
    """Elements of all inputs up to which a single call runs on the host.

    Args:
      name: of the operation.
      types: of its inputs.
      limit: the kernel's, up to which plans run it there too.
    """
    if name in _MOVED and native_arrays.LIBRARY.is_in_use():
        return _ANY
    if name in _RESIZED and native_images.LIBRARY.is_in_use():
        return _ANY
    if not _SLOW.isdisjoint(types):
        return limit
    if name in _PASSES or name in _GATES or (name in _FUNCTIONS and _VECTORS.issuperset(types)):
        return max(limit, _PASS)
    if name in _NATIVE:
        native = native_arrays.LIBRARY.is_in_use() and any(t in _VECTORS for t in types)
        return max(limit, _PASS if native else _SHORT)
    if name in _EDGES or (name in _EVERY and native_arrays.LIBRARY.is_in_use()):
        return _ANY if not _VECTORS.isdisjoint(types) else limit
    if name in _POOLS:
        native = native_images.LIBRARY.is_in_use() and not _VECTORS.isdisjoint(types)
        return max(limit, _SHORT) if native else limit
    if name in _RULES:
        native = native_arrays.LIBRARY.is_in_use() and not _VECTORS.isdisjoint(types)
        return max(limit, _RULE) if native else limit
    if name in _QUANTISED:
        return max(limit, _BYTES)
    if name in _PARTS:
        return max(limit, _PART)
    return max(limit, _SHORT) if name in _SHORTER else limit


__all__ = ["single_limit"]
