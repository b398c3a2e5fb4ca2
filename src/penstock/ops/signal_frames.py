"""Windows, frames of signals, and their sums."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import identity, reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_gather import gather
from penstock.ops.array_join import concat, stack
from penstock.ops.array_order import transpose
from penstock.ops.array_pad import pad
from penstock.ops.array_shape import expand_dims
from penstock.ops.array_shape import size as size_of
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_that
from penstock.ops.math_arithmetic import add, maximum, multiply, negative, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_division import divide, floordiv
from penstock.ops.math_elementwise import cos, sin, sqrt
from penstock.ops.math_range import range as range_op
from penstock.ops.math_scan import cumsum
from penstock.ops.math_segment import unsorted_segment_sum
from penstock.ops.math_special import bessel_i0
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype

Window = Callable[..., Any]


def number(value: float, dtype: DType) -> Any:
    """A Python number as a scalar of a dtype, without going through float32."""
    return convert_to_tensor(value, dtype)


# ---- windows


def _window_arguments(window_length: Any, dtype: Any) -> tuple[Tensor, DType]:
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(
            f"dtype must be a floating point type. Found {kind!r}. Use tf.float32, say."
        )
    length = convert_to_tensor(window_length, dt.int32, name="window_length")
    length.shape.assert_has_rank(0)
    return length, kind


def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = dt.float32, name: str | None = None
) -> Any:
    """The Hann window, `0.5 - 0.5 cos(2 pi n / N)`.

    Args:
      window_length: the number of samples, a scalar.
      periodic: whether it continues without a seam; else it is symmetric.
      dtype: a floating dtype.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, [window_length].

    Raises:
      ValueError: `dtype` is not floating, or the length no scalar.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5)


def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = dt.float32, name: str | None = None
) -> Any:
    """The Hamming window, `0.54 - 0.46 cos(2 pi n / N)`.

    Args:
      window_length: the number of samples, a scalar.
      periodic: whether it continues without a seam; else it is symmetric.
      dtype: a floating dtype.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, [window_length].

    Raises:
      ValueError: `dtype` is not floating, or the length no scalar.
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54)


def _raised_cosine(
    name: str | None, default: str, window_length: Any, periodic: Any, dtype: Any, a: float
) -> Any:
    with scope(name, default):
        length, kind = _window_arguments(window_length, dtype)
        seamless = cast(convert_to_tensor(periodic, dt.bool_), dt.int32)
        even = subtract(1, execute("FloorMod", (length, np.int32(2))))
        period = subtract(add(length, multiply(seamless, even)), 1)
        count = cast(maximum(period, 1), kind)
        # A single sample, or one of an odd period of 0, is the top of the window.
        phase = divide(multiply(number(2 * math.pi, kind), cast(range_op(length), kind)), count)
        values = subtract(number(a, kind), multiply(number(1 - a, kind), cos(phase)))
        single = execute("LessEqual", (length, np.int32(1)))
        return execute("SelectV2", (single, number(1.0, kind), values))


def vorbis_window(window_length: Any, dtype: Any = dt.float32, name: str | None = None) -> Any:
    """The power complementary window of the Vorbis format.

    Args:
      window_length: the number of samples, a scalar.
      dtype: a floating dtype.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, [window_length].

    Raises:
      ValueError: `dtype` is not floating, or the length no scalar.
    """
    with scope(name, "vorbis_window"):
        length, kind = _window_arguments(window_length, dtype)
        place = add(cast(range_op(length), kind), number(0.5, kind))
        wave = sin(divide(multiply(number(math.pi, kind), place), cast(length, kind)))
        return sin(multiply(number(math.pi / 2, kind), multiply(wave, wave)))


def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dt.float32, name: str | None = None
) -> Any:
    """The Kaiser window (Kaiser and Schafer, 1980).

    Args:
      window_length: the number of samples, a scalar.
      beta: how narrow it is.
      dtype: a floating dtype.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, [window_length].

    Raises:
      ValueError: `dtype` is not floating, or the length no scalar.
    """
    with scope(name, "kaiser_window"):
        length, kind = _window_arguments(window_length, dtype)
        inner = kind if kind in (dt.float32, dt.float64) else dt.float32
        beta = cast(beta, inner) if isinstance(beta, Tensor) else number(beta, inner)
        half = divide(cast(maximum(subtract(length, 1), 1), inner), 2.0)
        middle = divide(cast(subtract(length, 1), inner), 2.0)
        place = divide(subtract(cast(range_op(length), inner), middle), half)
        root = sqrt(maximum(subtract(1.0, multiply(place, place)), 0.0))
        return cast(divide(bessel_i0(multiply(beta, root)), bessel_i0(beta)), kind)


def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dt.float32, name: str | None = None
) -> Any:
    """The power complementary window made from a Kaiser window.

    Args:
      window_length: the number of samples, a scalar; the result has an even number.
      beta: how narrow it is.
      dtype: a floating dtype.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, [window_length // 2 * 2].

    Raises:
      ValueError: `dtype` is not floating, or the length no scalar.
    """
    with scope(name, "kaiser_bessel_derived_window"):
        length, kind = _window_arguments(window_length, dtype)
        half = floordiv(length, 2)
        sums = cumsum(kaiser_window(add(half, 1), beta, dtype=kind))
        rising = sqrt(divide(sums[:-1], sums[-1]))
        return concat([rising, rising[::-1]], axis=0)


# ---- frames


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Any:
    """Cuts a signal into frames that may overlap.

    Args:
      signal: tensor of any dtype, [..., samples, ...].
      frame_length: samples in a frame, a scalar.
      frame_step: samples from the beginning of a frame to that of the next, a scalar.
      pad_end: whether the last frames are filled up rather than left out.
      pad_value: with what.
      axis: the axis of the samples.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype: `axis` becomes two, [..., frames, frame_length, ...].

    Raises:
      IndexError: the axis is out of range.
      ValueError: a number is no scalar, or the signal is one.

    Example:
      >>> frame([0, 1, 2, 3, 4], 2, 2, pad_end=True).numpy().tolist()
      [[0, 1], [2, 3], [4, 0]]
    """
    with scope(name, "frame"):
        signal = convert_to_tensor(signal, name="signal")
        length = _scalar(frame_length, "frame_length")
        step = _scalar(frame_step, "frame_step")
        known = constant_value(axis) if isinstance(axis, Tensor) else axis
        if signal.dims is None or known is None:
            return _frames_anywhere(signal, length, step, pad_end, pad_value, axis)
        place = _axis(int(known), len(signal.dims))
        samples = _size(signal, place)
        if pad_end:
            count = negative(floordiv(negative(samples), step))
            missing = maximum(0, subtract(add(length, multiply(step, subtract(count, 1))), samples))
            widths: list[Any] = [[0, 0]] * len(signal.dims)
            widths[place] = [0, missing]
            signal = pad(signal, convert_to_tensor(widths, dt.int32), constant_values=pad_value)
        else:
            count = add(1, floordiv(subtract(samples, length), step))
        count = maximum(0, count)
        starts = multiply(range_op(count), step)
        indices = add(reshape(starts, [-1, 1]), reshape(range_op(length), [1, -1]))
        if place:
            found = gather(signal, indices, axis=place)
        else:  # a gradient with respect to rows would be an IndexedSlices
            found = gather(expand_dims(signal, 0), indices, axis=1)[0]
        return _with_known_shape(found, signal, place, samples, length, step, pad_end)


def _frames_anywhere(
    signal: Tensor, length: Any, step: Any, pad_end: bool, pad_value: Any, axis: Any
) -> Any:
    """Frames where the rank or the axis is known only when it runs: as the second of three axes."""
    sizes = shape_of(signal)
    rank = size_of(sizes)
    place = convert_to_tensor(axis, dt.int32)
    negative_place = execute("Less", (place, np.int32(0)))
    place = execute("SelectV2", (negative_place, add(place, rank), place))
    before, after = sizes[:place], sizes[add(place, 1) :]
    outer, inner = (execute("Prod", (each, np.array([0], np.int32))) for each in (before, after))
    flat = reshape(signal, stack([outer, sizes[place], inner]))
    found = frame(flat, length, step, pad_end, pad_value, axis=1)
    result = reshape(found, concat([before, shape_of(found)[1:3], after], 0))
    if signal.dims is not None and hasattr(result, "graph"):
        result.set_shape([None] * (len(signal.dims) + 1))
    return result


def _scalar(value: Any, name: str) -> Any:
    tensor = convert_to_tensor(value, dt.int32, name=name)
    tensor.shape.assert_has_rank(0)
    return tensor


def _axis(axis: int, rank: int) -> int:
    if not rank:
        raise ValueError("frame: expected a signal of rank at least 1, got a scalar.")
    if not -rank <= axis < rank:
        raise IndexError(
            f"frame: expected an axis in [{-rank}, {rank}), got {axis}. Name a dimension of the"
            " signal."
        )
    return axis % rank


def _size(signal: Tensor, place: int) -> Any:
    assert signal.dims is not None
    known = signal.dims[place]
    if known is not None:
        return convert_to_tensor(known, dt.int32)
    return shape_of(signal)[place]


def _with_known_shape(
    found: Any, signal: Any, place: int, samples: Any, length: Any, step: Any, pad_end: bool
) -> Any:
    """Frames with the static shape that follows from known numbers."""
    if not hasattr(found, "graph"):
        return found
    n, size, hop = (constant_value(t) for t in (samples, length, step))
    frames = None
    if n is not None and size is not None and hop is not None and int(hop) > 0:
        whole = -(-int(n) // int(hop)) if pad_end else 1 + (int(n) - int(size)) // int(hop)
        frames = max(0, whole)
    dims = list(signal.dims)
    inner = None if size is None else int(size)
    found.set_shape([*dims[:place], frames, inner, *dims[place + 1 :]])
    return found


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Any:
    """Adds frames up where they overlap.

    Args:
      signal: tensor of any numeric dtype, [..., frames, frame_length].
      frame_step: samples from the beginning of a frame to that of the next, an integer scalar.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [..., (frames - 1) * frame_step + frame_length].

    Raises:
      InvalidArgumentError: the step is below 1; a ValueError where a graph is built.
      ValueError: the rank is below 2, or the step no integer scalar.

    Example:
      >>> overlap_and_add([[1, 1], [1, 1]], 1).numpy().tolist()
      [1, 2, 1]
    """
    with scope(name, "overlap_and_add"):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = convert_to_tensor(frame_step, name="frame_step")
        step.shape.assert_has_rank(0)
        if not step.dtype.is_integer:
            raise ValueError(
                f"frame_step must be an integer. Got {step.dtype!r}. Write it without a point."
            )
        step = _checked_step(cast(step, dt.int32))
        sizes = shape_of(signal)
        frames, length = sizes[-2], sizes[-1]
        total = add(multiply(subtract(frames, 1), step), length)
        starts = reshape(multiply(range_op(frames), step), [-1, 1])
        places = reshape(add(starts, reshape(range_op(length), [1, -1])), [-1])
        outer = sizes[:-2]
        # Samples first, so that those of one place are summed as the segments of a matrix.
        rows = execute("Prod", (outer, np.int32(0)))  # there may be no frames
        flat = reshape(signal, execute("Pack", ([rows, multiply(frames, length)],)))
        summed = transpose(unsorted_segment_sum(transpose(flat), places, maximum(total, 0)))
        result = reshape(summed, concat([outer, reshape(maximum(total, 0), [1])], 0))
        return _with_outer(result, signal, step)


def _checked_step(step: Any) -> Any:
    """Refuses steps by which no frame moves on: at once where they are known."""
    known = constant_value(step)
    if known is None:
        positive = execute("Less", (np.int32(0), step))
        with control_dependencies([assert_that(positive, ["frame_step must be positive", step])]):
            return identity(step)
    if known < 1:
        text = f"overlap_and_add: expected frame_step >= 1, got {known}. Frames must move on."
        if isinstance(step, EagerTensor):
            raise errors.InvalidArgumentError(None, None, text)
        raise ValueError(text)
    return step


def _with_outer(result: Any, signal: Any, step: Any) -> Any:
    if hasattr(result, "graph") and signal.dims is not None:
        frames, length = signal.dims[-2:]
        hop = constant_value(step)
        total = None
        if frames is not None and length is not None and hop is not None:
            total = (frames - 1) * int(hop) + length
        result.set_shape([*signal.dims[:-2], total])
    return result
