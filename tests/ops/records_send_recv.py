from tests.ops.harness import Record

RECORDS = [Record(name, tested_by="tests/runtime/test_partition.py") for name in ("_Send", "_Recv")]
