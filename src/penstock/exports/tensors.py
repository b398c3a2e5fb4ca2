"""Public names of what exchanges tensors with other libraries."""

EXPORTS = {
    "penstock.core.dlpack": {
        "to_dlpack": ["experimental.dlpack.to_dlpack"],
        "from_dlpack": ["experimental.dlpack.from_dlpack"],
    },
}
