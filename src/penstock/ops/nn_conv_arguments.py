"""How public convolution and pooling functions read their arguments.

Strides, dilations and windows may be one number, one for each spatial axis, or one for each axis of
the tensor; padding is a name or a list of pairs. Here they become attributes.
"""

from collections.abc import Sequence
from typing import Any

from penstock.core.attributes import user_error
from penstock.core.context import state
from penstock.ops.nn_conv_geometry import spatial_axes

LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def layout_of(data_format: str | None, count: int) -> str:
    """The layout string for `count` spatial axes; channels last when None.

    Raises:
      ValueError, InvalidArgumentError: it is another string (InvalidArgumentError in eager calls on
        two or three axes, whose operations tell).
    """
    last, first = LAYOUTS[count]
    if count == 1:  # TensorFlow takes the names of two axes too
        data_format = {"NHWC": last, "NCHW": first}.get(data_format or last, data_format)
    if data_format is None or data_format == last:
        return last
    if data_format == first:
        return first
    problem = ValueError(
        f"`data_format` must be '{last}' or '{first}' for {count} spatial dimensions. "
        f"Received: data_format={data_format}"
    )
    raise user_error("data_format", problem, eager=count > 1 and state.graph is None)


def per_axis(value: Any, layout: str, name: str) -> list[int]:
    """One entry for each axis of `layout`, 1 for batch and channels.

    Raises:
      TypeError: an entry is a string.
      ValueError: the number of entries fits neither the spatial axes nor all axes.
    """
    count = len(layout) - 2
    if value is None:
        value = 1
    if isinstance(value, str):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
    entries = [int(v) for v in value] if _is_sequence(value) else [int(value)]
    if len(entries) == len(layout):
        return entries
    if len(entries) not in (1, count):
        raise ValueError(
            f"{name} should be of length 1, {count} or {len(layout)}. "
            f"Received: {name}={list(entries)} of length {len(entries)}"
        )
    if len(entries) == 1:
        entries *= count
    result = [1] * len(layout)
    for axis, entry in zip(spatial_axes(layout), entries, strict=True):
        result[axis] = entry
    return result


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) or (hasattr(value, "__len__") and hasattr(value, "__iter__"))


def padding_attrs(padding: Any, rank: int) -> dict[str, Any]:
    """Attributes `padding` and `explicit_paddings` for a name or a list of pairs.

    Raises:
      TypeError: it is neither a name nor a list.
      ValueError: the list is not one pair for each axis.
    """
    if isinstance(padding, str):
        name = padding.upper()
        if name == "EXPLICIT":
            raise ValueError(
                '"EXPLICIT" is not a valid value for `padding`. To use explicit padding, '
                "`padding` must be a list."
            )
        return {"padding": name}
    if not isinstance(padding, (list, tuple)):
        raise TypeError(f"`padding` must be a string or a list of pairs, got {padding!r}.")
    if len(padding) != rank:
        raise ValueError(
            f"When padding is a list, it must be of size {rank}. "
            f"Received: padding={padding} of size {len(padding)}"
        )
    flat = []
    for i, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError(
                f"When padding is a list, each element must be a list of size 2. Received: "
                f"padding={padding} with element at index {i} of type {type(pair).__name__}"
            )
        flat += [int(pair[0]), int(pair[1])]
    if any(flat):
        return {"padding": "EXPLICIT", "explicit_paddings": flat}
    return {"padding": "VALID"}
