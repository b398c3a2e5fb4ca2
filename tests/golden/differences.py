"""Golden cases in which Penstock is known to differ from TensorFlow, with the reasons.

After each reason: operations, what differs (`comparing.KINDS`) and in how many of the cases.
A test fails when more do, and when none does: then the entry goes.
"""

from typing import NamedTuple


class Known(NamedTuple):
    """So many cases differ, and why."""

    cases: int
    reason: str


_BY_REASON = {
    "The vectors of a decomposition are unique up to sign or phase: LAPACK's, not Eigen's.": """
        Eig value 2, Qr value 11, SelfAdjointEigV2 value 3, Svd value 8
    """,
    "Another encoder: other bytes, the same image.": """
        EncodeJpeg value 6, EncodeJpegVariableQuality value 5, EncodePng value 28
    """,
    "Another decoder of JPEG: levels differ by a few.": """
        DecodeAndCropJpeg value 8, DecodeJpeg value 13
    """,
    "NaN spreads through maxima and minima; in TensorFlow that depends on the order.": """
        ApplyAdaMax value 1, ClipByValue value 2, MaxPool value 1, MaxPool3D value 1, MaxPoolV2
        value 2, MaxPoolWithArgmax value 2, ResourceApplyAdaMax value 1, ResourceScatterMax value
        1, ResourceScatterMin value 1, ResourceScatterNdMax value 1, ResourceScatterNdMin value 1,
        ScatterMax value 1, ScatterMin value 1, ScatterNdMax value 1, ScatterNdMin value 1,
        SegmentMax value 1, SegmentMin value 1, SparseReduceMaxSparse value 2, TensorScatterMax
        value 1, TensorScatterMin value 1
    """,
    "There is a gradient, where TensorFlow says that there is none.": """
        LinSpace gradient 14, MatrixDiagV2 gradient 25, MatrixDiagV3 gradient 27, PadV2 gradient
        17, ResizeBilinearGrad gradient 12, SparseConcat gradient 13
    """,
    "There is a gradient, where TensorFlow fails to compute it.": """
        Conv2D gradient 12, DebugGradientIdentity gradient 23, GatherNd gradient 1, IRFFT gradient
        10, IRFFT2D gradient 5, ImageProjectiveTransformV2 gradient 2, ImageProjectiveTransformV3
        gradient 2, MatrixDeterminant gradient 3, MatrixSquareRoot gradient 7, MaxPoolWithArgmax
        gradient 1, Qr gradient 1, RFFT gradient 5, ScaleAndTranslate gradient 10,
        SparseDenseCwiseAdd gradient 14, SparseDenseCwiseDiv gradient 2, SparseDenseCwiseMul
        gradient 2, SparseReorder gradient 1, SparseSparseMaximum gradient 7, SparseSparseMinimum
        gradient 6
    """,
    "The labels' gradient counts both outputs; TensorFlow leaves the second out.": """
        SoftmaxCrossEntropyWithLogits gradient 20
    """,
    "Attributes are kept in double precision: a slope of 0.2 is not the nearest float32.": """
        LeakyRelu gradient 1, LeakyRelu value 5, LeakyReluGrad value 3
    """,
    "TensorFlow takes a vector of one element for a scalar, and the other way round.": """
        Fill error 9, Range error 9
    """,
    "TensorFlow's kernel of this deprecated operation is not for graphs of today.": """
        MatrixExponential building 3, RandomPoisson building 3, TopK building 3, TopK error 20
    """,
    "Products and sums of infinities and NaN in another order.": """
        AvgPool3D value 1, BatchMatMul value 1, Conv3D gradient 1, Conv3DBackpropFilterV2 value 2,
        Conv3DBackpropInputV2 value 1, DepthwiseConv2dNative gradient 1, DepthwiseConv2dNative
        value 1, DepthwiseConv2dNativeBackpropInput value 1, FFT2D value 1, Pow gradient 2,
        ResizeArea value 1, ResizeNearestNeighborGrad value 1, ScaleAndTranslate value 1
    """,
    "Not looked at yet.": """
        AdjustContrastv2 error 2, AdjustContrastv2 value 8, AdjustHue error 1, AdjustHue value 6,
        AdjustSaturation error 1, AdjustSaturation value 2, AllCandidateSampler error 2, Angle
        gradient 2, AnonymousHashTable error 1, AnonymousMutableDenseHashTable error 1,
        ApplyAdadelta value 1, ApplyProximalAdagrad error 1, ArgMax building 1, ArgMin building 1,
        AssignAddVariableOp building 6, AssignSubVariableOp building 4, AssignVariableOp building
        2, AssignVariableOp error 18, AudioSpectrogram value 1, AudioSummaryV2 error 2,
        AvgPool3DGrad error 2, AvgPoolGrad error 5, Barrier error 1, BarrierIncompleteSize error
        1, BarrierInsertMany error 1, BarrierReadySize error 1, BatchMatMul error 3,
        BatchToSpaceND building 2, BesselI1 gradient 2, BesselI1e gradient 8, Betainc gradient 1,
        Betainc value 9, Bincount building 3, Bincount error 2, BroadcastGradientArgs building 3,
        BroadcastGradientArgs error 7, BroadcastTo building 5, CTCBeamSearchDecoder error 4,
        CTCBeamSearchDecoder value 4, CTCGreedyDecoder error 10, CTCGreedyDecoder shape 2,
        CTCGreedyDecoder value 1, CTCLoss building 6, CTCLoss value 11, Cholesky value 2,
        CombinedNonMaxSuppression building 4, CombinedNonMaxSuppression error 1, Complex value 2,
        ComplexAbs error 4, ComputeAccidentalHits building 14, Concat gradient 3, ConcatOffset
        error 2, Conv2D error 2, Conv2DBackpropFilter error 5, Conv2DBackpropInput error 14,
        Conv3D error 2, Conv3DBackpropFilterV2 error 2, Conv3DBackpropInputV2 error 3,
        Conv3DBackpropInputV2 gradient 1, CountUpTo error 1, CropAndResize error 2, CropAndResize
        gradient 1, CropAndResizeGradBoxes error 2, CropAndResizeGradImage building 1,
        CropAndResizeGradImage error 1, CropAndResizeGradImage value 6, Cross error 3,
        CumulativeLogsumexp value 2, DecodeAndCropJpeg error 2, DecodeJSONExample value 2,
        DecodeJpeg error 3, DecodeWav error 4, DenseBincount building 2, DenseBincount error 1,
        DenseToDenseSetOperation building 6, DepthwiseConv2dNative error 5,
        DepthwiseConv2dNativeBackpropFilter error 3, DepthwiseConv2dNativeBackpropInput error 4,
        DepthwiseConv2dNativeBackpropInput shape 1, DeserializeManySparse error 4, DiagPart error
        5, Digamma value 2, DrawBoundingBoxes error 1, DynamicStitch error 3, Eig error 13, Eig
        shape 1, Empty building 2, EmptyTensorList building 1, EmptyTensorList error 1, EncodePng
        error 1, EncodeWav error 1, Erf value 1, Erfinv value 1, ExtractImagePatches error 3,
        FIFOQueue error 1, FIFOQueueV2 building 1, FIFOQueueV2 error 1, FakeQuantWithMinMaxArgs
        value 1, FakeQuantWithMinMaxVarsPerChannel gradient 1, Fingerprint building 3,
        FixedUnigramCandidateSampler value 1, FusedBatchNorm
        value 4, FusedBatchNormGrad gradient 6, FusedBatchNormGrad value 7, FusedBatchNormGradV2
        gradient 7, FusedBatchNormGradV2 value 7, FusedBatchNormGradV3 error 1,
        FusedBatchNormGradV3 gradient 11, FusedBatchNormGradV3 value 4, FusedBatchNormV2 value 2,
        FusedBatchNormV3 value 3, HSVToRGB error 4, HashTable error 1, HashTableV2 building 2,
        HistogramFixedWidth building 1, HistogramSummary error 1, IRFFT error 7, IRFFT2D error 13,
        IRFFT3D error 4, Igamma gradient 4, Igamma value 13, IgammaGradA value 28, Igammac
        gradient 1, Igammac value 1, ImageProjectiveTransformV2 error 1,
        ImageProjectiveTransformV2 value 1, ImageProjectiveTransformV3 value 2, InitializeTable
        error 1, InitializeTableV2 building 1, InitializeTableV2 error 1, LRN error 2, LRN value
        1, LRNGrad error 1, LRNGrad value 8, LearnedUnigramCandidateSampler value 1, Lgamma error
        2, Lgamma value 7, LinSpace value 2, LogMatrixDeterminant value 3, LogSoftmax value 3,
        LogUniformCandidateSampler value 1, LookupTableFindV2 error 1, LookupTableImportV2
        building 1, LookupTableSizeV2 error 1, LowerBound value 2, Lu error 4, MapIncompleteSize
        error 3, MapSize error 3, MapStage error 3, MatchingFiles shape 1, MatrixBandPart error 6,
        MatrixDiagV2 building 6, MatrixDiagV2 error 3, MatrixDiagV3 building 4, MatrixDiagV3 error
        2, MatrixInverse error 3, MatrixLogarithm value 10, MatrixSolve error 3, MatrixSolveLs
        error 4, MatrixSolveLs gradient 8, MatrixSquareRoot value 11, MatrixTriangularSolve value
        3, MaxPool3DGrad gradient 9, MaxPool3DGradGrad error 1, MaxPool3DGradGrad gradient 6,
        MaxPoolGrad error 1, MaxPoolGrad gradient 9, MaxPoolGrad value 3, MaxPoolGradGrad gradient
        13, MaxPoolGradGradV2 error 5, MaxPoolGradV2 error 5, MaxPoolGradV2 gradient 8,
        MaxPoolGradV2 value 2, MaxPoolGradWithArgmax error 16, MaxPoolV2 error 5,
        MaxPoolWithArgmax error 2, Mfcc error 1, MirrorPadGrad building 6, NonDeterministicInts
        building 2, NonDeterministicInts error 4, NonMaxSuppressionV4 shape 1, NonMaxSuppressionV5
        error 1, NonMaxSuppressionWithOverlaps building 3, NonMaxSuppressionWithOverlaps shape 1,
        OneHot error 4, OrderedMapIncompleteSize error 3, OrderedMapSize error 3, OrderedMapStage
        error 3, PadV2 error 2, ParallelConcat building 4, ParallelConcat error 22,
        ParallelDynamicStitch error 2, ParameterizedTruncatedNormal building 4,
        ParameterizedTruncatedNormal error 2, ParameterizedTruncatedNormal value 4, Placeholder
        error 20, PlaceholderWithDefault error 5, Polygamma value 1, QueueClose error 1,
        QueueCloseV2 error 1, QueueDequeueManyV2 building 1, QueueDequeueManyV2 error 1,
        QueueDequeueUpToV2 error 1, QueueIsClosed error 1, QueueIsClosedV2 error 1, RFFT error 9,
        RFFT2D error 13, RFFT3D error 5, RGBToHSV error 5, RGBToHSV gradient 10, RGBToHSV value 5,
        RaggedBincount error 2, RaggedCountSparseOutput error 2, RaggedCross error 9,
        RaggedFillEmptyRows building 4, RaggedFillEmptyRows error 3, RaggedFillEmptyRowsGrad
        building 2, RaggedFillEmptyRowsGrad error 2, RaggedGather building 6, RaggedRange error 3,
        RaggedTensorToSparse building 6, RaggedTensorToSparse error 3, RaggedTensorToTensor
        building 3, RaggedTensorToTensor error 2, RaggedTensorToVariant building 6,
        RaggedTensorToVariant error 1, RandomGamma error 4, RandomGamma gradient 2, RandomGamma
        value 1, RandomGammaGrad value 9, RandomIndexShuffle error 2, RandomIndexShuffle value 3,
        RandomPoissonV2 error 4, RandomShuffle value 1, RandomStandardNormal value 11,
        RandomUniformInt error 4, ReadVariableOp building 5, Relu6Grad value 1, ResizeBicubic
        gradient 2, ResizeBicubic value 10, ResizeBicubicGrad error 1, ResizeBicubicGrad value 3,
        ResizeBilinear gradient 1, ResizeBilinearGrad error 1, ResizeBilinearGrad value 2,
        ResizeNearestNeighborGrad error 1, ResourceApplyAdadelta value 1,
        ResourceApplyAdamWithAmsgrad value 1, ResourceApplyProximalAdagrad error 1,
        ResourceCountUpTo building 2, ResourceCountUpTo error 3, ResourceGather error 1,
        ResourceGatherNd building 2, ResourceScatterAdd building 19, ResourceScatterAdd error 1,
        ResourceScatterDiv building 19, ResourceScatterDiv error 1, ResourceScatterMax building
        19, ResourceScatterMax error 1, ResourceScatterMin building 19, ResourceScatterMin error
        1, ResourceScatterMul building 19, ResourceScatterMul error 1, ResourceScatterNdAdd
        building 2, ResourceScatterNdMax building 2, ResourceScatterNdMin building 2,
        ResourceScatterNdSub building 2, ResourceScatterNdUpdate building 4, ResourceScatterSub
        building 19, ResourceScatterSub error 1, ResourceScatterUpdate building 2,
        ResourceScatterUpdate error 1, ResourceSparseApplyFtrl error 1, ResourceSparseApplyFtrl
        value 1, ResourceSparseApplyFtrlV2 error 1, ResourceSparseApplyFtrlV2 value 1,
        ResourceSparseApplyProximalAdagrad error 1, ResourceStridedSliceAssign error 3, Reverse
        building 1, Reverse error 18, ReverseSequence error 2, ReverseV2 error 2, RngReadAndSkip
        building 2, RngReadAndSkip error 1, RngReadAndSkip value 1, RngSkip building 2, RngSkip
        error 1, RngSkip value 1, Roll error 4, Round value 3, ScalarSummary error 1,
        ScaleAndTranslateGrad value 7, ScatterNd building 4, ScatterNdNonAliasingAdd building 1,
        SelfAdjointEigV2 error 11, SerializeSparse error 11, SigmoidGrad gradient 1,
        SoftmaxCrossEntropyWithLogits value 4, SpaceToBatchND building 2, SparseAdd shape 1,
        SparseAdd value 1, SparseApplyFtrl error 1, SparseApplyFtrl value 1, SparseApplyFtrlV2
        error 1, SparseApplyFtrlV2 value 1, SparseApplyProximalAdagrad error 1, SparseBincount
        error 1, SparseConcat error 2, SparseCross error 5, SparseCrossV2 error 3,
        SparseReduceMaxSparse error 2, SparseReduceSumSparse error 1, SparseReshape error 1,
        SparseSegmentMeanGrad building 1, SparseSegmentMeanGrad error 1, SparseSegmentMeanGradV2
        building 1, SparseSegmentMeanGradV2 error 1, SparseSegmentSqrtNGrad building 1,
        SparseSegmentSqrtNGrad error 1, SparseSegmentSqrtNGradV2 building 1,
        SparseSegmentSqrtNGradV2 error 1, SparseSegmentSumGrad building 1, SparseSegmentSumGrad
        error 1, SparseSegmentSumGradV2 building 1, SparseSegmentSumGradV2 error 1, SparseSlice
        value 1, SparseSliceGrad error 4, SparseSoftmax error 3, SparseSoftmax gradient 1,
        SparseTensorDenseAdd building 1, SparseTensorDenseMatMul building 1, Split error 2,
        SqrtGrad gradient 6, Squeeze error 1, StatefulRandomBinomial error 7,
        StatefulRandomBinomial value 11, StatefulStandardNormalV2 building 1,
        StatefulStandardNormalV2 error 6, StatefulStandardNormalV2 value 1,
        StatefulTruncatedNormal building 1, StatefulTruncatedNormal error 6,
        StatefulTruncatedNormal value 1, StatefulUniform building 1, StatefulUniform error 6,
        StatefulUniformFullInt building 1, StatefulUniformFullInt error 5, StatefulUniformInt
        building 1, StatefulUniformInt error 5, StatelessMultinomial value 1,
        StatelessParameterizedTruncatedNormal building 3, StatelessParameterizedTruncatedNormal
        error 2, StatelessParameterizedTruncatedNormal value 1, StatelessRandomBinomial building
        3, StatelessRandomBinomial error 2, StatelessRandomGammaV2 building 4,
        StatelessRandomGammaV2 error 2, StatelessRandomGammaV2 gradient 1, StatelessRandomGammaV2
        value 1, StatelessRandomGammaV3 building 1, StatelessRandomGammaV3 error 2,
        StatelessRandomGammaV3 gradient 1, StatelessRandomGammaV3 value 1, StatelessRandomNormal
        value 1, StatelessRandomNormalV2 value 5, StatelessRandomPoisson building 7,
        StatelessRandomPoisson error 4, StatelessRandomUniformFullInt error 2,
        StatelessRandomUniformInt error 4, StatelessRandomUniformIntV2 error 5, StatelessShuffle
        error 2, StatelessTruncatedNormal value 6, StatelessTruncatedNormalV2 value 6,
        StridedSliceGrad building 2, StridedSliceGrad error 4, StringFormat building 4,
        StringFormat value 2, StringNGrams dtype 1, StringNGrams error 4, StringNGrams shape 2,
        StringSplitV2 shape 1, TensorArrayScatterV3 error 1, TensorListConcat building 12,
        TensorListConcat error 10, TensorListConcatLists building 2, TensorListConcatV2 building
        16, TensorListFromTensor error 1, TensorListGather building 9, TensorListGather error 6,
        TensorListGetItem building 12, TensorListGetItem error 6, TensorListPopBack building 16,
        TensorListPopBack error 4, TensorListPushBack building 4, TensorListPushBackBatch error 2,
        TensorListReserve building 1, TensorListReserve error 1, TensorListScatter error 2,
        TensorListScatterIntoExistingList building 3, TensorListScatterIntoExistingList error 1,
        TensorListScatterV2 error 1, TensorListSetItem building 12, TensorListSplit building 11,
        TensorListSplit error 1, TensorListStack building 15, TensorListStack error 2,
        TensorScatterAdd building 5, TensorScatterAdd error 4, TensorScatterMax building 2,
        TensorScatterMin building 2, TensorScatterSub building 5, TensorScatterSub error 4,
        TensorScatterUpdate building 5, TensorScatterUpdate error 4, TensorSummaryV2 error 2,
        TensorSummaryV2 value 2, ThreadUnsafeUnigramCandidateSampler value 1, TopKV2 value 1,
        TruncatedNormal value 11, UniformCandidateSampler value 1, UniqueV2 error 2,
        UniqueWithCountsV2 error 2, Unpack error 2, UnsortedSegmentMax building 1,
        UnsortedSegmentMin building 2, UnsortedSegmentProd building 1, UnsortedSegmentSum building
        1, VarHandleOp building 1, VarHandleOp error 2, Where error 16, Xlog1py gradient 6, Zeta
        value 2
    """,
}


def _known() -> dict[tuple[str, str], Known]:
    found = {}
    for reason, entries in _BY_REASON.items():
        for entry in entries.replace("\n", " ").split(","):
            op, kind, cases = entry.split()
            assert (op, kind) not in found, f"{op} {kind} stands twice"
            found[op, kind] = Known(int(cases), reason)
    return found


KNOWN = _known()
