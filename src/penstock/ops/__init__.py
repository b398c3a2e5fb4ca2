"""Operations by family.

`FAMILIES` lists the modules; `load_all` imports them, which registers their operations. Kernels of
particular devices register for the names of operations, ahead of the families.
"""

import importlib

from penstock.ops.kernels import cpu as _cpu  # noqa: F401

FAMILIES = (
    "array_basics",
    "array_diag",
    "array_fill",
    "array_gather",
    "array_getitem",
    "array_identity",
    "array_join",
    "array_order",
    "array_pad",
    "array_partition",
    "array_scatter",
    "array_select",
    "array_shape",
    "array_slice",
    "array_sort",
    "array_space",
    "control_flow",
    "control_frames",
    "control_stacks",
    "conversion",
    "debug_asserts",
    "debug_print",
    "debug_shapes",
    "function_calls",
    "initializer_scales",
    "io_checkpoint",
    "io_checkpoint_v1",
    "io_files",
    "linalg_decompose",
    "linalg_functions",
    "linalg_solve",
    "math_arithmetic",
    "math_cast",
    "math_compare",
    "math_count",
    "math_division",
    "math_einsum",
    "math_elementwise",
    "math_matmul",
    "math_norms",
    "math_range",
    "math_reduce",
    "math_scan",
    "math_segment",
    "math_special",
    "media",
    "nn_activations",
    "nn_batch_norm",
    "nn_bias",
    "nn_convolution",
    "nn_depthwise",
    "nn_pool",
    "nn_response",
    "nn_softmax",
    "overloads",
    "py_functions",
    "queue_ops",
    "random_stateful",
    "random_stateless",
    "send_recv",
    "session_tensors",
    "state_optimizers",
    "state_references",
    "state_scatter",
    "state_slices",
    "state_variables",
    "summary_messages",
    "summary_writers",
    "tensor_array_v3",
    "tensor_list_stacks",
    "tensor_lists",
    "text_format",
    "variable_operators",
    "variables",
    "vectorized",
)


def load_all() -> None:
    """Imports every family."""
    for family in FAMILIES:
        importlib.import_module(f"penstock.ops.{family}")
