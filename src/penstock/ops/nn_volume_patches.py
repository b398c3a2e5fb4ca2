"""Patches of volumes: what a window sees at each place, in the channels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_images
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.nn_conv_geometry import output_size, same_pads
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer


def _space(c: ShapeContext, name: str) -> tuple[int, ...]:
    values = c.attr(name)
    if len(values) != 5 or min(values) < 1:
        c.fail(f"five {name} of at least 1", f"{list(values)}")
    if values[0] != 1 or values[4] != 1:
        raise errors.UnimplementedError(
            None,
            None,
            f"{c.op_name}: Only support {name} across space: expected 1 for batch and channels, "
            f"got {list(values)}.",
        )
    return tuple(values[1:4])


def _shape(c: ShapeContext) -> Dims:
    dims = c.rank(0, 5, "input")
    assert dims is not None
    sizes, strides = _space(c, "ksizes"), _space(c, "strides")
    space = [
        output_size(n, size, stride, 1, c.attr("padding"), (0, 0))
        for n, size, stride in zip(dims[1:4], sizes, strides, strict=True)
    ]
    space = [None if n is None else max(n, 0) for n in space]
    return (dims[0], *space, None if dims[4] is None else dims[4] * int(np.prod(sizes)))


VOLUME_PATCHES = define_op(
    "ExtractVolumePatches(input: T; ksizes: list(int) >= 5, strides: list(int) >= 5, T: "
    "realnumbertype, padding: {'SAME', 'VALID'}) -> patches: T",
    shape=_shape,
    doc="What a window sees at each place of a volume, in the channels.",
)


def _reach(
    x: Array, ksizes: Sequence[int], strides: Sequence[int], padding: str
) -> tuple[list[tuple[int, int]], list[int]]:
    """The padding along each of three axes, and how many windows there are."""
    pads, counts = [], []
    for n, size, step in zip(x.shape[1:4], ksizes[1:4], strides[1:4], strict=True):
        pads.append(same_pads(n, size, step, 1) if padding == "SAME" else (0, 0))
        counts.append(max(output_size(n, size, step, 1, padding, (0, 0)) or 0, 0))
    return pads, counts


@kernel(VOLUME_PATCHES)
def _volume_patches(
    xp: Any, x: Array, *, ksizes: Sequence[int], strides: Sequence[int], padding: str
) -> Array:
    sizes, steps = ksizes[1:4], strides[1:4]
    pads, counts = _reach(x, ksizes, strides, padding)
    padded = xp.pad(x, [(0, 0), *pads, (0, 0)])
    views: list[Array] = []
    if 0 in counts:
        total = x.shape[4] * int(np.prod(sizes))
        return xp.zeros((x.shape[0], *counts, total), x.dtype)
    for place in np.ndindex(*sizes):
        window = tuple(
            slice(at, at + max(count - 1, 0) * step + 1, step)
            for at, count, step in zip(place, counts, steps, strict=True)
        )
        views.append(padded[(slice(None), *window)])
    return xp.concatenate(views, -1)


@host_kernel(VOLUME_PATCHES, **native_images.ON_CPU)
def _volume_patches_natively(
    x: Array, *, ksizes: Sequence[int], strides: Sequence[int], padding: str
) -> Array:
    pads, counts = _reach(x, ksizes, strides, padding)
    before = [pad[0] for pad in pads]
    found = native_images.patches(x, ksizes[1:4], strides[1:4], (1, 1, 1), before, counts)
    if found is None:
        return _volume_patches(np, x, ksizes=ksizes, strides=strides, padding=padding)
    depth = x.shape[4] * ksizes[1] * ksizes[2] * ksizes[3]
    return found.reshape(x.shape[0], *counts, depth)


@VOLUME_PATCHES.gradient
def _volume_patches_gradient(op: Any, grad: Any) -> Any:
    """The patches are a convolution with filters that pick one place each."""
    x, sizes = op.inputs[0], op.get_attr("ksizes")[1:4]
    depth = x.dims[4] if x.dims is not None else None
    if depth is None:
        raise ValueError(
            "ExtractVolumePatches: expected a known number of channels, for gradients."
        )
    if grad.dims is not None and 0 in grad.dims:
        return execute("ZerosLike", (x,))
    if tuple(op.get_attr("strides")[1:4]) == tuple(sizes) and None not in x.dims[1:]:
        padding = op.get_attr("padding").decode()
        found = None if 0 in x.dims[1:] else _put_back(x.dims, grad, sizes, padding)
        return execute("ZerosLike", (x,)) if found is None else found
    total = int(np.prod(sizes)) * depth
    pick = np.eye(total).reshape(*sizes, depth, total).astype(x.dtype.numpy_dtype)
    attrs = {"strides": op.get_attr("strides"), "padding": op.get_attr("padding")}
    return execute("Conv3DBackpropInputV2", (execute("Shape", (x,)), pick, grad), attrs)


def _put_back(dims: tuple[Any, ...], grad: Any, sizes: Sequence[int], padding: str) -> Any:
    """The gradient of windows side by side: each element is in one of them, or in none.

    None where there is no window.
    """
    counts = [
        max(output_size(n, k, k, 1, padding, (0, 0)) or 0, 0)
        for n, k in zip(dims[1:4], sizes, strict=True)
    ]
    if 0 in counts:
        return None
    split = execute("Reshape", (grad, np.array([-1, *counts, *sizes, dims[4]], np.int32)))
    turned = execute("Transpose", (split, np.array([0, 1, 4, 2, 5, 3, 6, 7], np.int32)))
    whole = [count * size for count, size in zip(counts, sizes, strict=True)]
    volume = execute("Reshape", (turned, np.array([-1, *whole, dims[4]], np.int32)))
    kept = [min(n, size) for n, size in zip(dims[1:4], whole, strict=True)]
    begin = [
        same_pads(n, k, k, 1)[0] if padding == "SAME" else 0
        for n, k in zip(dims[1:4], sizes, strict=True)
    ]
    ends = np.array([0, *begin, 0], np.int32), np.array([-1, *kept, dims[4]], np.int32)
    volume = execute("Slice", (volume, *ends))
    rest = [(0, n - size) for n, size in zip(dims[1:4], kept, strict=True)]
    return execute("Pad", (volume, np.array([(0, 0), *rest, (0, 0)], np.int32)))


def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Any:
    """What a window sees at each place of a volume, in the channels.

    Args:
      input: real numbers [N, D, H, W, C].
      ksizes: the window's sizes, five integers; the first and last are 1.
      strides: five integers; the first and last are 1.
      padding: "SAME" or "VALID".
      name: the name of the operation in a graph.

    Returns:
      Of the same dtype, [N, D', H', W', d * h * w * C].

    Raises:
      UnimplementedError: a window or stride over batch or channels.
      InvalidArgumentError: the rank is not 5.
    """
    attrs = {"ksizes": ksizes, "strides": strides, "padding": padding}
    return execute(VOLUME_PATCHES, (input,), attrs, name)
