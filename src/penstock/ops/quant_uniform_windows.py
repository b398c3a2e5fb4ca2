"""Windows of the uniformly quantised convolutions: layouts, pads, dilations and groups.

`dimension_numbers` is a serialised message with the positions of the axes; empty it means batch,
feature, spatial axes for images and results, and output, input, spatial axes for filters. Work is
done on [B, spatial..., C] and [spatial..., in, out].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import proto
from penstock.core.shapes import ShapeContext
from penstock.ops.math_int_matmul import int_matmul
from penstock.ops.nn_conv_geometry import output_size, same_pads
from penstock.ops.quant_levels import Array
from penstock.ops.quant_products import less_zero_points, window_rows
from penstock.types import dims as d
from penstock.types.dims import Dim, Dims


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the axes of images, filters and results lie.

    Attributes:
      batch, feature, spatial: of the images.
      kernel_output, kernel_input, kernel_spatial: of the filters.
      output_batch, output_feature, output_spatial: of the results.
    """

    batch: int
    feature: int
    spatial: tuple[int, ...]
    kernel_output: int
    kernel_input: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]

    def channels_last(self, xp: Any, x: Array) -> Array:
        """Images as [B, spatial..., C]."""
        return xp.transpose(x, (self.batch, *self.spatial, self.feature))

    def filter_last(self, xp: Any, x: Array) -> Array:
        """Filters as [spatial..., in, out]."""
        return xp.transpose(x, (*self.kernel_spatial, self.kernel_input, self.kernel_output))

    def as_output(self, xp: Any, x: Array) -> Array:
        """Results [B, spatial..., C] in the layout of the output."""
        order = (self.output_batch, *self.output_spatial, self.output_feature)
        return xp.transpose(x, tuple(order.index(i) for i in range(len(order))))


def layout_of(text: str | bytes, rank: int) -> Layout:
    """The layout that a `dimension_numbers` attribute says.

    Raises:
      ValueError: it is no such message, or its axes are not those of `rank`.
    """
    rest = tuple(range(2, rank))
    if not text:
        return Layout(0, 1, rest, 0, 1, rest, 0, 1, rest)
    message = proto.uniform_quant_ops_attr_pb2.UniformQuantizedConvolutionDimensionNumbersAttr()
    try:
        message.ParseFromString(text.encode("latin-1") if isinstance(text, str) else text)
    except proto.message.DecodeError:
        raise ValueError(
            f"dimension_numbers: expected a serialised message, got {text!r}"
        ) from None
    found = Layout(
        message.input_batch_dimension,
        message.input_feature_dimension,
        tuple(message.input_spatial_dimensions),
        message.kernel_output_feature_dimension,
        message.kernel_input_feature_dimension,
        tuple(message.kernel_spatial_dimensions),
        message.output_batch_dimension,
        message.output_feature_dimension,
        tuple(message.output_spatial_dimensions),
    )
    for axes in (
        (found.batch, found.feature, *found.spatial),
        (found.kernel_output, found.kernel_input, *found.kernel_spatial),
        (found.output_batch, found.output_feature, *found.output_spatial),
    ):
        if sorted(axes) != list(range(rank)):
            raise ValueError(
                f"dimension_numbers: expected each axis of rank {rank} once, got {list(axes)}"
            )
    return found


# ---- the shape rule


def _per_axis(c: ShapeContext, name: str, count: int) -> tuple[int, ...]:
    """An attribute with an entry for each spatial axis, all 1 when it is empty."""
    values = tuple(c.attr(name))
    if values and len(values) != count:
        c.fail(f"{name} with {count} entries, or none", f"{list(values)}")
    if any(v < 1 for v in values):
        c.fail(f"{name} with positive entries", f"{list(values)}")
    return values or (1,) * count


def _dilated(size: Dim, dilation: int) -> Dim:
    return None if size is None else max((size - 1) * dilation + 1, 0)


def conv_shape(c: ShapeContext) -> tuple[Dims, Layout]:
    """The dimensions of a convolution's result, checked, and its layout."""
    images, weights = c.rank_at_least(0, 3, "lhs"), c.rank_at_least(1, 3, "rhs")
    if images is None and weights is None:
        return None, layout_of("", 3)
    rank = len(images or weights or ())
    images, weights = c.rank(0, rank, "lhs"), c.rank(1, rank, "rhs")
    assert images is not None
    assert weights is not None
    layout = layout_of(c.attr("dimension_numbers"), rank)
    count = rank - 2
    strides = _per_axis(c, "window_strides", count)
    spread, holes = _per_axis(c, "lhs_dilation", count), _per_axis(c, "rhs_dilation", count)
    _check_padding(c, count)
    pads = c.attr("explicit_padding") or (0,) * (2 * count)
    sizes = []
    for i in range(count):
        size = _dilated(images[layout.spatial[i]], spread[i])
        window = weights[layout.kernel_spatial[i]]
        pair = (pads[2 * i], pads[2 * i + 1])
        found = output_size(size, window, strides[i], holes[i], c.attr("padding"), pair)
        if found is not None and found < 0:
            c.fail("a filter that fits into the images", f"{window} over {size}")
        sizes.append(found)
    _check_features(c, images[layout.feature], images[layout.batch], weights, layout)
    result: list[Dim] = [None] * rank
    batch = images[layout.batch]
    result[layout.output_batch] = None if batch is None else batch // c.attr("batch_group_count")
    result[layout.output_feature] = weights[layout.kernel_output]
    for axis, n in zip(layout.output_spatial, sizes, strict=True):
        result[axis] = n
    return tuple(result), layout


def _check_padding(c: ShapeContext, count: int) -> None:
    padding, explicit = c.attr("padding"), c.attr("explicit_padding")
    if padding not in ("SAME", "VALID", "EXPLICIT"):
        c.fail("padding of SAME, VALID or EXPLICIT", padding)
    if padding != "EXPLICIT" and explicit:
        c.fail("no explicit_padding unless padding is EXPLICIT", f"{list(explicit)}")
    if padding == "EXPLICIT" and (len(explicit) != 2 * count or any(p < 0 for p in explicit)):
        c.fail(f"explicit_padding of {2 * count} numbers >= 0", f"{list(explicit)}")


def _check_features(
    c: ShapeContext, features: Dim, batch: Dim, weights: Any, layout: Layout
) -> None:
    groups, batches = c.attr("feature_group_count"), c.attr("batch_group_count")
    inner, outer = weights[layout.kernel_input], weights[layout.kernel_output]
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        c.fail(
            "group counts of at least 1, one of them 1",
            f"feature_group_count={groups} and batch_group_count={batches}",
        )
    if features is not None and inner is not None and features != inner * groups:
        c.fail(
            f"lhs features over {groups} groups equal to the filter's {inner}",
            f"{features} features (lhs {d.text(c.shape(0))}, rhs {d.text(c.shape(1))})",
        )
    for count in (groups, batches):
        if outer is not None and outer % count:
            c.fail(f"output features that {count} groups divide", f"{outer}")
    if batch is not None and batch % batches:
        c.fail(f"a batch that {batches} groups divide", f"{batch}")


# ---- the sums


def _spread_out(xp: Any, x: Array, dilations: tuple[int, ...], fill: Array) -> Array:
    """Images with `fill` between their pixels."""
    for i, step in enumerate(dilations, 1):
        if step > 1:
            holes = xp.broadcast_to(fill, x.shape)[(slice(None),) * (i + 1) + (None,)]
            parts = [xp.expand_dims(x, i + 1), *[holes] * (step - 1)]
            wide = xp.concatenate([p.reshape(parts[0].shape) for p in parts], axis=i + 1)
            flat = wide.reshape(*x.shape[:i], x.shape[i] * step, *x.shape[i + 1 :])
            x = flat[(slice(None),) * i + (slice(0, max(x.shape[i] * step - step + 1, 0)),)]
    return x


def _padded(xp: Any, x: Array, pads: list[tuple[int, int]], fill: Array) -> Array:
    """Images with margins of `fill`."""
    for i, (before, after) in enumerate(pads, 1):
        margins = [
            xp.broadcast_to(fill, (*x.shape[:i], n, *x.shape[i + 1 :])) for n in (before, after)
        ]
        x = xp.concatenate([margins[0], x, margins[1]], axis=i)
    return x


def convolved(
    xp: Any, x: Array, weights: Array, zeros: tuple[Array, Array], attrs: dict[str, Any]
) -> Array:
    """The sums of products of a convolution, less zero points.

    Args:
      xp: the array namespace.
      x: int8[B, spatial..., C].
      weights: int8[spatial..., in, out].
      zeros: the zero points of the images, int32[] or [B, 1, ...], and of the filters, int32[] or
        [out].
      attrs: the operation's attributes.

    Returns:
      int32[B, places..., out].
    """
    count, sizes = x.ndim - 2, weights.shape[:-2]
    ones = (1,) * count
    strides = attrs["window_strides"] or ones
    holes = attrs["rhs_dilation"] or ones
    fill = zeros[0].astype(np.int8)
    x = _spread_out(xp, x, attrs["lhs_dilation"] or ones, fill)
    given = attrs["explicit_padding"]
    pads = [(0, 0)] * count
    if attrs["padding"] == "SAME":
        entries = zip(x.shape[1:-1], sizes, strides, holes, strict=True)
        pads = [same_pads(*entry) for entry in entries]
    elif given:
        pads = [(given[2 * i], given[2 * i + 1]) for i in range(count)]
    rows = window_rows(xp, _padded(xp, x, pads, fill), sizes, strides, holes)
    rows = rows.reshape(*rows.shape[:-1], -1, x.shape[-1])
    return _grouped_sums(xp, rows, weights, zeros, attrs)


def _grouped_sums(
    xp: Any, rows: Array, weights: Array, zeros: tuple[Array, Array], attrs: dict[str, Any]
) -> Array:
    """Products of window rows [B, places..., taps, C] and filters, group by group."""
    features, batches = attrs["feature_group_count"], attrs["batch_group_count"]
    groups = features * batches
    inner, outer = weights.shape[-2:]
    columns = weights.reshape(-1, inner, outer)
    first, second = zeros
    parts = []
    for g in range(groups):
        seen, zero = rows, first
        if features > 1:
            seen = rows[..., g * inner : (g + 1) * inner]
        if batches > 1:
            share = rows.shape[0] // batches
            seen = rows[g * share : (g + 1) * share]
            zero = first[g * share : (g + 1) * share] if first.ndim else first
        own = slice(g * (outer // groups), (g + 1) * (outer // groups))
        part = columns[..., own].reshape(-1, outer // groups)
        flat = seen.reshape(*seen.shape[:-2], -1)
        sums = (
            xp.sum(flat, axis=-1, keepdims=True, dtype=np.int32),
            xp.sum(part, axis=0, dtype=np.int32),
        )
        other = second[own] if second.ndim else second
        product = int_matmul(xp, flat.reshape(-1, flat.shape[-1]), part)
        product = product.reshape(*flat.shape[:-1], part.shape[-1])
        parts.append(less_zero_points(xp, product, sums, (zero, other), flat.shape[-1]))
    return xp.concatenate(parts, axis=-1) if groups > 1 else parts[0]


def in_groups(xp: Any, values: Array, shape: tuple[int, ...], attrs: dict[str, Any]) -> Array:
    """A number for each image as one for each result and channel: batch groups make channels.

    Args:
      xp: the array namespace.
      values: [B, 1, ...].
      shape: of the results, [B / groups, places..., out].
      attrs: the operation's attributes.

    Returns:
      An array that broadcasts with the results.
    """
    batches = attrs["batch_group_count"]
    if batches == 1:
        return values
    table = values.reshape(batches, shape[0]).T
    wide = xp.repeat(table, shape[-1] // batches, axis=1)
    return wide.reshape(shape[0], *(1,) * (len(shape) - 2), shape[-1])
