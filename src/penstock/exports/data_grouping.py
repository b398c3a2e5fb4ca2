"""Public names of what groups and chooses elements."""

EXPORTS = {
    "penstock.data.methods_choosing": {
        "assert_cardinality": [
            "data.experimental.assert_cardinality",
            "compat.v1.data.experimental.assert_cardinality",
        ],
    },
}
