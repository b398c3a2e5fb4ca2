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
        DatasetFingerprint RebatchDatasetV2 DenseToSparseBatchDataset ExperimentalDenseToSparseBatchDataset
    """,
    "tests/data/test_files.py": """
        TFRecordDataset TFRecordDatasetV2 TextLineDataset FixedLengthRecordDataset
        FixedLengthRecordDatasetV2 DatasetToTFRecord ExperimentalDatasetToTFRecord
    """,
    "tests/data/test_generator.py": "GeneratorDataset",
    "tests/data/test_listing.py": """
        MatchingFilesDataset ExperimentalMatchingFilesDataset ListDataset RandomDataset
        ExperimentalRandomDataset RandomDatasetV2 AnonymousSeedGenerator DummySeedGenerator
        DeleteSeedGenerator
    """,
    "tests/data/test_ready_made.py": """
        ParseExampleDataset ParseExampleDatasetV2 ExperimentalParseExampleDataset
        SparseTensorSliceDataset
    """,
    "tests/data/test_tables.py": """
        CSVDataset CSVDatasetV2 ExperimentalCSVDataset SqlDataset ExperimentalSqlDataset
    """,
    "tests/data/test_saving.py": """
        SaveDataset SaveDatasetV2 LoadDataset SnapshotDatasetV2 SnapshotChunkDataset
        SnapshotDatasetReader SnapshotNestedDatasetReader
    """,
    "tests/data/test_sharding.py": """
        AutoShardDataset ExperimentalAutoShardDataset GlobalShuffleDataset IndexFlatMapDataset
        ChooseFastestBranchDataset
    """,
    "tests/data/test_ordering.py": """
        ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 ShuffleAndRepeatDataset
        ShuffleAndRepeatDatasetV2 AnonymousRandomSeedGenerator DeleteRandomSeedGenerator
        ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4
        ParallelInterleaveDataset ExperimentalParallelInterleaveDataset
        LegacyParallelInterleaveDatasetV2
    """,
    "tests/data/test_selecting.py": """
        ShardDataset TakeWhileDataset ExperimentalTakeWhileDataset UniqueDataset
        ExperimentalUniqueDataset IgnoreErrorsDataset ExperimentalIgnoreErrorsDataset
    """,
    "tests/data/test_caching.py": """
        CacheDataset CacheDatasetV2 AnonymousMemoryCache DummyMemoryCache DeleteMemoryCache
    """,
    "tests/data/test_stacking.py": """
        PaddedBatchDataset PaddedBatchDatasetV2 UnbatchDataset ExperimentalUnbatchDataset
        RebatchDataset ExperimentalRebatchDataset WindowDataset SlidingWindowDataset
        ExperimentalSlidingWindowDataset
    """,
    "tests/data/test_looping.py": """
        ScanDataset ExperimentalScanDataset ReduceDataset DatasetToSingleElement
    """,
    "tests/data/test_imported.py": """
        SetStatsAggregatorDataset ExperimentalSetStatsAggregatorDataset ThreadPoolDataset
        ExperimentalThreadPoolDataset SleepDataset ExperimentalSleepDataset SamplingDataset
        ChooseFastestDataset ExperimentalChooseFastestDataset MapAndBatchDataset
        ExperimentalMapAndBatchDataset BatchDataset ParallelBatchDataset ParallelMapDataset
        ExperimentalMapDataset ParallelFilterDataset FilterByLastComponentDataset GetElementAtIndex
        ExperimentalDatasetCardinality ExperimentalGroupByWindowDataset
    """,
    "tests/data/test_iterators.py": """
        Iterator IteratorV2 AnonymousIteratorV3 MakeIterator IteratorGetNext IteratorGetNextSync
        IteratorGetNextAsOptional SerializeIterator DeserializeIterator
        AnonymousIterator AnonymousIteratorV2 DeleteIterator
    """,
    "tests/data/test_iterators_v1.py": """
        OneShotIterator IteratorToStringHandle IteratorFromStringHandle IteratorFromStringHandleV2
        IteratorGetDevice ExperimentalIteratorGetDevice
    """,
    "tests/data/test_experimental.py": """
        IteratorGetModelProto WrapDatasetVariant UnwrapDatasetVariant InitializeTableFromDataset
    """,
    "tests/data/test_checkpoints.py": """
        PenstockIteratorState PenstockIteratorStateFromString
    """,
    "tests/data/test_origins.py": """
        DatasetToGraph DatasetToGraphV2 DatasetFromGraph
    """,
    "tests/data/test_multi_device.py": """
        MultiDeviceIterator AnonymousMultiDeviceIterator AnonymousMultiDeviceIteratorV3
        MultiDeviceIteratorInit MultiDeviceIteratorGetNextFromShard
        MultiDeviceIteratorToStringHandle MultiDeviceIteratorFromStringHandle
        DeleteMultiDeviceIterator
    """,
    "tests/data/test_options.py": """
        OptionsDataset ModelDataset FinalizeDataset OptimizeDataset OptimizeDatasetV2
        RewriteDataset AssertNextDataset AssertPrevDataset LatencyStatsDataset
        BytesProducedStatsDataset NonSerializableDataset PrivateThreadPoolDataset
        MaxIntraOpParallelismDataset ExperimentalPrivateThreadPoolDataset
        ExperimentalMaxIntraOpParallelismDataset ExperimentalNonSerializableDataset
        ExperimentalAssertNextDataset ExperimentalLatencyStatsDataset
        ExperimentalBytesProducedStatsDataset
    """,
}
RECORDS = [
    Record(name, tested_by=path) for path, names in _BY_FILE.items() for name in names.split()
]
