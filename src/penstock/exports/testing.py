"""Public names for testing."""

EXPORTS = {
    "penstock.testing.gradient_check": {
        "compute_gradient": ["test.compute_gradient"],
        "compute_gradient_v1": ["compat.v1.test.compute_gradient"],
        "compute_gradient_error": ["compat.v1.test.compute_gradient_error"],
    },
    "penstock.testing.test_case": {
        "TestCase": ["test.TestCase"],
    },
    "penstock.testing.benchmark": {
        "Benchmark": ["test.Benchmark"],
        "benchmark_config": ["test.benchmark_config"],
    },
    "penstock.testing.stubs": {
        "StubOutForTesting": ["compat.v1.test.StubOutForTesting"],
    },
    "unittest": {"mock": ["compat.v1.test.mock"]},
    "penstock.testing.helpers": {
        "main": ["test.main"],
        "get_temp_dir": ["compat.v1.test.get_temp_dir"],
        "test_src_dir_path": ["compat.v1.test.test_src_dir_path"],
        "assert_equal_graph_def": ["test.assert_equal_graph_def"],
        "assert_equal_graph_def_v1": ["compat.v1.test.assert_equal_graph_def"],
        "is_built_with_xla": ["test.is_built_with_xla"],
        "is_built_with_gpu_support": ["test.is_built_with_gpu_support"],
        "is_built_with_rocm": ["test.is_built_with_rocm"],
        "is_cpu_target_available": ["test.is_cpu_target_available"],
        "disable_with_predicate": ["test.disable_with_predicate"],
        "with_eager_op_as_function": ["test.with_eager_op_as_function"],
    },
}
