"""Public names of variables, their scopes, initializers and modules."""

_V1 = "compat.v1."

_COLLECTIONS = (
    "GraphKeys enable_resource_variables disable_resource_variables resource_variables_enabled "
    "global_variables all_variables local_variables model_variables trainable_variables "
    "moving_average_variables variables_initializer global_variables_initializer "
    "local_variables_initializer initialize_variables initialize_all_variables "
    "initialize_local_variables is_variable_initialized assert_variables_initialized "
    "report_uninitialized_variables"
).split()
_SCOPES = (
    "AUTO_REUSE VariableScope get_variable_scope get_variable get_local_variable variable_scope "
    "variable_op_scope no_regularizer"
).split()
_PARTITIONERS = (
    "fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner"
).split()
_UPDATES = (
    "assign assign_add assign_sub count_up_to scatter_add scatter_sub scatter_mul scatter_div "
    "scatter_min scatter_max scatter_update scatter_nd_add scatter_nd_sub scatter_nd_update "
    "batch_scatter_update"
).split()

# Classes of `tf.initializers`: those with a second, older name under `tf` itself.
_INITIALIZERS = {
    "Zeros": "zeros",
    "Ones": "ones",
    "Constant": "constant",
    "RandomUniform": "random_uniform",
    "RandomNormal": "random_normal",
    "TruncatedNormal": "truncated_normal",
    "VarianceScaling": "variance_scaling",
    "GlorotUniform": "glorot_uniform",
    "GlorotNormal": "glorot_normal",
    "HeUniform": "he_uniform",
    "HeNormal": "he_normal",
    "LecunUniform": "lecun_uniform",
    "LecunNormal": "lecun_normal",
    "Orthogonal": "orthogonal",
    "Identity": "identity",
}
_TOP = ("Zeros", "Ones", "RandomUniform")
_V1_INITIALIZERS = {
    "Zeros": ["zeros_initializer", "initializers.zeros"],
    "Ones": ["ones_initializer", "initializers.ones"],
    "Constant": ["constant_initializer", "initializers.constant"],
    "RandomUniform": ["random_uniform_initializer", "initializers.random_uniform"],
    "RandomNormal": ["random_normal_initializer", "initializers.random_normal"],
    "TruncatedNormal": ["truncated_normal_initializer", "initializers.truncated_normal"],
    "UniformUnitScaling": [
        "uniform_unit_scaling_initializer",
        "initializers.uniform_unit_scaling",
    ],
    "VarianceScaling": ["variance_scaling_initializer", "initializers.variance_scaling"],
    "GlorotUniform": ["glorot_uniform_initializer", "initializers.glorot_uniform"],
    "GlorotNormal": ["glorot_normal_initializer", "initializers.glorot_normal"],
    "Orthogonal": ["orthogonal_initializer", "initializers.orthogonal"],
    "Identity": ["initializers.identity"],
    "lecun_normal": ["initializers.lecun_normal"],
    "lecun_uniform": ["initializers.lecun_uniform"],
    "he_normal": ["initializers.he_normal"],
    "he_uniform": ["initializers.he_uniform"],
}

EXPORTS = {
    "penstock.ops.variables": {"Variable": ["Variable"]},
    "penstock.ops.variable_types": {
        "VariableSynchronization": ["VariableSynchronization"],
        "VariableAggregationV2": ["VariableAggregation"],
        "VariableAggregation": [_V1 + "VariableAggregation"],
    },
    "penstock.ops.variable_creation": {"variable_creator_scope": ["variable_creator_scope"]},
    "penstock.ops.module": {"Module": ["Module"]},
    "penstock.ops.variables_v1": {
        "VariableV1": [_V1 + "Variable"],
        **{name: [_V1 + name] for name in _COLLECTIONS},
        "variables_initializer": [
            _V1 + "variables_initializer",
            _V1 + "initializers.variables",
        ],
        "global_variables_initializer": [
            _V1 + "global_variables_initializer",
            _V1 + "initializers.global_variables",
        ],
        "tables_initializer": [
            _V1 + "tables_initializer",
            _V1 + "initializers.tables_initializer",
        ],
        "initialize_all_tables": [_V1 + "initialize_all_tables"],
        "local_variables_initializer": [
            _V1 + "local_variables_initializer",
            _V1 + "initializers.local_variables",
        ],
    },
    "penstock.ops.variable_scope": {name: [_V1 + name] for name in _SCOPES},
    "penstock.ops.variables_in_parts": {
        "create_partitioned_variables": [_V1 + "create_partitioned_variables"]
    },
    "penstock.ops.partitioned": {name: [_V1 + name] for name in _PARTITIONERS},
    "penstock.ops.state_functions": {name: [_V1 + name] for name in _UPDATES},
    "penstock.ops.initializers": {
        **{
            cls: [f"initializers.{cls}", f"initializers.{name}"]
            + ([f"{name}_initializer"] if cls in _TOP else [])
            for cls, name in _INITIALIZERS.items()
        },
        "Initializer": ["initializers.Initializer"],
        "get": ["initializers.get"],
        "serialize": ["initializers.serialize"],
        "deserialize": ["initializers.deserialize"],
    },
    "penstock.ops.initializers_top": {
        "Constant": ["constant_initializer"],
        "RandomNormal": ["random_normal_initializer"],
    },
    "penstock.ops.initializers_v1": {
        name: [_V1 + public for public in names] for name, names in _V1_INITIALIZERS.items()
    },
}
