"""Operations that parse Examples read messages: their values are in tests of their own."""

from tests.ops.harness import Record

_FILES = {
    "tests/ops/test_parse_examples.py": {
        "ParseExample": "ParseExample(",
        "ParseExampleV2": "io.parse_example(",
        "ParseSingleExample": "ParseSingleExample(",
    },
    "tests/ops/test_parse_sequences.py": {
        "ParseSequenceExample": "ParseSequenceExample(",
        "ParseSequenceExampleV2": "io.parse_sequence_example(",
        "ParseSingleSequenceExample": "ParseSingleSequenceExample(",
    },
}
RECORDS = [
    Record(op, tested_by=path, named_by=named)
    for path, ops in _FILES.items()
    for op, named in ops.items()
]
RECORDS += [
    Record("DecodeProtoV2", tested_by="tests/ops/test_string_protos.py", named_by="decode_proto("),
    Record("EncodeProto", tested_by="tests/ops/test_string_protos.py", named_by="encode_proto("),
]
