"""Operations on strings run on the host alone: their values are in tests of their own."""

from tests.ops.harness import Record

_FILES = {
    "tests/ops/test_string_basics.py": {
        "StringLower": "strings.lower",
        "StringUpper": "strings.upper",
        "StringStrip": "strings.strip",
        "StringLength": "strings.length",
        "StringJoin": "strings.join",
        "Substr": "strings.substr",
        "RegexFullMatch": "RegexFullMatch",
        "StaticRegexFullMatch": "strings.regex_full_match",
        "RegexReplace": "RegexReplace",
        "StaticRegexReplace": "strings.regex_replace",
        "AsString": "as_string",
        "StringToNumber": "strings.to_number",
        "StringToHashBucket": "strings.to_hash_bucket",
        "StringToHashBucketFast": "strings.to_hash_bucket_fast",
        "StringToHashBucketStrong": "strings.to_hash_bucket_strong",
        "Fingerprint": "fingerprint",
    },
    "tests/ops/test_string_decoding.py": {
        "DecodeRaw": "io.decode_raw",
        "DecodePaddedRaw": "fixed_length",
        "EncodeBase64": "encode_base64",
        "DecodeBase64": "decode_base64",
        "DecodeCompressed": "decode_compressed",
        "DecodeCSV": "decode_csv",
        "ParseTensor": "parse_tensor",
        "SerializeTensor": "serialize_tensor",
        "DecodeJSONExample": "decode_json_example",
    },
    "tests/ops/test_string_rows.py": {
        "ReduceJoin": "reduce_join",
        "UnsortedSegmentJoin": "unsorted_segment_join",
        "StringSplit": "StringSplit",
        "StringSplitV2": "StringSplitV2",
        "StringNGrams": "StringNGrams",
        "UnicodeDecode": "unicode_decode",
        "UnicodeDecodeWithOffsets": "unicode_decode_with_offsets",
        "UnicodeEncode": "UnicodeEncode",
        "UnicodeTranscode": "unicode_transcode",
        "UnicodeScript": "unicode_script",
    },
}
RECORDS = [
    Record(op, tested_by=path, named_by=named)
    for path, ops in _FILES.items()
    for op, named in ops.items()
]
