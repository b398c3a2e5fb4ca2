"""Public names of ragged tensors."""

EXPORTS = {
    "penstock.ops.ragged_constant": {
        "constant": ["ragged.constant"],
        "constant_value": ["compat.v1.ragged.constant_value"],
        "placeholder": ["compat.v1.ragged.placeholder"],
    },
    "penstock.ops.ragged_partition": {"RowPartition": ["experimental.RowPartition"]},
    "penstock.ops.ragged_tensor": {
        "RaggedTensor": ["RaggedTensor"],
        "RaggedTensorSpec": ["RaggedTensorSpec"],
        "RaggedTensorValue": ["compat.v1.ragged.RaggedTensorValue"],
    },
}
