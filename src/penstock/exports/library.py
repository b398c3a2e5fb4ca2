"""Public names for operations of one's own; they have no counterpart in TensorFlow's Python API."""

EXPORTS = {
    "penstock.core.op_libraries": {
        "load_file_system_library": ["compat.v1.load_file_system_library"],
        "load_library": ["load_library"],
        "load_op_library": ["load_op_library"],
        "register_filesystem_plugin": ["experimental.register_filesystem_plugin"],
    },
    "penstock.core.execute": {"execute": ["library.execute"]},
    "penstock.core.kernels": {
        "KernelContext": ["library.KernelContext"],
        "compiled_kernel": ["library.compiled_kernel"],
        "host_kernel": ["library.host_kernel"],
        "kernel": ["library.kernel"],
        "register_kernel": ["library.register_kernel"],
    },
    "penstock.core.op_def": {
        "OpDef": ["library.OpDef"],
        "define_op": ["library.define_op"],
        "find": ["library.find_op"],
    },
    "penstock.core.shapes": {"ShapeContext": ["library.ShapeContext"]},
}
