"""The geometry of convolution and pooling: layouts, paddings, output sizes.

A layout string ("NHWC", "NCDHW") names the axes of a tensor; attributes such as strides have one
entry for each of its axes. `Window` holds what a kernel needs once the sizes are known, in the
order of the spatial axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock import errors
from penstock.core.shapes import ShapeContext
from penstock.types.dims import Dim, Dims


def spatial_axes(layout: str) -> tuple[int, ...]:
    """The positions of the spatial axes: all but N and C."""
    return tuple(i for i, axis in enumerate(layout) if axis not in "NC")


def channel_axis(layout: str) -> int:
    """The position of the channels."""
    return layout.index("C")


def output_size(
    size: Dim,
    window: Dim,
    stride: int,
    dilation: int,
    padding: str,
    pads: tuple[int, int],
    running: bool = False,
) -> Dim:
    """The output size along one axis: None if unknown, -1 when the window does not fit.

    A window that is too large by less than two strides is refused in a graph, but gives nothing
    where it is seen when the operation runs (`running`).
    """
    if size is None:
        return None
    if padding == "SAME":  # whatever the window is
        return -(-size // stride)
    if window is None:
        return None
    if size == 0 and window == 1 and pads == (0, 0):
        return 0
    room = size + pads[0] + pads[1] - (window - 1) * dilation - 1
    if room < 0 and not running:
        return -1
    return windows_in(room, stride)


def windows_in(room: int, stride: int) -> int:
    """How many windows start in `room`, which is below 0 for one too large: -1 if by far."""
    if room >= 0:
        return room // stride + 1
    return 0 if room > -2 * stride else -1


def check_room(room: int, stride: int, window: int, size: int, dilation: int = 1) -> None:
    """Refuses a window that a kernel finds to be too large by far."""
    if windows_in(room, stride) < 0:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Computed output size would be negative: expected a window that fits into the padded"
            f" input, got window {window} (dilation {dilation}, stride {stride}) over size {size}."
            " Use padding='SAME' or a smaller window.",
        )


def same_pads(size: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    """What SAME puts before and after: the smaller half first."""
    count = -(-size // stride)
    needed = max((count - 1) * stride + (window - 1) * dilation + 1 - size, 0)
    return needed // 2, needed - needed // 2


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window over the spatial axes: sizes, strides, dilations and pads, one for each."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]


def window_of(
    layout: str,
    image: Sequence[int],
    sizes: Sequence[int],
    attrs: dict[str, Any],
) -> Window:
    """The window of a kernel call.

    Args:
      layout: the layout of the image.
      image: the image's shape.
      sizes: the window's spatial sizes.
      attrs: strides, padding, and where they apply dilations and explicit_paddings.
    """
    axes = spatial_axes(layout)
    strides = tuple(attrs["strides"][i] for i in axes)
    dilations = tuple(attrs.get("dilations", (1,) * len(layout))[i] for i in axes)
    if attrs["padding"] == "SAME":
        shape = zip((image[i] for i in axes), sizes, strides, dilations, strict=True)
        pads = tuple(same_pads(*entry) for entry in shape)
    else:
        pads = explicit_pads(layout, attrs)
        shape = zip((image[i] for i in axes), sizes, strides, dilations, strict=True)
        for (size, n, stride, dilation), pad in zip(shape, pads, strict=True):
            room = size + sum(pad) - (n - 1) * dilation - 1
            check_room(room, stride, n, size, dilation)
    return Window(tuple(sizes), strides, dilations, pads)


def explicit_pads(layout: str, attrs: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """The pads that the attributes give for each spatial axis: zeros unless padding is EXPLICIT."""
    axes = spatial_axes(layout)
    given = attrs.get("explicit_paddings", ())
    if attrs["padding"] != "EXPLICIT":
        return ((0, 0),) * len(axes)
    return tuple((given[2 * i], given[2 * i + 1]) for i in axes)


def too_large(c: ShapeContext, window: int | None, size: int | None, dilation: int = 1) -> str:
    """How TensorFlow's graphs tell of a window larger than what it slides over, and its steps."""
    assert window is not None  # it could not be told to be larger
    reach = (window - 1) * dilation + 1
    known = "Computed output size would be negative. " if c.running else ""
    return f"{known}Negative dimension size caused by subtracting {reach} from {size}"


def check_attrs(c: ShapeContext, layout: str, what: Sequence[str]) -> None:
    """Refuses attributes that do not fit the layout: lengths, zero strides, pads of N and C."""
    rank = len(layout)
    for name in what:
        values = c.attr(name)
        if len(values) != rank:
            c.fail(f"attribute {name} with {rank} entries for {layout}", f"{list(values)}")
        if any(v <= 0 for v in values):
            fact = "Dilated rates should be larger than 0"
            if name != "dilations":
                fact = f"Stride must be > 0, but got {min(values)}"
            c.fail(f"attribute {name} with positive entries", f"{list(values)}: {fact}")
        if values[0] != 1 or (name != "ksize" and values[channel_axis(layout)] != 1):
            c.fail(
                f"attribute {name} with 1 for the batch and depth dimensions ({layout})",
                f"{list(values)}: Current implementation does not yet support {name} in the batch"
                " and depth dimensions",
            )
    pads = c.attrs.get("explicit_paddings", ())
    if c.attr("padding") != "EXPLICIT":
        if pads:
            c.fail("no explicit_paddings unless padding is EXPLICIT", f"{list(pads)}")
        return
    if len(pads) != 2 * rank:
        c.fail(f"explicit_paddings with {2 * rank} entries", f"{len(pads)} entries")
    if any(p < 0 for p in pads):
        c.fail("explicit_paddings that are not negative", f"{list(pads)}")
    for axis in (0, channel_axis(layout)):
        if pads[2 * axis] or pads[2 * axis + 1]:
            c.fail("explicit_paddings of 0 for the batch and depth dimensions", f"{list(pads)}")


def sliding_shape(
    c: ShapeContext,
    layout: str,
    image: Dims,
    sizes: Sequence[Dim],
    channels: Dim,
) -> Dims:
    """The output's dimensions of a window of spatial `sizes` sliding over `image`."""
    if image is None:
        image = (None,) * len(layout)
    axes = spatial_axes(layout)
    strides = c.attr("strides")
    dilations = c.attrs.get("dilations", (1,) * len(layout))
    pads = explicit_pads(layout, c.attrs)
    result = list(image)
    for place, (axis, window) in enumerate(zip(axes, sizes, strict=True)):
        if window == 0 and image[axis] != 0:
            c.fail("a filter with elements", f"sizes {list(sizes)}", "Give it at least size 1.")
        found = output_size(
            image[axis], window, strides[axis], dilations[axis], c.attr("padding"), pads[place],
            c.running,
        )  # fmt: skip
        if found is not None and found < 0:
            c.fail(
                "a window that fits into the padded input",
                f"window {window} (dilation {dilations[axis]}) over size {image[axis]}:"
                f" {too_large(c, window, image[axis], dilations[axis])}",
                "Use padding='SAME' or a smaller window.",
            )
        result[axis] = found
    result[channel_axis(layout)] = channels
    return tuple(result)
