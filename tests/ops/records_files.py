"""Operations on files are tested with the functions on paths."""

from tests.ops.harness import Record

RECORDS = [
    Record(name, tested_by="tests/core/test_files.py")
    for name in ("ReadFile", "WriteFile", "MatchingFiles")
]
