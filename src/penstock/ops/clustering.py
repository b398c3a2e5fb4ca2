"""Points and centres: the nearest centres of points, and first centres for k-means.

Sources: D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", 2007;
O. Bachem et al., "Approximate k-means++ in sublinear time", 2016 (KMC2). A seed chooses the points
that it chooses in TensorFlow: the first by two words of its stream for each draw, the others by a
word each.
"""

from typing import Any

import numpy as np

from penstock.core import native_arrays, native_draws
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.class_distributions import Uniform, Words, singles
from penstock.ops.random_philox import stream_of_seeds
from penstock.ops.string_arrays import invalid
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "the choice of a point has no derivative"
BLOCK = 1 << 22  # distances held at once


def _nearest_shape(c: ShapeContext) -> list[Dims]:
    points, centers = c.rank(0, 2, "points"), c.rank(1, 2, "centers")
    assert points is not None
    assert centers is not None
    c.rank(2, 0, "k")
    if None not in (points[1], centers[1]) and points[1] != centers[1]:
        c.fail("points and centers of one dimension", f"{points[1]} vs {centers[1]}")
    k = c.constant(2)
    if k is not None and int(k) < 0:
        c.fail("k of at least 0", f"{int(k)}")
    width = None if k is None or centers[0] is None else min(int(k), centers[0])
    return [(points[0], width)] * 2


NEAREST = define_op(
    "NearestNeighbors(points: float, centers: float, k: int64) -> nearest_center_indices: int64, "
    "nearest_center_distances: float",
    shape=_nearest_shape,
    doc="For each point its k nearest centers, the nearest first, and the squared distances.",
).not_differentiable(NO_GRADIENT)


def _squared(points: Array, centers: Array) -> Array:
    """Squared distances [points, centers], in float64."""
    difference = points[:, None].astype(np.float64) - centers[None]
    result: Array = np.einsum("pcd,pcd->pc", difference, difference)
    return result


@host_kernel(NEAREST)
def _nearest(points: Array, centers: Array, k: Array) -> list[Array]:
    if int(k) < 0 or not len(points):
        raise invalid(
            f"NearestNeighbors: expected k >= 0 and at least one point, got {int(k)} and "
            f"{len(points)} points."
        )
    width = min(int(k), len(centers))
    native = native_draws.nearest(points, centers, width)
    if native is not None:
        return list(native)
    places = np.empty((len(points), width), np.int64)
    distances = np.empty((len(points), width), np.float32)
    step = max(BLOCK // max(centers.size, 1), 1)
    for start in range(0, len(points), step):
        found = _squared(points[start : start + step], centers)
        order = np.argsort(found, axis=1, kind="stable")[:, :width]
        places[start : start + step] = order
        distances[start : start + step] = np.take_along_axis(found, order, 1)
    return [places, distances]


def _first_shape(c: ShapeContext) -> Dims:
    points = c.rank(0, 2, "points")
    assert points is not None
    for i, name in ((1, "num_to_sample"), (2, "seed"), (3, "num_retries_per_sample")):
        c.rank(i, 0, name)
    count = c.constant(1)
    return (None if count is None else int(count), points[1])


KMEANS = define_op(
    "KmeansPlusPlusInitialization(points: float, num_to_sample: int64, seed: int64, "
    "num_retries_per_sample: int64) -> samples: float",
    shape=_first_shape,
    doc="Some of the points, far from each other: each is drawn in proportion to its squared "
    "distance from those before, the best of some draws.",
).not_differentiable(NO_GRADIENT)


@host_kernel(KMEANS)
def _kmeans(points: Array, num_to_sample: Array, seed: Array, retries: Array) -> Array:
    count, tries = int(num_to_sample), int(retries)
    checks = (
        ()
        if 0 < count <= len(points) and int(seed) >= 0 and tries >= 0
        else (
            (count > 0, f"num_to_sample > 0, got {count}"),
            (count <= len(points), f"num_to_sample <= points.rows(), got {count} vs {len(points)}"),
            (int(seed) >= 0, f"seed >= 0, got {int(seed)}"),
            (tries >= 0, f"num_retries_per_sample >= 0, got {tries}"),
        )
    )
    for ok, text in checks:
        if not ok:
            raise invalid(f"KmeansPlusPlusInitialization: expected {text}.")
    stream = stream_of_seeds(int(seed), 0)
    first = np.asarray(Uniform(len(points)).draw_many(Words(stream), tries + 1), np.int64)
    uniform = singles(stream, (count - 1) * (tries + 1), 2 * (tries + 1))
    chosen = native_draws.far_apart(points, count, tries, first, uniform)
    return points[_far_apart(points, count, first, uniform) if chosen is None else chosen]


def _far_apart(points: Array, count: int, first: Array, uniform: Array) -> list[int]:
    """`native_draws.far_apart` in NumPy."""
    chosen: list[int] = []
    nearest, drawn = None, first.tolist()
    by = iter(uniform.astype(np.float64).tolist())
    while len(chosen) < count:
        if nearest is not None:
            ends = nearest.cumsum()
            drawn = [_drawn_place(ends, next(by)) for _ in first]
        options = [_nearer(points, place, nearest) for place in drawn]
        best = int(np.argmin([option.sum() for option in options]))
        chosen.append(drawn[best])
        nearest = options[best]
    return chosen


def _drawn_place(ends: Array, uniform: float) -> int:
    """A place in proportion to weights whose sums are given; evenly where all are 0."""
    total = ends[-1]
    place = ends.searchsorted(uniform * total, "right") if total > 0 else uniform * len(ends)
    return min(int(place), len(ends) - 1)


def _nearer(points: Array, place: int, before: Array | None) -> Array:
    """The squared distances of all points from one of them, or `before` where that is less."""
    found = native_arrays.nearer(points, points[place], before)
    if found is None:
        found = _squared(points, points[place : place + 1])[:, 0]
        found = found if before is None else np.minimum(before, found)
    return found


KMC2 = define_op(
    "KMC2ChainInitialization(distances: float, seed: int64) -> index: int64",
    shape=lambda c: (c.rank(0, 1, "distances"), c.rank(1, 0, "seed"), ())[-1],
    doc="A number drawn by a Markov chain in proportion to distances.",
).not_differentiable(NO_GRADIENT)


@host_kernel(KMC2)
def _kmc2(distances: Array, seed: Array) -> Array:
    if not distances.size:
        raise invalid("KMC2ChainInitialization: expected distances of size > 0, got none.")
    chances = np.empty(len(distances))  # of the first nobody asks
    chances[1:] = singles(stream_of_seeds(abs(int(seed)), 0), len(distances) - 1)
    found = native_arrays.chain_end(distances, chances)
    if found is not None:
        return np.array(found, np.int64)
    current = 0
    uniform, held = chances.tolist(), distances.tolist()
    here = held[0]
    for i in range(1, len(held)):
        if here == 0 or held[i] > uniform[i] * here:
            current, here = i, held[i]
    return np.array(current, np.int64)
