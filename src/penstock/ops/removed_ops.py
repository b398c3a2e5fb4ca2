"""Operations that old GraphDefs hold and that no operation of today stands for.

`penstock.graph.superseded` says up to which version; nodes are imported as the operations here,
whose names begin with Penstock. Programs of today are refused them, as TensorFlow does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.linalg_decompose import eigh_on_host
from penstock.ops.random_philox import words
from penstock.ops.random_state import stream_on_host
from penstock.ops.string_arrays import HOST
from penstock.ops.summary_messages import audio_shape, audio_summary
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer

# ---- batch normalisation with moments that are given, before version 9 ---------------------------

_EPSILON = "variance_epsilon: float, scale_after_normalization: bool"


def _norm_shape(c: ShapeContext) -> Dims:
    return _normalised(c, ("m", "v", "beta", "gamma"))


def _normalised(c: ShapeContext, vectors: Sequence[str]) -> Dims:
    image = c.rank(0, 4, "t")
    assert image is not None
    depth: Dims = image[3:]
    for index, name in enumerate(vectors, 1):
        depth = d.merge(depth, _equal(c, name, depth, c.rank(index, 1, name)))
    assert depth is not None
    return (*image[:3], depth[0])


def _equal(c: ShapeContext, name: str, wanted: Dims, given: Dims) -> Dims:
    if not d.compatible(wanted, given):
        c.fail(
            f"{name} of shape {d.text(wanted)}: Dimensions must be equal",
            d.text(given),
            "The moments, beta and gamma have one element for each channel of t.",
        )
    return given


def _norm_grad_shape(c: ShapeContext) -> list[Dims]:
    image = _normalised(c, ("m", "v", "gamma"))
    image = d.merge(image, _equal(c, "backprop", image, c.rank(4, 4, "backprop")))
    assert image is not None
    return [image, *[image[3:]] * 4]


NORM = define_op(
    "PenstockBatchNormWithGlobalNormalization(t: T, m: T, v: T, beta: T, gamma: T; T: numbertype, "
    f"{_EPSILON}) -> result: T",
    shape=_norm_shape,
    doc="(t - m) / sqrt(v + epsilon), times gamma if asked for, plus beta; channels are last.",
)
NORM_GRAD = define_op(
    "PenstockBatchNormWithGlobalNormalizationGrad(t: T, m: T, v: T, gamma: T, backprop: T; "
    f"T: numbertype, {_EPSILON}) -> dx: T, dm: T, dv: T, db: T, dg: T",
    shape=_norm_grad_shape,
    doc="The gradients of BatchNormWithGlobalNormalization by its inputs.",
).without_gradient("TensorFlow has none of the second order either")


@kernel(NORM)
def _norm(
    xp: Any, t: Array, m: Array, v: Array, beta: Array, gamma: Array, *,
    variance_epsilon: float, scale_after_normalization: bool,
) -> Array:  # fmt: skip
    scale = 1 / xp.sqrt(v + np.asarray(variance_epsilon, v.dtype))
    if scale_after_normalization:
        scale = scale * gamma
    return (t - m) * scale + beta


@kernel(NORM_GRAD)
def _norm_grad(
    xp: Any, t: Array, m: Array, v: Array, gamma: Array, backprop: Array, *,
    variance_epsilon: float, scale_after_normalization: bool,
) -> list[Array]:  # fmt: skip
    scale = 1 / xp.sqrt(v + np.asarray(variance_epsilon, v.dtype))
    weight = gamma if scale_after_normalization else xp.ones_like(gamma)
    axes = (0, 1, 2)
    moved = xp.sum(backprop * (t - m), axis=axes)
    total = xp.sum(backprop, axis=axes)
    by_gamma = moved * scale if scale_after_normalization else xp.zeros_like(gamma)
    by_variance = moved * weight * scale * scale * scale / np.asarray(-2, v.dtype)
    return [backprop * (weight * scale), -total * (weight * scale), by_variance, total, by_gamma]


@NORM.gradient
def _norm_gradient(op: Any, grad: Any) -> list[Any]:
    t, m, v, _, gamma = op.inputs
    attrs = {n: op.get_attr(n) for n in ("variance_epsilon", "scale_after_normalization")}
    return list(execute(NORM_GRAD, (t, m, v, gamma, grad), attrs))


# ---- eigenvalues above eigenvectors, before version 11 -------------------------------------------


def _eigen_shape(c: ShapeContext) -> Dims:
    matrix = c.shape(0)
    if matrix is None:
        return None
    if len(matrix) < 2:
        c.fail("matrices, at least of rank 2", d.text(matrix))
    size = d.merge(matrix[-1:], _equal(c, "square matrices", matrix[-2:-1], matrix[-1:]))
    assert size is not None
    return (*matrix[:-2], None if size[0] is None else size[0] + 1, size[0])


EIGEN = define_op(
    "PenstockSelfAdjointEig(input: T; T: {double, float, half}) -> output: T",
    shape=_eigen_shape,
    doc="Eigenvalues of self-adjoint matrices, the first row, and vectors: T[..., M + 1, M].",
).without_gradient("TensorFlow has none either; SelfAdjointEigV2 has one")


@host_kernel(EIGEN, limit=HOST)
def _eigen(x: Array) -> Array:
    values, vectors = eigh_on_host(x, compute_v=True)
    return np.concatenate([values[..., None, :], vectors], -2)


# ---- images and sounds ---------------------------------------------------------------------------


def _contrast_shape(c: ShapeContext) -> Dims:
    for index, name in enumerate(("contrast_factor", "min_value", "max_value"), 1):
        c.rank(index, 0, name)
    images = c.shape(0)
    if images is not None and len(images) < 3:
        c.fail("images of at least rank 3", d.text(images))
    return images


CONTRAST = define_op(
    "PenstockAdjustContrast(images: T, contrast_factor: float, min_value: float, max_value: float; "
    "T: {uint8, int8, int16, int32, int64, float, double}) -> output: float",
    shape=_contrast_shape,
    doc="Moves values away from the mean of their image and channel, within bounds.",
).without_gradient("TensorFlow has none either; AdjustContrastv2 has one")


@kernel(CONTRAST)
def _contrast(xp: Any, images: Array, factor: Array, low: Array, high: Array) -> Array:
    wide = images.astype(np.float32)
    mean = xp.mean(wide, axis=(-3, -2), keepdims=True)
    return xp.minimum(xp.maximum((wide - mean) * factor + mean, low), high)


def _crop_shape(c: ShapeContext) -> Dims:
    image, size = c.rank(0, 3, "image"), c.shape_value(1)
    c.rank(1, 1, "size")
    assert image is not None
    return (*((None, None) if size is None else size), image[2])


CROP = define_op(
    "PenstockRandomCrop(image: T, size: int64; T: {uint8, int8, int16, int32, int64, float, "
    "double}, seed: int = 0, seed2: int = 0) -> output: T",
    shape=_crop_shape,
    stateful=True,
    doc="A part of an image [height, width, channels], of `size` rows and columns, anywhere in it.",
).without_gradient("TensorFlow has none either")

_MOST_WORDS = 64  # set apart for a crop: it needs two, and more where numbers are refused


@host_kernel(CROP, limit=HOST)
def _crop(ctx: KernelContext, image: Array, size: Array) -> Array:
    drawn = iter(words(np, stream_on_host(ctx, _MOST_WORDS // 4), _MOST_WORDS).tolist())
    starts = []
    for axis, (name, given) in enumerate(zip(("height", "width"), size.tolist(), strict=True)):
        room = image.shape[axis] - given
        if room < 0:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"RandomCrop: {name} must be >= target_{name}: {name} = {image.shape[axis]},"
                f" target_{name} = {given}. Resize or pad the image before.",
            )
        starts.append(_below(drawn, room + 1) if image.shape[:2] != tuple(size) else 0)
    (top, left), (height, width) = starts, size.tolist()
    return image[top : top + height, left : left + width].copy()


def _below(drawn: Any, count: int) -> int:
    """An even number below `count`; words that would make some likelier are passed over."""
    word = next(drawn)
    if count & (count - 1) == 0:
        return int(word & (count - 1))
    rest = (0xFFFFFFFF % count) + 1
    while 0xFFFFFFFF - word < rest:
        word = next(drawn)
    return int((0xFFFFFFFF - word) % count)


AUDIO = define_op(
    "PenstockAudioSummary(tag: string, tensor: float; sample_rate: float, max_outputs: int >= 1 = "
    "3) -> summary: string",
    shape=audio_shape,
    doc="A Summary of sounds, whose rate is an attribute.",
).not_differentiable("a summary is a string")


@host_kernel(AUDIO, limit=HOST)
def _audio(tag: Array, tensor: Array, *, sample_rate: float, max_outputs: int) -> Array:
    return audio_summary("AudioSummary", tag, tensor, sample_rate, max_outputs)


# ---- the gradient of Tile, before version 3 ------------------------------------------------------


def _tile_grad_shape(c: ShapeContext) -> Dims:
    given, times = c.shape(0), c.shape_value(1)
    if given is None or times is None:
        return None
    if len(given) != len(times):
        c.fail(f"multiples for {len(given)} dimensions", d.text(times), "Give one for each.")
    return tuple(None if n is None or not t else n // t for n, t in zip(given, times, strict=True))


TILE_GRAD = define_op(
    "PenstockTileGrad(input: T, multiples: int32; T: type) -> output: T",
    shape=_tile_grad_shape,
    host_inputs=("multiples",),
    doc="The sum of the pieces that Tile made of a tensor.",
).without_gradient("what stands for it today is a sum")


@kernel(TILE_GRAD)
def _tile_grad(xp: Any, x: Any, multiples: Array) -> Any:
    split = [n for m, size in zip(multiples, x.shape, strict=True) for n in (m, size // m)]
    return xp.reshape(x, split).sum(tuple(range(0, len(split), 2)), dtype=x.dtype)
