"""The public functions of convolutions.

All of them come down to `Conv2D`, `Conv3D` and `DepthwiseConv2dNative`; one spatial axis is two,
one of them of size 1. Leading batch axes beyond the first are folded into it and unfolded again.
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops import nn_fused as _fused  # noqa: F401  registers what the planner makes of them
from penstock.ops.composing import concat, expand, reshape, scope, shape_of, squeeze, tensor
from penstock.ops.factories import as_dtype_of
from penstock.ops.math_reduce import one_of
from penstock.ops.nn_conv_arguments import layout_of, padding_attrs, per_axis
from penstock.ops.nn_convolution import CONV_2D, CONV_3D, DEPTHWISE
from penstock.types import dims as d
from penstock.types import dtypes

OPS = {2: CONV_2D, 3: CONV_3D}


def _convolve(
    value: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    name: str | None,
    count: int,
) -> Any:
    """A convolution over two or three spatial axes."""
    layout = layout_of(data_format, count)
    attrs = {
        "strides": per_axis(strides, layout, "strides"),
        "dilations": per_axis(dilations, layout, "dilations"),
        "data_format": layout,
        **padding_attrs(padding, len(layout)),
    }
    value = tensor(value)
    filters = filters if isinstance(filters, Tensor) else as_dtype_of(value, filters)
    extra = 0 if value.dims is None else len(value.dims) - len(layout)
    if extra <= 0:
        return execute(OPS[count], (value, filters), attrs, name)
    with scope(name, OPS[count].name):
        folded, outer = _fold(value, extra + 1)
        return _unfold(execute(OPS[count], (folded, filters), attrs), outer)


def _fold(value: Tensor, count: int) -> tuple[Any, Any]:
    """`value` with its first `count` axes made one, and their sizes."""
    dims = value.dims
    if d.is_full(dims):
        assert dims is not None
        outer, inner = list(dims[:count]), list(dims[count:])
        total = 1
        for n in outer:
            total *= n or 0
        return reshape(value, [total, *inner]), outer
    shape = shape_of(value)
    outer = execute("StridedSlice", (shape, [0], [count], [1]))
    inner = execute("StridedSlice", (shape, [count], [0], [1]), {"end_mask": 1})
    flat = concat([tensor([-1], dtypes.int32), inner], 0)
    return execute("Reshape", (value, flat)), outer


def _unfold(value: Tensor, outer: Any) -> Any:
    """`value` with its first axis split into `outer` sizes."""
    if isinstance(outer, list) and d.is_full(value.dims):
        return reshape(value, [*outer, *(value.dims or ())[1:]])
    inner = execute("StridedSlice", (shape_of(value), [1], [0], [1]), {"end_mask": 1})
    sizes = tensor(outer, dtypes.int32) if isinstance(outer, list) else outer
    return execute("Reshape", (value, concat([sizes, inner], 0)))


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """A convolution over two spatial axes.

    Args:
      input: float[..., H, W, C] (or [..., C, H, W]): any number of batch axes.
      filters: [FH, FW, C / groups, O].
      strides: one number, two, or four (one for each axis).
      padding: "SAME", "VALID", or four pairs of pads, one for each axis.
      data_format: "NHWC" or "NCHW".
      dilations: as strides: the step between taps of the filter.
      name: the name in a graph.

    Returns:
      float[..., OH, OW, O] in the layout of the input.

    Raises:
      ValueError: strides, dilations, padding or data_format are malformed.
      InvalidArgumentError: the depths do not fit (ValueError in a graph).
    """
    return _convolve(input, filters, strides, padding, data_format, dilations, name, 2)


def conv2d_v1(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """`conv2d` with the arguments of compat.v1; `use_cudnn_on_gpu` changes nothing."""
    return conv2d(input, _renamed(filter, filters), strides, padding, data_format, dilations, name)


def _renamed(old: Any, new: Any) -> Any:
    if old is not None and new is not None:
        raise ValueError("Cannot specify both 'filter' and 'filters'. Pass filters.")
    return old if new is None else new


def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """A convolution over three spatial axes.

    Args:
      input: float[..., D, H, W, C] (or [..., C, D, H, W]).
      filters: [FD, FH, FW, C, O].
      strides: one number, three or five.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: as strides.
      name: the name in a graph.

    Returns:
      float[..., OD, OH, OW, O] in the layout of the input.
    """
    return _convolve(input, filters, strides, padding, data_format, dilations, name, 3)


def conv3d_v1(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """`conv3d` with the arguments of compat.v1."""
    return conv3d(input, _renamed(filter, filters), strides, padding, data_format, dilations, name)


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """A convolution over one spatial axis.

    Args:
      input: float[..., W, C] (or [..., C, W]).
      filters: [FW, C / groups, O].
      stride: one number, or one for each axis.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      dilations: as stride.
      name: the name in a graph.

    Returns:
      float[..., OW, O] in the layout of the input.
    """
    layout = layout_of(data_format, 1)
    with scope(name, "conv1d") as full:
        value, filters = tensor(input), tensor(filters)
        axis = -3 if layout == "NWC" else -2
        wide = conv2d(
            expand(value, axis),
            expand(filters, 0),
            _widened(stride, layout),
            padding,
            "NHWC" if layout == "NWC" else "NCHW",
            _widened(dilations, layout),
        )
        del full
        return squeeze(wide, axis)


def _widened(value: Any, layout: str) -> list[int]:
    """Entries for [N, W, C] as entries for [N, 1, W, C]."""
    entries = per_axis(value, layout, "stride")
    place = layout.index("W")
    return [*entries[:place], 1, *entries[place:]]


def conv1d_v1(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Any:
    """`conv1d` with the arguments of compat.v1; `value` is the old name of `input`."""
    chosen = one_of("input", input, "value", value)
    return conv1d(chosen, filters, stride, padding, data_format, dilations, name)


def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """A convolution over one, two or three spatial axes, as the filter says.

    Args:
      input: float[..., sizes..., C], or channels first as `data_format` says.
      filters: [window sizes..., C / groups, O].
      strides: one for each spatial axis; all 1 when None.
      padding: "SAME", "VALID" or pairs of pads, one for each axis.
      data_format: a layout such as "NHWC" or "NCW"; channels last when None.
      dilations: one for each spatial axis; all 1 when None. Not together with strides above 1.
      name: the name in a graph.

    Returns:
      float[..., output sizes..., O] in the layout of the input.

    Raises:
      ValueError: the number of spatial axes is not 1, 2 or 3; or strides and dilations exceed 1.
    """
    filters = tensor(filters)
    count = -1 if filters.dims is None else len(filters.dims) - 2
    if count not in (1, 2, 3):
        raise ValueError(
            "`num_spatial_dims` must be 1, 2, or 3. Received filters of shape "
            f"{d.text(filters.dims)}: expected rank 3, 4 or 5."
        )
    _check_steps(strides, dilations)
    with scope(name, "convolution") as full:
        if count == 1:
            return conv1d(input, filters, strides, padding, data_format, dilations, full)
        return _convolve(input, filters, strides, padding, data_format, dilations, full, count)


def _check_steps(strides: Any, dilations: Any) -> None:
    def above_one(value: Any) -> bool:
        entries = value if isinstance(value, (list, tuple)) else [value]
        return any(v is not None and int(v) > 1 for v in entries)

    if above_one(strides) and above_one(dilations):
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. "
            f"Received: strides={strides} and dilation_rate={dilations}"
        )


def convolution_v1(
    input: Any,
    filter: Any,
    padding: Any,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """`convolution` with the arguments of compat.v1."""
    rate = one_of("dilations", dilations, "dilation_rate", dilation_rate)
    chosen = _renamed(filter, filters)
    return convolution(input, chosen, strides, padding, data_format, rate, name)


def atrous_conv2d(
    value: Any, filters: Any, rate: Any, padding: Any, name: str | None = None
) -> Any:
    """A convolution whose filter has holes.

    Args:
      value: float[B, H, W, C].
      filters: [FH, FW, C, O].
      rate: the step between taps of the filter: one number, or one for each axis.
      padding: "SAME" or "VALID".
      name: the name in a graph.

    Returns:
      float[B, OH, OW, O].

    Raises:
      ValueError: a rate is below 1 or no number, or there are more than two.
    """
    rates = [int(r) for r in np.broadcast_to(np.asarray(rate), (2,))]
    if min(rates) < 1:
        raise ValueError(
            f"atrous_conv2d: expected a rate of at least 1, got {rate}. Pass 1 for no holes: all "
            "values of `dilation_rate` must be positive."
        )
    return convolution(value, filters, None, padding, None, rates, name)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """A convolution with filters of its own for every channel.

    Args:
      input: float[B, H, W, C] (or [B, C, H, W]).
      filter: [FH, FW, C, M].
      strides: four numbers.
      padding: "SAME", "VALID" or four pairs of pads.
      data_format: "NHWC" or "NCHW".
      dilations: two numbers; not together with strides above 1.
      name: the name in a graph.

    Returns:
      float[B, OH, OW, C * M] in the layout of the input.

    Raises:
      ValueError: strides and dilations both exceed 1.
    """
    layout = layout_of(data_format, 2)
    if dilations is None:
        dilations = [1, 1]
    _check_steps(strides, dilations)
    with scope(name, "depthwise") as full:
        value = tensor(input, name="tensor_in")
        attrs = {
            "strides": list(strides),
            "dilations": per_axis(dilations, layout, "dilations"),
            "data_format": layout,
            **padding_attrs(padding, 4),
        }
        kernel = tensor(filter, value.dtype.base_dtype, "filter_in")
        return execute(DEPTHWISE, (value, kernel), attrs, full)


def depthwise_conv2d_v1(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """`depthwise_conv2d` with the arguments of compat.v1; `rate` is the old `dilations`."""
    chosen = one_of("dilations", dilations, "rate", rate)
    return depthwise_conv2d(input, filter, strides, padding, data_format, chosen, name)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """`depthwise_conv2d` whose dilations have four entries, as compat.v1 has it."""
    layout = layout_of(data_format, 2)
    spatial = dilations[2:] if layout == "NCHW" else dilations[1:3]
    return depthwise_conv2d(input, filter, strides, padding, layout, list(spatial), name)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """A depthwise convolution, then one of size 1 x 1 that mixes the channels.

    Args:
      input: float[B, H, W, C] (or [B, C, H, W]).
      depthwise_filter: [FH, FW, C, M].
      pointwise_filter: [1, 1, C * M, O].
      strides: four numbers.
      padding: "SAME", "VALID" or four pairs of pads.
      data_format: "NHWC" or "NCHW".
      dilations: two numbers.
      name: the name in a graph.

    Returns:
      float[B, OH, OW, O] in the layout of the input.

    Raises:
      ValueError: the pointwise filter is not [1, 1, C * M, O].
    """
    with scope(name, "separable_conv2d") as full:
        pointwise = tensor(pointwise_filter, name="pointwise_filter")
        if pointwise.dims is not None and not d.compatible(
            pointwise.dims, (1, 1, *(pointwise.dims[2:] or (None, None)))
        ):
            raise ValueError(
                "separable_conv2d: expected a pointwise_filter of shape [1, 1, C * M, O], got "
                f"{d.text(pointwise.dims)}."
            )
        deep = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
        return conv2d(deep, pointwise, 1, "VALID", layout_of(data_format, 2), name=full or None)


def separable_conv2d_v1(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """`separable_conv2d` with the arguments of compat.v1; `rate` is the old `dilations`."""
    chosen = one_of("dilations", dilations, "rate", rate)
    return separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, data_format, chosen, name
    )
