"""Records of arithmetic, quotients, casts, comparisons and choices."""

import numpy as np
from tests.ops.harness import (
    COMPLEX,
    FLOATS,
    HALVES,
    SIGNED,
    UNSIGNED,
    Failure,
    Record,
    binary_cases,
    case,
    list_cases,
    nonzero,
    normal,
    unary_cases,
    uniform,
)  # fmt: skip

from penstock import errors
from penstock.ops import math_arithmetic as a
from penstock.ops import math_cast as k
from penstock.ops import math_compare as c
from penstock.ops import math_division as q
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype

INEXACT = (*FLOATS, *HALVES, *COMPLEX)
REALS = (*FLOATS, *HALVES, *SIGNED, *UNSIGNED)
NUMBERS = (*REALS, *COMPLEX)
INTEGERS = (*SIGNED, *UNSIGNED)
CLASH = (Failure((normal(2, 3), normal(2, 4)), "Incompatible shapes"),)
BY_ZERO = Failure(
    (np.int32([4, 5]), np.int32([1, 0])),
    "Integer division by zero",
    graph=errors.InvalidArgumentError,
)
HALF_LOOSE = {"bfloat16": 4e-2, "float16": 4e-3}


def shift(function):
    return lambda x, y: function(x, np.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype))


def arithmetic():
    return [
        Record("AddV2", binary_cases(normal()), np.add, a.add, NUMBERS, differentiable=(0, 1), errors=CLASH),
        Record("Add", binary_cases(normal()), np.add, dtypes=(*INEXACT, *SIGNED, "uint8"), differentiable=(0, 1), errors=CLASH),
        Record("Add", binary_cases(normal()), lambda x, y: np.add(x, y, dtype=object), a.add, ("string",), compiled=False),  # no strings there
        Record("Sub", binary_cases(normal()), np.subtract, a.subtract, NUMBERS, differentiable=(0, 1), errors=CLASH),
        Record("Mul", binary_cases(normal()), np.multiply, a.multiply, NUMBERS, differentiable=(0, 1), errors=CLASH),
        Record("Mul", binary_cases(normal()), np.multiply, a.multiply, ("complex128",), differentiable=(0, 1), grad_dtype="complex128"),
        Record("Neg", unary_cases(normal()), np.negative, a.negative, (*INEXACT, *SIGNED), differentiable=(0,)),
        Record("Maximum", binary_cases(normal()), np.maximum, a.maximum, REALS, differentiable=(0, 1), errors=CLASH),
        Record("Minimum", binary_cases(normal()), np.minimum, a.minimum, REALS, differentiable=(0, 1), errors=CLASH),
        Record("Maximum", [case(np.float32([np.nan, 1, -0.0]), np.float32([1, np.nan, 0]))], np.maximum, a.maximum),
        Record("MulNoNan", binary_cases(normal()), np.multiply, a.multiply_no_nan, INEXACT, differentiable=(0, 1)),
        Record("MulNoNan", [case(np.float32([np.nan, np.inf, 2]), np.float32([0, 0, 3]))], lambda x, y: np.float32([0, 0, 6]), a.multiply_no_nan),
        Record("SquaredDifference", binary_cases(normal()), lambda x, y: np.abs(x - y) ** 2 if x.dtype.kind == "c" else (x - y) ** 2,
               a.squared_difference, (*INEXACT, "int32", "int64"), differentiable=(0, 1), tolerance=HALF_LOOSE),
        Record("Pow", binary_cases(uniform(0.5, 2), uniform(0.5, 3)), np.power, a.pow, (*INEXACT, *SIGNED), differentiable=(0, 1),
               tolerance=HALF_LOOSE),
        Record("Pow", binary_cases(uniform(0, 5), uniform(0, 3)), np.power, a.pow, ("int32", "int64"),
               errors=(Failure((np.int32([2]), np.int32([-1])), "negative integer powers are not allowed", graph=errors.InvalidArgumentError),)),
        Record("AddN", list_cases(normal()), lambda xs: sum(xs[1:], xs[0]), lambda xs: a.execute("AddN", (xs,)), NUMBERS, differentiable=(0,),
               errors=(Failure(([normal(2), normal(3)],), "same size and shape|are 2 and 3"),)),
        Record(".add_n", list_cases(normal()), lambda xs: sum(xs[1:], xs[0]), a.add_n, differentiable=(0,),
               errors=(Failure(([],), "at least one", eager=ValueError),)),
        Record("AccumulateNV2", list_cases(normal(), (2, 3)), lambda xs: sum(xs[1:], xs[0]), a.accumulate_n, differentiable=(0, 1)),
        Record(".scalar_mul", [case(2.0, normal(2, 3)), case(normal(), normal(3))], np.multiply, a.scalar_mul,
               errors=(Failure((normal(2), normal(2)), "0-D", eager=ValueError),)),
    ]  # fmt: skip


def quotients():
    return [
        Record("RealDiv", binary_cases(normal(), nonzero(0.5, 2)), np.true_divide, q.truediv, INEXACT, differentiable=(0, 1), errors=CLASH,
               tolerance=HALF_LOOSE),
        Record(".truediv", binary_cases(normal(), nonzero(0.5, 2)), lambda x, y: x / y, q.truediv, ("int32", "int64", "uint32"), result_dtype="float64"),
        Record(".truediv", binary_cases(normal(), nonzero(0.5, 2)), lambda x, y: x / y, q.truediv, ("int8", "uint16"), result_dtype="float32",
               tolerance={"int8": 1e-6, "uint16": 1e-6}),
        Record("Div", binary_cases(normal(), nonzero(0.5, 2)), np.true_divide, dtypes=INEXACT, differentiable=(0, 1), tolerance=HALF_LOOSE),
        Record("Div", binary_cases(uniform(-9, 9), nonzero(1, 3)), lambda x, y: np.trunc(x / y).astype(x.dtype), dtypes=INTEGERS, errors=(BY_ZERO,)),
        Record("DivNoNan", binary_cases(normal(), nonzero(0.5, 2)), np.true_divide, q.divide_no_nan, INEXACT, differentiable=(0, 1),
               tolerance=HALF_LOOSE),
        Record("DivNoNan", [case(np.float32([1, 0, 6]), np.float32([0, 0, 3]))], lambda x, y: np.float32([0, 0, 2]), q.divide_no_nan),
        Record("TruncateDiv", binary_cases(uniform(-9, 9), nonzero(1, 3)), lambda x, y: np.trunc(x / y), q.truncatediv, (*FLOATS, *HALVES)),
        Record("TruncateDiv", binary_cases(uniform(-9, 9), nonzero(1, 3)), lambda x, y: np.trunc(x / y).astype(x.dtype), q.truncatediv, INTEGERS,
               errors=(BY_ZERO,)),
        Record("FloorDiv", binary_cases(uniform(-9, 9), nonzero(1, 3)), lambda x, y: np.floor(x / y), q.floordiv, (*FLOATS, *HALVES)),
        Record("FloorDiv", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.floor_divide, q.floordiv, INTEGERS, errors=(BY_ZERO, *CLASH)),
        Record("FloorDiv", [case(np.int32([-(2**31)]), np.int32([-1]))], lambda x, y: np.int32([-(2**31)]), q.floordiv, ("int32",)),
        Record("FloorMod", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.mod, q.floormod, FLOATS, differentiable=(0, 1), tolerance={"float32": 1e-5}),
        Record("FloorMod", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.mod, q.mod, INTEGERS, errors=(BY_ZERO,)),
        Record("TruncateMod", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.fmod, q.truncatemod, FLOATS, differentiable=(0, 1), tolerance={"float32": 1e-5}),
        Record("TruncateMod", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.fmod, q.truncatemod, ("int32", "int64"), errors=(BY_ZERO,)),
        Record("Mod", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.fmod, dtypes=FLOATS, differentiable=(0, 1), tolerance={"float32": 1e-5}),
        Record("Mod", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.fmod, dtypes=("int32", "int64"), errors=(BY_ZERO,)),
        Record("Xlogy", binary_cases(normal(), uniform(0.5, 3)), lambda x, y: x * np.log(y), q.xlogy, INEXACT, differentiable=(0, 1), tolerance=HALF_LOOSE),
        Record("Xlogy", [case(np.float32([0, 0, 1]), np.float32([0, -1, 1]))], lambda x, y: np.float32([0, 0, 0]), q.xlogy),
        Record("Xlog1py", binary_cases(normal(), uniform(0.5, 3)), lambda x, y: x * np.log1p(y), q.xlog1py, INEXACT, differentiable=(0, 1),
               tolerance=HALF_LOOSE),
        Record("Xdivy", binary_cases(normal(), nonzero(0.5, 3)), np.true_divide, q.xdivy, INEXACT, differentiable=(0, 1), tolerance=HALF_LOOSE),
        Record("Xdivy", [case(np.float32([0, 2]), np.float32([0, 4]))], lambda x, y: np.float32([0, 0.5]), q.xdivy),
        Record(".reciprocal_no_nan", [case(np.float32([2, 0, -4]))], lambda x: np.float32([0.5, 0, -0.25]), q.reciprocal_no_nan),
        Record(".div", binary_cases(uniform(-9, 9), nonzero(1, 3)), np.floor_divide, q.div, ("int32",)),
    ]  # fmt: skip


def comparisons():
    order = [("Less", np.less, c.less), ("LessEqual", np.less_equal, c.less_equal), ("Greater", np.greater, c.greater),
             ("GreaterEqual", np.greater_equal, c.greater_equal)]  # fmt: skip
    same = [("Equal", np.equal, c.equal), ("NotEqual", np.not_equal, c.not_equal)]
    logic = [
        ("LogicalAnd", np.logical_and, c.logical_and),
        ("LogicalOr", np.logical_or, c.logical_or),
        (".logical_xor", np.logical_xor, c.logical_xor),
    ]
    bits = [
        ("BitwiseAnd", np.bitwise_and, c.bitwise_and),
        ("BitwiseOr", np.bitwise_or, c.bitwise_or),
        ("BitwiseXor", np.bitwise_xor, c.bitwise_xor),
    ]
    tests = [
        ("IsNan", np.isnan, c.is_nan),
        ("IsInf", np.isinf, c.is_inf),
        ("IsFinite", np.isfinite, c.is_finite),
    ]
    odd = np.float32([np.nan, np.inf, -np.inf, 0, -0.0, 1])
    return [
        *[Record(n, binary_cases(uniform(-2, 2)), r, f, REALS, result_dtype="bool", errors=CLASH) for n, r, f in order],
        *[Record(n, [case(odd, odd[::-1].copy())], r, f, result_dtype="bool") for n, r, f in order + same],
        *[Record(n, binary_cases(uniform(-1, 1)), r, f, (*NUMBERS, "bool"), result_dtype="bool", errors=CLASH) for n, r, f in same],
        *[Record(n, binary_cases(normal()), lambda x, y, r=r: r(x, y).astype(bool), f, ("string",), result_dtype="bool", compiled=False) for n, r, f in same],
        *[Record(n, [case(normal(2), normal(3), incompatible_shape_error=False)], lambda x, y, incompatible_shape_error, n=n: np.bool_(n == "NotEqual"),
                 result_dtype="bool", known=("full", "rank")) for n, _, _ in same],  # two unknown sizes count as equal, as in TensorFlow
        Record("ApproximateEqual", [case(np.float32([1, 2]), np.float32([1.000001, 2.1])), case(normal(0), normal(0))],
               lambda x, y: np.abs(x - y) < 1e-5, c.approximate_equal, result_dtype="bool",
               errors=(Failure((normal(3), normal(2)), "same shape"),)),
        *[Record(n, binary_cases(normal()), r, f, ("bool",)) for n, r, f in logic],
        Record("LogicalNot", unary_cases(normal()), np.logical_not, c.logical_not, ("bool",)),
        *[Record(n, binary_cases(uniform(-100, 100)), r, f, INTEGERS, errors=CLASH) for n, r, f in bits],
        Record("Invert", unary_cases(uniform(-100, 100)), np.invert, c.invert, INTEGERS),
        Record("LeftShift", binary_cases(uniform(-100, 100), uniform(-3, 70)), shift(np.left_shift), c.left_shift, INTEGERS),
        Record("RightShift", binary_cases(uniform(-100, 100), uniform(-3, 70)), shift(np.right_shift), c.right_shift, INTEGERS),
        Record("PopulationCount", unary_cases(uniform(-100, 100)), lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")), dtypes=INTEGERS,
               result_dtype="uint8"),
        *[Record(n, [*unary_cases(normal()), case(odd)], r, f, (*FLOATS, *HALVES), result_dtype="bool") for n, r, f in tests],
    ]  # fmt: skip


YES = np.array([[True, False, True], [False, False, True]])


def choices():
    clip = [
        case(normal(2, 3), uniform(-1, 0), uniform(0, 1)),
        case(normal(3), uniform(-1, 0, 3), uniform(0, 1)),
        case(normal(0), uniform(0, 0), uniform(1, 1)),
    ]
    return [
        Record("SelectV2", [case(YES, normal(2, 3), normal(3)), case(YES, normal(), normal(2, 1)), case(YES[:, :1], normal(2, 3), normal(1, 3)),
                            case(np.bool_(True).reshape(()), normal(2), normal()), case(YES[:, :0], normal(2, 0), normal())],
               np.where, None, (*NUMBERS, "bool"), differentiable=(1, 2),
               errors=(Failure((YES, normal(2, 2), normal(2, 2)), "broadcast together"),)),
        Record("Select", [case(YES, normal(2, 3), normal(2, 3)), case(YES[0, :2], normal(2, 3), normal(2, 3)), case(np.array(True), normal(2), normal(2))],
               lambda p, t, e: np.where(p.reshape(p.shape + (1,) * (t.ndim - p.ndim)), t, e), None, (*NUMBERS, "bool"), differentiable=(1, 2),
               errors=(Failure((YES[0, :2], normal(1, 2), normal(1, 2)), "Number of batches"),)),
        Record("SelectV2", [case(YES, normal(2, 3), normal(3))], np.where, None, ("string",), compiled=False),  # no strings there
        Record("ClipByValue", clip, np.clip, dtypes=(*FLOATS, *HALVES, *SIGNED), differentiable=(0, 1, 2),
               errors=(Failure((normal(3), normal(2), normal()), "same shape as input, or a scalar"),)),
        Record(".clip_by_value", [case(normal(2, 3), -0.5, 0.5), case(normal(2, 3), normal(3), 0.5)], lambda t, low, high: np.maximum(np.minimum(t, high), low),
               c.clip_by_value, (*FLOATS, *HALVES), differentiable=(0,),
               errors=(Failure((normal(2), np.zeros((2, 2), np.float32), 1.0), "incompatible", eager=ValueError),)),
    ]  # fmt: skip


def cast_reference(x, dtype):
    return (x.real if x.dtype.kind == "c" and not dtype.is_complex else x).astype(dtype.numpy_dtype)


COMPLEX_PAIR = [case(normal(2, 3)), case(normal()), case(normal(0))]


def casts():
    targets = (
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int32",
        "int64",
        "int8",
        "uint8",
        "complex64",
        "complex128",
        "bool",
    )
    sources = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool")
    different = [
        Record("Cast", [case(uniform(0, 9, 2, 3), dtype=as_dtype(t)), case(uniform(0, 9), dtype=as_dtype(t)), case(uniform(0, 9, 0), dtype=as_dtype(t))],
               cast_reference, k.cast, tuple(s for s in sources if s != t), result_dtype=t, widen=False,
               differentiable=(0,) if t == "complex128" else ())
        for t in targets
    ]  # fmt: skip
    return [
        *different,
        Record("Cast", [case(normal(2, 3), dtype=dt.complex64)], cast_reference, k.cast, ("complex128",), result_dtype="complex64", widen=False),
        Record("Cast", [case(np.float32([300, -1, 1.9, -1.9]), dtype=dt.uint8)], lambda x, dtype: np.uint8([44, 255, 1, 255]), k.cast, result_dtype="uint8",
               errors=(Failure((np.array([b"1"], object),), "Cast string to int32 is not supported", {"dtype": dt.int32}, errors.UnimplementedError,
                               errors.UnimplementedError),)),
        Record(".saturate_cast", [case(np.float32([300, -1, 7]), dtype=dt.uint8)], lambda x, dtype: np.uint8([255, 0, 7]), k.saturate_cast, ("uint8",)),
        Record(".saturate_cast", [case(np.int64([2**40, -(2**40), 5]), dtype=dt.int32)], lambda x, dtype: np.int32([2**31 - 1, -(2**31), 5]),
               k.saturate_cast, ("int32",)),
        Record("Bitcast", [case(uniform(-9, 9, 2, 3), type=dt.uint8), case(uniform(-9, 9), type=dt.uint8)],
               lambda x, type: x.reshape(*x.shape, 1).view(np.uint8), k.bitcast, ("float32", "int16", "float64"), result_dtype="uint8", widen=False),
        Record("Bitcast", [case(np.uint8([[1, 2, 3, 4]]), type=dt.int32), case(np.zeros((0, 4), np.uint8), type=dt.int32)],
               lambda x, type: x.view(np.int32).reshape(x.shape[:-1]), k.bitcast, ("int32",),
               errors=(Failure((np.uint8([1, 2, 3]),), "Cannot bitcast", {"type": dt.int32}),)),
        Record("Complex", binary_cases(normal()), lambda x, y: x + 1j * y, k.complex, ("float32",), result_dtype="complex64", differentiable=(0, 1)),
        Record("Real", COMPLEX_PAIR, np.real, k.real, ("complex64",), result_dtype="float32", differentiable=(0,), grad_dtype="complex128", order=1),
        Record("Imag", COMPLEX_PAIR, np.imag, k.imag, ("complex64",), result_dtype="float32", differentiable=(0,), grad_dtype="complex128", order=1),
        Record("Angle", COMPLEX_PAIR, np.angle, k.angle, ("complex64",), result_dtype="float32", differentiable=(0,), grad_dtype="complex128"),
        Record("ComplexAbs", COMPLEX_PAIR, np.abs, k.abs, ("complex64",), result_dtype="float32", differentiable=(0,), grad_dtype="complex128"),
        Record("Conj", COMPLEX_PAIR, np.conj, k.conj, COMPLEX, differentiable=(0,), grad_dtype="complex128", order=1),
        Record(".angle", unary_cases(normal()), np.angle, k.angle, FLOATS),
    ]  # fmt: skip


RECORDS = [*arithmetic(), *quotients(), *comparisons(), *choices(), *casts()]
