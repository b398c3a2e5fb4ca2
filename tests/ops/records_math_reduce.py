"""Records of reductions, scans, sequences and matrix products."""

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
    distinct,
    normal,
    uniform,
)  # fmt: skip

from penstock.errors import FailedPreconditionError
from penstock.errors import InvalidArgumentError as BAD
from penstock.ops import math_matmul as mm
from penstock.ops import math_range as g
from penstock.ops import math_reduce as r
from penstock.ops import math_scan as s
from penstock.types import dtypes as dt

INEXACT = (*FLOATS, *HALVES, *COMPLEX)
REALS = (*FLOATS, *HALVES, *SIGNED, *UNSIGNED)
LOOSE = {"bfloat16": 4e-2, "float16": 8e-3}


def axis(*axes):
    return np.array(axes, np.int32)


def reduce_cases(sample):
    return [
        case(sample.shaped(2, 3, 2), axis(1)), case(sample.shaped(2, 3, 2), axis(0, -1), keep_dims=True), case(sample.shaped(2, 3), axis()),
        case(sample.shaped(2, 3), axis(0, 1)), case(sample.shaped(0, 3), axis(0)), case(sample.shaped(2, 0), axis(0)), case(sample.shaped(), axis()),
        case(sample.shaped(3), np.int32(0).reshape(())), case(sample.shaped(1, 3), np.array([0], np.int64)),
    ]  # fmt: skip


def over(function, **initial):
    def reference(x, axes, keep_dims=False):
        if initial:
            info = np.iinfo(x.dtype) if x.dtype.kind in "iu" else np.finfo(np.float64)
            low = info.min if x.dtype.kind in "iu" else -np.inf
            high = info.max if x.dtype.kind in "iu" else np.inf
            return function(
                x,
                axis=tuple(np.ravel(axes)),
                keepdims=keep_dims,
                initial=low if initial["initial"] == "low" else high,
            )
        kinds = {"dtype": x.dtype} if x.dtype.kind in "iu" else {}
        return function(x, axis=tuple(np.ravel(axes)), keepdims=keep_dims, **kinds)

    return reference


def mean_reference(x, axes, keep_dims=False):
    total = np.sum(x, axis=tuple(np.ravel(axes)), keepdims=keep_dims)
    count = np.prod([x.shape[a] for a in np.ravel(axes)])
    if x.dtype.kind in "iu":
        return np.trunc(np.nan_to_num(total / count)).astype(x.dtype)
    if count == 0 and x.dtype.kind == "c":
        return total  # as TensorFlow has it
    return total / count


def norm_reference(x, axes, keep_dims=False):
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=tuple(np.ravel(axes)), keepdims=keep_dims)).astype(
        x.dtype
    )


NO_AXIS = (
    Failure((normal(2, 3), axis(2)), r"reduction dimension \(?2 for input with 2 dimension"),
    Failure((normal(2, 3), axis(-3)), r"reduction dimension \(?-3 for input with 2 dimension"),
)


def reductions():
    values, small = normal(), uniform(0, 2)
    return [
        Record("Sum", reduce_cases(values), over(np.sum), dtypes=(*INEXACT, *SIGNED, *UNSIGNED), differentiable=(0,), errors=NO_AXIS, tolerance=LOOSE),
        Record("Prod", reduce_cases(values), over(np.prod), dtypes=(*INEXACT, "int32", "int64"), differentiable=(0,), errors=NO_AXIS, tolerance=LOOSE),
        Record("Mean", reduce_cases(small), mean_reference, dtypes=(*INEXACT, *SIGNED, *UNSIGNED), differentiable=(0,), errors=NO_AXIS, tolerance=LOOSE),
        Record("Max", reduce_cases(distinct()), over(np.max, initial="low"), dtypes=REALS, differentiable=(0,), errors=NO_AXIS, tolerance=LOOSE),
        Record("Min", reduce_cases(distinct()), over(np.min, initial="high"), dtypes=REALS, differentiable=(0,), errors=NO_AXIS, tolerance=LOOSE),
        Record("Max", [case(np.float32([1, np.nan, 2]), axis(0))], over(np.max)),
        Record("EuclideanNorm", reduce_cases(values), norm_reference, dtypes=(*INEXACT, "int32"), differentiable=(0,), errors=NO_AXIS, tolerance=LOOSE),
        Record("All", reduce_cases(values), over(np.all), dtypes=("bool",), errors=NO_AXIS),
        Record("Any", reduce_cases(values), over(np.any), dtypes=("bool",), errors=NO_AXIS),
        *[Record(f".{f.__name__}", [case(normal(2, 3)), case(normal(2, 3), axis=1), case(normal(2, 3), axis=[0, 1], keepdims=True)],
                 lambda x, n=n, axis=None, keepdims=False: n(x, axis=None if axis is None else tuple(np.ravel(axis)), keepdims=keepdims), f, FLOATS,
                 differentiable=(0,))
          for f, n in [(r.reduce_sum, np.sum), (r.reduce_prod, np.prod), (r.reduce_mean, np.mean), (r.reduce_max, np.max), (r.reduce_min, np.min),
                       (r.reduce_variance, np.var), (r.reduce_std, np.std)]],
        *[Record(f".v1.{f.__name__}", [case(normal(2, 3), reduction_indices=[1], keep_dims=True)],
                 lambda x, n=n, **_: n(x, axis=1, keepdims=True), f,
                 errors=(Failure((normal(2),), "Cannot specify both 'reduction_indices' and 'axis'", {"axis": 0, "reduction_indices": 0}, ValueError),))
          for f, n in [(r.reduce_sum_v1, np.sum), (r.reduce_prod_v1, np.prod), (r.reduce_mean_v1, np.mean), (r.reduce_max_v1, np.max),
                       (r.reduce_min_v1, np.min)]],
        Record(".reduce_logsumexp", [case(normal(2, 3)), case(normal(2, 3), axis=1, keepdims=True), case(normal(2, 3), axis=0), case(normal(0))],
               lambda x, axis=None, keepdims=False: np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)), r.reduce_logsumexp, FLOATS, differentiable=(0,)),
        Record(".reduce_logsumexp", [case(np.float32([1000, 1000])), case(np.float32([-np.inf, -np.inf]))],
               lambda x: np.logaddexp.reduce(x), r.reduce_logsumexp),
        Record(".reduce_variance", [case(normal(3))], np.var, r.reduce_variance, ("complex64",), result_dtype="float32",
               errors=(Failure((np.int32([1]),), "real or complex", eager=TypeError, graph=TypeError),)),
        Record(".count_nonzero", [case(uniform(-1, 1, 3, 4)), case(uniform(-1, 1, 3, 4), axis=1, keepdims=True)],
               lambda x, axis=None, keepdims=None: np.count_nonzero(x, axis=axis, keepdims=bool(keepdims)), r.count_nonzero, ("int32", "float32", "bool"),
               result_dtype="int64"),
        Record(".count_nonzero", [case(np.array([b"", b"a"], object))], lambda x: np.int64(1), r.count_nonzero, ("string",), result_dtype="int64"),
    ]  # fmt: skip


def scan_reference(function, first, dtype=None):
    def reference(x, along, exclusive=False, reverse=False):
        x = np.flip(x, along) if reverse else x
        result = function(x, along)
        if exclusive:
            result = np.roll(result, 1, along)
            if result.shape[along]:
                np.moveaxis(result, along, 0)[0] = first
        result = result.astype(x.dtype)
        return np.flip(result, along) if reverse else result

    return reference


def weighed_exponentials(x, shift, weights, along, **flags):
    sums = scan_reference(np.cumsum, 0)(weights * np.exp(-shift), along, **flags)
    return (np.exp(x) * sums).astype(x.dtype)


def scan_cases(sample):
    flags = [(False, False), (True, False), (False, True), (True, True)]
    at = [np.array(1, np.int32), np.array(0, np.int64), np.array(-1, np.int32)]
    made = [case(sample.shaped(2, 3), a, exclusive=e, reverse=v) for e, v in flags for a in at]
    return [*made, case(sample.shaped(0, 2), at[0]), case(sample.shaped(1), at[1])]


def scans():
    def position(function, worst):
        def reference(x, along, output_type=None):
            if not x.size:
                return np.zeros(np.delete(x.shape, along), np.int64)
            return (
                function(np.where(np.isnan(x), worst, x), along)
                if x.dtype.kind == "f"
                else function(x, along)
            )

        return reference

    at = [case(distinct(2, 3), np.array(1, np.int32)), case(distinct(2, 3), np.array(0, np.int64)), case(distinct(0, 3), np.array(-1, np.int32)),
          case(distinct(4), np.array(0, np.int32))]  # fmt: skip
    wrong = (
        Failure((normal(2, 3), np.array(2, np.int32)), r"in the range \[-2, 2\)"),
        Failure((normal(0), np.array(0, np.int32)), "is empty"),
    )
    bad = (
        Failure((normal(2, 3), np.array(2, np.int32)), r"in the range \[-2, 2\)", graph=BAD),
        Failure((normal(2, 3), axis(0)), "must be a scalar", graph=BAD),
    )
    bad_sums = (Failure((normal(2, 3), normal(2, 3), normal(2), axis(0)), "equal shapes"),)
    return [
        *[Record(n, at, position(f, w), dtypes=(*REALS, "bool") if n == "ArgMax" else REALS, result_dtype="int64", errors=wrong)
          for n, f, w in [("ArgMax", np.argmax, -np.inf), ("ArgMin", np.argmin, np.inf)]],
        Record(".argmax", [case(np.float32([np.nan, 1, 3, 3])), case(np.int32([[1, 2], [4, 3]]), 1)], lambda x, a=0: np.argmax(np.nan_to_num(x, nan=-9), a),
               s.argmax, ("int64",)),
        Record("Cumsum", scan_cases(normal()), scan_reference(np.cumsum, 0), dtypes=(*FLOATS, *SIGNED, *UNSIGNED, *COMPLEX), differentiable=(0,), errors=bad),
        Record("Cumprod", scan_cases(normal()), scan_reference(np.cumprod, 1), dtypes=(*FLOATS, "int32", "int64", *COMPLEX), differentiable=(0,), errors=bad),
        Record("CumulativeLogsumexp", scan_cases(normal()), scan_reference(np.logaddexp.accumulate, -np.inf), dtypes=(*FLOATS, *HALVES), errors=bad),
        Record("CumulativeLogsumexp", [case(normal(2, 3), np.array(1, np.int32)), case(normal(2, 3), np.array(0, np.int32), reverse=True)],
               scan_reference(np.logaddexp.accumulate, -np.inf), differentiable=(0,)),
        Record("PenstockWeighedExponentials", [case(*[normal(2, 3)] * 3, np.array(1, np.int32)), case(*[normal(4)] * 3, np.array(0, np.int64), exclusive=True, reverse=True),
                                               case(*[normal(0, 2)] * 3, np.array(1, np.int32))],
               weighed_exponentials, dtypes=(*FLOATS, *HALVES), differentiable=(0, 1, 2), errors=bad_sums),
        Record(".cumsum", [case(normal(3)), case(normal(2, 3), axis=1, exclusive=True, reverse=True)],
               lambda x, axis=0, **k: scan_reference(np.cumsum, 0)(x, axis, **k), s.cumsum, differentiable=(0,)),
    ]  # fmt: skip


def whole(*values, dtype=np.int32):
    return [np.array(v, dtype) for v in values]


def sequences():
    def arange(start, limit, delta):
        return np.arange(start, limit, delta, start.dtype)

    return [
        Record("Range", [case(*whole(0, 5, 1)), case(*whole(5, 0, -2)), case(*whole(3, 3, 1)), case(*whole(0, 6, 2))], arange, dtypes=("int32",),
               errors=(Failure(tuple(whole(0, 3, 0)), "Requires delta != 0"), Failure(tuple(whole(5, 0, 1)), "start <= limit"),
                       Failure((axis(1, 2), *whole(3, 1)), "start of rank 0"))),
        Record("Range", [case(*whole(0, 1, 0.25, dtype=np.float32)), case(*whole(0, 1, 0.1, dtype=np.float32))],
               lambda a, b, d: np.arange(10 if d < 0.2 else 4) * np.float64(np.float32(d)), tolerance={"float32": 1e-6}),
        Record(".range", [case(5), case(2, 9, 3)], lambda a, b=None, d=1: np.arange(a) if b is None else np.arange(a, b, d), g.range, ("int32",)),
        Record(".range", [case(0, 1.5, 0.5)], np.arange, g.range, ("float32",)),
        Record("LinSpace", [case(normal(), normal(), np.array(5, np.int32)), case(normal(), normal(), np.array(1, np.int64)), case(normal(), normal(), np.array(2, np.int32))],
               np.linspace, dtypes=(*FLOATS, *HALVES), differentiable=(0, 1),
               errors=(Failure((normal(), normal(), np.array(0, np.int32)), "Requires num > 0"), Failure((normal(1), normal(), np.array(3, np.int32)), "scalar"))),
        Record(".linspace", [case(normal(), normal(), 5), case(normal(2), normal(2), 4), case(normal(2), normal(2), 3, axis=-1), case(normal(), normal(), 0)],
               np.linspace, g.linspace, FLOATS, differentiable=(0, 1)),
        Record(".linspace", [case(0, 10, 5)], np.linspace, g.linspace, ("float64",)),
    ]  # fmt: skip


def products():
    def swap(x, yes, conj=False):
        return (np.conj if conj else np.asarray)(np.swapaxes(x, -1, -2)) if yes else x

    def product(a, b, transpose_a=False, transpose_b=False):
        return swap(a, transpose_a) @ swap(b, transpose_b)

    def batched(x, y, adj_x=False, adj_y=False, **_):
        return swap(x, adj_x, True) @ swap(y, adj_y, True)

    plain = [case(normal(2, 3), normal(3, 4)), case(normal(3, 2), normal(3, 4), transpose_a=True), case(normal(2, 3), normal(4, 3), transpose_b=True),
             case(normal(3, 2), normal(4, 3), transpose_a=True, transpose_b=True), case(normal(0, 3), normal(3, 2)), case(normal(2, 0), normal(0, 2)),
             case(normal(1, 1), normal(1, 1))]  # fmt: skip
    flags = [case(normal(2, 3, 2), normal(2, 3, 4), adj_x=True), case(normal(2, 2, 3), normal(2, 4, 3), adj_y=True),
             case(normal(2, 3, 2), normal(2, 4, 3), adj_x=True, adj_y=True), case(normal(2, 2, 3), normal(2, 3, 4)), case(normal(0, 2, 3), normal(0, 3, 2)),
             case(normal(2, 2, 0), normal(2, 0, 2))]  # fmt: skip
    spread = [
        case(normal(2, 1, 2, 3), normal(3, 3, 2)),
        case(normal(2, 3), normal(4, 3, 2)),
        case(normal(1, 2, 3), normal(2, 3, 2)),
    ]
    clash = (
        Failure((normal(2, 3), normal(2, 3)), "inner sizes that are equal"),
        Failure((normal(3), normal(3, 2)), "of rank 2"),
    )
    batch_clash = (
        Failure((normal(2, 2, 2), normal(3, 2, 2)), "compatible batch dimensions"),
        Failure((normal(2, 2, 3), normal(2, 2, 3)), "size-incompatible"),
    )
    loose = {"float32": 1e-5, "complex64": 2e-5, **LOOSE}
    return [
        Record("MatMul", plain, product, dtypes=(*INEXACT, "int32", "int64", *UNSIGNED), differentiable=(0, 1), errors=clash, tolerance=loose),
        Record(".matmul", [case(normal(2, 3), normal(3, 4)), case(normal(3, 2), normal(3, 4), adjoint_a=True), case(normal(2, 2, 3), normal(2, 4, 3), transpose_b=True)],
               lambda a, b, adjoint_a=False, transpose_b=False: swap(a, adjoint_a, True) @ swap(b, transpose_b), mm.matmul, COMPLEX,
               differentiable=(0, 1), grad_dtype="complex128", tolerance=loose,
               errors=(Failure((normal(2, 2), normal(2, 2)), "Only one of", {"transpose_a": True, "adjoint_a": True}, ValueError),)),
        Record("BatchMatMul", flags, batched, dtypes=(*FLOATS, "int32", "complex64"), differentiable=(0, 1), tolerance=loose),
        Record("BatchMatMulV2", [*flags, *spread], batched, dtypes=(*INEXACT, "int32", "int64", "int16"), differentiable=(0, 1), errors=batch_clash, tolerance=loose),
        Record("BatchMatMulV3", [case(normal(2, 3), normal(3, 2), Tout=dt.int32), case(normal(4, 2, 3), normal(4, 3, 2), Tout=dt.int32)],
               lambda x, y, Tout: x.astype(np.int32) @ y.astype(np.int32), dtypes=("int8", "uint8"), result_dtype="int32"),
        Record("BatchMatMulV3", [case(normal(2, 2, 3), normal(2, 3, 2), Tout=dt.float64)], lambda x, y, Tout: x @ y, dtypes=("float64",), differentiable=(0, 1)),
        Record(".matvec", [case(normal(2, 3), normal(3)), case(normal(4, 3, 2), normal(4, 3), transpose_a=True)],
               lambda a, b, transpose_a=False: np.squeeze(swap(a, transpose_a) @ b[..., None], -1), mm.matvec, FLOATS, differentiable=(0, 1), tolerance=loose),
        Record("Cross", [case(normal(2, 3), normal(2, 3)), case(normal(3), normal(3)), case(normal(0, 3), normal(0, 3))], np.cross, mm.cross, FLOATS,
               differentiable=(0, 1), errors=(Failure((normal(2), normal(2)), "3 elements", {}, FailedPreconditionError), Failure((normal(3), normal(2, 3)), "equal shapes"))),
    ]  # fmt: skip


RECORDS = [*reductions(), *scans(), *sequences(), *products()]
