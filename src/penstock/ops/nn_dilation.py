"""Grey-scale dilation and erosion: the largest of an image plus a structuring function.

out[b, y, x, c] = max over (i, j) of in[b, y s + i r - top, x s + j r - left, c] + filter[i, j, c];
places outside of the image do not count. Both gradients go to the first place that is the largest.

Source: J. Serra, "Image Analysis and Mathematical Morphology", 1982.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_images
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.math_reduce import one_of
from penstock.ops.math_segment import lowest
from penstock.ops.nn_conv_geometry import output_size, same_pads
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
ATTRS = (
    "T: realnumbertype, strides: list(int) >= 4, rates: list(int) >= 4, padding: {'SAME', 'VALID'}"
)


def _space(c: ShapeContext, name: str) -> tuple[int, int]:
    values = c.attr(name)
    if len(values) != 4:
        c.fail(f"four numbers in {name}", f"{list(values)}")
    if values[0] != 1 or values[3] != 1:
        raise errors.UnimplementedError(
            None,
            None,
            f"{c.op_name}: {name.capitalize()[:-1]} is only supported across spatial dimensions: "
            f"expected 1 for batch and channels, got {list(values)}.",
        )
    if min(values) < 1:
        c.fail(f"{name} of at least 1", f"{list(values)}")
    return values[1], values[2]


def _shape(c: ShapeContext) -> Dims:
    image, window = c.rank(0, 4, "input"), c.rank(1, 3, "filter")
    assert image is not None
    assert window is not None
    strides, rates = _space(c, "strides"), _space(c, "rates")
    if None not in (image[3], window[2]) and image[3] != window[2]:
        known = c.says(
            f"input and filter must have the same depth: {image[3]} vs {window[2]}",
            f"Dimensions must be equal, but are {image[3]} and {window[2]}",
        )
        c.fail(
            "input and filter of the same depth",
            f"input {d.text(image)} and filter {d.text(window)}: {known}",
        )
    sizes = [
        output_size(image[i + 1], window[i], strides[i], rates[i], c.attr("padding"), (0, 0))
        for i in range(2)
    ]
    sizes = [None if n is None else max(n, 0) for n in sizes]
    return (image[0], *sizes, image[3] if window[2] is None else window[2])


DILATION = define_op(
    f"Dilation2D(input: T, filter: T; {ATTRS}) -> output: T",
    shape=_shape,
    doc="The grey-scale dilation of images, each channel with its own filter.",
)


def _gradient_shape(position: int) -> Any:
    """A rule that checks the gradient's shape, and gives that of an input."""

    def rule(c: ShapeContext) -> Dims:
        c.merge(_shape(c), c.rank(2, 4, "out_backprop"))
        return c.shape(position)

    return rule


BY_INPUT = define_op(
    f"Dilation2DBackpropInput(input: T, filter: T, out_backprop: T; {ATTRS}) -> in_backprop: T",
    shape=_gradient_shape(0),
    doc="The gradient of Dilation2D by its input.",
).not_differentiable("the choice of the largest place has no derivative")
BY_FILTER = define_op(
    f"Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T; {ATTRS}) -> filter_backprop: "
    "T",
    shape=_gradient_shape(1),
    doc="The gradient of Dilation2D by its filter.",
).not_differentiable("the choice of the largest place has no derivative")


def _reach(
    x: Array, w: Array, strides: Sequence[int], rates: Sequence[int], padding: str
) -> tuple[list[tuple[int, int]], list[int]]:
    """The padding of rows and columns, and how many windows there are along each."""
    pads, counts = [], []
    for i in range(2):
        size, window, stride, rate = x.shape[i + 1], w.shape[i], strides[i + 1], rates[i + 1]
        pads.append(same_pads(size, window, stride, rate) if padding == "SAME" else (0, 0))
        counts.append(max(output_size(size, window, stride, rate, padding, (0, 0)) or 0, 0))
    return pads, counts


def _windows(
    xp: Any, x: Array, w: Array, strides: Sequence[int], rates: Sequence[int], padding: str
) -> tuple[list[tuple[int, int]], list[Array], tuple[Any, Any], tuple[int, int]]:
    """Places in the filter; for each the image's values there, padded by the lowest number."""
    steps, gaps, sizes = strides[1:3], rates[1:3], w.shape[:2]
    pads, counts = _reach(x, w, strides, rates, padding)
    wide = [(0, 0), *pads, (0, 0)]
    padded = xp.pad(x, wide, constant_values=lowest(x.dtype))
    places, views = [], []
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            y, z = i * gaps[0], j * gaps[1]
            ends = y + counts[0] * steps[0], z + counts[1] * steps[1]
            places.append((i, j))
            views.append(padded[:, y : ends[0] : steps[0], z : ends[1] : steps[1]])
    views = [v[:, : counts[0], : counts[1]] for v in views]
    return places, views, (pads[0], pads[1]), (counts[0], counts[1])


def _sums(xp: Any, w: Array, places: list[tuple[int, int]], views: list[Array]) -> list[Array]:
    """Image plus filter at each place; padding stays the lowest number."""
    low = lowest(w.dtype)
    return [xp.where(v == low, v, v + w[i, j]) for (i, j), v in zip(places, views, strict=True)]


@kernel(DILATION)
def _dilation(
    xp: Any, x: Array, w: Array, *, strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    places, views, _, counts = _windows(xp, x, w, strides, rates, padding)
    result = xp.full((x.shape[0], *counts, x.shape[3]), lowest(x.dtype), x.dtype)
    for each in _sums(xp, w, places, views):  # NaN is never larger
        result = xp.where(each > result, each, result)
    return result


def _sizes(
    x: Array, w: Array, strides: Sequence[int], rates: Sequence[int], padding: str
) -> list[int]:
    """What `native_images.dilate` is told of windows."""
    pads, counts = _reach(x, w, strides, rates, padding)
    return [*strides[1:3], *rates[1:3], pads[0][0], pads[1][0], *counts]


@host_kernel(DILATION, **native_images.ON_CPU)
def _dilation_natively(
    x: Array, w: Array, *, strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    found = native_images.dilate(x, w, _sizes(x, w, strides, rates, padding))
    if found is not None:
        return found
    return _dilation(np, x, w, strides=strides, rates=rates, padding=padding)


def _winners(
    xp: Any, w: Array, places: list[tuple[int, int]], views: list[Array], inside: list[Array]
) -> list[Array]:
    """For each place in the filter: where it is the first that is the largest.

    Where none is larger than the lowest number, the first place `inside` of the image counts.
    """
    sums = _sums(xp, w, places, views)
    largest = xp.full_like(sums[0], lowest(w.dtype))
    for each in sums:
        largest = xp.where(each > largest, each, largest)
    none = largest == lowest(w.dtype)
    taken = xp.zeros_like(none)
    found = []
    for each, within in zip(sums, inside, strict=True):
        mine = (xp.where(none, within, each == largest)) & ~taken
        taken = taken | mine
        found.append(mine)
    return found


@kernel(BY_INPUT)
def _by_input(
    xp: Any, x: Array, w: Array, grad: Array, *, strides: Sequence[int], rates: Sequence[int],
    padding: str,
) -> Array:  # fmt: skip
    places, views, pads, counts = _windows(xp, x, w, strides, rates, padding)
    shape = (x.shape[0], x.shape[1] + sum(pads[0]), x.shape[2] + sum(pads[1]), x.shape[3])
    result = xp.zeros(shape, x.dtype)
    if 0 not in counts and views:
        ones = np.ones((1, *x.shape[1:3], 1), np.float32)
        inside = [v > 0 for v in _windows(np, ones, w, strides, rates, padding)[1]]
        winners = _winners(xp, w, places, views, inside)
        for (i, j), mine in zip(places, winners, strict=True):
            y, z = i * rates[1], j * rates[2]
            rows = slice(y, y + (counts[0] - 1) * strides[1] + 1, strides[1])
            columns = slice(z, z + (counts[1] - 1) * strides[2] + 1, strides[2])
            part = xp.where(mine, grad, 0).astype(x.dtype)
            if xp is np:
                result[:, rows, columns] += part
            else:
                result = result.at[:, rows, columns].add(part)
    top, left = pads[0][0], pads[1][0]
    return result[:, top : top + x.shape[1], left : left + x.shape[2]]


@host_kernel(BY_INPUT, **native_images.ON_CPU)
def _by_input_natively(
    x: Array, w: Array, grad: Array, *, strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    sizes = _sizes(x, w, strides, rates, padding)
    found = native_images.dilate_back(False, x, w, grad, sizes)
    if found is not None:
        return found
    return _by_input(np, x, w, grad, strides=strides, rates=rates, padding=padding)


@kernel(BY_FILTER)
def _by_filter(
    xp: Any, x: Array, w: Array, grad: Array, *, strides: Sequence[int], rates: Sequence[int],
    padding: str,
) -> Array:  # fmt: skip
    places, views, _, counts = _windows(xp, x, w, strides, rates, padding)
    if not views or 0 in counts:
        return xp.zeros_like(w)
    parts = [
        xp.where(mine, grad, 0).sum((0, 1, 2)).astype(w.dtype)
        for mine in _winners(xp, w, places, views, [np.ones((1, 1, 1, 1), bool)] * len(views))
    ]
    return xp.stack(parts).reshape(w.shape)


@host_kernel(BY_FILTER, **native_images.ON_CPU)
def _by_filter_natively(
    x: Array, w: Array, grad: Array, *, strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    sizes = _sizes(x, w, strides, rates, padding)
    found = native_images.dilate_back(True, x, w, grad, sizes)
    if found is not None:
        return found
    return _by_filter(np, x, w, grad, strides=strides, rates=rates, padding=padding)


@DILATION.gradient
def _dilation_gradient(op: Any, grad: Any) -> list[Any]:
    attrs = {name: op.get_attr(name) for name in ("strides", "rates", "padding")}
    inputs = (*op.inputs, grad)
    return [execute(BY_INPUT, inputs, attrs), execute(BY_FILTER, inputs, attrs)]


# ---- public functions


def _check_format(data_format: str, function: str) -> None:
    if data_format != "NHWC":
        raise ValueError(
            f"{function}: `data_format` values other than 'NHWC' are not supported. Received: "
            f"data_format={data_format}. Transpose the input."
        )


def dilation2d(
    input: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The grey-scale dilation of images.

    Args:
      input: real numbers [N, H, W, C].
      filters: of the same dtype, [h, w, C].
      strides: four integers; the first and last are 1.
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      dilations: four integers: the distances between the filter's places.
      name: the name of the operation in a graph.

    Returns:
      Of the same dtype, [N, H', W', C].

    Raises:
      ValueError: `data_format` is another one.
      InvalidArgumentError: ranks or depths do not fit.
    """
    _check_format(data_format, "dilation2d")
    attrs = {"strides": strides, "rates": dilations, "padding": padding}
    return execute(DILATION, (input, filters), attrs, name)


def dilation2d_v1(
    input: Any, filter: Any = None, strides: Any = None, rates: Any = None, padding: Any = None,
    name: str | None = None, filters: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """`dilation2d` with compat.v1's arguments: `filter` and `rates`, or their new names."""
    kernel_ = one_of("filters", filters, "filter", filter)
    gaps = one_of("dilations", dilations, "rates", rates)
    return dilation2d(input, kernel_, strides, padding, "NHWC", gaps, name)


def erosion2d(
    value: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The grey-scale erosion of images: the smallest of an image minus a structuring function.

    Args:
      value: real numbers [N, H, W, C].
      filters: of the same dtype, [h, w, C].
      strides: four integers; the first and last are 1.
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      dilations: four integers: the distances between the filter's places.
      name: the name of the operation in a graph.

    Returns:
      Of the same dtype, [N, H', W', C].

    Raises:
      ValueError: `data_format` is another one.
      InvalidArgumentError: ranks or depths do not fit.
    """
    _check_format(data_format, "erosion2d")
    value = convert_to_tensor(value)
    turned = execute("ReverseV2", (convert_to_tensor(filters), np.array([0, 1], np.int32)))
    negative = execute("Neg", (value,))
    made = dilation2d(negative, turned, strides, padding, data_format, dilations)
    return execute("Neg", (made,), None, name)


def erosion2d_v1(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Any:
    """`erosion2d` with compat.v1's names of arguments."""
    return erosion2d(value, kernel, strides, padding, "NHWC", rates, name)
