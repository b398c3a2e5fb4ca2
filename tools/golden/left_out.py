"""Operations without golden cases, or with fewer than three, and why."""

import re

from tools.golden import codec

_BY_REASON = {
    "ends the process": "Abort",
    "its effect is a line on the standard error": "Print PrintV2",
    "differs between runs": "Timestamp",
    "takes functions, see tests/ops/test_raw_functions.py and tests/graph": """
        BatchFunction Case If While StatelessCase StatelessIf StatelessWhile PartitionedCall
        StatefulPartitionedCall For RemoteCall SymbolicGradient EagerPyFunc PyFunc PyFuncStateless
    """,
    "a part of a loop or branch, see tests/runtime/test_flow_graphs.py": """
        Enter Exit LoopCond Merge NextIteration RefEnter RefExit RefNextIteration
    """,
    "reads or writes files, see tests/ops/test_readers.py, tests/checkpoint and tests/summary": """
        CloseSummaryWriter CreateSummaryFileWriter FixedLengthRecordReader FixedLengthRecordReaderV2
        FlushSummaryWriter IdentityReader IdentityReaderV2 ImportEvent InitializeTableFromTextFile
        InitializeTableFromTextFileV2 MergeV2Checkpoints ReaderNumRecordsProduced
        ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompleted ReaderNumWorkUnitsCompletedV2
        ReaderRead ReaderReadUpTo ReaderReadUpToV2 ReaderReadV2 ReaderReset ReaderResetV2
        ReaderRestoreState ReaderRestoreStateV2 ReaderSerializeState ReaderSerializeStateV2
        GenerateVocabRemapping LoadAndRemapMatrix TensorSummary WriteAudioSummary
        WriteHistogramSummary WriteImageSummary WriteScalarSummary
        RecordInput Restore RestoreSlice RestoreV2 Save SaveSlices SaveV2 SummaryWriter
        TFRecordReader TFRecordReaderV2 TextLineReader TextLineReaderV2 WholeFileReader
        WholeFileReaderV2 WriteFile WriteGraphSummary WriteRawProtoSummary WriteSummary
    """,
    "writes a debugger's files, see tests/ops/test_debug_dump.py": """
        CheckPinned DebugIdentity DebugIdentityV2 DebugIdentityV3 DebugNumericSummary
    """,
    "the handle of a tensor that a session keeps, see tests/runtime/test_session_tensors.py": """
        DeleteSessionTensor GetSessionHandle GetSessionHandleV2 GetSessionTensor
    """,
    "its figures are in tests/ops/test_sdca.py": """
        SdcaFprint SdcaOptimizer SdcaOptimizerV2 SdcaShrinkL1
    """,
    "takes a library that is not always there, see tests/ops/test_image_jxl.py": "DecodeJxl",
    "steps meet in it, see tests/ops/test_unbatching.py": "Batch Unbatch UnbatchGrad",
    "a variant, a file or a function, see tests/ops/test_composite_variants.py": """
        CompositeTensorVariantFromComponents CompositeTensorVariantToComponents CompressElement
        DebugGradientRefIdentity FakeQueue FileSystemSetConfiguration ImmutableConst LMDBReader
        MapDefun StridedSliceAssign UncompressElement
    """,
    "a lock, see tests/ops/test_coordination.py": "ConsumeMutexLock MutexLock MutexV2",
    "a value that no call of a raw function can give, see tests/ops": """
        Const OptionalGetValue OptionalHasValue OptionalNone RaggedTensorFromVariant
        RaggedTensorToVariantGradient
    """,
    "its values are any": "FakeParam",
    "TensorFlow has no kernel of it, see tests/ops/records_removed.py": """
        Conv2DBackpropFilterV2 Conv2DBackpropInputV2
    """,
    "there is one way to call it": "ControlTrigger NoOp StatelessRandomGetAlg Fact SyncDevice",
    "its figures are in tests/ops/test_image_box_sampling.py and test_image_glimpses.py": """
        ExtractGlimpse ExtractGlimpseV2 SampleDistortedBoundingBox SampleDistortedBoundingBoxV2
        StatelessSampleDistortedBoundingBox
    """,
    "TensorFlow has no kernel of it for CPUs, see tests/ops/records_sparse_csr.py": """
        SparseMatrixAdd SparseMatrixMul SparseMatrixSoftmax SparseMatrixSoftmaxGrad
        SparseMatrixZeros
    """,
    "any order of few fill-ins serves, see tests/ops/test_sparse_csr.py": "SparseMatrixOrderingAMD",
    "tells about devices, see tests/ops/test_rare.py": "DeviceIndex",
    "recorded with ranges that fit, see tests/ops/test_quant_facts.py": """
        QuantizeDownAndShrinkRange QuantizedAdd QuantizedAvgPool
        QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConv2D
        QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize
        QuantizedConv2DAndRequantize QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu
        QuantizedConv2DWithBiasAndReluAndRequantize QuantizedConv2DWithBiasAndRequantize
        QuantizedDepthwiseConv2D QuantizedDepthwiseConv2DWithBias
        QuantizedDepthwiseConv2DWithBiasAndRelu
        QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize QuantizedInstanceNorm
        QuantizedMatMulWithBiasAndRelu QuantizedMatMulWithBiasAndReluAndRequantize
        QuantizedMatMulWithBiasAndRequantize QuantizedMaxPool QuantizedMul QuantizedRelu
        QuantizedRelu6 QuantizedReshape QuantizedResizeBilinear RequantizationRange
        QuantizedMatMulWithBias QuantizedMatMulWithBiasAndDequantize
        RequantizationRangePerChannel Requantize UniformQuantizedAdd
        UniformQuantizedClipByValue UniformQuantizedConvolution
        UniformQuantizedConvolutionHybrid UniformQuantizedDot UniformQuantizedDotHybrid
        UniformRequantize
    """,
    "TensorFlow crashes, has no kernel or is not right, see tests/ops/test_quant_products.py": """
        QuantizedConv2DPerChannel QuantizedConv2DWithBiasSignedSumAndReluAndRequantize
        QuantizedConv2DWithBiasSumAndRelu QuantizedConv2DWithBiasSumAndReluAndRequantize
        QuantizedReluX
    """,
}

_OF_DATASETS = re.compile("Dataset|Iterator|SeedGenerator|MemoryCache|GetElementAtIndex|GetOptions")

NOT_RECORDED = {op: reason for reason, ops in _BY_REASON.items() for op in ops.split()} | {
    op: "makes or takes datasets, see tests/data"
    for op in codec.source()["raw_ops"]
    if _OF_DATASETS.search(op)
}
