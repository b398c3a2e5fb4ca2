"""Values of symbolic tensors that are known while the graph is built.

`constant_value` gives the whole value or None; `shape_value` reads a tensor as a shape and gives
what is known of it, dimension by dimension. Shape rules see both.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.composite import set_shape_reader
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor, host_array
from penstock.types.dims import Dims, is_full

MAX_ELEMENTS = 4096  # larger values are not folded while the graph is built
MAX_DEPTH = 64  # operations between a constant and the question; further away it counts as unknown
MAX_RANK = 254  # a longer vector is no shape


def value_source(tensor: Any) -> Any:
    """The tensor whose value this one is: what `Identity` operations hand on."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def constant_value(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """The value of `tensor` if it follows from constants and static shapes, else None."""
    if isinstance(tensor, EagerTensor):
        return (
            None
            if tensor._array.__class__ not in _HOST_TYPES and not hasattr(tensor._array, "dtype")
            else host_array(tensor)
        )
    assert isinstance(tensor, SymbolicTensor)
    rule = _RULES.get(tensor.op.type)
    if rule is None or rule is _const:
        return None if rule is None else _const(tensor.op, tensor)
    return _once("values", rule, tensor)  # type: ignore[no-any-return]


class _Known(threading.local):
    """What the question that is being answered on this thread has found so far."""

    found: dict[tuple[str, int], Any] | None = None
    depth = 0


_known = _Known()


def _once(table: str, rule: Callable[..., Any], tensor: SymbolicTensor) -> Any:
    """What `rule` says of a tensor, asked once for each question, and not beyond MAX_DEPTH."""
    if _known.found is None:
        _known.found = {}
        try:
            return rule(tensor.op, tensor)
        finally:
            _known.found = None
    key = (table, id(tensor))
    if key not in _known.found:
        if _known.depth >= MAX_DEPTH:
            return None
        _known.depth += 1
        try:
            _known.found[key] = rule(tensor.op, tensor)
        finally:
            _known.depth -= 1
    return _known.found[key]


_HOST_TYPES = (np.ndarray,)


def _const(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    return op.attrs["value"].array  # type: ignore[no-any-return]


def _shape(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    dims = op.inputs[tensor.value_index].dims
    return np.array(dims, op.attrs["out_type"].numpy_dtype) if is_full(dims) else None


def _size(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    dims = op.inputs[0].dims
    return (
        np.asarray(int(np.prod(dims)), op.attrs["out_type"].numpy_dtype) if is_full(dims) else None
    )


def _rank(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    dims = op.inputs[0].dims
    return None if dims is None else np.asarray(len(dims), np.int32)


def _known_inputs(op: Any) -> list[np.ndarray[Any, Any]] | None:
    values = []
    for tensor in op.inputs:
        value = constant_value(tensor)
        if value is None or value.size > MAX_ELEMENTS:
            return None
        values.append(value)
    return values


def _pack(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    return None if values is None else np.stack(values, op.attrs["axis"])


def _concat(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    return None if values is None else np.concatenate(values[:-1], int(values[-1]))


def _cast(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    if values is None:
        return None
    with np.errstate(invalid="ignore", over="ignore"):  # an infinity as an integer, as when it runs
        return values[0].astype(tensor.dtype.numpy_dtype)


def _pass(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    return constant_value(op.inputs[0])


def _fill(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    if values is None or int(np.prod(values[0])) > MAX_ELEMENTS:
        return None
    return np.full(tuple(values[0]), values[1])


def _strided_slice(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    bounds = [value for t in op.inputs[1:] if (value := constant_value(t)) is not None]
    if len(bounds) < 3:
        return None
    a = op.attrs
    masks = [
        a[m]
        for m in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    ]
    begin, end, strides = bounds
    index = slice_index(begin, end, strides, *masks)
    value = constant_value(op.inputs[0])
    if value is not None:
        return np.asarray(value[index]) if value.size <= MAX_ELEMENTS else None
    return _known_part(op.inputs[0], index, tensor)


def _known_part(
    source: Tensor, index: tuple[Any, ...], tensor: SymbolicTensor
) -> np.ndarray[Any, Any] | None:
    """A part of a partly known shape, when every size in it is known."""
    dims = source.dims
    known = shape_value(source) if dims is not None and len(dims) == 1 else None
    if known is None:
        return None
    try:
        part = np.array(known, object)[index]
    except IndexError:
        return None
    if any(n is None for n in np.asarray(part, object).reshape(-1)):
        return None
    return np.asarray(part).astype(tensor.dtype.numpy_dtype)


def slice_index(
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int,
    end_mask: int,
    ellipsis: int,
    new: int,
    shrink: int,
) -> tuple[Any, ...]:
    """A StridedSlice's inputs and masks as a NumPy index."""
    index: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True)):
        bit = 1 << i
        if ellipsis & bit:
            index.append(Ellipsis)
        elif new & bit:
            index.append(None)
        elif shrink & bit:
            index.append(b)
        else:
            index.append(slice(None if begin_mask & bit else b, None if end_mask & bit else e, s))
    return tuple(index)


def _binary(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
        values = _known_inputs(op)
        if values is None:
            return None
        with np.errstate(all="ignore"):
            return np.asarray(function(*values), tensor.dtype.numpy_dtype)

    return rule


def _prod(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    if values is None:
        return None
    axes = tuple(int(a) for a in np.asarray(values[1]).reshape(-1))
    return np.asarray(
        np.prod(values[0], axis=axes, keepdims=op.attrs["keep_dims"]), tensor.dtype.numpy_dtype
    )


def _range(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    if values is None or not all(v.size == 1 for v in values) or values[2] == 0:
        return None
    if abs((values[1] - values[0]) / values[2]) > MAX_ELEMENTS:
        return None
    start, limit, delta = (v.item() for v in values)
    found: np.ndarray[Any, Any] = np.arange(start, limit, delta, dtype=tensor.dtype.numpy_dtype)
    return found


def _gather(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    if values is None or op.attrs.get("batch_dims", 0) or values[0].ndim != 1:
        return None
    inside = (values[1] >= 0).all() and (values[1] < len(values[0])).all()
    return np.asarray(values[0][values[1]]) if inside else None


def _reshape(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    return None if values is None else values[0].reshape(values[1])


def _expand_dims(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    return None if values is None else np.expand_dims(values[0], int(values[1]))


def _unpack(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    if values is None:
        return None
    return np.moveaxis(values[0], op.attrs["axis"], 0)[tensor.value_index, ...]


def _split(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
    values = _known_inputs(op)
    if values is None:
        return None
    parts = np.split(values[1], op.attrs["num_split"], int(values[0].reshape(())))
    return parts[tensor.value_index]


def _filled(number: int) -> Callable[..., Any]:
    def rule(op: Any, tensor: SymbolicTensor) -> np.ndarray[Any, Any] | None:
        dims = op.inputs[0].dims
        if not (tensor.dtype.is_numeric or tensor.dtype.is_bool):  # lists, as variants
            return None
        if not is_full(dims) or int(np.prod(dims)) > MAX_ELEMENTS:
            return None
        return np.full(dims, number, tensor.dtype.numpy_dtype)

    return rule


_RULES: dict[str, Callable[..., np.ndarray[Any, Any] | None]] = {
    "Const": _const, "Shape": _shape, "ShapeN": _shape, "Size": _size, "Rank": _rank,
    "Pack": _pack, "ConcatV2": _concat, "Cast": _cast, "Identity": _pass, "StopGradient": _pass,
    "PreventGradient": _pass, "EnsureShape": _pass, "Fill": _fill, "StridedSlice": _strided_slice,
    "AddV2": _binary(np.add), "Add": _binary(np.add), "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply), "Maximum": _binary(np.maximum), "Minimum": _binary(np.minimum),
    "Equal": _binary(np.equal), "NotEqual": _binary(np.not_equal), "Prod": _prod, "Range": _range,
    "GatherV2": _gather, "Reshape": _reshape, "ExpandDims": _expand_dims, "Unpack": _unpack,
    "Split": _split, "OnesLike": _filled(1), "ZerosLike": _filled(0),
}  # fmt: skip


def shape_value(tensor: Tensor) -> Dims:
    """What is known of `tensor` read as a shape: None when not even its length; -1 is unknown."""
    value = constant_value(tensor)
    if value is not None and value.size > MAX_RANK:
        return None
    if value is not None:
        return tuple(None if v < 0 else int(v) for v in value.reshape(-1))
    assert isinstance(tensor, SymbolicTensor)
    op = tensor.op
    partial = _PARTIAL.get(op.type)
    found: Dims = _once("shapes", partial, tensor) if partial is not None else None
    if found is not None:
        return found
    dims = tensor.dims
    return (
        (None,) * dims[0] if dims is not None and len(dims) == 1 and dims[0] is not None else None
    )


def _partial_shape(op: Any, tensor: SymbolicTensor) -> Dims:
    return op.inputs[tensor.value_index].dims  # type: ignore[no-any-return]


def _partial_pack(op: Any, tensor: SymbolicTensor) -> Dims:
    result: list[int | None] = []
    for item in op.inputs:
        found = _partial_scalar(item)
        result.append(found if found is None or found >= 0 else None)
    return tuple(result)


def _partial_scalar(tensor: SymbolicTensor) -> int | None:
    """A scalar that may be one dimension taken out of a partly known shape."""
    value = constant_value(tensor)
    if value is not None:
        return int(value) if value.size == 1 else None
    op = tensor.op
    if op.type in ("Cast", "Identity"):
        return _partial_scalar(op.inputs[0])
    if op.type == "Unpack":
        sizes = shape_value(op.inputs[0]) if len(op.inputs[0].dims or ()) == 1 else None
        return None if sizes is None else sizes[tensor.value_index]
    if op.type != "StridedSlice" or op.attrs["shrink_axis_mask"] != 1:
        return None
    begin, dims = constant_value(op.inputs[1]), shape_value(op.inputs[0])
    if (
        begin is None
        or begin.size != 1
        or dims is None
        or not -len(dims) <= int(begin[0]) < len(dims)
    ):
        return None
    return dims[int(begin[0])]


def _partial_concat(op: Any, tensor: SymbolicTensor) -> Dims:
    result: tuple[int | None, ...] = ()
    for item in op.inputs[:-1]:
        part = shape_value(item)
        if part is None:
            return None
        result += part
    return result


def _partial_slice(op: Any, tensor: SymbolicTensor) -> Dims:
    dims = shape_value(op.inputs[0])
    bounds = [constant_value(i) for i in op.inputs[1:]]
    a = op.attrs
    if (
        dims is None
        or any(b is None or b.size != 1 for b in bounds)
        or a["shrink_axis_mask"]
        or a["new_axis_mask"]
        or a["ellipsis_mask"]
    ):
        return None
    begin, end, step = (int(b[0]) for b in bounds if b is not None)
    return dims[
        slice(None if a["begin_mask"] & 1 else begin, None if a["end_mask"] & 1 else end, step)
    ]


def _partial_pass(op: Any, tensor: SymbolicTensor) -> Dims:
    return shape_value(op.inputs[0])


def _partial_capture(op: Any, tensor: SymbolicTensor) -> Dims:
    """What is known of the tensor outside that a placeholder of a function stands for."""
    for outer, inner in getattr(op.graph, "captures", ()):
        if inner is tensor:
            return shape_value(outer)
    return None


_PARTIAL: dict[str, Callable[..., Dims]] = {
    "Shape": _partial_shape, "Pack": _partial_pack, "ConcatV2": _partial_concat,
    "StridedSlice": _partial_slice, "Cast": _partial_pass, "Identity": _partial_pass,
    "Placeholder": _partial_capture,
}  # fmt: skip

set_shape_reader(shape_value)
