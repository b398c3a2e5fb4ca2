"""Public names of ragged tensors."""

EXPORTS = {
    "penstock.ops.ragged_constant": {
        "constant": ["ragged.constant"],
        "constant_value": ["compat.v1.ragged.constant_value"],
        "placeholder": ["compat.v1.ragged.placeholder"],
    },
    "penstock.ops.ragged_cross": {
        "cross": ["ragged.cross"],
        "cross_hashed": ["ragged.cross_hashed"],
    },
    "penstock.ops.ragged_elementwise": {"map_flat_values": ["ragged.map_flat_values"]},
    "penstock.ops.ragged_functions": {
        "boolean_mask": ["ragged.boolean_mask"],
        "range": ["ragged.range"],
        "row_splits_to_segment_ids": ["ragged.row_splits_to_segment_ids"],
        "segment_ids_to_row_splits": ["ragged.segment_ids_to_row_splits"],
        "stack": ["ragged.stack"],
        "stack_dynamic_partitions": ["ragged.stack_dynamic_partitions"],
    },
    "penstock.ops.ragged_partition": {"RowPartition": ["experimental.RowPartition"]},
    "penstock.ops.ragged_tensor": {
        "DynamicRaggedShape": ["experimental.DynamicRaggedShape"],
        "RaggedTensor": ["RaggedTensor"],
        "RaggedTensorSpec": ["RaggedTensorSpec"],
        "RaggedTensorValue": ["compat.v1.ragged.RaggedTensorValue"],
    },
    "penstock.ops.structured_tensor": {"StructuredTensor": ["experimental.StructuredTensor"]},
}
