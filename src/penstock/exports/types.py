"""Public names of dtypes, shapes and specs."""

_DTYPES = (
    "bfloat16 complex64 complex128 double float16 float32 float64 half int8 int16 int32 int64 qint8"
    " qint16 qint32 quint8 quint16 resource string uint8 uint16 uint32 uint64 variant"
).split()

_SMALL = (
    "float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
    " int2 int4 uint2 uint4"
).split()

EXPORTS = {
    "penstock.types.dtypes": {
        **{name: [name, f"dtypes.{name}"] for name in _DTYPES},
        **{name: [f"dtypes.experimental.{name}", f"experimental.{name}"] for name in _SMALL},
        "QUANTIZED_DTYPES": [
            "dtypes.QUANTIZED_DTYPES",
            "compat.v1.QUANTIZED_DTYPES",
        ],
        "bool_": ["bool", "dtypes.bool"],
        "DType": ["DType", "dtypes.DType"],
        "as_dtype": ["as_dtype", "dtypes.as_dtype"],
    },
    "penstock.types.tensor_shape": {
        "TensorShape": ["TensorShape"],
        "Dimension": ["compat.v1.Dimension"],
        "dimension_value": ["compat.dimension_value", "compat.v1.dimension_value"],
        "dimension_at_index": ["compat.dimension_at_index", "compat.v1.dimension_at_index"],
    },
    "penstock.types.tensor_spec": {"TensorSpec": ["TensorSpec"]},
    "penstock.types.type_spec": {
        "TypeSpec": ["TypeSpec"],
        "type_spec_from_value": ["type_spec_from_value"],
    },
    "penstock.types.callables": {
        "AtomicFunction": ["types.experimental.AtomicFunction"],
        "Callable": ["types.experimental.Callable"],
        "ConcreteFunction": ["types.experimental.ConcreteFunction"],
        "PolymorphicFunction": [
            "types.experimental.GenericFunction",
            "types.experimental.PolymorphicFunction",
        ],
    },
    "penstock.types.trace_type": {
        "SupportsTracingProtocol": ["types.experimental.SupportsTracingProtocol"],
        "TraceType": ["types.experimental.TraceType"],
    },
    "penstock.tracing.signature": {"TensorLike": ["types.experimental.TensorLike"]},
    "penstock.tracing.function_type": {"FunctionType": ["types.experimental.FunctionType"]},
    "penstock.types.composite_specs": {
        "IndexedSlicesSpec": ["IndexedSlicesSpec"],
        "NoneTensorSpec": ["NoneTensorSpec"],
        "SparseTensorSpec": ["SparseTensorSpec"],
        "VariableSpec": ["__internal__.VariableSpec"],
    },
    "penstock.util.nest": {
        name: [f"nest.{name}", f"compat.v1.nest.{name}"]
        for name in (
            "assert_same_structure",
            "flatten",
            "is_nested",
            "map_structure",
            "pack_sequence_as",
        )
    },
    "penstock.config.forward": {
        "forward_compatible": ["compat.forward_compatible"],
        "forward_compatibility_horizon": ["compat.forward_compatibility_horizon"],
    },
}
