"""How many units in the last place a floating result may differ from TensorFlow's, by operation.

The unit is that of TensorFlow's value; where that is small beside the largest element of its
tensor, it is the unit of a share of that element: a sum that cancels has the error of its terms.
"""

from typing import NamedTuple


class Allowed(NamedTuple):
    """A distance in units in the last place, of values no smaller than a share of the largest.

    `any_order` says that terms are added in an order that the processor decides. Where they
    overflow, the order (and whether a product is rounded before it is added) chooses between
    infinity and NaN, in TensorFlow too: what is finite in neither then counts as the same.
    """

    ulps: float
    share: float
    any_order: bool = False


ELEMENTS = Allowed(4, 1e-3)  # each element is computed by itself
SUMS = Allowed(8, 1.0, any_order=True)  # products and sums, whose terms are added in another order
GRADIENTS = Allowed(16, 0.25)  # several operations, and sums where inputs were broadcast

# reason -> what values may differ by, and the operations
_BY_REASON: dict[str, tuple[Allowed, str]] = {
    "sums of products in another order": (
        SUMS,
        """
        AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BatchMatMul BatchMatMulV2 BatchMatMulV3 Conv2D
        Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2
        Conv3DBackpropInputV2 DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter
        DepthwiseConv2dNativeBackpropInput Einsum FFT FFT2D FFT3D FFTND IFFT IFFT2D IFFT3D IFFTND
        IRFFT IRFFT2D IRFFT3D IRFFTND MatMul RFFT RFFT2D RFFT3D RFFTND SparseMatMul
        SparseTensorDenseMatMul SparseMatrixMatMul SparseMatrixSparseMatMul LRN LRNGrad
        FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3
        AdjustContrastv2 CropAndResizeGradImage ResizeBicubicGrad ResizeBilinearGrad
        ScaleAndTranslateGrad BlockLSTM BlockLSTMV2 BlockLSTMGrad BlockLSTMGradV2 LSTMBlockCell
        LSTMBlockCellGrad GRUBlockCell GRUBlockCellGrad Conv FusedPadConv2D FusedResizeAndPadConv2D
        tf.signal tf.nn tf.ragged
        """,
    ),
    "sums of products in another order, of differences from a mean": (
        Allowed(64, 1.0),
        """
        FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 AdjustHue ResizeBicubic
        tf.image
        """,
    ),
    "a decomposition by another algorithm": (
        Allowed(128, 1.0),
        "MatrixSquareRoot MatrixLogarithm MatrixInverse MatrixSolve Qr Cholesky",
    ),
    "another approximation, less exact near zeros of the function": (
        Allowed(128, 1e-3),
        """
        BesselI1e BesselJ0 BesselJ1 BesselY0 BesselY1 Betainc Digamma Igamma IgammaGradA Lgamma
        RandomGammaGrad StatelessRandomGammaV3 Spence Xlog1py tf.math
        """,
    ),
    "normal numbers of the same bits through another logarithm, sine or root": (
        Allowed(32, 1e-3),
        """
        RandomStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal
        StatelessRandomNormal StatelessRandomNormalV2 StatelessTruncatedNormal
        StatelessTruncatedNormalV2 TruncatedNormal Erfinv ApplyAdadelta ResourceApplyAdadelta
        """,
    ),
}

# operation -> what its values may differ by, and why that is more than ELEMENTS
VALUES: dict[str, tuple[Allowed, str]] = {
    op: (allowed, reason) for reason, (allowed, ops) in _BY_REASON.items() for op in ops.split()
}


def allowed_for(op: str, what: str) -> Allowed:
    """What a result or a gradient of an operation may differ by."""
    values = VALUES.get(op, (ELEMENTS, ""))[0]
    if what == "gradient":
        ulps, share = max(values.ulps, GRADIENTS.ulps), max(values.share, GRADIENTS.share)
        return Allowed(ulps, share, values.any_order)
    return values
