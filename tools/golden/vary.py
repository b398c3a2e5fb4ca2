"""Variants of a golden case: what an operation's users will give it sooner or later.

`variants(seed, definition)` yields cases made of a call that is right, by rule: other dtypes, the
special values of each kind, the largest integers, no elements, one element, more and fewer
dimensions, one input of another dtype, axes from the end, attributes out of bounds and of the wrong
kind, and plain Python values. Which of them are errors is TensorFlow's to say.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from tools.golden import codec
from tools.golden.codec import Array, Case

# Arguments that say how large a result is: their extremes say nothing about an operation.
_SIZES = frozenset(
    """dims shape size sizes multiples paddings num num_segments num_rows num_bits num_elements n k
    output_size output_shape input_sizes filter_sizes lengths depth new_size fft_length nbins
    limit maxlength minlength element_shape crop_size splits num_classes crops block_shape
    num_sampled range_max value_rowids default_value_size max_output_size num_samples sample_shape
    dense_shape sparse_shape orig_input_shape sampling_rate""".split()
)
_NAMES = frozenset(["container", "shared_name", "debug_name", "stack_name", "tensor_array_name"])
_AXES = frozenset("axis dim concat_dim batch_dim seq_dim split_dim axes dimension perm".split())
_CAST = ("float32", "float64", "int32", "int64", "complex64", "bool", "string")


def variants(seed: Case, definition: dict[str, Any]) -> Iterator[Case]:
    """The seed itself, then its variants; those that need a tensor have it from the seed."""
    ((op, arguments),) = seed["steps"]
    yield seed
    for made in _argument_variants(arguments, definition):
        if made != arguments:
            yield {"op": op, "steps": [[op, made]]}


def _argument_variants(
    arguments: dict[str, Any], definition: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    tensors = [name for name, value in arguments.items() if _tensors(value)]
    for name in tensors:
        for change in (_special, _extreme, _emptied, _first, _scalar, _deeper):
            if change is _extreme and name in _SIZES:
                continue
            yield _changed(arguments, [name], change)
    for change in (_emptied, _first):
        yield _changed(arguments, tensors, change)
    yield from _mixed(arguments, tensors)
    yield from _axes(arguments)
    yield from _attributes(arguments, definition)
    for name in tensors[:2]:
        yield arguments | {name: {"a": None}}
        yield arguments | {name: _plain(arguments[name])}


def other_dtypes(seed: Case, definition: dict[str, Any]) -> Iterator[Case]:
    """The seed with each dtype that the definition allows, type attribute by type attribute."""
    ((op, arguments),) = seed["steps"]
    for attr in definition["attrs"]:
        if attr["type"] != "type" or not attr.get("allowed"):
            continue
        inputs = [i["name"] for i in definition["inputs"] if i.get("type_attr") == attr["name"]]
        for name in attr["allowed"]:
            dtype = {"float": "float32", "double": "float64", "half": "float16"}.get(name, name)
            if dtype not in codec.DTYPES:
                continue
            made = copy.deepcopy(arguments)
            for key in inputs:
                if key in made:
                    made[key] = _each(made[key], lambda t, d=dtype: _cast(t, d))
            if attr["name"] in made and not inputs:
                made[attr["name"]] = {"d": dtype}
            if made != arguments:
                yield {"op": op, "steps": [[op, made]]}


# ---- tensors


def _tensors(value: Any) -> bool:
    return "t" in value or "var" in value or ("l" in value and any(map(_tensors, value["l"])))


def _each(value: Any, change: Any) -> Any:
    """The argument with `change` applied to each of its tensors."""
    if "l" in value:
        return {"l": [_each(item, change) for item in value["l"]]}
    return {k: change(v) if k in ("t", "var") else v for k, v in value.items()}


def _changed(arguments: dict[str, Any], names: list[str], change: Any) -> dict[str, Any]:
    def on_tensor(tensor: Any) -> Any:
        array = change(codec.decode(tensor), tensor[0])
        return tensor if array is None else codec.encode(tensor[0], array)

    return arguments | {name: _each(arguments[name], on_tensor) for name in names}


def _cast(tensor: Any, dtype: str) -> Any:
    array = codec.decode(tensor)
    if dtype == "string":
        return codec.encode(dtype, np.array([b"%d" % i for i in range(array.size)], object))
    if array.dtype.kind == "O":
        array = np.arange(array.size).reshape(array.shape)
    if array.dtype.kind == "c" and codec.storage(dtype).kind != "c":
        array = array.real
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64) if array.dtype.kind == "V" else array
        return codec.encode(dtype, wide.astype(codec.storage(dtype)))


def _special(array: Array, dtype: str) -> Array | None:
    """NaN, infinities, zeros of both signs, the largest and smallest, in turn."""
    if array.dtype.kind == "O":
        words = [b"", b"\xff\x00", "ünï".encode(), b" ", b"-1", b"nan"]
        return _cycled(np.array(words, object), array)
    if array.dtype.kind not in "fcV":
        return None
    real = array.real.dtype if array.dtype.kind == "c" else array.dtype
    info = codec.ml_dtypes.finfo(real)
    line = np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, info.max, info.min, info.tiny, -0.5],
        np.float64,
    )
    if array.dtype.kind == "c":
        imaginary, line = np.roll(line, 4), line.astype(np.complex128)
        line.imag = imaginary
    with np.errstate(all="ignore"):
        return _cycled(line.astype(array.dtype), array)


def _extreme(array: Array, dtype: str) -> Array | None:
    """The largest and smallest integers, and those around zero."""
    if array.dtype.kind not in "iu":
        return None
    info = np.iinfo(array.dtype)
    low = [info.min, info.min + 1, -1] if info.min else []
    return _cycled(np.array([info.max, *low, 0, 1, info.max - 1], array.dtype), array)


def _cycled(line: Array, like: Array) -> Array:
    return np.resize(line, like.size).astype(like.dtype).reshape(like.shape)


def _emptied(array: Array, dtype: str) -> Array | None:
    return array[:0] if array.ndim else None


def _first(array: Array, dtype: str) -> Array | None:
    return array[tuple(slice(0, 1) for _ in array.shape)] if array.ndim else None


def _scalar(array: Array, dtype: str) -> Array | None:
    return array.reshape(-1)[0] if array.ndim and array.size else None


def _deeper(array: Array, dtype: str) -> Array | None:
    return array[None]


def _mixed(arguments: dict[str, Any], tensors: list[str]) -> Iterator[dict[str, Any]]:
    """One tensor of another dtype than it is."""
    for i, name in enumerate(tensors[:3]):
        dtype = _dtype(arguments[name])
        other = _CAST[(_CAST.index(dtype) + 1 + i) % len(_CAST)] if dtype in _CAST else "float32"
        yield arguments | {name: _each(arguments[name], lambda t, d=other: _cast(t, d))}


def _dtype(value: Any) -> str:
    if "l" in value:
        return next((_dtype(item) for item in value["l"]), "float32")
    return str((value.get("t") or value.get("var") or ["float32"])[0])


def _axes(arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Axes from the end, and beyond both ends."""
    for name in _AXES & arguments.keys():
        value = arguments[name]
        for axis in (-1, -2, 0, 1, 7, -7):
            if "t" in value and codec.storage(value["t"][0]).kind == "i":
                made = np.full(value["t"][1], axis)
                yield arguments | {name: {"t": codec.encode(value["t"][0], made)}}
            elif "a" in value and isinstance(value["a"], int):
                yield arguments | {name: {"a": axis}}


def _plain(value: Any) -> Any:
    """Python numbers and lists instead of tensors."""
    if "l" in value:
        return {"l": [_plain(item) for item in value["l"]]}
    if "t" in value and codec.storage(value["t"][0]).kind in "biuf":
        return {"a": codec.decode(value["t"]).tolist()}
    return value


# ---- attributes


def _attributes(arguments: dict[str, Any], definition: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Values out of bounds, and of the wrong kind."""
    inferred = {
        i.get(key)
        for i in definition["inputs"]
        for key in ("type_attr", "number_attr", "type_list_attr")
    }
    for attr in definition["attrs"]:
        name, kind = attr["name"], attr["type"]
        if name in inferred or name in _NAMES or (name not in arguments and "default" not in attr):
            continue
        for value in _ATTRIBUTE_VALUES.get(kind, ()):
            yield arguments | {name: value}
        if kind == "string" and attr.get("allowed"):
            for word in attr["allowed"]:
                yield arguments | {name: {"a": word}}
        if kind == "list(int)" and name in arguments and "l" in arguments[name]:
            items = arguments[name]["l"]
            yield arguments | {name: {"l": items[:-1]}}
            yield arguments | {name: {"l": [*items, {"a": 1}]}}
            yield arguments | {name: {"l": [{"a": 0}] * len(items)}}
            yield arguments | {name: {"l": [{"a": 2}] * len(items)}}


_ATTRIBUTE_VALUES: dict[str, list[Any]] = {
    # No 1.5 for an integer: TensorFlow cuts it off without a word, Penstock refuses it.
    "int": [{"a": -1}, {"a": 0}, {"a": 2}, {"a": "a"}],
    "float": [{"a": -1.0}, {"a": 0}, {"a": float("nan")}, {"a": "a"}],
    "bool": [{"a": True}, {"a": False}, {"a": 1}],
    "string": [{"a": "no such value"}, {"a": 1}],
    "type": [{"d": "float64"}, {"d": "int32"}, {"d": "int64"}, {"d": "string"}, {"a": "no dtype"}],
    "list(int)": [{"a": 1}, {"l": []}],
    "shape": [{"s": [None]}, {"s": None}, {"s": [2, 3]}, {"a": "a"}],
}
