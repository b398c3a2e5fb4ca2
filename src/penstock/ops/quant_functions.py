"""The public functions of quantisation: `quantize`, `dequantize`, `quantized_concat` and others."""

from collections import namedtuple
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops import quant_arrays, quant_convolution, quant_elementwise, quant_windows
from penstock.ops.quant_conversion import DEQUANTIZE, QUANTIZE
from penstock.ops.quant_rounding import V2, V4
from penstock.types import dtypes as dt

QuantizeV2 = namedtuple("QuantizeV2", ["output", "output_min", "output_max"])
QuantizedConcat = namedtuple("QuantizedConcat", ["output", "output_min", "output_max"])
QuantizedConv2D = namedtuple("QuantizedConv2D", ["output", "min_output", "max_output"])
QuantizedAvgPool = namedtuple("QuantizedAvgPool", ["output", "min_output", "max_output"])
QuantizedMaxPool = namedtuple("QuantizedMaxPool", ["output", "min_output", "max_output"])
QuantizedReluX = namedtuple("QuantizedReluX", ["activations", "min_activations", "max_activations"])


def _axis_of(input: Any, axis: int | None) -> tuple[Any, int]:
    """The input as a tensor, and the axis counted from the front; -1 for none."""
    if axis is None:
        return input, -1
    if axis >= 0:
        return input, axis
    tensor = convert_to_tensor(input, name="input")
    if tensor.dims is None:
        raise ValueError(
            f"input: expected a known rank with axis={axis}, got an unknown one. Count the axis "
            "from the front, or set the input's shape."
        )
    return tensor, axis % len(tensor.dims)


def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """Floats as quantised integers.

    Args:
      input: float32[...].
      min_range: the lower end of the range, float32[]; with an axis float32[size along it].
      max_range: the upper end, likewise.
      T: the dtype of the integers: quint8, qint8, quint16, qint16 or qint32.
      mode: "MIN_COMBINED" spreads the integers evenly from end to end; "MIN_FIRST" does so with 0.0
        on one of them; "SCALED" multiplies alone.
      round_mode: where halves go: "HALF_AWAY_FROM_ZERO", or "HALF_TO_EVEN" with mode SCALED.
      name: the name of the operation in a graph.
      narrow_range: whether mode SCALED leaves out the lowest integer.
      axis: the axis along which each slice has a range of its own.
      ensure_minimum_range: the least size of the range, in proportion to its ends.

    Returns:
      A tuple: `output`, integers T[...]; `output_min` and `output_max`, the range that they stand
      for, which holds 0.0.

    Raises:
      InvalidArgumentError, ValueError: the ends are the wrong way round or of the wrong shape, or
        the rounding does not go with the mode.
      UnimplementedError: an axis with mode MIN_FIRST.
    """
    tensor, place = _axis_of(input, axis)
    attrs = {
        "T": T,
        "mode": mode,
        "round_mode": round_mode,
        "narrow_range": narrow_range,
        "axis": place,
        "ensure_minimum_range": ensure_minimum_range,
    }
    return QuantizeV2(*execute(QUANTIZE, (tensor, min_range, max_range), attrs, name))


def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """As `quantize`, with its arguments in another order."""
    return quantize(
        input, min_range, max_range, T, mode, round_mode, name, narrow_range, axis,
        ensure_minimum_range,
    )  # fmt: skip


def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: Any = dt.float32,
) -> Any:
    """Quantised integers as floats.

    Args:
      input: integers of a quantised dtype, [...].
      min_range: the lower end of the range, float32[]; with an axis float32[size along it].
      max_range: the upper end, likewise.
      mode: as `quantize` was told.
      name: the name of the operation in a graph.
      axis: the axis along which each slice has a range of its own.
      narrow_range: whether the lowest integer was left out.
      dtype: float32, or bfloat16 with mode MIN_COMBINED.

    Returns:
      dtype[...], the shape of the input.

    Raises:
      InvalidArgumentError, ValueError: the ends are of the wrong shape, or the dtype does not go
        with the mode.
      UnimplementedError: an axis with mode MIN_FIRST.
    """
    tensor, place = _axis_of(input, axis)
    attrs = {"mode": mode, "narrow_range": narrow_range, "axis": place, "dtype": dtype}
    return execute(DEQUANTIZE, (tensor, min_range, max_range), attrs, name)


def _rounded(op: Any, input: Any, ends: tuple[Any, Any], axis: int | None, **attrs: Any) -> Any:
    name = attrs.pop("name")
    tensor, place = _axis_of(convert_to_tensor(input, name="input"), axis)
    low, high = (convert_to_tensor(end, tensor.dtype) for end in ends)
    return execute(op, (tensor, low, high), {**attrs, "axis": place}, name)


def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Any:
    """Floats rounded to what a few bits hold; derivatives pass unchanged everywhere.

    Arguments and result as of `quantize_and_dequantize_v2`, whose derivatives stop outside of the
    range.
    """
    return _rounded(
        V2, input, (input_min, input_max), axis, signed_input=signed_input, num_bits=num_bits,
        range_given=range_given, round_mode=round_mode, narrow_range=narrow_range, name=name,
    )  # fmt: skip


def quantize_and_dequantize_v2(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Any:
    """Floats rounded to what a few bits hold; derivatives pass within the range.

    Args:
      input: floats[...].
      input_min: the lower end of the range, []; with an axis [size along it].
      input_max: the upper end, likewise.
      signed_input: whether the integers have a sign.
      num_bits: how many bits they have, with the sign.
      range_given: whether the ends are used; otherwise the least and greatest element are.
      round_mode: where halves go: "HALF_TO_EVEN" or "HALF_UP".
      name: the name of the operation in a graph.
      narrow_range: whether the lowest signed integer is left out.
      axis: the axis along which each slice has a range of its own.

    Returns:
      floats[...] of the shape and dtype of the input.

    Raises:
      InvalidArgumentError, ValueError: the bits are not possible, or the ends are the wrong way
        round or of the wrong shape.
    """
    return _rounded(
        V4, input, (input_min, input_max), axis, signed_input=signed_input, num_bits=num_bits,
        range_given=range_given, round_mode=round_mode, narrow_range=narrow_range, name=name,
    )  # fmt: skip


def quantized_concat(
    concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None
) -> Any:
    """Quantised tensors end to end, in a range that holds them all.

    Args:
      concat_dim: the axis, int32[], at least 0.
      values: at least two tensors of quint8 or qint32, equal in shape but for the axis.
      input_mins: the lower end of each, float32[].
      input_maxes: the upper end of each, float32[].
      name: the name of the operation in a graph.

    Returns:
      A tuple: `output`, and `output_min` and `output_max`, float32[], the range of all.

    Raises:
      InvalidArgumentError, ValueError: shapes or the axis do not fit.
    """
    inputs = (concat_dim, values, input_mins, input_maxes)
    return QuantizedConcat(*execute(quant_arrays.CONCAT, inputs, None, name))


def quantized_conv2d(
    input: Any,
    filter: Any,
    min_input: Any,
    max_input: Any,
    min_filter: Any,
    max_filter: Any,
    strides: Any,
    padding: str,
    out_type: Any = dt.qint32,
    dilations: Any = [1, 1, 1, 1],  # noqa: B006  the signature shows it; never written
    name: str | None = None,
) -> Any:
    """Slides a quantised filter over quantised images.

    Args:
      input: quint8[B, H, W, in].
      filter: quint8 or qint8 [h, w, in, out].
      min_input, max_input: the range of the images, float32[].
      min_filter, max_filter: the range of the filter, float32[].
      strides: four numbers, the outer ones 1.
      padding: "SAME" or "VALID".
      out_type: qint32.
      dilations: four numbers, the outer ones 1.
      name: the name of the operation in a graph.

    Returns:
      A tuple: `output`, qint32[B, h', w', out]; `min_output` and `max_output`, float32[].

    Raises:
      InvalidArgumentError, ValueError: shapes, strides or dilations do not fit.
    """
    inputs = (input, filter, min_input, max_input, min_filter, max_filter)
    attrs = {"out_type": out_type, "strides": strides, "padding": padding, "dilations": dilations}
    return QuantizedConv2D(*execute(quant_convolution.CONV, inputs, attrs, name))


def quantized_relu_x(
    features: Any,
    max_value: Any,
    min_features: Any,
    max_features: Any,
    out_type: Any = dt.quint8,
    name: str | None = None,
) -> Any:
    """Quantised numbers held between 0 and `max_value`; no device has a kernel, as in TensorFlow.

    Args:
      features: integers of a quantised dtype, [...].
      max_value: the largest number, float32[].
      min_features, max_features: the range of the features, float32[].
      out_type: the dtype of the result.
      name: the name of the operation in a graph.

    Returns:
      A tuple: `activations`, `min_activations` and `max_activations`.

    Raises:
      NotFoundError: when it runs.
    """
    inputs = (features, max_value, min_features, max_features)
    made = execute(quant_elementwise.RELU_X, inputs, {"out_type": out_type}, name)
    return QuantizedReluX(*made)


def quantized_max_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Any:
    """The largest number of each window of quantised images.

    Args:
      input: quint8 or qint8 [B, H, W, C].
      min_input, max_input: the range, float32[].
      ksize: the window, four numbers.
      strides: four numbers.
      padding: "SAME" or "VALID".
      name: the name of the operation in a graph.

    Returns:
      A tuple: `output`, [B, h', w', C] of the same dtype; `min_output` and `max_output`, the range.

    Raises:
      InvalidArgumentError, ValueError: the window or the strides do not fit.
    """
    attrs = {"ksize": ksize, "strides": strides, "padding": padding}
    made = execute(quant_windows.MAX_POOL, (input, min_input, max_input), attrs, name)
    return QuantizedMaxPool(*made)


def quantized_avg_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Any:
    """The mean of each window of quantised images; arguments and result as `quantized_max_pool`."""
    attrs = {"ksize": ksize, "strides": strides, "padding": padding}
    made = execute(quant_windows.AVG_POOL, (input, min_input, max_input), attrs, name)
    return QuantizedAvgPool(*made)
