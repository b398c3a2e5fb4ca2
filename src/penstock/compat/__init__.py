"""TensorFlow's module layout of either generation, `compat.v1` and `v2`, and string helpers."""
