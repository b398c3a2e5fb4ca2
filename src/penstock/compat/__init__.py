"""TensorFlow's module layout for programs of either generation: `compat.v1` and `compat.v2`, and string helpers."""
