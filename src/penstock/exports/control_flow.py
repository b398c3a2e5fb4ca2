"""Public names of conditionals and loops."""

EXPORTS = {
    "penstock.ops.conditionals": {
        "cond": ["cond"],
        "cond_v1": ["compat.v1.cond"],
        "case": ["case"],
        "case_v1": ["compat.v1.case"],
        "switch_case": ["switch_case"],
    },
    "penstock.ops.smart_cond": {"smart_cond": ["__internal__.smart_cond.smart_cond"]},
    "penstock.ops.loops": {
        "while_loop": ["while_loop"],
        "while_loop_v1": ["compat.v1.while_loop"],
    },
    "penstock.ops.tensor_array": {"TensorArray": ["TensorArray"]},
    "penstock.autodiff.vectorized": {"vectorized_map": ["vectorized_map"]},
    "penstock.ops.functional_loops": {
        "map_fn": ["map_fn"],
        "scan": ["scan"],
        "foldl": ["foldl"],
        "foldr": ["foldr"],
    },
    "penstock.types.tensor_array_spec": {"TensorArraySpec": ["TensorArraySpec"]},
}
