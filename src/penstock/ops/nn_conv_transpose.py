"""The public functions of transposed convolutions, and of the gradients of convolutions.

A transposed convolution maps small to large: it is the gradient of a convolution with respect to
its input, run forward, so its filter has output and input depth exchanged.
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.composing import concat, expand, scope, squeeze, tensor
from penstock.ops.conversion import get_static_value
from penstock.ops.factories import is_variable
from penstock.ops.math_reduce import one_of
from penstock.ops.nn_conv_arguments import layout_of, padding_attrs, per_axis
from penstock.ops.nn_convolution import (
    CONV_2D_FILTER,
    CONV_2D_INPUT,
    CONV_3D_FILTER,
    CONV_3D_INPUT,
    DEPTHWISE_FILTER,
    DEPTHWISE_INPUT,
)
from penstock.types import dims as d
from penstock.types import dtypes

OPS = {2: CONV_2D_INPUT, 3: CONV_3D_INPUT}


def _sizes(output_shape: Any) -> Any:
    if hasattr(output_shape, "as_list"):
        output_shape = output_shape.as_list()
    if isinstance(output_shape, (list, tuple)) and any(hasattr(n, "dtype") for n in output_shape):
        return execute("Pack", ([tensor(n, dtypes.int32) for n in output_shape],))
    return tensor(output_shape, name="output_shape")


def _transposed(
    value: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    name: str | None,
    count: int,
) -> Any:
    layout = layout_of(data_format, count)
    with scope(name, f"conv{count}d_transpose") as full:
        attrs = {
            "strides": per_axis(strides, layout, "strides"),
            "dilations": per_axis(dilations, layout, "dilations"),
            "data_format": layout,
            **padding_attrs(padding, len(layout)),
        }
        value = tensor(value, name="value")
        kernel = tensor(filters, value.dtype.base_dtype, "filter")
        return execute(OPS[count], (_sizes(output_shape), kernel, value), attrs, full)


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose of `conv2d`: from the shape of its output to that of its input.

    Args:
      input: float[B, H, W, C] (or [B, C, H, W]).
      filters: [FH, FW, O, C].
      output_shape: int vector [4].
      strides: one number, two or four.
      padding: "SAME", "VALID" or four pairs of pads.
      data_format: "NHWC" or "NCHW".
      dilations: as strides.
      name: the name in a graph.

    Returns:
      A tensor of `output_shape`.

    Raises:
      InvalidArgumentError: a convolution of `output_shape` does not give the input's shape.
    """
    return _transposed(
        input, filters, output_shape, strides, padding, data_format, dilations, name, 2
    )


def conv2d_transpose_v1(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """`conv2d_transpose` with the arguments of compat.v1."""
    return conv2d_transpose(
        one_of("input", input, "value", value),
        one_of("filters", filters, "filter", filter),
        output_shape,
        strides,
        padding,
        data_format,
        dilations,
        name,
    )


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose of `conv3d`.

    Args:
      input: float[B, D, H, W, C] (or [B, C, D, H, W]).
      filters: [FD, FH, FW, O, C].
      output_shape: int vector [5].
      strides: one number, three or five.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: as strides.
      name: the name in a graph.

    Returns:
      A tensor of `output_shape`.
    """
    return _transposed(
        input, filters, output_shape, strides, padding, data_format, dilations, name, 3
    )


def conv3d_transpose_v1(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """`conv3d_transpose` with the arguments of compat.v1."""
    return conv3d_transpose(
        one_of("input", input, "value", value),
        one_of("filters", filters, "filter", filter),
        output_shape,
        strides,
        padding,
        data_format,
        dilations,
        name,
    )


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose of `conv1d`.

    Args:
      input: float[B, W, C] (or [B, C, W]).
      filters: [FW, O, C].
      output_shape: int vector [3].
      strides: one number, or one for each axis.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      dilations: as strides.
      name: the name in a graph.

    Returns:
      A tensor of `output_shape`.
    """
    layout = layout_of(data_format, 1)
    axis = layout.index("W")
    with scope(name, "conv1d_transpose"):
        value, kernel = expand(tensor(input), axis), expand(tensor(filters), 0)
        strides = per_axis(strides, layout, "strides")
        dilations = per_axis(dilations, layout, "dilations")
        for entries in (strides, dilations):
            entries.insert(axis, 1)
        sizes = _sizes(output_shape)
        head = execute("StridedSlice", (sizes, [0], [axis], [1]))
        tail = execute("StridedSlice", (sizes, [axis], [3], [1]))
        sizes = concat([head, tensor([1], sizes.dtype.base_dtype), tail], 0)
        wide = "NHWC" if layout == "NWC" else "NCHW"
        result = conv2d_transpose(value, kernel, sizes, strides, padding, wide, dilations)
        return squeeze(result, axis)


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose of `convolution`, over one, two or three spatial axes as `output_shape` says.

    Args:
      input: float[B, sizes..., C], or channels first.
      filters: [window sizes..., O, C].
      output_shape: int vector of 3, 4 or 5 sizes.
      strides: one number, or one for each spatial axis.
      padding: "SAME" or "VALID".
      data_format: a layout; channels last when None.
      dilations: as strides.
      name: the name in a graph.

    Returns:
      A tensor of `output_shape`.

    Raises:
      ValueError: the number of spatial axes is not 1, 2 or 3.
    """
    functions = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}
    with scope(name, "conv_transpose"):
        dims = tensor(filters).dims
        count = -1 if dims is None else len(dims) - 2
        if count not in functions:
            raise ValueError(
                "conv_transpose: expected filters of rank 3, 4 or 5 for 1, 2 or 3 spatial "
                f"dimensions, got shape {d.text(dims)}."
            )
        layout = layout_of(data_format, count)
        return functions[count](input, filters, output_shape, strides, padding, layout, dilations)


def atrous_conv2d_transpose(
    value: Any,
    filters: Any,
    output_shape: Any,
    rate: int,
    padding: Any,
    name: str | None = None,
) -> Any:
    """The transpose of `atrous_conv2d`.

    Args:
      value: float[B, H, W, C].
      filters: [FH, FW, O, C].
      output_shape: int vector [4].
      rate: the step between taps of the filter.
      padding: "SAME" or "VALID".
      name: the name in a graph.

    Returns:
      A tensor of `output_shape`.

    Raises:
      ValueError: the rate is below 1, `padding` is another text, `output_shape` is no vector of 4
        sizes or has other channels than `filters`.
    """
    with scope(name, "atrous_conv2d_transpose"):
        has_dtype = isinstance(output_shape, Tensor) or is_variable(output_shape)
        sizes = output_shape if has_dtype else tensor(output_shape, dtypes.int32)
        known = get_static_value(rate)
        rate = rate if known is None else known
        _check_atrous(filters, sizes, rate, padding)
        return conv2d_transpose(value, filters, sizes, 1, padding, "NHWC", rate)


def _check_atrous(filters: Any, output_shape: Any, rate: Any, padding: Any) -> None:
    if rate < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"`padding` must be either 'VALID' or 'SAME'. Received: padding={padding}")
    sizes = get_static_value(output_shape, partial=True)
    if sizes is None:
        return
    if np.shape(sizes) != (4,):
        raise ValueError(f"`output_shape` must have shape (4,). Received: {np.shape(sizes)}")
    dims = tensor(filters).dims
    if dims is None or len(dims) != 4 or dims[2] is None or sizes[3] is None:
        return
    if dims[2] != int(sizes[3]):
        raise ValueError(
            "`output_shape` channel count must be compatible with `filters` output channel count. "
            f"Received: output_shape={list(sizes)} with channel count {int(sizes[3])} and "
            f"filters of shape {d.text(dims)} with channel count {dims[2]}."
        )


def _explicit(padding: Any, rank: int = 4) -> dict[str, Any]:
    return padding_attrs(padding, rank)


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """The gradient of `conv2d` with respect to its input.

    Args:
      input_sizes: int32 [4]: the shape of the input.
      filter: [FH, FW, C, O].
      out_backprop: float[B, OH, OW, O]: the gradient of the output.
      strides, padding, data_format, dilations: as of the convolution.
      use_cudnn_on_gpu: changes nothing.
      name: the name in a graph.
      filters: the new name of `filter`.

    Returns:
      A tensor of shape `input_sizes`.
    """
    attrs = {
        "strides": per_axis(strides, data_format, "strides"),
        "dilations": per_axis(dilations, data_format, "dilations"),
        "data_format": data_format,
        **_explicit(padding),
    }
    kernel = one_of("filters", filters, "filter", filter)
    return execute(CONV_2D_INPUT, (input_sizes, kernel, out_backprop), attrs, name)


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """The gradient of `conv2d` with respect to its filter.

    Args:
      input: float[B, H, W, C].
      filter_sizes: int32 [4]: the shape of the filter.
      out_backprop: float[B, OH, OW, O]: the gradient of the output.
      strides, padding, data_format, dilations: as of the convolution.
      use_cudnn_on_gpu: changes nothing.
      name: the name in a graph.

    Returns:
      A tensor of shape `filter_sizes`.
    """
    attrs = {
        "strides": per_axis(strides, data_format, "strides"),
        "dilations": per_axis(dilations, data_format, "dilations"),
        "data_format": data_format,
        **_explicit(padding),
    }
    return execute(CONV_2D_FILTER, (input, filter_sizes, out_backprop), attrs, name)


def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """The gradient of `conv3d` with respect to its filter.

    Args:
      input: float[B, D, H, W, C].
      filter_sizes: int32 [5]: the shape of the filter.
      out_backprop: the gradient of the output.
      strides, padding, data_format, dilations: as of the convolution.
      name: the name in a graph.

    Returns:
      A tensor of shape `filter_sizes`.
    """
    attrs = {
        "strides": list(strides),
        "padding": padding,
        "data_format": data_format,
        "dilations": list(dilations),
    }
    return execute(CONV_3D_FILTER, (input, filter_sizes, out_backprop), attrs, name)


def depthwise_conv2d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """The gradient of `depthwise_conv2d` with respect to its input.

    Args:
      input_sizes: int32 [4]: the shape of the input.
      filter: [FH, FW, C, M].
      out_backprop: the gradient of the output.
      strides, padding, data_format, dilations: as of the convolution.
      name: the name in a graph.

    Returns:
      A tensor of shape `input_sizes`.
    """
    attrs = {
        "strides": list(strides),
        "data_format": data_format,
        "dilations": list(dilations),
        **_explicit(padding),
    }
    return execute(DEPTHWISE_INPUT, (input_sizes, filter, out_backprop), attrs, name)


def depthwise_conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """The gradient of `depthwise_conv2d` with respect to its filter.

    Args:
      input: float[B, H, W, C].
      filter_sizes: int32 [4]: the shape of the filter.
      out_backprop: the gradient of the output.
      strides, padding, data_format, dilations: as of the convolution.
      name: the name in a graph.

    Returns:
      A tensor of shape `filter_sizes`.
    """
    attrs = {
        "strides": list(strides),
        "data_format": data_format,
        "dilations": list(dilations),
        **_explicit(padding),
    }
    return execute(DEPTHWISE_FILTER, (input, filter_sizes, out_backprop), attrs, name)
