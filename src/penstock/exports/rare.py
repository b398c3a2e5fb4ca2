"""Public names of operations that few programs use."""

EXPORTS = {
    "penstock.ops.array_layout": {"unravel_index": ["unravel_index"]},
    "penstock.ops.array_top_elements": {
        "approx_max_k": ["math.approx_max_k", "nn.approx_max_k"],
        "approx_min_k": ["math.approx_min_k", "nn.approx_min_k"],
    },
    "penstock.ops.math_isotonic": {"isotonic_regression": ["nn.isotonic_regression"]},
    "penstock.ops.math_sobol": {"sobol_sample": ["math.sobol_sample"]},
    "penstock.ops.device_facts": {
        "my_fact": ["compat.v1.user_ops.my_fact"],
        "sync_devices": ["test.experimental.sync_devices"],
    },
    "penstock.ops.linalg_decompose": {"eig": ["eig"], "eigvals": ["eigvals"]},
    "penstock.ops.linalg_functions": {"sqrtm": ["matrix_square_root"]},
    "penstock.ops.math_division": {"real_div": ["realdiv"]},
    "penstock.ops.operation_names": {
        "approx_top_k": ["approx_top_k"],
        "fftnd": ["fftnd"],
        "ifftnd": ["ifftnd"],
        "irfftnd": ["irfftnd"],
        "ragged_fill_empty_rows": ["ragged_fill_empty_rows"],
        "ragged_fill_empty_rows_grad": ["ragged_fill_empty_rows_grad"],
        "random_index_shuffle": ["random_index_shuffle"],
        "rfftnd": ["rfftnd"],
        "sampled_addmm": ["sparse.sampled_addmm"],
    },
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
    "penstock.ops.nn_space_to_batch": {"with_space_to_batch": ["nn.with_space_to_batch"]},
    "penstock.ops.nn_volume_patches": {"extract_volume_patches": ["extract_volume_patches"]},
    "penstock.ops.sdca": {
        name: [f"compat.v1.train.{name}"]
        for name in ("sdca_fprint", "sdca_optimizer", "sdca_shrink_l1")
    },
    "penstock.ops.sparse_edit_distance": {"edit_distance": ["edit_distance"]},
}
