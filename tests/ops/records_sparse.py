"""Records of sparse tensors: what NumPy says of their dense forms."""

import warnings
from typing import Any

import numpy as np
from tests.ops.harness import FLOATS, SIGNED, Failure, Record, case, normal, uniform

ROWS = np.array([[0, 0], [0, 2], [1, 1]], np.int64)
OTHER = np.array([[0, 0], [1, 0], [1, 1]], np.int64)
MIXED = np.array([[1, 1], [0, 2], [0, 0]], np.int64)
OUTSIDE = np.array([[0, 0], [0, 3], [1, 1]], np.int64)
NONE = np.zeros((0, 2), np.int64)
SIZES = np.array([2, 3], np.int64)
NUMBERS = (*FLOATS, *SIGNED)
ELSEWHERE = "tests/ops/test_sparse.py"


def dense(indices: Any, values: Any, sizes: Any) -> Any:
    """The dense form; elements at one place are added up."""
    result = np.zeros(tuple(sizes), np.asarray(values).dtype)
    np.add.at(result, tuple(np.asarray(indices).T), values)
    return result


def to_dense(indices: Any, sizes: Any, values: Any, default: Any, **attrs: Any) -> Any:
    result = np.full(tuple(sizes), default)
    indices = np.reshape(indices, (-1, 1)) if np.ndim(indices) < 2 else indices
    for i, row in enumerate(indices):
        result[tuple(row)] = values if np.ndim(values) == 0 else values[i]
    return result


def reorder(indices: Any, values: Any, sizes: Any) -> Any:
    order = sorted(range(len(indices)), key=lambda i: tuple(indices[i]))
    return [indices[order], values[order]]


def reduced(function: Any) -> Any:
    def reference(indices: Any, values: Any, sizes: Any, axes: Any, keep_dims: bool = False) -> Any:
        whole = np.full(tuple(sizes), np.nan)
        for row, value in zip(indices, values, strict=True):
            whole[tuple(row)] = value
        axes = tuple({int(a) % len(sizes) for a in np.reshape(axes, -1)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # groups without an element
            return np.nan_to_num(function(whole, axis=axes, keepdims=keep_dims))

    return reference


def largest(x: Any, **options: Any) -> Any:
    found = np.nanmax(x, initial=-np.inf, **options)
    return np.where(np.isinf(found), 0, found)


def softmax(indices: Any, values: Any, sizes: Any) -> Any:
    result = np.zeros_like(values)
    for i, row in enumerate(indices):
        mine = (indices[:, :-1] == row[:-1]).all(1)
        result[i] = np.exp(values[i]) / np.exp(values[mine]).sum()
    return result


def product(
    indices: Any, values: Any, sizes: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False
) -> Any:
    a = dense(indices, values, sizes)
    return (a.T if adjoint_a else a) @ (b.T if adjoint_b else b)


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    return (a.T if transpose_a else a) @ (b.T if transpose_b else b)


def elementwise(function: Any) -> Any:
    def reference(indices: Any, values: Any, sizes: Any, other: Any) -> Any:
        return function(values, np.broadcast_to(other, tuple(sizes))[tuple(indices.T)])

    return reference


def joined(*lists: Any, concat_dim: int) -> Any:
    (a, b), values, shapes = lists
    moved = b.copy()
    moved[:, concat_dim] += shapes[0][concat_dim]
    sizes = shapes[0].copy()
    sizes[concat_dim] += shapes[1][concat_dim]
    return [*reorder(np.concatenate([a, moved]), np.concatenate(values), None), sizes]


def reshaped(indices: Any, old: Any, new: Any) -> Any:
    sizes = np.empty(tuple(old)).reshape(tuple(new)).shape
    places = np.ravel_multi_index(tuple(indices.T), tuple(old))
    return [np.stack(np.unravel_index(places, sizes), 1), np.array(sizes)]


def taken_back(places: Any, grad: Any) -> Any:
    rest = np.ones(len(grad), bool)
    rest[places] = False
    return [grad[places], grad[rest].sum()]


DENSES = [normal(2, 3), normal(3), normal(2, 1), normal(), normal(1, 1)]
CWISE = [case(ROWS, normal(3), SIZES, d) for d in DENSES]
CWISE += [case(NONE, normal(0), SIZES, normal(3)), case(ROWS[:1], normal(1), SIZES, normal(2, 3))]
BROADCAST = [
    Failure((ROWS, normal(3), SIZES, normal(4)), "broadcasts dense to sparse only", graph=None)
]
AXES = [
    np.int32([1]),
    np.int32([0]),
    np.int32([0, 1]),
    np.int32([]),
    np.int32(-1),
    np.int32([1, 1]),
]
REDUCED = [case(ROWS, normal(3), SIZES, a, keep_dims=k) for a in AXES for k in (False, True)]
REDUCED += [
    case(NONE, normal(0), SIZES, np.int32([0])),
    case(NONE, normal(0), np.int64([0, 3]), np.int32([0])),
]
BY_AXES = [
    Failure((ROWS, normal(3), SIZES, np.int32([2])), "dimension 2, for input with 2"),
    Failure(
        (OUTSIDE, normal(3), SIZES, np.int32([1])), r"indices\[1\] = \[0, 3\] is out of", graph=None
    ),
    Failure((ROWS, normal(2), SIZES, np.int32([1])), "as many values"),
]

RECORDS = [
    Record(
        "SparseToDense",
        [
            case(ROWS, SIZES, normal(3), normal()),
            case(NONE, SIZES, normal(0), normal()),
            case(np.int64([1, 3]), np.int64([5]), normal(2), normal()),
            case(np.int32(2), np.int32([4]), normal(), normal()),
            case(MIXED, SIZES, normal(3), normal(), validate_indices=False),
            case(NONE, np.int64([0, 2]), normal(0), normal()),
        ],
        to_dense,
        dtypes=(*NUMBERS, "bool", "complex64"),
        differentiable=(2, 3),
        errors=[
            Failure((MIXED, SIZES, normal(3), normal()), "out of order", graph=None),
            Failure((np.int64([1, 1]), np.int64([3]), normal(2), normal()), "repeated", graph=None),
            Failure((OUTSIDE, SIZES, normal(3), normal()), "out of bounds", graph=None),
            Failure((ROWS, np.int64([2]), normal(3), normal()), "a column for each dimension"),
            Failure((ROWS, SIZES, normal(2), normal()), "as many values as indices"),
            Failure((ROWS, np.int64([-1, 3]), normal(3), normal()), "sizes >= 0"),
        ],
    ),
    Record(  # the last of several at one place stays; their gradients are TensorFlow's, of all
        "SparseToDense",
        [case(np.int64([1, 1]), np.int64([3]), normal(2), normal(), validate_indices=False)],
        to_dense,
    ),
    Record(
        "SparseReorder",
        [
            case(MIXED, normal(3), SIZES),
            case(NONE, normal(0), SIZES),
            case(ROWS[:1], normal(1), SIZES),
        ],
        reorder,
        result_dtype="int64",
        differentiable=(1,),
    ),
    Record(
        "SparseReshape",
        [case(ROWS, SIZES, np.int64(n)) for n in ([3, 2], [6], [-1], [1, -1, 2], [2, 3])],
        reshaped,
        dtypes=("int64",),
        errors=[
            Failure((ROWS, SIZES, np.int64([4])), "6 dense values"),
            Failure((ROWS, SIZES, np.int64([-1, -1])), "only one output dimension may be -1"),
            Failure((OUTSIDE, SIZES, np.int64([6])), "out of bounds", graph=None),
        ],
    ),
    Record(
        "SparseFillEmptyRowsGrad",
        [
            case(np.int64([0, 2]), normal(4)),
            case(np.int64([]), normal(2)),
            case(np.int64([]), normal(0)),
        ],
        taken_back,
        dtypes=NUMBERS,
        errors=[Failure((np.int64([4]), normal(4)), r"must be in \[0, 4\)", graph=None)],
    ),
    Record(
        "SparseConcat",
        [
            case([ROWS, OTHER], [normal(3), normal(3)], [SIZES, SIZES], concat_dim=a)
            for a in (0, 1, -1)
        ]
        + [case([NONE, OTHER], [normal(0), normal(3)], [SIZES, SIZES], concat_dim=0)],
        joined,
        result_dtype="int64",
        differentiable=(2, 3),
        errors=[
            Failure(
                ([ROWS, ROWS], [normal(3), normal(3)], [SIZES, SIZES + 1]),
                "agree but for dimension 0",
                {"concat_dim": 0},
                graph=None,
            ),
            Failure(
                ([ROWS, ROWS], [normal(3), normal(3)], [SIZES, SIZES]),
                r"Concat dimension must be in range \[-2, 2\)",
                {"concat_dim": 2},
            ),
        ],
    ),
    Record(
        "SparseDenseCwiseAdd",
        CWISE,
        elementwise(np.add),
        dtypes=NUMBERS,
        differentiable=(1, 3),
        errors=BROADCAST,
    ),
    Record(
        "SparseDenseCwiseMul",
        CWISE,
        elementwise(np.multiply),
        dtypes=NUMBERS,
        differentiable=(1, 3),
        errors=BROADCAST,
    ),
    Record(
        "SparseDenseCwiseDiv",
        CWISE,
        elementwise(np.divide),
        dtypes=FLOATS,
        differentiable=(1, 3),
        errors=BROADCAST,
    ),
    Record(
        "SparseDenseCwiseDiv",
        [case(np.int64([[0], [1], [2]]), uniform(-9, 9, 3), np.int64([3]), np.int32([2, -3, 4]))],
        lambda i, v, s, d: np.trunc(v / d).astype(np.int32),
        dtypes=("int32",),
        errors=[
            Failure((ROWS, uniform(1, 9, 3), SIZES, np.int32(0)), "division by zero", graph=None)
        ],
    ),
    Record(
        "SparseTensorDenseAdd",
        [case(ROWS, normal(3), SIZES, normal(2, 3)), case(NONE, normal(0), SIZES, normal(2, 3))],
        lambda i, v, s, b: dense(i, v, s) + b,
        dtypes=NUMBERS,
        differentiable=(1, 3),
        errors=[
            Failure(
                (ROWS, normal(3), SIZES, normal(3, 2)),
                "Dimension 0 (does not equal|in both shapes must be equal)",
            ),
            Failure((OUTSIDE, normal(3), SIZES, normal(2, 3)), "out of bounds", graph=None),
        ],
    ),
    Record(
        "SparseSoftmax",
        [
            case(ROWS, normal(3), SIZES),
            case(MIXED, normal(3), SIZES),
            case(NONE, normal(0), SIZES),
            case(np.int64([[0, 0, 1], [0, 0, 2], [1, 0, 0]]), normal(3), np.int64([2, 1, 3])),
        ],
        softmax,
        dtypes=FLOATS,
        differentiable=(1,),
        errors=[Failure((ROWS[:, :1], normal(3), np.int64([3])), "rank >= 2")],
    ),
    Record(
        "SparseReduceSum",
        REDUCED,
        reduced(np.nansum),
        dtypes=FLOATS,
        differentiable=(1,),
        errors=BY_AXES,
    ),
    Record(
        "SparseReduceMax",
        REDUCED,
        reduced(largest),
        dtypes=FLOATS,
        differentiable=(1,),
        errors=BY_AXES,
    ),
    Record(
        "SparseTensorDenseMatMul",
        [
            case(ROWS, normal(3), SIZES, normal(3, 2)),
            case(ROWS, normal(3), SIZES, normal(2, 2), adjoint_a=True),
            case(MIXED, normal(3), SIZES, normal(2, 3), adjoint_b=True),
            case(ROWS, normal(3), SIZES, normal(4, 2), adjoint_a=True, adjoint_b=True),
            case(NONE, normal(0), SIZES, normal(3, 2)),
            case(ROWS, normal(3), SIZES, normal(3, 0)),
            case(NONE, normal(0), np.int64([0, 3]), normal(3, 2)),
        ],
        product,
        dtypes=FLOATS,
        differentiable=(1, 3),
        errors=[
            Failure(
                (ROWS, normal(3), SIZES, normal(2, 2)), "inner dimension does not match: 3 vs. 2"
            ),
            Failure((OUTSIDE, normal(3), SIZES, normal(3, 2)), "out of bounds", graph=None),
            Failure((ROWS, normal(3), SIZES, normal(3)), "b of rank 2"),
        ],
    ),
    Record(
        "SparseMatMul",
        [
            case(normal(2, 3), normal(3, 4)),
            case(normal(3, 2), normal(3, 4), transpose_a=True),
            case(normal(2, 3), normal(4, 3), transpose_b=True),
            case(normal(3, 2), normal(4, 3), transpose_a=True, transpose_b=True),
            case(normal(0, 3), normal(3, 1)),
        ],
        matmul,
        differentiable=(0, 1),
        grad_dtype="float32",
        grad_tolerance=2e-2,
        errors=[Failure((normal(2, 3), normal(2, 3)), "inner dimension does not match: 3 vs. 2")],
    ),
    *(
        Record(name, tested_by=ELSEWHERE)
        for name in (
            "SparseAdd SparseAddGrad SparseFillEmptyRows SparseReduceMaxSparse SparseReduceSumSparse "
            "SparseSlice SparseSliceGrad SparseSparseMaximum SparseSparseMinimum SparseSplit"
        ).split()
    ),
]
