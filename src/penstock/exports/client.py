"""Public names of sessions."""

EXPORTS = {
    "penstock.runtime.client": {
        "Session": ["compat.v1.Session"],
        "InteractiveSession": ["compat.v1.InteractiveSession"],
        "get_default_session": ["compat.v1.get_default_session"],
    },
    "penstock.types.composite_values": {
        "SparseTensorValue": ["compat.v1.SparseTensorValue"],
        "IndexedSlicesValue": ["compat.v1.IndexedSlicesValue"],
    },
}
