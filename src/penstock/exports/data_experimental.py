"""Public names of `tf.data.experimental` that are about datasets and iterators."""

_FUNCTIONS = (
    "cardinality copy_to_device enable_debug_mode from_variant get_model_proto"
    " get_next_as_optional get_single_element get_structure prefetch_to_device to_variant"
).split()
_SERVICE = (
    "CrossTrainerCache DispatchServer DispatcherConfig ShardingPolicy WorkerConfig WorkerServer"
    " distribute from_dataset_id register_dataset"
).split()
_TABLES = "DatasetInitializer index_table_from_dataset table_from_dataset".split()
_V1 = "compat.v1.data.experimental."

EXPORTS = {
    "penstock.data.describing": {n: [f"data.experimental.{n}"] for n in _FUNCTIONS},
    "penstock.data.service": {
        **{n: [f"data.experimental.service.{n}"] for n in _SERVICE},
        "distributed_save": ["data.experimental.distributed_save"],
    },
    "penstock.data.tables": {n: [f"data.experimental.{n}"] for n in _TABLES},
    "penstock.data.stages": {
        "INFINITE": ["data.experimental.INFINITE_CARDINALITY"],
        "UNKNOWN": ["data.experimental.UNKNOWN_CARDINALITY"],
    },
    "penstock.data.mapping": {"AUTOTUNE": ["data.experimental.AUTOTUNE"]},
    "penstock.ops.optional": {
        "Optional": ["data.experimental.Optional"],
        "OptionalSpec": [f"{_V1}OptionalStructure"],
    },
    "penstock.data.base": {"DatasetSpec": [f"{_V1}DatasetStructure"]},
    "penstock.types.type_spec": {"TypeSpec": [f"{_V1}Structure"]},
    "penstock.data.structures_v1": {
        "tensor_structure": [f"{_V1}TensorStructure"],
        "sparse_tensor_structure": [f"{_V1}SparseTensorStructure"],
        "ragged_tensor_structure": [f"{_V1}RaggedTensorStructure"],
        "tensor_array_structure": [f"{_V1}TensorArrayStructure"],
    },
    "penstock.checkpoint.iterators": {
        "make_saveable_from_iterator": ["data.experimental.make_saveable_from_iterator"]
    },
}
