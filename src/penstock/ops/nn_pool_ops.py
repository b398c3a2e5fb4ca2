"""The public functions of pooling."""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.op_def import lookup
from penstock.ops.composing import expand, named, number, scope, squeeze, tensor
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_reduce import one_of
from penstock.ops.nn_conv_arguments import layout_of, padding_attrs, per_axis
from penstock.ops.nn_conv_geometry import spatial_axes
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dtypes import as_dtype


def _pool(
    kind: str,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    count: int,
    name: str | None,
) -> Any:
    """Max or average pooling over two or three spatial axes."""
    if kind == "AvgPool" and not isinstance(padding, str):
        raise TypeError(
            f"Expected string for argument 'padding' not {padding!r}: means have no explicit"
            " padding. Pad with tf.pad."
        )
    layout = layout_of(data_format, count)
    attrs = {
        "ksize": per_axis(ksize, layout, "ksize"),
        "strides": per_axis(strides, layout, "strides"),
        "data_format": layout,
        **padding_attrs(padding, len(layout)),
    }
    op = kind if count == 2 else f"{kind}3D"
    return execute(op, (tensor(value, name="input"),), attrs, name)


def _count_of(value: Any, data_format: str | None, what: str) -> int:
    """The number of spatial axes of an input, by its layout or its rank."""
    if data_format is not None:
        return len(data_format) - 2
    dims = tensor(value).dims
    if dims is None:
        raise ValueError(
            f"`input.shape.rank` must be 3, 4 or 5 for {what}: Cannot take the length of shape with"
            " unknown rank."
        )
    if len(dims) not in (3, 4, 5):
        raise ValueError(
            f"`input.shape.rank` must be 3, 4 or 5 for {what}. Received: input.shape="
            f"{d.text(dims)} of rank {len(dims)}"
        )
    return len(dims) - 2


def _pool_1d(
    kind: str, value: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, name: Any
) -> Any:
    layout = layout_of(data_format, 1)
    axis = layout.index("W")
    with scope(name, f"{kind}1d"):
        sizes = per_axis(ksize, layout, "ksize"), per_axis(strides, layout, "strides")
        for entries in sizes:
            entries.insert(axis, 1)
        if not isinstance(padding, str):
            padding = [*padding[:axis], [0, 0], *padding[axis:]]
        wide = "NHWC" if layout == "NWC" else "NCHW"
        result = _pool(kind, expand(tensor(value), axis), *sizes, padding, wide, 2, None)
        return squeeze(result, axis)


def max_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """The largest element of each window, over one, two or three spatial axes.

    Args:
      input: [B, sizes..., C], or channels first as `data_format` says; rank 3, 4 or 5.
      ksize: the window: one number, one for each spatial axis, or one for each axis.
      strides: likewise.
      padding: "SAME", "VALID" or pairs of pads, one for each axis.
      data_format: a layout such as "NHWC"; channels last when None.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.

    Raises:
      ValueError: the rank is none of these.
    """
    count = _count_of(input, data_format, "max_pool")
    functions = {1: max_pool1d, 2: max_pool2d, 3: max_pool3d}
    return functions[count](input, ksize, strides, padding, layout_of(data_format, count), name)


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: Any = None
) -> Any:
    """The largest element of each window over one spatial axis.

    Args:
      input: [B, W, C] (or [B, C, W]).
      ksize, strides: one number, or one for each axis.
      padding: "SAME", "VALID" or three pairs of pads.
      data_format: "NWC" or "NCW".
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.
    """
    return _pool_1d("MaxPool", input, ksize, strides, padding, data_format, name)


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: Any = None
) -> Any:
    """The largest element of each window over two spatial axes.

    Args:
      input: [B, H, W, C] (or [B, C, H, W]).
      ksize, strides: one number, two or four.
      padding: "SAME", "VALID" or four pairs of pads.
      data_format: "NHWC" or "NCHW".
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.
    """
    with scope(name, "MaxPool2d") as full:
        return _pool("MaxPool", input, ksize, strides, padding, data_format, 2, full)


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: Any = None
) -> Any:
    """The largest element of each window over three spatial axes.

    Args:
      input: [B, D, H, W, C] (or [B, C, D, H, W]).
      ksize, strides: one number, three or five.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.
    """
    with scope(name, "MaxPool3D") as full:
        return _pool("MaxPool", input, ksize, strides, padding, data_format, 3, full)


def max_pool_v1(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """`max_pool2d` with the arguments of compat.v1."""
    with scope(name, "MaxPool") as full:
        chosen = one_of("input", input, "value", value)
        return _pool("MaxPool", chosen, ksize, strides, padding, data_format, 2, full)


def avg_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """The mean of each window, over one, two or three spatial axes; padding does not count.

    Args:
      input: [B, sizes..., C], or channels first as `data_format` says; rank 3, 4 or 5.
      ksize: the window: one number, one for each spatial axis, or one for each axis.
      strides: likewise.
      padding: "SAME" or "VALID".
      data_format: a layout such as "NHWC"; channels last when None.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.

    Raises:
      ValueError: the rank is none of these.
    """
    count = _count_of(input, data_format, "avg_pool")
    functions = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}
    layout = layout_of(data_format, count)
    return functions[count](input, ksize, strides, padding, layout, name or "AvgPool")


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: Any = None
) -> Any:
    """The mean of each window over one spatial axis.

    Args:
      input: [B, W, C] (or [B, C, W]).
      ksize, strides: one number, or one for each axis.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.
    """
    return _pool_1d("AvgPool", input, ksize, strides, padding, data_format, name)


def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: Any = None
) -> Any:
    """The mean of each window over two spatial axes.

    Args:
      input: [B, H, W, C] (or [B, C, H, W]).
      ksize, strides: one number, two or four.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.
    """
    with scope(name, "AvgPool2D") as full:
        return _pool("AvgPool", input, ksize, strides, padding, data_format, 2, full)


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: Any = None
) -> Any:
    """The mean of each window over three spatial axes.

    Args:
      input: [B, D, H, W, C] (or [B, C, D, H, W]).
      ksize, strides: one number, three or five.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.
    """
    with scope(name, "AvgPool3D") as full:
        return _pool("AvgPool", input, ksize, strides, padding, data_format, 3, full)


def avg_pool_v1(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """`avg_pool2d` with the arguments of compat.v1."""
    with scope(name, "AvgPool") as full:
        chosen = one_of("input", input, "value", value)
        return _pool("AvgPool", chosen, ksize, strides, padding, data_format, 2, full)


def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Max or average pooling over as many spatial axes as the window has.

    Args:
      input: [B, sizes..., C], or channels first as `data_format` says.
      window_shape: one number for each spatial axis.
      pooling_type: "MAX" or "AVG".
      strides: one for each spatial axis; all 1 when None.
      padding: "SAME" or "VALID".
      data_format: a layout; channels last when None.
      dilations: one for each spatial axis: the step between taps of the window; above 1 only with
        "VALID" and strides of 1.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and layout.

    Raises:
      ValueError: `pooling_type` or the number of axes is none of these, or dilations do not go
        together with padding or strides.
    """
    count = len(window_shape)
    input = tensor(input, name="input")
    input.shape.assert_has_rank(count + 2)
    functions = {
        "MAX": {1: max_pool1d, 2: max_pool2d, 3: max_pool3d},
        "AVG": {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d},
    }
    chosen = functions.get(pooling_type, {}).get(count)
    if chosen is None:
        raise ValueError(f"{count}-D {pooling_type} pooling is not supported.")
    if dilations is not None and any(int(n) > 1 for n in dilations):
        return _dilated(
            input, window_shape, pooling_type, strides, padding, data_format, dilations, name
        )
    steps = [1] * count if strides is None else list(strides)
    layout = layout_of(data_format, count)
    return chosen(input, list(window_shape), steps, padding, layout, name)


def _dilated(
    value: Any,
    window: Any,
    kind: str,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    name: str | None,
) -> Any:
    """Pooling with holes: what each tap of the window sees, combined."""
    if padding != "VALID":
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
            f"Received: padding={padding} and dilation_rate={list(dilations)}"
        )
    if strides is not None and any(int(s) > 1 for s in strides):
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. "
            f"Received: strides={list(strides)} and dilation_rate={list(dilations)}"
        )
    layout = layout_of(data_format, len(window))
    with scope(name, "pool"):
        value = tensor(value)
        taps = [_tap(value, layout, p, window, dilations) for p in np.ndindex(*window)]
        if kind == "MAX":
            result = taps[0]
            for tap in taps[1:]:
                result = execute("Maximum", (result, tap))
            return result
        return multiply(execute("AddN", (taps,)), number(1 / len(taps), value.dtype))


def _tap(value: Any, layout: str, place: Any, window: Any, dilations: Any) -> Any:
    """The part of `value` that one tap of a sliding window sees."""
    begin, end, open_ends = [0] * len(layout), [0] * len(layout), 0
    spatial = spatial_axes(layout)
    for axis in range(len(layout)):
        rest = 0
        if axis in spatial:
            i = spatial.index(axis)
            begin[axis] = place[i] * int(dilations[i])
            rest = (window[i] - 1 - place[i]) * int(dilations[i])
        end[axis] = -rest
        open_ends |= (rest == 0) << axis
    return execute("StridedSlice", (value, begin, end, [1] * len(layout)), {"end_mask": open_ends})


def pool_v1(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    padding: Any,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """`pool` with the arguments of compat.v1."""
    rate = one_of("dilations", dilations, "dilation_rate", dilation_rate)
    return pool(input, window_shape, pooling_type, strides, padding, data_format, rate, name)


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = dtypes.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Any:
    """The largest element of each window, and where it stands.

    Args:
      input: [B, H, W, C].
      ksize, strides: one number, two or four.
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      output_dtype: int32 or int64.
      include_batch_in_index: whether the index counts through all images or through one.
      name: the name in a graph.

    Returns:
      The maxima and their indices: ((b * H +) y * W + x) * C + c.

    Raises:
      ValueError: `data_format` is not "NHWC".
    """
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other than 'NHWC' are not supported: {data_format}")
    attrs = {
        "ksize": per_axis(ksize, data_format, "ksize"),
        "strides": per_axis(strides, data_format, "strides"),
        "padding": padding,
        "Targmax": as_dtype(output_dtype),
        "include_batch_in_index": include_batch_in_index,
    }
    return named(lookup("MaxPoolWithArgmax"), (input,), attrs, name)


def max_pool_with_argmax_v1(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """`max_pool_with_argmax`; `Targmax` is the old name of `output_dtype`."""
    if Targmax is not None and output_dtype is not None:
        raise ValueError("Cannot specify both 'Targmax' and 'output_dtype'. Pass output_dtype.")
    chosen = output_dtype or Targmax or dtypes.int64
    return max_pool_with_argmax(
        input, ksize, strides, padding, data_format, chosen, include_batch_in_index, name
    )
