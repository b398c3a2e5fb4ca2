"""Public names of devices and execution settings."""

EXPORTS = {
    "penstock.config.execution": {
        name: [f"config.experimental.{name}"]
        for name in (
            "disable_mlir_bridge",
            "enable_mlir_bridge",
            "get_synchronous_execution",
            "set_synchronous_execution",
        )
    },
    "penstock.runtime.device_policy": {
        name: [f"config.experimental.{name}"] for name in ("get_device_policy", "set_device_policy")
    },
    "penstock.core.execution_scopes": {
        name: [f"experimental.{name}"]
        for name in (
            "async_clear_error",
            "async_scope",
            "enable_strict_mode",
            "function_executor_type",
        )
    },
    "penstock.config.placement_log": {
        name: [f"debugging.{name}"]
        for name in ("get_log_device_placement", "set_log_device_placement")
    },
    "penstock.config.optimizer_options": {
        "get_experimental_options": ["config.optimizer.get_experimental_options"],
        "set_experimental_options": ["config.optimizer.set_experimental_options"],
        "get_jit": ["config.optimizer.get_jit"],
        "set_jit": ["config.optimizer.set_jit"],
    },
    "penstock.runtime.device_memory": {
        name: [f"config.experimental.{name}"]
        for name in ("get_memory_info", "get_memory_usage", "reset_memory_stats")
    },
    "penstock.runtime.device_config": {
        "LogicalDevice": ["config.LogicalDevice"],
        "LogicalDeviceConfiguration": [
            "config.LogicalDeviceConfiguration",
            "config.experimental.VirtualDeviceConfiguration",
        ],
        "PhysicalDevice": ["config.PhysicalDevice"],
        "list_physical_devices": [
            "config.list_physical_devices",
            "config.experimental.list_physical_devices",
        ],
        "list_logical_devices": [
            "config.list_logical_devices",
            "config.experimental.list_logical_devices",
        ],
        "get_visible_devices": [
            "config.get_visible_devices",
            "config.experimental.get_visible_devices",
        ],
        "set_visible_devices": [
            "config.set_visible_devices",
            "config.experimental.set_visible_devices",
        ],
        "get_logical_device_configuration": [
            "config.get_logical_device_configuration",
            "config.experimental.get_virtual_device_configuration",
        ],
        "set_logical_device_configuration": [
            "config.set_logical_device_configuration",
            "config.experimental.set_virtual_device_configuration",
        ],
        "get_memory_growth": ["config.experimental.get_memory_growth"],
        "set_memory_growth": ["config.experimental.set_memory_growth"],
        "get_device_details": ["config.experimental.get_device_details"],
        "set_soft_device_placement": ["config.set_soft_device_placement"],
        "get_soft_device_placement": ["config.get_soft_device_placement"],
        "get_inter_op_parallelism_threads": ["config.threading.get_inter_op_parallelism_threads"],
        "set_inter_op_parallelism_threads": ["config.threading.set_inter_op_parallelism_threads"],
        "get_intra_op_parallelism_threads": ["config.threading.get_intra_op_parallelism_threads"],
        "set_intra_op_parallelism_threads": ["config.threading.set_intra_op_parallelism_threads"],
        "tensor_float_32_execution_enabled": [
            "config.experimental.tensor_float_32_execution_enabled"
        ],
        "enable_tensor_float_32_execution": [
            "config.experimental.enable_tensor_float_32_execution"
        ],
        "enable_op_determinism": ["config.experimental.enable_op_determinism"],
        "is_gpu_available": ["test.is_gpu_available"],
        "gpu_device_name": ["test.gpu_device_name"],
        "is_built_with_cuda": ["test.is_built_with_cuda"],
    },
}
