"""Structured tensors from nested Python values, and back."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor, Tensor
from penstock.ops.ragged_constant import constant as ragged_constant
from penstock.ops.ragged_rows import is_ragged
from penstock.ops.ragged_shape import DynamicRaggedShape
from penstock.ops.structured_shapes import partitioned
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.tensor_spec import TensorSpec

Path = tuple[str, ...]
Build = Callable[[dict[str, Any], DynamicRaggedShape], Any]


def from_python(value: Any, spec: Any, build: Build, path: Path = ()) -> Any:
    """The tensor, ragged tensor or structured tensor of nested dicts, lists and numbers.

    Args:
      value: the value.
      spec: the spec of the result, or None.
      build: makes a structured tensor of fields and their shape.
      path: the names of the fields around it, for messages.

    Raises:
      ValueError: dicts are not all equally deep, or something does not fit.
      KeyError: a dict lacks a field that others have.
    """
    depth = _depth(value)
    if depth is None and hasattr(spec, "_fields") and not _has_leaf(value):
        depth = spec.rank  # no dict says how deep they would be
    if depth is None:
        return _leaf(value, spec, path)
    if spec is not None and (not hasattr(spec, "_fields") or spec.rank != depth):
        raise _mismatch(value, spec, path)
    names = dict.fromkeys(_names(value, depth))
    if spec is not None:
        names = dict.fromkeys([*spec._fields, *names]) if depth else names
        if set(names) != set(spec._fields):
            raise ValueError(
                f"Error parsing path {path!r}: expected the fields {sorted(spec._fields)}, got "
                f"{sorted(names)}."
            )
    try:
        columns = {n: _each(value, depth, operator.itemgetter(n)) for n in names}
    except KeyError:
        if spec is None:
            raise
        raise ValueError(f"Error parsing path {path!r}: a field is missing.") from None
    specs = dict.fromkeys(names) if spec is None else spec._fields
    fields = {n: from_python(c, specs[n], build, (*path, n)) for n, c in columns.items()}
    rows = _each(value, depth, lambda row: 0)
    made = ragged_constant(rows, np.int32) if depth > 1 else convert_to_tensor(rows, np.int32)
    return build(fields, partitioned(DynamicRaggedShape.from_tensor(made, np.int64), depth))


def _depth(value: Any) -> int | None:
    """How deep in lists the dicts of a value are; None when it has none."""
    if isinstance(value, Mapping):
        return 0
    if not isinstance(value, (list, tuple)):
        return None
    found = {_depth(v) for v in value if not isinstance(v, (list, tuple)) or _has_leaf(v)}
    if not found or found == {None}:
        return None
    if None in found:
        raise ValueError("Expected dict or nested list/tuple of dict, got other values among them.")
    if len(found) > 1:
        raise ValueError("Inconsistent depth of dictionaries: expected all equally deep in lists.")
    return (found.pop() or 0) + 1


def _has_leaf(value: Any) -> bool:
    """Whether there is anything in nested lists."""
    if not isinstance(value, (list, tuple)):
        return True
    return any(map(_has_leaf, value))


def _names(value: Any, depth: int) -> list[str]:
    return list(value) if not depth else [n for row in value for n in _names(row, depth - 1)]


def _each(value: Any, depth: int, function: Callable[[Any], Any]) -> Any:
    """What a function makes of each dict, in the same lists."""
    return [_each(v, depth - 1, function) for v in value] if depth else function(value)


def _mismatch(value: Any, spec: Any, path: Path) -> ValueError:
    return ValueError(f"Value at {path!r} does not match typespec: {value!r} vs {spec!r}")


def _leaf(value: Any, spec: Any, path: Path) -> Any:
    """A tensor; a ragged tensor of nested lists."""
    if spec is not None and not isinstance(spec, (TensorSpec, RaggedTensorSpec)):
        raise _mismatch(value, spec, path)
    try:
        made = _tensor(value, spec)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"Error parsing path {path!r}: {problem}") from problem
    if spec is not None and not spec.is_compatible_with(made):
        raise _mismatch(value, spec, path)
    return made


def _tensor(value: Any, spec: Any) -> Any:
    if value is None:
        raise ValueError("expected a number, text, list or dict, got None.")
    if isinstance(spec, RaggedTensorSpec):
        return ragged_constant(
            value, spec.dtype, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype
        )
    nested = isinstance(value, (list, tuple)) and any(isinstance(v, (list, tuple)) for v in value)
    if spec is None and nested:
        return ragged_constant(value)
    return convert_to_tensor(value, None if spec is None else spec.dtype)


def to_python(value: Any) -> Any:
    """Nested dicts and lists of a field.

    Raises:
      ValueError: it is not eager.
    """
    if hasattr(value, "_ragged_shape"):
        return value.to_pyval()
    if is_ragged(value):
        _check_eager(value.flat_values)
        return value.to_list()
    _check_eager(value)
    array = value.numpy()
    return array.tolist() if isinstance(array, np.ndarray) and array.ndim else array


def _check_eager(value: Tensor) -> None:
    if not isinstance(value, EagerTensor):
        raise ValueError("StructuredTensor.to_pyval() is only supported in eager mode.")


def joined(rows: Any, depth: int, columns: dict[str, Any]) -> Any:
    """Nested lists of dicts, as `rows` are nested, from each field's nested lists."""
    if not depth:
        return dict(columns)
    return [
        joined(row, depth - 1, {name: column[i] for name, column in columns.items()})
        for i, row in enumerate(rows)
    ]


__all__ = ["from_python", "joined", "to_python"]
