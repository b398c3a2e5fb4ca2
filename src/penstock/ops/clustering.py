"""Points and centres: the nearest centres of points, and first centres for k-means.

Sources: D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", 2007;
O. Bachem et al., "Approximate k-means++ in sublinear time", 2016 (KMC2). The random numbers are our
own: TensorFlow's seeds choose other points.
"""

from typing import Any

import numpy as np

from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
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
    for ok, text in (
        (count > 0, f"num_to_sample > 0, got {count}"),
        (count <= len(points), f"num_to_sample <= points.rows(), got {count} vs {len(points)}"),
        (int(seed) >= 0, f"seed >= 0, got {int(seed)}"),
        (tries >= 0, f"num_retries_per_sample >= 0, got {tries}"),
    ):
        if not ok:
            raise invalid(f"KmeansPlusPlusInitialization: expected {text}.")
    rng = np.random.default_rng(int(seed))
    chosen = [int(rng.integers(len(points)))]
    nearest = _squared(points, points[chosen])[:, 0]
    while len(chosen) < count:
        total = nearest.sum()
        weights = nearest / total if total > 0 else np.full(len(points), 1 / len(points))
        drawn = rng.choice(len(points), tries + 1, p=weights)
        options = np.minimum(nearest[:, None], _squared(points, points[drawn]))
        best = int(options.sum(0).argmin())
        chosen.append(int(drawn[best]))
        nearest = options[:, best]
    return points[chosen]


KMC2 = define_op(
    "KMC2ChainInitialization(distances: float, seed: int64) -> index: int64",
    shape=lambda c: (c.rank(0, 1, "distances"), c.rank(1, 0, "seed"), ())[-1],
    doc="A number drawn by a Markov chain in proportion to distances.",
).not_differentiable(NO_GRADIENT)


@host_kernel(KMC2)
def _kmc2(distances: Array, seed: Array) -> Array:
    if not distances.size:
        raise invalid("KMC2ChainInitialization: expected distances of size > 0, got none.")
    rng = np.random.default_rng(abs(int(seed)))
    current = 0
    uniform = rng.random(len(distances)).tolist()
    held = distances.tolist()
    here = held[0]
    for i in range(1, len(held)):
        if here == 0 or held[i] / here > uniform[i]:
            current, here = i, held[i]
    return np.array(current, np.int64)
