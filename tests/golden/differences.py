"""Golden cases in which Penstock is known to differ from TensorFlow, with the reasons.

After each reason: operations, what differs (`comparing.KINDS`) and in how many of the cases.
A test fails when more do, and when none does: then the entry goes. Where the processor decides
(`BY_PROCESSOR`), the number is the most that any does.
"""

from typing import NamedTuple


class Known(NamedTuple):
    """So many cases differ, and why."""

    cases: int
    reason: str
    everywhere: bool  # whether some case differs on every processor


_BY_REASON = {
    "Strides, paddings and sizes that cannot be: another class of error, or none.": """
        Conv error 4, FusedPadConv2D error 9, FusedResizeAndPadConv2D error 11
    """,
    "Quantised numbers are rounded in double precision: halves, and the last bits of qint32.": """
        QuantizeV2 value 2, QuantizedConcat value 8
    """,
    "What is not finite or out of bounds becomes the nearest integer, NaN 0 or the lowest.": """
        RequantizePerChannel value 2, UniformQuantize value 2
    """,
    "Vectors of a decomposition are unique up to sign or phase: these are LAPACK's.": """
        Eig shape 1, Eig value 2, Qr value 2, SelfAdjointEigV2 value 3, Svd value 8
    """,
    "Another encoder: other bytes, the same image.": """
        EncodeJpeg value 6, EncodeJpegVariableQuality value 5, EncodePng value 28
    """,
    "Another decoder of JPEG: levels differ by a few.": """
        DecodeAndCropJpeg value 8, DecodeJpeg value 13
    """,
    "NaN spreads through maxima and minima; in TensorFlow that depends on the order.": """
        MaxPool value 1, MaxPool3D value 1, MaxPoolV2 value 2,
        MaxPoolWithArgmax value 2
    """,
    "What is not finite gives what the order of comparisons and products makes of it.": """
        AdjustSaturation value 2, Angle gradient 2, AudioSpectrogram value 1,
        CTCGreedyDecoder shape 2, CTCGreedyDecoder value 1, CumulativeLogsumexp value 2,
        FakeQuantWithMinMaxVarsPerChannel gradient 1, ImageProjectiveTransformV2 gradient
        2, ImageProjectiveTransformV2 value 1, ImageProjectiveTransformV3 gradient 2,
        ImageProjectiveTransformV3 value 2, KmeansPlusPlusInitialization value 1, LRN value 1,
        LRNGrad value 1, RGBToHSV
        value 5, Relu6Grad value 1, SparseSlice value 1, StatelessMultinomial value 1
    """,
    "TensorFlow's derivative fails with bands beyond the corner, and loses an axis of one row.": """
        BandedTriangularSolve gradient 10
    """,
    "Graphs take more bands than rows, as eager calls do in both; TensorFlow's graphs do not.": """
        BandedTriangularSolve building 2
    """,
    "TensorFlow's derivative by complex diagonals leaves out a conjugation.": """
        TridiagonalSolve gradient 2
    """,
    "Singular complex equations give NaN, as real ones; TensorFlow's complex ones give zeros.": """
        TridiagonalSolve value 2
    """,
    "There is a gradient, where TensorFlow says that there is none.": """
        LinSpace gradient 16, MatrixDiagV2 gradient 25, MatrixDiagV3 gradient 27, PadV2
        gradient 17, ResizeBilinearGrad gradient 13, SparseConcat gradient 13
    """,
    "There is a gradient, where TensorFlow fails to compute it.": """
        Conv2D gradient 12, DebugGradientIdentity gradient 23, GatherNd gradient 1, IRFFT
        gradient 10, IRFFT2D gradient 5, MatrixSquareRoot
        gradient 7, MaxPool3DGrad gradient 1, MaxPoolWithArgmax gradient 1, Qr gradient 1,
        QuantizeAndDequantizeV4Grad gradient 9, RFFT gradient 5, ScaleAndTranslate
        gradient 10, SparseDenseCwiseAdd gradient 14, SparseDenseCwiseDiv gradient 2,
        SparseDenseCwiseMul gradient 2, SparseReorder gradient 1, SparseSparseMaximum
        gradient 7, SparseSparseMinimum gradient 6
    """,
    "The labels' gradient counts both outputs; TensorFlow leaves the second out.": """
        SoftmaxCrossEntropyWithLogits gradient 20
    """,
    "Half precision is computed in single precision.": """
        LogSoftmax value 3, SoftmaxCrossEntropyWithLogits value 4
    """,
    "The saved moments are used as they are; TensorFlow computes them of x again.": """
        FusedBatchNormGrad gradient 10, FusedBatchNormGradV2 gradient 12,
        FusedBatchNormGradV3 gradient 12
    """,
    "Eager kernels there take shapes that graphs refuse: a number for a vector, and so on.": """
        AudioSummaryV2 error 1, Bincount error 2, DiagPart error 5, LSTMBlockCell error 7,
        RequantizePerChannel error 6, ReverseV2 error 2, ScalarSummary error 1, Squeeze
        error 1, StatelessShuffle error 2, Unpack error 2
    """,
    "What a graph would refuse is refused when run, too: shapes, sizes and numbers of inputs.": """
        ApproxTopK error 1, AssignVariableOp error 18, AvgPool3DGrad error 1, AvgPoolGrad
        error 3, BlockLSTMGrad error 5, BlockLSTMGradV2 error 4, Conv2D error 1,
        Conv3DBackpropInputV2 error 1, DenseBincount error 1,
        DepthwiseConv2dNative error 5, DepthwiseConv2dNativeBackpropFilter error 1,
        DepthwiseConv2dNativeBackpropInput error 2, Dequantize error 1,
        DeserializeManySparse error 4, DrawBoundingBoxes error 1, EncodePng error 1,
        ExtractImagePatches error 3, ExtractVolumePatches error 3, FractionalAvgPoolGrad
        error 4, FractionalMaxPoolGrad error 4, FusedBatchNormGradV3 error 1,
        ImageProjectiveTransformV2 error 1, KmeansPlusPlusInitialization error 1,
        LSTMBlockCellGrad error 2, MapIncompleteSize error 3, MapSize error 3, MapStage
        error 3, MatrixSolveLs error 4, MaxPoolGradGradV2 error 2, MaxPoolGradV2 error 2,
        MaxPoolV2 error 2, Mfcc error 1, OrderedMapIncompleteSize error 3, OrderedMapSize
        error 3, OrderedMapStage error 3, ParseSequenceExampleV2 error 1,
        PlaceholderWithDefault error 5, QuantizeAndDequantizeV3 error 3, QuantizeV2 error
        4, QuantizedMatMul error 3, RaggedBincount error 2, RaggedCountSparseOutput error
        2, RaggedTensorToSparse error 3, RaggedTensorToTensor error 2,
        ResizeNearestNeighborGrad error 1, ResourceScatterAdd error 1, ResourceScatterDiv
        error 1, ResourceScatterMax error 1, ResourceScatterMin error 1,
        ResourceScatterMul error 1, ResourceScatterSub error 1, ResourceScatterUpdate
        error 1, SerializeSparse error 11, SparseBincount error 1, SparseConcat error 2,
        SparseCross error 5, SparseCrossHashed error 3, SparseCrossV2 error 3,
        SparseReduceMaxSparse error 2, SparseReduceSumSparse error 1, SparseReshape error
        1, StatelessRandomGammaV3 error 1, StatelessRandomUniformIntV2 error 1,
        StringNGrams error 4, TensorListGather
        error 6, TensorListGetItem error 7, TensorListPopBack error 8, TensorListScatter
        error 1, TensorListScatterIntoExistingList error 1, TensorListScatterV2 error 1,
        UniformQuantize error 1, VarHandleOp error 2
    """,
    "The kernels of this deprecated operation refuse graphs of today.": """
        MatrixExponential building 3, QuantizeAndDequantize building 2, RandomPoisson
        building 3, TopK building 3, TopK error 20
    """,
    "What is put into a tensor list is looked at when it runs, not while a graph is built.": """
        TensorListScatterIntoExistingList building 2, TensorListSetItem building 12,
        TensorListSplit building 11
    """,
    "Signals shorter than fft_length are filled up with zeros, by the operation itself.": """
        IRFFT error 4, IRFFT2D error 10, IRFFT3D error 2, RFFT error 6, RFFT2D error 10,
        RFFT3D error 2
    """,
    "Matrices that are not finite or singular give NaN or infinity where TensorFlow gives up.": """
        Cholesky value 2, Eig error 13, MatrixLogarithm value 3, MatrixSolveLs gradient 8,
        MatrixSquareRoot value 1, MatrixTriangularSolve value 3, SelfAdjointEigV2 error 11
    """,
    "A placeholder has no kernel outside of graphs: NotFoundError.": """
        Placeholder error 20
    """,
    "Shapes that are wrong are an InvalidArgumentError, whatever TensorFlow's kernel says.": """
        Barrier error 1, BarrierIncompleteSize error 1, BarrierInsertMany error 1,
        BarrierReadySize error 1, CTCBeamSearchDecoder error 4, CTCGreedyDecoder error 10,
        CountUpTo error 1, CropAndResize error 2, DecodeAndCropJpeg error
        2, DecodeJpeg error 3, HashTable error 1, ImageSummary error 1,
        InitializeTable error 1, TensorArrayScatterV3 error 1
    """,
    "float64 is computed in double precision throughout.": """
        CTCBeamSearchDecoder value 4, CTCLoss value 11, CropAndResize gradient 1,
        ResizeBilinear gradient 1
    """,
    "Draws of rejection sampling: the same distribution, not the same numbers.": """
        RandomGamma value 1, StatelessRandomGammaV2 gradient 1, StatelessRandomGammaV2 value 1,
        StatelessRandomGammaV3 value 1
    """,
    "Elements that are equal may come in any order.": """
        TopKV2 value 1
    """,
    "TensorFlow's slope at 0 is 1; it is 1/2.": """
        BesselI1 gradient 2, BesselJ1 gradient 2
    """,
    "TensorFlow gives 0 for an integer scalar.": """
        Round value 3
    """,
    "TensorFlow's erf of infinity in double precision is NaN.": """
        Erf value 1
    """,
    "TensorFlow's counter of random numbers wraps round after 64 bits.": """
        RngReadAndSkip value 1, RngSkip value 1
    """,
    "Packed integers: other bytes, the same message.": """
        DecodeJSONExample value 2
    """,
    "Products and sums of infinities and NaN in another order.": """
        AdjustHue value 2, AvgPool3D value 1, BatchMatMul value 1, BesselK1e value 3,
        BesselY0 gradient 2, BesselY1 value 2, Betainc gradient 1, BlockLSTMV2 value 1,
        CholeskyGrad value 1, Conv3D gradient 1,
        Conv3DBackpropFilterV2 value 2, Conv3DBackpropInputV2 value 1, Dawsn gradient 2,
        DepthwiseConv2dNative gradient 1, DepthwiseConv2dNative value 1,
        DepthwiseConv2dNativeBackpropInput value 1, FFT2D value 1, FusedBatchNormGrad
        value 1, FusedBatchNormGradV2 value 1, FusedBatchNormGradV3 value 2,
        NearestNeighbors value 2, Pow gradient 2, QuantizeAndDequantizeV4Grad value 1,
        RandomGammaGrad value 2, ResizeArea value 1, ResizeNearestNeighborGrad value 1,
        ResourceSparseApplyFtrl value 1, ResourceSparseApplyFtrlV2 value 1,
        ScaleAndTranslate value 1, ScaleAndTranslateGrad value 1, SigmoidGrad gradient 1,
        SparseApplyFtrl value 1, SparseApplyFtrlV2 value 1
    """,
    "Only the run tells: the values that decide are no constants to the shape rule.": """
        CSRSparseMatrixToDense building 1, CTCLoss building 6, CombinedNonMaxSuppression
        building 2, CropAndResizeGradImage building 1,
        Fingerprint building 3, FractionalAvgPoolGrad building 2, HashTableV2 building 2,
        InitializeTableV2 building 1, NonDeterministicInts
        building 2, ParameterizedTruncatedNormal building 4, RaggedFillEmptyRowsGrad building 2,
        RaggedGather building 6, RaggedTensorToSparse building 6, RaggedTensorToTensor
        building 3, RaggedTensorToVariant building 5, ResourceCountUpTo building 2,
        ResourceGatherNd building 2, ResourceScatterNdAdd building 2, ResourceScatterNdMax
        building 2, ResourceScatterNdMin building 2, ResourceScatterNdSub building 2,
        ResourceScatterNdUpdate building 4, RngReadAndSkip building 2, RngSkip building 2,
        ScatterNdNonAliasingAdd building 1, SparseMatrixNNZ building 1,
        SparseSegmentMeanGrad building 1,
        SparseSegmentMeanGradV2 building 1, SparseSegmentSqrtNGrad building 1,
        SparseSegmentSqrtNGradV2 building 1, SparseSegmentSumGrad building 1,
        SparseSegmentSumGradV2 building 1, SparseTensorDenseMatMul building 1,
        StringFormat building 4, TensorScatterAdd building 5, TensorScatterMax building 2,
        TensorScatterMin building 2, TensorScatterSub building 5, TensorScatterUpdate
        building 5
    """,
    "Another approximation: last bits, and near its zeros those of the argument.": """
        BesselJ0 value 3, BesselJ1 value 5, BesselK0
        value 7, BesselK0e value 8, BesselK1 value 4, BesselK1e gradient 4, BesselY0 value
        2, Igamma gradient 2, LSTMBlockCell value 1, LSTMBlockCellGrad
        value 1, RandomStandardNormal value 3
    """,
    "The gradients of its own gates, in their order, see docs/differences.md.": """
        BlockLSTMV2 gradient 8
    """,
    "What is out of range, or no number, is not looked for.": """
        CombinedNonMaxSuppression error 1, DataFormatDimMap
        value 2, DecodeProtoV2 error 3, ParseSequenceExample error 3, SparseSoftmax error
        3, SparseSoftmax gradient 1, StatefulRandomBinomial error 4, UnravelIndex error 2
    """,
    "There is a kernel, where TensorFlow's refuses layouts, dilations, groups, no elements.": """
        AnonymousMutableDenseHashTable error 1, Conv2DBackpropFilter error 3,
        Conv2DBackpropInput error 11, MaxPool3DGradGrad error 1, MaxPoolGrad error 1,
        MaxPoolWithArgmax error 2, StatelessRandomUniformFullInt error 2, TensorScatterAdd
        error 4, TensorScatterSub error 4, TensorScatterUpdate error 4
    """,
    "TensorFlow's kernel is of single precision inside, for float64 too.": """
        CropAndResizeGradImage value 1, FusedResizeAndPadConv2D value 1, ResizeBicubic
        gradient 2, ResizeBicubicGrad value 2, ResizeBilinearGrad value 1
    """,
    "A kernel's second draw: TensorFlow's eager kernels of the same attributes are one.": """
        FixedUnigramCandidateSampler value 1, LearnedUnigramCandidateSampler value 1,
        LogUniformCandidateSampler value 1, RandomShuffle value 1,
        ThreadUnsafeUnigramCandidateSampler value 1, TruncatedNormal value 1,
        UniformCandidateSampler value 1
    """,
    "The gradient has the input's shape; TensorFlow's has another here, or fails.": """
        IsotonicRegression gradient 13, SqrtGrad gradient 6
    """,
    "Cells of other random sizes.": """
        FractionalAvgPool value 16, FractionalMaxPool value 16
    """,
    "What a later gradient reads is kept as it was given; TensorFlow leaves it empty.": """
        FusedBatchNorm value 1, FusedBatchNormV2 value 1
    """,
    "The first form of the operation takes element_shape as the second does.": """
        TensorListConcat error 10
    """,
    "Places of a maximum that is not there: the output given is not that of the input.": """
        MaxPoolGrad value 3, MaxPoolGradGrad gradient 3, MaxPoolGradV2 value 2
    """,
    "Orders of another cipher, see docs/differences.md.": """
        RandomIndexShuffle error 2, RandomIndexShuffle value 3
    """,
    "The input's dtype and rank count, not an attribute that says otherwise.": """
        RaggedCross error 1, ResourceCountUpTo error 3,
        ResourceGather error 1, ResourceStridedSliceAssign error 3
    """,
    "No elements: nothing is looked at, or nothing is left to do.": """
        Dilation2D gradient 1, Dilation2DBackpropInput value 1, Reverse error 4,
        SparseSegmentMeanGrad error 1, SparseSegmentMeanGradV2 error 1,
        SparseSegmentSqrtNGrad error 1, SparseSegmentSqrtNGradV2 error 1,
        SparseSegmentSumGrad error 1, SparseSegmentSumGradV2 error 1,
        StringNGrams shape 2, TensorListSplit error 1
    """,
    "An empty list is refused by its dtype there, by its shape here.": """
        ScatterNd building 1, SparseTensorDenseAdd building 1
    """,
    "Positions that repeat, or that overflow, are added up in order.": """
        SparseAdd shape 1, SparseAdd value 1
    """,
    "Nothing of a summary is left out: a limit of 0 leaves the numbers that stand alone.": """
        StringFormat value 2
    """,
    "Grey pixels have no hue, so its slope is 0; TensorFlow takes one of the sides.": """
        RGBToHSV gradient 10
    """,
}

# Sums are added in as many parts as registers hold, products rounded before they are added or not:
# these cases differ on one processor and agree on another, as TensorFlow's own bits of Conv2D and
# MatMul do between processors with and without AVX-512.
BY_PROCESSOR = frozenset(
    {
        "Products and sums of infinities and NaN in another order.",
        "Vectors of a decomposition are unique up to sign or phase: these are LAPACK's.",
        "What is not finite gives what the order of comparisons and products makes of it.",
    }
)


def _known() -> dict[tuple[str, str], Known]:
    found = {}
    assert _BY_REASON.keys() >= BY_PROCESSOR
    for reason, entries in _BY_REASON.items():
        for entry in entries.replace("\n", " ").split(","):
            op, kind, cases = entry.split()
            assert (op, kind) not in found, f"{op} {kind} stands twice"
            found[op, kind] = Known(int(cases), reason, reason not in BY_PROCESSOR)
    return found


KNOWN = _known()
