from tests.ops.harness import Record

RECORDS = [
    Record(op, tested_by="tests/ops/test_optional.py", named_by="Optional.")
    for op in ("OptionalFromValue", "OptionalNone", "OptionalHasValue", "OptionalGetValue")
]
