"""Fuzzed products, convolutions and pooling, through the handlers, beside sums in float64."""

import itertools

import ml_dtypes
import numpy as np
from tests.ops.native_draws import assert_near, check_sums, compiled, each, result

from penstock.core import native, products
from penstock.core.kernels import KernelContext
from penstock.core.lazy import jax
from penstock.ops.kernels import cpu, cpu_conv

ACTIVATIONS = (lambda y: y, lambda y: np.maximum(y, 0), lambda y: np.clip(y, 0, 6))


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


def ignoring(function):
    """What NumPy says of NaN and infinity is wanted."""

    def run(draw, *more):
        with np.errstate(all="ignore"):
            function(draw, *more)

    return run


# products


def matrices(draw, lead_a=(), lead_b=(), special=0.3, none=0.1):
    m, n, k = draw.size(), draw.size(), draw.size(300 if draw.often(0.2) else 97)
    if draw.often(none):
        m, n = draw.one((0, n), (m, 0))
    adj_a, adj_b = draw.often(), draw.often()
    a = draw.floats(*lead_a, *((k, m) if adj_a else (m, k)), special=special)
    b = draw.floats(*lead_b, *((n, k) if adj_b else (k, n)), special=special)
    return a, b, adj_a, adj_b


def turned(a, adj):
    return a.swapaxes(-1, -2) if adj else a


def multiplied(a, b, adj_a, adj_b):
    left, right = wide(turned(a, adj_a), turned(b, adj_b))
    return left @ right, np.abs(left) @ np.abs(right), left.shape[-1]


@ignoring
def product(draw):
    count = draw.one(0, 1, 2, 5, 9)
    leads = ((), ()), ((count,), (count,)), ((count,), ()), ((2, count), (1, 1)), ((1, 2), (3, 1))
    a, b, adj_a, adj_b = matrices(draw, *draw.one(*leads))
    wanted, size, depth = multiplied(a, b, adj_a, adj_b)
    run = jax.jit(lambda a, b: [products.product(a, b, adj_a, adj_b)])
    check_sums(lambda: [np.asarray(x) for x in run(a, b)], [wanted], [size], depth)


@ignoring
def mapped_product(draw):
    count = draw.one(0, 1, 3)
    a, b, adj_a, adj_b = matrices(draw, (count,), draw.one((count,), ()), none=0)
    axes = (0, 0 if b.ndim == 3 else None)
    run = jax.jit(jax.vmap(lambda a, b: products.product(a, b, adj_a, adj_b), axes))
    wanted, size, depth = multiplied(a, b, adj_a, adj_b)
    check_sums(lambda: [np.asarray(run(a, b))], [wanted], [size], depth)


def finish(draw, run, arrays, wanted, size, gates=True):
    """A call with a bias, an array beside the result, a gate and an activation, or some of them."""
    uses, activation = draw.one(0, 1, 2, 3), draw.one(0, 1, 2)
    uses |= 4 * (gates and draw.often())
    bias, beside, gate = (draw.floats(*s) for s in (wanted.shape[-1:], wanted.shape, wanted.shape))
    held = [part if uses >> i & 1 else arrays[0] for i, part in enumerate((bias, beside, gate))]
    if uses & 1:
        wanted, size = wanted + bias, size + np.abs(bias)
    if uses & 2:
        wanted, size = wanted + beside, size + np.abs(beside)
    if uses & 4:
        wanted = np.where(gate > 0, wanted, 0)
    return run(held, uses, activation), ACTIVATIONS[activation](wanted), size


@ignoring
def finished_product(draw):
    a, b, adj_a, adj_b = matrices(draw, special=0, none=0)
    wanted, size, depth = multiplied(a, b, adj_a, adj_b)

    def run(held, uses, activation):
        return compiled(
            "finished_product", result(wanted.shape), a, b, *held,
            adj_a=np.bool_(adj_a), adj_b=np.bool_(adj_b), uses=np.int32(uses),
            activation=np.int32(activation),
        )  # fmt: skip

    call, finished, size = finish(draw, run, (a, b), wanted, size)
    check_sums(call, [finished], [size], depth)


# windows


def same_pads(size, taps, stride, dilation):
    """What "SAME" puts before and after: results for every `stride`-th pixel."""
    lacking = max((-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
    return lacking // 2, lacking - lacking // 2


class Windows:
    """A window over two or three axes that fits its images, in a layout."""

    def __init__(self, draw, axes, dilates=True, explicit=True, first=True):
        self.first = first and draw.often(0.3)
        self.layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[axes][self.first]
        steps = [draw.one(1, 1, 1, 2, 3, 7) for _ in range(axes)]
        self.strides = steps if draw.often(0.6) else [1] * axes
        spread = all(s == 1 for s in self.strides) or draw.often(0.3)
        self.dilations = [draw.one(1, 1, 2, 3) if dilates and spread else 1 for _ in range(axes)]
        self.taps = [draw.one(1, 2, 3, 3, 5) for _ in range(axes)]
        self.size = [draw.size(17 if axes == 2 else 7) for _ in range(axes)]
        kinds = ("SAME", "VALID", "EXPLICIT") if explicit and axes == 2 else ("SAME", "VALID")
        self.padding = draw.one(*kinds)
        rows = list(zip(self.size, self.taps, self.strides, self.dilations, strict=True))
        self.pads = [(0, 0)] * axes
        if self.padding == "SAME":
            self.pads = [same_pads(*row) for row in rows]
        if self.padding == "EXPLICIT":
            self.pads = [(draw.one(0, 1, 4), draw.one(0, 2, 6)) for _ in range(axes)]
        for i, (size, taps, _, dilation) in enumerate(rows):  # one result at least
            lacking = (taps - 1) * dilation + 1 - size - sum(self.pads[i])
            self.size[i] += max(lacking, 0) if self.padding != "SAME" else 0
        rows = zip(self.size, self.taps, self.strides, self.dilations, self.pads, strict=True)
        self.out = [(n + sum(p) - (k - 1) * d - 1) // s + 1 for n, k, s, d, p in rows]

    def attrs(self, **more):
        """As an operation has them."""

        def entries(numbers, other):
            numbers = list(numbers)
            return (other, other, *numbers) if self.first else (other, *numbers, other)

        pads = [n for pair in entries(self.pads, (0, 0)) for n in pair]
        return {
            "strides": entries(self.strides, 1), "dilations": entries(self.dilations, 1),
            "padding": self.padding, "data_format": self.layout,
            "explicit_paddings": tuple(pads) if self.padding == "EXPLICIT" else (), **more,
        }  # fmt: skip

    def placed(self, x):
        """An image with channels last, in the layout."""
        return np.moveaxis(x, -1, 1) if self.first else x

    def last(self, x):
        return np.moveaxis(x, 1, -1) if self.first else x

    def padded(self, x, fill=0.0):
        return np.pad(x, [(0, 0), *self.pads, (0, 0)], constant_values=fill)

    def each_tap(self):
        """Each tap, and the pixels of a padded image that it meets."""
        for tap in itertools.product(*map(range, self.taps)):
            rows = zip(tap, self.dilations, self.strides, self.out, strict=True)
            yield (
                tap,
                (slice(None), *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in rows)),
            )

    def inner(self, padded):
        """A padded image without its padding."""
        rows = zip(self.pads, self.size, strict=True)
        return padded[(slice(None), *(slice(b, b + n) for (b, _), n in rows))]


def grouped(x, groups):
    return x.reshape(*x.shape[:-1], groups, -1)


def convolved(w, x, filters, groups):
    """The convolution in float64; filters[taps..., in / groups, out]."""
    x, total = w.padded(x), 0.0
    for tap, pixels in w.each_tap():
        part = filters[tap].reshape(filters.shape[-2], groups, -1)
        total = total + np.einsum("...gi,igo->...go", grouped(x[pixels], groups), part)
    return total.reshape(*total.shape[:-2], -1)


def input_grad(w, filters, dy, groups, shape):
    found = np.zeros(w.padded(np.zeros(shape)).shape)
    for tap, pixels in w.each_tap():
        part = filters[tap].reshape(filters.shape[-2], groups, -1)
        one = np.einsum("...go,igo->...gi", grouped(dy, groups), part)
        found[pixels] += one.reshape(*one.shape[:-2], -1)
    return w.inner(found)


def filter_grad(w, x, dy, groups, shape):
    found, x = np.zeros(shape), w.padded(x)
    for tap, pixels in w.each_tap():
        left, right = grouped(x[pixels], groups), grouped(dy, groups)
        axes = "abc"[: x.ndim - 2]
        found[tap] = np.einsum(f"n{axes}gi,n{axes}go->igo", left, right).reshape(shape[-2:])
    return found


def images(draw, w, most=65):
    """Images, a filter and a gradient that fit a window, channels last, and how many groups."""
    groups = draw.one(1, 1, 1, 2, 3, 8)
    inner, outer = draw.size(most // groups), draw.size(most // groups)
    if draw.often(0.2):
        groups, inner, outer = draw.size(most), 1, draw.one(1, 1, 2, 3)
    count = draw.one(1, 2, 3)
    x = draw.floats(count, *w.size, groups * inner, special=0.2)
    filters = draw.floats(*w.taps, inner, groups * outer)
    dy = draw.floats(count, *w.out, groups * outer, special=0.2)
    return x, filters, dy, groups


def of_sizes(function, *arrays):
    return function(*wide(*arrays)), function(*(np.abs(a) for a in wide(*arrays)))


@ignoring
def conv(draw, axes=2):
    w = Windows(draw, axes)
    x, filters, dy, groups = images(draw, w, 65 if axes == 2 else 17)
    ctx = KernelContext("test", w.attrs(), None)
    sizes = np.array(w.placed(x).shape)
    one_of = all(s == 1 for s in w.strides) or all(d == 1 for d in w.dilations)

    def both(x, filters, dy):
        found = [cpu_conv.conv(ctx, x, filters)]
        found.append(cpu_conv.conv_filter_grad(ctx, x, np.array(filters.shape), dy))
        return [*found, cpu_conv.conv_input_grad(ctx, sizes, filters, dy)] if one_of else found

    depth = np.prod(filters.shape[:-1])
    pixels = np.prod([x.shape[0], *w.out])
    parts = [
        (of_sizes(lambda x, f: convolved(w, x, f, groups), x, filters), depth),
        (of_sizes(lambda x, d: filter_grad(w, x, d, groups, filters.shape), x, dy), pixels),
    ]
    if one_of:
        grad = of_sizes(lambda f, d: input_grad(w, f, d, groups, x.shape), filters, dy)
        parts.append((grad, depth * filters.shape[-1] / filters.shape[-2]))
    run = jax.jit(both)
    given = w.placed(x), filters, w.placed(dy)
    for found in each(lambda: [np.asarray(a) for a in run(*given)]):
        for i, (got, ((wanted, size), sums)) in enumerate(zip(found, parts, strict=True)):
            assert_near(got if i == 1 else w.last(got), wanted, size, 8 + 2 * np.sqrt(sums))


def conv_over_three_axes(draw):
    conv(draw, 3)


@ignoring
def finished_conv(draw):
    w = Windows(draw, 2, first=False)
    x, filters, dy, groups = images(draw, w)
    x, dy = np.nan_to_num(x, posinf=1, neginf=1), np.nan_to_num(dy, posinf=1, neginf=1)
    window = np.array([*w.strides, *w.dilations, *(b for b, _ in w.pads)], np.int64)
    wanted, size = of_sizes(lambda x, f: convolved(w, x, f, groups), x, filters)

    def run(held, uses, activation):
        attrs = {"window": window, "uses": np.int32(uses), "activation": np.int32(activation)}
        return compiled("finished_conv", result(wanted.shape), x, filters, *held[:2], **attrs)

    call, finished, size = finish(draw, run, (x, filters), wanted, size, gates=False)
    check_sums(call, [finished], [size], np.prod(filters.shape[:-1]))
    met = all(k >= s for k, s in zip(w.taps, w.strides, strict=True))
    if not met or not (all(s == 1 for s in w.strides) or all(d == 1 for d in w.dilations)):
        return
    wanted, size = of_sizes(lambda f, d: input_grad(w, f, d, groups, x.shape), filters, dy)
    beside, gate = draw.floats(*x.shape), draw.floats(*x.shape)
    attrs = {"window": window, "uses": np.int32(6)}
    call = compiled("finished_conv_input_grad", result(x.shape), filters, dy, beside, gate, **attrs)
    wanted, depth = np.where(gate > 0, wanted + beside, 0), np.prod(w.taps) * filters.shape[-1]
    check_sums(call, [wanted], [size + np.abs(beside)], depth)


@ignoring
def pool(draw):
    w = Windows(draw, 2, dilates=False, explicit=False, first=False)
    x = draw.floats(draw.one(0, 1, 2, 3), *w.size, draw.size(130))
    if draw.often():
        x = np.round(x)  # ties
    dy = draw.floats(x.shape[0], *w.out, x.shape[-1])
    ctx = KernelContext("test", w.attrs(ksize=(1, *w.taps, 1)), None)
    sizes = np.array(x.shape)

    def all_of(x, dy):
        largest, mean = cpu.max_pool(ctx, x), cpu.avg_pool(ctx, x)
        by_largest = cpu.max_pool_grad(ctx, x, largest, dy)
        return [largest, mean, by_largest, cpu.avg_pool_grad(ctx, sizes, dy)]

    wanted, size = pooled(w, *wide(x, dy)), pooled(w, *(np.abs(a) for a in wide(x, dy)))
    size[0], size[2] = np.abs(wanted[0]), pooled_grads(w, *wide(x, np.abs(dy)))[0]
    run = jax.jit(all_of)
    check_sums(lambda: [np.asarray(a) for a in run(x, dy)], wanted, size, np.prod(w.taps))


def pooled(w, x, dy):
    """The largest and the mean of each window, and the gradients of both."""
    padded = w.padded(x, -np.inf)
    parts = np.stack([padded[pixels] for _, pixels in w.each_tap()])
    counts = np.maximum(np.isfinite(parts).sum(0), 1)
    mean = np.where(np.isfinite(parts), parts, 0).sum(0) / counts
    return [parts.max(0), mean, *pooled_grads(w, x, dy)]


def pooled_grads(w, x, dy):
    """Gradients of the largest, which the first of equal ones gets, and of the mean."""
    padded, inside = w.padded(x, -np.inf), w.padded(np.ones(x.shape))
    top = np.stack([padded[pixels] for _, pixels in w.each_tap()]).max(0)
    counts = np.maximum(sum(inside[pixels] for _, pixels in w.each_tap()), 1)
    by_top, by_mean, left = np.zeros(padded.shape), np.zeros(padded.shape), dy.copy()
    for _, pixels in w.each_tap():
        mine = padded[pixels] == top
        by_top[pixels] += np.where(mine, left, 0)
        left = np.where(mine, 0, left)
        by_mean[pixels] += dy / counts * inside[pixels]
    return [w.inner(by_top), w.inner(by_mean)]


# bfloat16 and bytes


def dot_sets(run):
    library = native.state().library
    before = library.penstock_dot_isa()
    try:
        for name in (b"amx", b"vnni"):
            if library.penstock_use_dot_isa(name):
                yield run()
    finally:
        library.penstock_use_dot_isa(before)


def sides(draw, left, right):
    """Both sides of a kind of numbers, and the dtype of their sums."""
    if draw.often():
        half = ml_dtypes.bfloat16
        return draw.floats(*left).astype(half), draw.floats(*right).astype(half), half
    kind = draw.one(np.int8, np.uint8)
    bounds = np.iinfo(kind)
    a = draw.rng.integers(bounds.min, bounds.max, left, kind, endpoint=True)
    return a, draw.rng.integers(-128, 127, right, np.int8, endpoint=True), np.int32


def check_dot(run, wanted, size, dtype):
    for found in each(run, dot_sets):
        if dtype is np.int32:
            np.testing.assert_array_equal(found[0], wanted.astype(np.int64).astype(np.int32))
        else:
            error = np.abs(found[0].astype(np.float64) - wanted)
            assert (error <= np.abs(wanted) * 2.0**-8 + size * 2.0**-20).all()


def dot_product(draw):
    count, (m, n, k), adj = draw.one(0, 1, 2, 9), (draw.size() for _ in "mnk"), draw.often()
    lead_a, lead_b = draw.one(((), ()), ((count,), (count,)), ((count,), (1,)), ((1,), (count,)))
    a, b, dtype = sides(draw, (*lead_a, m, k), (*lead_b, *((n, k) if adj else (k, n))))
    wanted, size, _ = multiplied(a, b, False, adj)
    run = compiled("dot_product", result(wanted.shape, dtype), a, b, adj_b=np.bool_(adj))
    check_dot(run, wanted, size, dtype)


def dot_conv(draw):
    w = Windows(draw, 2, first=False)
    channels, filters = draw.size(65), draw.size(65)
    count = draw.one(1, 2, 3)
    x, f, dtype = sides(draw, (count, *w.size, channels), (*w.taps, channels, filters))
    window = np.array([*w.strides, *w.dilations, *(b for b, _ in w.pads)], np.int64)
    wanted, size = of_sizes(lambda x, f: convolved(w, x, f, 1), x, f)
    run = compiled("dot_conv", result(wanted.shape, dtype), x, f, window=window)
    check_dot(run, wanted, size, dtype)


CASES = {
    "product": product,
    "mapped product": mapped_product,
    "finished product": finished_product,
    "convolution": conv,
    "convolution over three axes": conv_over_three_axes,
    "finished convolution": finished_conv,
    "pooling": pool,
    "product of bfloat16 and bytes": dot_product,
    "convolution of bfloat16 and bytes": dot_conv,
}
