"""Public names of sessions."""

EXPORTS = {
    "penstock.runtime.client": {
        "Session": ["compat.v1.Session"],
        "InteractiveSession": ["compat.v1.InteractiveSession"],
        "get_default_session": ["compat.v1.get_default_session"],
    },
    "penstock.ops.session_tensors": {
        "get_session_handle": ["compat.v1.get_session_handle"],
        "get_session_tensor": ["compat.v1.get_session_tensor"],
        "delete_session_tensor": ["compat.v1.delete_session_tensor"],
    },
    "penstock.ops.template": {"make_template": ["compat.v1.make_template"]},
    "penstock.types.composite_values": {
        "SparseTensorValue": ["compat.v1.SparseTensorValue"],
        "IndexedSlicesValue": ["compat.v1.IndexedSlicesValue"],
    },
}
