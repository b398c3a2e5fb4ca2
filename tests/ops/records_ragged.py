"""Records of the operations on ragged tensors; their tests are in test_ragged_ops.py."""

from tests.ops.harness import Record

RECORDS = [
    Record(op, tested_by="tests/ops/test_ragged_ops.py")
    for op in (
        "RaggedTensorToTensor",
        "RaggedTensorToSparse",
        "RaggedTensorToVariant",
        "RaggedTensorToVariantGradient",
        "RaggedTensorFromVariant",
        "RaggedRange",
        "RaggedCross",
        "RaggedGather",
        "RaggedBincount",
        "RaggedCountSparseOutput",
        "RaggedFillEmptyRows",
        "RaggedFillEmptyRowsGrad",
    )
]
