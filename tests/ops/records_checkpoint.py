"""Operations on checkpoints have a test file of their own."""

from tests.ops.harness import Record

OPERATIONS = (
    "SaveV2 RestoreV2 MergeV2Checkpoints ShardedFilename ShardedFilespec Save SaveSlices Restore "
    "RestoreSlice DisableCopyOnRead"
).split()
RECORDS = [
    Record("GenerateVocabRemapping", tested_by="tests/ops/test_vocabulary_ops.py"),
    Record("LoadAndRemapMatrix", tested_by="tests/ops/test_vocabulary_ops.py"),
    *(Record(name, tested_by="tests/ops/test_checkpoint_ops.py") for name in OPERATIONS),
]
