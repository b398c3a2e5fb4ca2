"""Public names of strings, and of what is decoded from them."""


def _both(name: str, *old: str) -> list[str]:
    return [f"strings.{name}", *(f"compat.v1.{o}" for o in old)]


EXPORTS = {
    "penstock.ops.string_basics": {
        "lower": _both("lower"),
        "upper": _both("upper"),
        "strip": _both("strip", "string_strip"),
        "length": _both("length"),
        "length_v1": ["compat.v1.strings.length"],
        "join": _both("join", "string_join"),
        "substr": _both("substr"),
        "substr_v1": ["compat.v1.strings.substr", "compat.v1.substr"],
    },
    "penstock.ops.string_joining": {
        "reduce_join": _both("reduce_join"),
        "reduce_join_v1": ["compat.v1.strings.reduce_join", "compat.v1.reduce_join"],
        "unsorted_segment_join": _both("unsorted_segment_join"),
    },
    "penstock.ops.string_split": {
        "bytes_split": _both("bytes_split"),
        "ngrams": _both("ngrams"),
        "split": _both("split"),
        "split_v1": ["compat.v1.strings.split"],
        "string_split": ["compat.v1.string_split"],
    },
    "penstock.ops.string_unicode": {
        name: _both(name)
        for name in (
            "unicode_decode",
            "unicode_decode_with_offsets",
            "unicode_encode",
            "unicode_script",
            "unicode_split",
            "unicode_split_with_offsets",
            "unicode_transcode",
        )
    },
    "penstock.ops.string_regex": {
        "regex_full_match": _both("regex_full_match"),
        "regex_replace": _both("regex_replace", "regex_replace"),
    },
    "penstock.ops.string_numbers": {
        "as_string": ["strings.as_string", "as_string"],
        "to_number": _both("to_number"),
        "to_number_v1": ["compat.v1.strings.to_number", "compat.v1.string_to_number"],
    },
    "penstock.ops.string_to_hash": {
        "to_hash_bucket": _both("to_hash_bucket"),
        "to_hash_bucket_v1": [
            "compat.v1.strings.to_hash_bucket",
            "compat.v1.string_to_hash_bucket",
        ],
        "to_hash_bucket_fast": _both("to_hash_bucket_fast", "string_to_hash_bucket_fast"),
        "to_hash_bucket_strong": _both("to_hash_bucket_strong", "string_to_hash_bucket_strong"),
        "fingerprint": ["fingerprint"],
    },
    "penstock.ops.string_decode": {
        "decode_raw": ["io.decode_raw"],
        "decode_raw_v1": ["compat.v1.decode_raw", "compat.v1.io.decode_raw"],
        "decode_base64": ["io.decode_base64", "compat.v1.decode_base64"],
        "encode_base64": ["io.encode_base64", "compat.v1.encode_base64"],
        "decode_compressed": ["io.decode_compressed", "compat.v1.decode_compressed"],
    },
    "penstock.ops.string_csv": {
        "decode_csv": ["io.decode_csv"],
        "decode_csv_v1": ["compat.v1.decode_csv", "compat.v1.io.decode_csv"],
    },
    "penstock.ops.string_messages": {
        "parse_tensor": ["io.parse_tensor", "compat.v1.parse_tensor"],
        "serialize_tensor": ["io.serialize_tensor", "compat.v1.serialize_tensor"],
        "decode_json_example": ["io.decode_json_example", "compat.v1.decode_json_example"],
    },
}
