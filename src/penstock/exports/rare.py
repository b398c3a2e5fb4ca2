"""Public names of operations that few programs use."""

EXPORTS = {
    "penstock.ops.array_layout": {"unravel_index": ["unravel_index"]},
    "penstock.ops.array_top_elements": {
        "approx_max_k": ["math.approx_max_k", "nn.approx_max_k"],
        "approx_min_k": ["math.approx_min_k", "nn.approx_min_k"],
    },
    "penstock.ops.math_isotonic": {"isotonic_regression": ["nn.isotonic_regression"]},
    "penstock.ops.math_sobol": {"sobol_sample": ["math.sobol_sample"]},
    "penstock.ops.nn_dilation": {
        "dilation2d": ["nn.dilation2d"],
        "dilation2d_v1": ["compat.v1.nn.dilation2d"],
        "erosion2d": ["nn.erosion2d"],
        "erosion2d_v1": ["compat.v1.nn.erosion2d"],
    },
    "penstock.ops.nn_fractional_pool": {
        "fractional_avg_pool": ["nn.fractional_avg_pool"],
        "fractional_avg_pool_v1": ["compat.v1.nn.fractional_avg_pool"],
        "fractional_max_pool": ["nn.fractional_max_pool"],
        "fractional_max_pool_v1": ["compat.v1.nn.fractional_max_pool"],
    },
    "penstock.ops.nn_volume_patches": {"extract_volume_patches": ["extract_volume_patches"]},
    "penstock.ops.sparse_edit_distance": {"edit_distance": ["edit_distance"]},
}
