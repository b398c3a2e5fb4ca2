"""Operations on strings run on the host alone: their values are in tests of their own."""

from tests.ops.harness import Record

_FILES = {
    "tests/ops/test_string_basics.py": {
        "StringLower": "s.lower(",
        "StringUpper": "s.upper(",
        "StringStrip": "s.strip(",
        "StringLength": "s.length(",
        "StringJoin": "s.join(",
        "Substr": "s.substr(",
        "RegexFullMatch": "RegexFullMatch",
        "StaticRegexFullMatch": "s.regex_full_match(",
        "RegexReplace": "RegexReplace",
        "StaticRegexReplace": "s.regex_replace(",
        "AsString": "as_string",
        "StringToNumber": "s.to_number(",
        "StringToHashBucket": "s.to_hash_bucket(",
        "StringToHashBucketFast": "s.to_hash_bucket_fast(",
        "StringToHashBucketStrong": "s.to_hash_bucket_strong(",
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
