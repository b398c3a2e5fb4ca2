"""Operations on files are tested with the functions on paths."""

from tests.ops.harness import Record

RECORDS = [
    Record(name, tested_by="tests/core/test_files.py", named_by=function)
    for name, function in (
        ("ReadFile", "read_file"),
        ("WriteFile", "write_file"),
        ("MatchingFiles", "matching_files"),
    )
]
