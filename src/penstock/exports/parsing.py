"""Public names of what parses Examples and SequenceExamples."""

_FEATURES = ("FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature")

EXPORTS = {
    "penstock.ops.parse_features": {
        **{name: [f"io.{name}", f"compat.v1.{name}"] for name in _FEATURES},
        "RaggedFeature": ["io.RaggedFeature"],
    },
    "penstock.ops.parse_functions": {
        "parse_example": ["io.parse_example"],
        "parse_example_v1": ["compat.v1.io.parse_example", "compat.v1.parse_example"],
        "parse_single_example": ["io.parse_single_example"],
        "parse_single_example_v1": [
            "compat.v1.io.parse_single_example",
            "compat.v1.parse_single_example",
        ],
        "parse_sequence_example": ["io.parse_sequence_example"],
        "parse_single_sequence_example": [
            "io.parse_single_sequence_example",
            "compat.v1.parse_single_sequence_example",
        ],
    },
    "penstock.ops.string_protos": {
        "decode_proto": ["io.decode_proto"],
        "encode_proto": ["io.encode_proto"],
    },
}
