"""Small native convolutions beside sums of products in NumPy, and what flows back through them."""

import itertools

import numpy as np
import pytest

from penstock.core import native_convolutions as n
from penstock.core.native_images import LIBRARY

pytestmark = pytest.mark.skipif(not LIBRARY.is_in_use(), reason="no native library here")

CASES = [  # image, filter, counts, strides, rates, before
    ((1, 7, 7, 16), (3, 3, 16, 24), (7, 7), (1, 1), (1, 1), (1, 1)),
    ((2, 5, 9, 3), (3, 2, 3, 11), (2, 8), (2, 1), (1, 1), (0, 0)),
    ((1, 8, 6, 4), (3, 2, 2, 6), (8, 5), (1, 1), (2, 3), (2, 1)),
    ((1, 5, 5, 6), (3, 3, 1, 12), (3, 2), (1, 2), (1, 1), (0, 0)),
    ((1, 5, 6, 7), (2, 3, 1, 7), (6, 4), (1, 2), (1, 1), (1, 2)),
    ((2, 3, 4, 5, 2), (2, 3, 1, 2, 5), (2, 3, 3), (1, 1, 2), (1, 1, 1), (0, 1, 0)),
    ((1, 9, 4), (3, 2, 18), (5,), (2,), (1,), (1,)),
]


def reference(x, w, counts, strides, rates, before):
    """The convolution in int64 or float64."""
    spatial = zip(x.shape[1:-1], w.shape[:-2], counts, strides, rates, before, strict=True)
    sizes = [max((c - 1) * s + (k - 1) * r + 1, n + b) for n, k, c, s, r, b in spatial]
    wide = np.zeros((x.shape[0], *sizes, x.shape[-1]), x.dtype)
    inside = tuple(slice(b, b + s) for b, s in zip(before, x.shape[1:-1], strict=True))
    wide[(slice(None), *inside)] = x
    groups = x.shape[-1] // w.shape[-2]
    each = w.shape[-1] // groups
    out = np.zeros((x.shape[0], *counts, w.shape[-1]), x.dtype)
    for tap in itertools.product(*map(range, w.shape[:-2])):
        cut = tuple(
            slice(t * r, t * r + (c - 1) * s + 1, s)
            for t, r, c, s in zip(tap, rates, counts, strides, strict=True)
        )
        part = wide[(slice(None), *cut)]
        for g in range(groups):
            ins, outs = (
                slice(g * w.shape[-2], (g + 1) * w.shape[-2]),
                slice(g * each, (g + 1) * each),
            )
            out[..., outs] += part[..., ins] @ w[tap][:, outs]
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_sums_and_what_flows_back(case, dtype):
    image, filters, *lie = case
    rng = np.random.default_rng(1)
    sizes = n.sizes_of(image, filters, *lie)
    outs = (image[0], *lie[0], filters[-1])
    x, w, g = (rng.integers(-4, 5, s) for s in (image, filters, outs))
    wanted = reference(x, w, *lie)
    given = [a.astype(dtype) for a in (x, w, g)]
    found = n.convolve(n.FORWARD, given[0], given[1], sizes, outs)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted.astype(dtype))
    to_image = n.convolve(n.TO_INPUT, given[1], given[2], sizes, image).astype(np.int64)
    to_filter = n.convolve(n.TO_FILTER, given[0], given[2], sizes, filters).astype(np.int64)
    assert (to_image * x).sum() == (to_filter * w).sum() == (wanted * g).sum()


def test_integers_wrap_around():
    x = np.full((1, 2, 2, 1), 1 << 30, np.int32)
    w = np.full((2, 2, 1, 1), 3, np.int32)
    sizes = n.sizes_of(x.shape, w.shape, (1, 1), (1, 1), (1, 1), (0, 0))
    assert n.convolve(n.FORWARD, x, w, sizes, (1, 1, 1, 1)).item() == 0


def test_other_dtypes_are_refused():
    x = np.ones((1, 2, 2, 1), np.int64)
    sizes = n.sizes_of(x.shape, (*x.shape[1:], 1), (1, 1), (1, 1), (1, 1), (0, 0))
    assert n.convolve(n.FORWARD, x, x, sizes, (1, 1, 1, 1)) is None


def test_arrays_that_are_not_dense():
    x = np.arange(72.0).reshape(1, 6, 6, 2).astype(np.float32)[:, ::2, :, ::-1]
    w = np.ones((1, 1, 2, 2), np.float32)
    sizes = n.sizes_of(x.shape, w.shape, (3, 6), (1, 1), (1, 1), (0, 0))
    found = n.convolve(n.FORWARD, x, w, sizes, (1, 3, 6, 2))
    np.testing.assert_array_equal(found[..., 1], x.sum(-1))
