"""Records of the operations on datasets and iterators: which test file has each."""

from tests.ops.harness import Record

_BY_FILE = {
    "tests/data/test_basic.py": """
        RangeDataset TensorDataset TensorSliceDataset MapDataset ParallelMapDatasetV2 FilterDataset
        BatchDatasetV2 TakeDataset SkipDataset RepeatDataset PrefetchDataset FlatMapDataset
        InterleaveDataset ConcatenateDataset ZipDataset DatasetCardinality
    """,
    "tests/data/test_grouping.py": """
        GroupByWindowDataset GroupByReducerDataset ExperimentalGroupByReducerDataset
        DirectedInterleaveDataset ExperimentalDirectedInterleaveDataset AssertCardinalityDataset
        RebatchDatasetV2 DenseToSparseBatchDataset ExperimentalDenseToSparseBatchDataset
    """,
    "tests/data/test_parallel_forms.py": """
        BatchDataset ParallelBatchDataset ParallelMapDataset MapAndBatchDataset
        ExperimentalMapAndBatchDataset ParallelFilterDataset FilterByLastComponentDataset
    """,
    "tests/data/test_files.py": """
        TFRecordDataset TFRecordDatasetV2 TextLineDataset FixedLengthRecordDataset
        FixedLengthRecordDatasetV2 DatasetToTFRecord ExperimentalDatasetToTFRecord
    """,
    "tests/data/test_iterators.py": """
        Iterator IteratorV2 AnonymousIteratorV3 MakeIterator IteratorGetNext IteratorGetNextSync
        IteratorGetNextAsOptional SerializeIterator DeserializeIterator
    """,
}
RECORDS = [
    Record(name, tested_by=path) for path, names in _BY_FILE.items() for name in names.split()
]
