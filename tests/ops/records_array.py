"""Records of array operations: shapes, order, joins, slices, fills."""

import numpy as np
from tests.ops.harness import (
    COMPLEX,
    FLOATS,
    HALVES,
    SIGNED,
    UNSIGNED,
    Failure,
    Record,
    case,
    normal,
    unary_cases,
)

from penstock import errors
from penstock.ops import array_bands, array_split, array_tile
from penstock.ops import array_basics as b
from penstock.ops import array_diag as g
from penstock.ops import array_fill as f
from penstock.ops import array_identity as i
from penstock.ops import array_join as j
from penstock.ops import array_order as o
from penstock.ops import array_pad as p
from penstock.ops import array_shape as s
from penstock.ops import array_space as sp
from penstock.types import dtypes as dt

ALL = (*FLOATS, *HALVES, *SIGNED, *UNSIGNED, *COMPLEX, "bool")
STRINGS = ("string",)
BAD = errors.InvalidArgumentError


def ints(*values):
    return np.array(values, np.int32)


def same(x, *rest, **attrs):
    return x


def identities():
    return [
        Record("Identity", unary_cases(normal()), same, b.identity, ALL, differentiable=(0,)),
        Record("Identity", unary_cases(normal()), same, b.identity, STRINGS, compiled=False),  # no strings there
        Record("IdentityN", [case([normal(2, 3), normal()]), case([normal(0), normal(1)])], lambda xs: xs, b.identity_n, differentiable=(0, 1)),
        Record("StopGradient", unary_cases(normal()), same, i.stop_gradient, ALL),
        Record("PreventGradient", unary_cases(normal()), same, i.prevent_gradient, ALL),
        Record("Snapshot", unary_cases(normal()), same, dtypes=ALL, differentiable=(0,)),
        Record("Copy", unary_cases(normal()), same, dtypes=ALL, differentiable=(0,)),
        Record("CopyHost", unary_cases(normal()), same, dtypes=ALL, differentiable=(0,)),
        Record("DeepCopy", unary_cases(normal()), same, dtypes=ALL, differentiable=(0,)),
        Record("GuaranteeConst", unary_cases(normal()), same, i.guarantee_const, ALL, differentiable=(0,)),
        Record("DebugGradientIdentity", unary_cases(normal()), same, dtypes=ALL, differentiable=(0,)),
        Record("PlaceholderWithDefault", [case(normal(2, 3), shape=(None, 3))], same, b.placeholder_with_default, ALL, differentiable=(0,), compiled=False),  # eagerly nothing is fed: the function gives its input
        Record("EnsureShape", [case(normal(2, 3), shape=(2, None)), case(normal(), shape=())], same, s.ensure_shape, ALL, differentiable=(0,),
               errors=(Failure((normal(2, 3),), r"\(2, 3\)", {"shape": (None, 4)}),)),
        Record("CheckNumerics", unary_cases(normal()), same, lambda x: i.check_numerics(x, "m"), (*FLOATS, *HALVES), differentiable=(0,),
               errors=(Failure((np.float32([1, np.nan]),), "m : Tensor had NaN values", graph=BAD),
                       Failure((np.float32([-np.inf]),), "m : Tensor had Inf values", graph=BAD))),
        Record("CheckNumericsV2", unary_cases(normal()), same, lambda x: b.execute("CheckNumericsV2", (x,), {"message": "m"}), (*FLOATS, *HALVES),
               differentiable=(0,), errors=(Failure((np.float32([-np.inf, np.nan]),), "m : Tensor had -Inf and NaN values", graph=BAD),)),
    ]  # fmt: skip


def sizes():
    shapes = [(2, 3), (), (0, 3)]
    return [
        Record("Shape", unary_cases(normal()), lambda x, **a: ints(*x.shape), lambda x: b.execute("Shape", (x,)), ALL, result_dtype="int32"),
        Record(".shape", unary_cases(normal(), out_type=dt.int64), lambda x, **a: np.int64(x.shape), b.shape, result_dtype="int64"),
        Record("ShapeN", [case([normal(2, 3), normal(), normal(0)])], lambda xs: [ints(*x.shape) for x in xs], s.shape_n, result_dtype="int32"),
        Record("Size", [case(normal(*n)) for n in shapes], lambda x: np.int32(x.size), s.size, ALL, result_dtype="int32"),
        Record("Rank", [case(normal(*n)) for n in shapes], lambda x: np.int32(x.ndim), s.rank, ALL, result_dtype="int32"),
        Record("Reshape", [case(normal(2, 3), ints(3, -1)), case(normal(), ints(1)), case(normal(0, 3), ints(3, 0)), case(normal(4), ints(2, 1, 2))],
               lambda x, n: x.reshape(n), b.reshape, ALL, differentiable=(0,),
               errors=(Failure((normal(6), ints(4)), "6 elements"), Failure((normal(6), ints(-1, 4)), "divide"),
                       Failure((normal(6), ints(-1, -1)), "at most one -1", graph=BAD), Failure((normal(2), ints(-1, 0)), "divide"))),
        Record("ExpandDims", [case(normal(2, 3), np.int32(1)), case(normal(), np.int32(-1)), case(normal(2, 0), np.int32(-3)), case(normal(2), np.int32(1))],
               lambda x, a: np.expand_dims(x, int(a)), s.expand_dims, ALL, differentiable=(0,),
               errors=(Failure((normal(2), np.int32(2)), r"axis in \[-2, 1\]"), Failure((normal(2), np.int32(-3)), r"axis in \[-2, 1\]"))),
        Record("Squeeze", [case(normal(1, 2, 1), axis=[0]), case(normal(1, 2, 1)), case(normal(1), axis=-1), case(normal(1, 0), axis=[0])],
               lambda x, axis=None: np.squeeze(x, None if axis is None else tuple(np.ravel(axis))), s.squeeze, ALL, differentiable=(0,),
               errors=(Failure((normal(2, 1),), "size 1 along axis 0", {"axis": [0]}),)),
        Record("BroadcastTo", [case(normal(3), ints(2, 3)), case(normal(2, 1), ints(2, 4)), case(normal(), ints()), case(normal(1), ints(0))],
               lambda x, n: np.broadcast_to(x, n), s.broadcast_to, ALL, differentiable=(0,),
               errors=(Failure((normal(3), ints(2, 4)), "broadcasts"), Failure((normal(1, 3), ints(3)), "rank at least 2"))),
        Record("BroadcastArgs", [case(ints(2, 1), ints(3)), case(ints(), ints(2)), case(ints(1), ints(0))],
               lambda x, y: ints(*np.broadcast_shapes(tuple(x), tuple(y))), s.broadcast_dynamic_shape, ("int32",), compiled=False,  # host: small
               errors=(Failure((ints(2), ints(3)), "broadcast", graph=BAD),)),
        Record("BroadcastGradientArgs", [case(ints(2, 1), ints(3)), case(ints(2, 3), ints(2, 3)), case(ints(), ints(2))],
               gradient_args, dtypes=("int32",), compiled=False),  # host: the number of axes depends on the values
    ]  # fmt: skip


def gradient_args(x, y):
    rank = max(len(x), len(y))
    a, c = [1] * (rank - len(x)) + list(x), [1] * (rank - len(y)) + list(y)
    return [ints(*[k for k in range(rank) if v[k] == 1]) for v in (a, c)]


def orders():
    lengths = np.int64([2, 0])

    def sequences(x, n):
        x = x.copy()
        for row, count in enumerate(n):
            x[row, :count] = x[row, :count][::-1]
        return x

    return [
        Record("Transpose", [case(normal(2, 3, 4), ints(2, 0, 1)), case(normal(2, 3), ints(-1, 0)), case(normal(), ints()), case(normal(0, 2), ints(1, 0))],
               lambda x, q: np.transpose(x, q), o.transpose, ALL, differentiable=(0,),
               errors=(Failure((normal(2, 3), ints(0, 0)), "permutation", graph=BAD), Failure((normal(2, 3), ints(0)), "permutation of 2 axes"))),
        Record("ConjugateTranspose", [case(normal(2, 3), ints(1, 0))], lambda x, q: np.conj(np.transpose(x, q)), dtypes=("complex64", *FLOATS),
               differentiable=(0,), grad_dtype="complex128"),
        Record(".matrix_transpose", [case(normal(2, 3, 4)), case(normal(1, 0))], lambda x: np.swapaxes(x, -1, -2), o.matrix_transpose, differentiable=(0,)),
        Record("InvertPermutation", [case(ints(2, 0, 1)), case(ints())], np.argsort, o.invert_permutation, ("int32",),
               errors=(Failure((ints(0, 0),), "each of 0 to 1 once", graph=BAD), Failure((ints(0, 2),), "each of 0 to 1 once", graph=BAD))),
        Record("ReverseV2", [case(normal(2, 3), ints(1)), case(normal(2, 3), ints(0, -1)), case(normal(2), ints()), case(normal(0, 1), ints(0))],
               lambda x, a: np.flip(x, tuple(a)), o.reverse, ALL, differentiable=(0,),
               errors=(Failure((normal(2), ints(1)), r"axis in the range \[-1, 1\), but got 1"), Failure((normal(2, 2), ints(0, -2)), "each axis once"))),
        Record("Reverse", [case(normal(2, 3), np.array([False, True]))], lambda x, m: np.flip(x, tuple(np.flatnonzero(m))), dtypes=ALL, differentiable=(0,)),
        Record("ReverseSequence", [case(normal(2, 3), lengths), case(normal(1, 3, 2), lengths[:1])], sequences,
               lambda x, n: o.reverse_sequence(x, n, seq_axis=1), ALL, differentiable=(0,),
               errors=(Failure((normal(2, 3), np.int64([4, 0])), r"in \[0, 3\]", graph=BAD),)),
        Record("Roll", [case(normal(2, 3), np.int32(1), np.int32(1)), case(normal(2, 3), ints(1, -2), ints(0, 1)), case(normal(0), np.int32(3), np.int32(0))],
               lambda x, n, a: np.roll(x, tuple(np.ravel(n)), tuple(np.ravel(a))), o.roll, ALL, differentiable=(0,),
               errors=(Failure((normal(2), np.int32(1), np.int32(1)), r"axis in \[-1, 1\)", graph=BAD),)),
    ]  # fmt: skip


def joins():
    return [
        Record("Pack", [case([normal(2, 3)] * 3, axis=1), case([normal()] * 2), case([normal(0)] * 2, axis=-1), case([normal(2)])],
               lambda xs, axis=0: np.stack(xs, axis), j.stack, ALL, differentiable=(0,),
               errors=(Failure(([normal(2), normal(3)],), "must match: .*2.*3|are 2 and 3"),)),
        Record("Unpack", [case(normal(2, 3), axis=1), case(normal(2)), case(normal(2, 0), axis=-2)],
               lambda x, axis=0: [np.take(x, k, axis) for k in range(x.shape[axis])],
               lambda x, axis=0: j.unstack(x, {1: 3}.get(axis, 2) if x.dims is None or None in x.dims else None, axis), ALL, differentiable=(0,)),
        Record("ConcatV2", [case([normal(2, 3), normal(2, 1)], np.int32(1)), case([normal(2), normal(0), normal(3)], np.int32(-1))],
               lambda xs, a: np.concatenate(xs, a), j.concat, ALL, differentiable=(0, 1),
               errors=(Failure(([normal(2, 3), normal(3, 3)], np.int32(1)), "equal sizes"), Failure(([normal(2), normal(2)], np.int32(1)), r"concatenating dimensions in the range \[-1, 1\)"),
                       Failure(([normal(), normal()], np.int32(0)), "use tf.stack"))),
        Record("Concat", [case(np.int32(1), [normal(2, 3), normal(2, 1)])], lambda a, xs: np.concatenate(xs, a), dtypes=ALL, differentiable=(1, 2)),
        Record("ConcatOffset", [case(np.int32(1), [ints(2, 3), ints(2, 4)])], lambda a, xs: [ints(0, 0), ints(0, 3)], dtypes=("int32",), compiled=False),
        Record("ParallelConcat", [case([normal(1, 3)] * 2, shape=(2, 3))], lambda xs, shape: np.concatenate(xs), dtypes=ALL),
        Record("Split", [case(normal(2, 4), 2, 1), case(normal(3), 3), case(normal(0, 2), 2, -1)], lambda x, n, a=0: np.split(x, n, a), array_split.split, ALL,
               differentiable=(0,), errors=(Failure((normal(3), 2), "2 divides"),)),
        Record("SplitV", [case(normal(2, 4), ints(1, 3), 1), case(normal(3), ints(-1, 2)), case(normal(2), ints(2, 0))],
               lambda x, n, a=0: np.split(x, np.cumsum(np.where(n < 0, x.shape[a] - n[n >= 0].sum(), n))[:-1], a),
               lambda x, n, a=0: array_split.split(x, n, a, num=2), ALL, differentiable=(0,),
               errors=(Failure((normal(3), ints(1, 1)), "add up to 3"), Failure((normal(3), ints(-1, -1)), "at most one -1"))),
        Record("Tile", [case(normal(2, 3), ints(2, 1)), case(normal(), ints()), case(normal(2), ints(0)), case(normal(0), ints(3))],
               lambda x, n: np.tile(x, n), array_tile.tile, ALL, differentiable=(0,), errors=(Failure((normal(2), ints(1, 2)), "1 multiples"),)),
        Record(".repeat", [case(normal(2, 3), ints(2, 0, 1), 1), case(normal(2, 3), 2), case(normal(2, 3), np.int32(3), 0)],
               np.repeat, array_tile.repeat),
        Record(".meshgrid", [case(normal(2), normal(3)), case(normal(2), normal(1), normal(3), indexing="ij"), case(normal(0), normal(2))],
               lambda *xs, indexing="xy": np.meshgrid(*xs, indexing=indexing), array_tile.meshgrid, differentiable=(0, 1), order=1),
    ]  # fmt: skip


def fills():
    return [
        Record("FakeParam", [case(dtype=dt.float32, shape=s) for s in ((2,), (None, 3), None)],
               lambda dtype, shape: np.zeros([n or 0 for n in shape or ()]), dtypes=("float32",)),
        Record("Fill", [case(ints(2, 3), normal()), case(ints(), normal()), case(ints(0, 2), normal())], lambda n, x: np.full(n, x), f.fill, ALL,
               differentiable=(1,), errors=(Failure((ints(-1), normal()), "sizes >= 0"), Failure((ints(1), normal(2)), "rank 0"))),
        Record("ZerosLike", unary_cases(normal()), np.zeros_like, f.zeros_like, ALL, differentiable=(0,)),
        Record("OnesLike", unary_cases(normal()), np.ones_like, lambda x: b.execute("OnesLike", (x,)), ALL, differentiable=(0,)),
        Record("Empty", [case(ints(2, 3), dtype=dt.float32)], lambda n, dtype: np.zeros(n, np.float32)),
        Record("OneHot", [case(ints(0, 2, -1), 3), case(ints(1), 2, axis=0), case(np.int32(1), 2), case(np.zeros((0,), np.int32), 2)],
               lambda x, n, axis=-1: np.moveaxis(np.float32(x[..., None] == np.arange(n)), -1, axis), f.one_hot,
               errors=(Failure((ints(0), -1), "depth >= 0"),)),
        Record(".sequence_mask", [case(ints(1, 3, 0)), case(ints(1, 3), 2)], lambda n, m=None: np.arange(max(n) if m is None else m) < n[:, None],
               f.sequence_mask, result_dtype="bool"),
        Record(".eye", [case(2), case(2, 3), case(0, batch_shape=[2])],
               lambda n, m=None, batch_shape=(): np.broadcast_to(np.eye(n, m), (*batch_shape, n, n if m is None else m)), f.eye, graph=False),  # no inputs
        Record("Pad", [case(normal(2, 3), np.int32([[1, 0], [0, 2]])), case(normal(), np.zeros((0, 2), np.int32)), case(normal(0), np.int32([[1, 1]]))],
               lambda x, n: np.pad(x, n) if x.ndim else x, p.pad, ALL, differentiable=(0,),
               errors=(Failure((normal(2), np.int32([[1, -1]])), "paddings >= 0"), Failure((normal(2), np.int32([[1, 1], [0, 0]])), r"\(1, 2\)"))),
        Record("PadV2", [case(normal(2, 3), np.int32([[1, 0], [0, 2]]), normal()), case(normal(0), np.int32([[1, 1]]), normal())],
               lambda x, n, v: np.pad(x, n, constant_values=v), lambda x, n, v: p.pad(x, n, constant_values=v), ALL, differentiable=(0, 2)),
        *[Record("MirrorPad", [case(normal(3, 4), np.int32([[1, 2], [0, 3]]), mode=m), case(normal(3), np.int32([[2, 0]]), mode=m)],
                 lambda x, n, mode: np.pad(x, n, mode.lower()), p.pad, ALL, differentiable=(0,),
                 errors=(Failure((normal(2), np.int32([[3, 0]])), "at most", {"mode": m}, graph=BAD),)) for m in ("REFLECT", "SYMMETRIC")],
        Record("MirrorPadGrad", [case(normal(5), np.int32([[1, 1]]), mode="SYMMETRIC"), case(normal(5, 2), np.int32([[1, 1], [0, 0]]), mode="REFLECT")],
               mirrored, dtypes=FLOATS, differentiable=(0,)),
    ]  # fmt: skip


def mirrored(x, n, mode):
    """For paddings of one on either side of the first axis."""
    inner = x[1:-1].copy()
    at = 0 if mode == "SYMMETRIC" else 1
    inner[at] += x[0]
    inner[-1 - at] += x[-1]
    return inner


def diagonals():
    def diag(d, *rest):
        return (
            d[..., None] * np.eye(d.shape[-1], dtype=d.dtype)
            if d.dtype != bool
            else d[..., None] & np.eye(d.shape[-1], dtype=bool)
        )

    def set_main(x, d, *rest):
        x = x.copy()
        n = d.shape[-1]
        x[..., np.arange(n), np.arange(n)] = d
        return x

    def band(x, low, high):
        d = np.arange(x.shape[-2])[:, None] - np.arange(x.shape[-1])
        return np.where(
            ((low < 0) | (d <= low)) & ((high < 0) | (-d <= high)), x, np.zeros((), x.dtype)
        )

    k, minus = np.int32(0), np.int32(-1)
    main = [case(normal(3)), case(normal(2, 2)), case(normal(1)), case(normal(0, 2))]
    many = np.int32([-1, 1])

    def diag_v3(d):
        return b.execute("MatrixDiagV2", (d, k, minus, minus, f.zeros([], d.dtype)))

    return [
        Record("MatrixDiag", main, diag, dtypes=ALL, differentiable=(0,)),
        Record("MatrixDiagV2", main, diag, diag_v3, ALL, differentiable=(0,)),
        Record("MatrixDiagV3", main, diag, g.diag, ALL, differentiable=(0,)),
        Record("MatrixDiagPart", [case(normal(2, 3, 2)), case(normal(1, 1)), case(normal(0, 2, 2))], lambda x: np.diagonal(x, axis1=-2, axis2=-1), dtypes=ALL,
               differentiable=(0,)),
        Record("MatrixDiagPartV2", [case(normal(2, 3, 2)), case(normal(1, 1))], lambda x: np.diagonal(x, axis1=-2, axis2=-1),
               lambda x: b.execute("MatrixDiagPartV2", (x, k, f.zeros([], x.dtype))), ALL, differentiable=(0,)),
        Record("MatrixDiagPartV3", [case(normal(2, 3, 2)), case(normal(3, 3), k=1), case(normal(3, 4), k=-2)],
               lambda x, k=0: np.diagonal(x, k, -2, -1), g.diag_part, ALL, differentiable=(0,),
               errors=(Failure((normal(2, 2),), "diagonals in", {"k": 2}),)),
        Record("MatrixSetDiag", [case(normal(2, 3, 2), normal(2, 2)), case(normal(1, 1), normal(1))], set_main, dtypes=ALL, differentiable=(0, 1)),
        Record("MatrixSetDiagV2", [case(normal(2, 3, 2), normal(2, 2), k)], set_main, dtypes=ALL, differentiable=(0, 1)),
        Record("MatrixSetDiagV3", [case(normal(2, 3, 2), normal(2, 2)), case(normal(1, 1), normal(1))], set_main, g.set_diag, ALL, differentiable=(0, 1),
               errors=(Failure((normal(2, 2), normal(3)), r"shape \(2,\)", graph=BAD),)),
        Record(".diag_part", [case(normal(3, 4), k=many), case(normal(3, 4), k=many, align="LEFT_RIGHT")], bands, g.diag_part, differentiable=(0,)),
        Record(".diag", [case(normal(3, 3), k=many), case(normal(3, 3), k=many, num_cols=4, align="LEFT_LEFT")], lambda d, **a: from_bands(d, **a), g.diag,
               differentiable=(0,)),
        Record("MatrixBandPart", [case(normal(2, 4, 3), np.int64(1), np.int64(0)), case(normal(3, 3), np.int64(-1), np.int64(1)), case(normal(0, 2), np.int64(0), np.int64(-1))],
               band, array_bands.band_part, ALL, differentiable=(0,)),
        Record("Diag", [case(normal(3)), case(normal(2, 2))], lambda d: np.diag(d.ravel()).reshape(d.shape * 2), array_bands.tensor_diag, (*FLOATS, "int32", *COMPLEX),
               differentiable=(0,)),
        Record("DiagPart", [case(normal(3, 3)), case(normal(2, 3, 2, 3))],
               lambda x: np.diagonal(x.reshape(int(x.size**0.5), -1)).reshape(x.shape[: x.ndim // 2]), array_bands.tensor_diag_part, (*FLOATS, "int32", *COMPLEX),
               differentiable=(0,), errors=(Failure((normal(2, 2, 2),), "even rank"),)),
        Record(".trace", [case(normal(2, 3, 3)), case(normal(2, 3))], lambda x: np.trace(x, axis1=-2, axis2=-1), g.trace, differentiable=(0,)),
    ]  # fmt: skip


def bands(x, k, align="RIGHT_LEFT"):
    """The diagonals of one matrix as rows."""
    found = [np.diagonal(x, n) for n in range(k[1], k[0] - 1, -1)]
    width = max(map(len, found))
    right = [(align.split("_")[0 if n >= 0 else 1] == "RIGHT") for n in range(k[1], k[0] - 1, -1)]
    return np.stack(
        [
            np.pad(d, (width - len(d), 0) if r else (0, width - len(d)))
            for d, r in zip(found, right, strict=True)
        ]
    )


def from_bands(d, k, num_cols=-1, align="RIGHT_LEFT"):
    cols = d.shape[-1] if num_cols < 0 else num_cols
    result = np.zeros((d.shape[-1], cols), d.dtype)
    for row, n in enumerate(range(k[1], k[0] - 1, -1)):
        length = len(np.diagonal(result, n))
        right = align.split("_")[0 if n >= 0 else 1] == "RIGHT"
        values = d[row, d.shape[-1] - length :] if right else d[row, :length]
        result += (
            np.diag(values, n)[: result.shape[0], : result.shape[1]]
            if cols == d.shape[-1]
            else np.pad(np.diag(values, n), ((0, 4), (0, 4)))[: result.shape[0], :cols]
        )
    return result


def spaces():
    def to_depth(x, block_size):
        n, h, w, c = x.shape
        k = block_size
        return (
            x.reshape(n, h // k, k, w // k, k, c)
            .transpose(0, 1, 3, 2, 4, 5)
            .reshape(n, h // k, w // k, k * k * c)
        )

    def to_space(x, block_size):
        n, h, w, c = x.shape
        k = block_size
        return (
            x.reshape(n, h, w, k, k, c // k // k)
            .transpose(0, 1, 3, 2, 4, 5)
            .reshape(n, h * k, w * k, c // k // k)
        )

    def to_batch(x, block, pads):
        x = np.pad(x, [(0, 0), *map(tuple, pads), (0, 0)])
        return np.concatenate(
            [x[:, r :: block[0], c :: block[1]] for r in range(block[0]) for c in range(block[1])]
        )

    def from_batch(x, block, crops):
        parts = np.split(x, block[0] * block[1])
        n, h, w, c = parts[0].shape
        out = np.zeros((n, h * block[0], w * block[1], c), x.dtype)
        for at, part in enumerate(parts):
            out[:, at // block[1] :: block[0], at % block[1] :: block[1]] = part
        return out[
            :, crops[0][0] : out.shape[1] - crops[0][1], crops[1][0] : out.shape[2] - crops[1][1]
        ]

    block, edge = ints(2, 3), np.int32([[1, 0], [0, 1]])

    def square(function):
        return lambda x, n, block_size: function(x, [block_size] * 2, n)

    return [
        Record("SpaceToDepth", [case(normal(2, 4, 6, 3), block_size=2), case(normal(0, 2, 2, 1), block_size=2)], to_depth, sp.space_to_depth, ALL,
               differentiable=(0,), errors=(Failure((normal(1, 3, 2, 1),), "2 divides", {"block_size": 2}),)),
        Record("DepthToSpace", [case(normal(2, 2, 3, 8), block_size=2)], to_space, sp.depth_to_space, ALL, differentiable=(0,),
               errors=(Failure((normal(1, 2, 2, 3),), "4 divides", {"block_size": 2}),)),
        Record(".space_to_depth", [case(normal(2, 3, 4, 6))], lambda x: to_depth(x.transpose(0, 2, 3, 1), 2).transpose(0, 3, 1, 2),
               lambda x: sp.space_to_depth(x, 2, "NCHW"), differentiable=(0,)),
        Record("SpaceToBatchND", [case(normal(2, 3, 5, 2), block, edge)], to_batch, sp.space_to_batch_nd, ALL, differentiable=(0,),
               errors=(Failure((normal(1, 3, 5, 1), ints(2, 2), np.int32([[0, 0], [0, 0]])), "divide"),)),
        Record("BatchToSpaceND", [case(normal(12, 2, 2, 1), block, edge)], from_batch, sp.batch_to_space, ALL, differentiable=(0,),
               errors=(Failure((normal(5, 1, 1, 1), block, edge), "6 divides"),)),
        Record("SpaceToBatch", [case(normal(1, 3, 4, 2), np.int32([[1, 0], [0, 0]]), block_size=2)], square(to_batch), dtypes=ALL, differentiable=(0,)),
        Record("BatchToSpace", [case(normal(4, 2, 2, 1), edge, block_size=2)], square(from_batch), dtypes=ALL, differentiable=(0,)),
    ]  # fmt: skip


TESTED_ELSEWHERE = [
    Record(op, tested_by="tests/ops/test_array.py")
    for op in ("Const", "Placeholder", "NoOp", "Timestamp")
]
TESTED_ELSEWHERE += [
    Record(op, tested_by="tests/ops/test_debugging.py")
    for op in (
        "Assert",
        "PrintV2",
        "Print",
        "StringFormat",
        "EagerPyFunc",
        "PyFunc",
        "PyFuncStateless",
    )
]
RECORDS = [
    *identities(),
    *sizes(),
    *orders(),
    *joins(),
    *fills(),
    *diagonals(),
    *spaces(),
    *TESTED_ELSEWHERE,
]
