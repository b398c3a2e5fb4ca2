"""Records of segment sums of rows that are looked up, of counts and of sets."""

from typing import Any

import numpy as np
from tests.ops.harness import FLOATS, Failure, Record, case, normal

ROWS, IDS = np.array([0, 2, 3, 0], np.int64), np.array([0, 0, 1, 3], np.int64)
NONE = np.zeros(0, np.int64)
ELSEWHERE = "tests/ops/test_sparse_counts.py"
HALVES = ("float16", "bfloat16")


def shares(kind: str, sizes: Any) -> Any:
    sizes = np.maximum(sizes, 1)
    return {"Sum": np.ones(len(sizes)), "Mean": 1 / sizes, "SqrtN": 1 / np.sqrt(sizes)}[kind]


def segments(kind: str) -> Any:
    def reference(data: Any, rows: Any, ids: Any, number: Any = None) -> Any:
        count = int(ids.max(initial=-1)) + 1 if number is None else int(number)
        total = np.zeros((count, *data.shape[1:]))
        for row, i in zip(rows, ids, strict=True):
            total[i] += data[row]
        part = shares(kind, np.bincount(ids, minlength=count))
        return total * part.reshape((-1,) + (1,) * (data.ndim - 1))

    return reference


def spread(kind: str) -> Any:
    def reference(grad: Any, rows: Any, ids: Any, count: Any) -> Any:
        part = shares(kind, np.bincount(ids, minlength=len(grad)))
        total = np.zeros((int(count), *grad.shape[1:]))
        for row, i in zip(rows, ids, strict=True):
            total[row] += grad[i] * part[i]
        return total

    return reference


def spread_rows(kind: str) -> Any:
    def reference(grad: Any, rows: Any, ids: Any, count: Any) -> Any:
        unique = np.unique(rows)
        return [spread(kind)(grad, rows, ids, count)[unique], unique]

    return reference


def counts(
    rows: Any, values: Any, sizes: Any, size: Any, weights: Any, binary_output: bool = False
) -> Any:
    result = np.zeros((*sizes[:-1], int(size)))
    for i, (row, value) in enumerate(zip(rows, values, strict=True)):
        if value < size:
            place = (*row[:-1], value)
            result[place] = (
                1 if binary_output else result[place] + (weights[i] if weights.size else 1)
            )
    return result


PLAIN = [case(normal(*s), ROWS, IDS) for s in ((4, 3), (4,), (4, 2, 1), (4, 0))]
PLAIN += [
    case(normal(4, 3), NONE, NONE),
    case(normal(0, 3), NONE, NONE),
    case(normal(2), ROWS[:1], IDS[:1]),
]
NUMBERED = [case(*c.inputs, np.int32(5)) for c in PLAIN] + [
    case(normal(4, 3), NONE, NONE, np.int32(0))
]
BAD = [
    Failure((normal(4, 3), ROWS[:2], np.int64([1, 0])), "not increasing", graph=None),
    Failure((normal(3, 3), ROWS, IDS), r"indices\[2\] = 3 is out of range: .*\[0, 3\)", graph=None),
    Failure((normal(4, 3), ROWS[:1], IDS), "same size"),
    Failure((normal(4, 3), ROWS[:1], np.int64([-1])), ">= 0"),
]
BAD_NUMBERED = [
    Failure((*f.inputs, np.int32(4)), f.match, f.attrs, f.eager, f.graph) for f in BAD[:3]
] + [Failure((normal(4, 3), ROWS, IDS, np.int32(3)), "below num_segments = 3", graph=None)]
BACK = [case(normal(4, 3), ROWS, IDS, np.int32(5)), case(normal(4), ROWS, IDS, np.int32(4))]
BACK += [case(normal(2, 3), NONE, NONE, np.int32(2)), case(normal(0, 3), NONE, NONE, np.int32(0))]
BAD_BACK = [
    Failure((normal(4, 3), ROWS, IDS, np.int32(3)), r"indices\[2\] = 3", graph=None),
    Failure((normal(3, 3), ROWS, IDS, np.int32(4)), r"indices\[3\] = 3", graph=None),
]


def of_kind(kind: str) -> list[Record]:
    name, types = f"SparseSegment{kind}", FLOATS + (("int32", "int64") if kind == "Sum" else ())
    return [
        Record(name, PLAIN, segments(kind), dtypes=types + HALVES, differentiable=(0,), compiled=False, errors=BAD),
        Record(
            f"{name}WithNumSegments", NUMBERED, segments(kind), dtypes=types + HALVES,
            differentiable=(0,), errors=BAD_NUMBERED,
        ),
        Record(f"{name}Grad", BACK, spread(kind), dtypes=FLOATS + HALVES, differentiable=(0,), errors=BAD_BACK),
        Record(f"{name}GradV2", BACK, spread_rows(kind), dtypes=FLOATS, compiled=False, errors=BAD_BACK),
    ]  # fmt: skip


CELLS = np.array([[0, 0], [0, 2], [1, 1], [1, 2]], np.int64)
VALUES = np.array([3, 3, 0, 9], np.int32)
COUNTED = [
    case(CELLS, VALUES, np.int64([3, 4]), np.int32(5), normal(4)),
    case(CELLS, VALUES, np.int64([3, 4]), np.int32(5), normal(0)),
    case(CELLS, VALUES, np.int64([3, 4]), np.int32(5), normal(0), binary_output=True),
    case(CELLS[:, 1:], VALUES, np.int64([4]), np.int32(5), normal(4)),
    case(CELLS[:0], VALUES[:0], np.int64([2, 0]), np.int32(0), normal(0)),
]

RECORDS = [
    *of_kind("Sum"),
    *of_kind("Mean"),
    *of_kind("SqrtN"),
    Record(
        "SparseBincount",
        COUNTED,
        counts,
        dtypes=(*FLOATS, "int32", "int64"),
        errors=[
            Failure((CELLS, -VALUES, np.int64([3, 4]), np.int32(5), normal(4)), "non-negative", graph=None),
            Failure((CELLS, VALUES, np.int64([1, 4]), np.int32(5), normal(4)), r"rows in \[0, 1\)", graph=None),
            Failure((CELLS, VALUES, np.int64([3, 4]), np.int32(-5), normal(4)), "size >= 0"),
            Failure((CELLS, VALUES, np.int64([3, 4]), np.int32(5), normal(3)), "as many weights"),
        ],
    ),
    *(
        Record(name, tested_by=ELSEWHERE)
        for name in (
            "DenseCountSparseOutput SparseCountSparseOutput SetSize DenseToDenseSetOperation "
            "DenseToSparseSetOperation SparseToSparseSetOperation"
        ).split()
    ),
]  # fmt: skip
RECORDS += [
    Record(
        name,
        tested_by="tests/ops/test_candidate_samplers.py",
        named_by=name.removesuffix("CandidateSampler"),
    )
    for name in (
        "AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler "
        "LogUniformCandidateSampler ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler "
        "ComputeAccidentalHits"
    ).split()
]
RECORDS += [
    Record("SparseCross", tested_by="tests/ops/test_sparse_cross.py"),
    Record("SparseCrossHashed", tested_by="tests/ops/test_sparse_cross.py"),
    Record("SparseCrossV2", tested_by="tests/ops/test_sparse_cross.py"),
]
RECORDS += [
    Record(name, tested_by="tests/ops/test_sparse_messages.py")
    for name in "SerializeSparse SerializeManySparse DeserializeSparse DeserializeManySparse".split()
]
