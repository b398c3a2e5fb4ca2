"""Records of summaries and of the files they hold; their effects are tested beside the writers."""

from tests.ops.harness import Record

IN_TEST = "tests/summary/test_"
RECORDS = [
    *(Record(f"{name}Summary", tested_by=f"{IN_TEST}merged.py")
      for name in ("Scalar", "Histogram", "Image", "Merge")),
    *(Record(f"{name}SummaryV2", tested_by=f"{IN_TEST}merged.py") for name in ("Tensor", "Audio")),
    *(Record(name, tested_by=f"{IN_TEST}writers.py") for name in (
        "SummaryWriter", "CreateSummaryFileWriter", "WriteSummary", "WriteRawProtoSummary",
        "WriteGraphSummary", "ImportEvent", "FlushSummaryWriter", "CloseSummaryWriter",
        "WriteScalarSummary", "WriteHistogramSummary", "WriteImageSummary", "WriteAudioSummary",
        "TensorSummary", "EncodePng", "EncodeWav")),
]  # fmt: skip
