"""Records of segments, norms, einsum and tensordot."""

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
    distinct,
    list_cases,
    nonzero,
    normal,
    unary_cases,
)

from penstock import errors
from penstock.ops import math_count as b
from penstock.ops import math_einsum as e
from penstock.ops import math_norms as n
from penstock.ops import math_segment as g

REALS = (*FLOATS, *HALVES, *SIGNED, *UNSIGNED)
LOOSE = {"bfloat16": 6e-2, "float16": 1e-2, "float32": 1e-5, "complex64": 2e-5}
IDS = np.int32([0, 0, 2])
ANY = np.int32([2, 0, -1, 2])


def by_segment(combine, start, empty):
    def reference(data, ids, count=None):
        rows = data.reshape(ids.size, *data.shape[ids.ndim :])
        size = int(ids[-1]) + 1 if count is None and ids.size else int(count or 0)
        parts = []
        for i in range(size):
            mine = rows[ids.reshape(-1) == i]
            parts.append(
                combine(mine).astype(data.dtype)
                if len(mine)
                else np.full(rows.shape[1:], empty, data.dtype)
            )
        return np.array(parts, data.dtype).reshape(size, *rows.shape[1:])

    return reference


def sum_of(rows):
    return rows.sum(0, dtype=rows.dtype)


def limits(kind):
    def reference(data, ids, count):
        if data.dtype.kind in "iu":
            empty = np.iinfo(data.dtype).min if kind == "Max" else np.iinfo(data.dtype).max
        else:
            empty = np.finfo(np.float64).min if kind == "Max" else np.finfo(np.float64).max
        return by_segment(lambda rows: rows.max(0) if kind == "Max" else rows.min(0), 0, empty)(
            data, ids, count
        )

    return reference


def segments():
    names = [("Sum", sum_of, 0, g.segment_sum), ("Mean", lambda r: r.mean(0), 0, g.segment_mean), ("Prod", lambda r: r.prod(0, dtype=r.dtype), 1, g.segment_prod),
             ("Max", lambda r: r.max(0), 0, g.segment_max), ("Min", lambda r: r.min(0), 0, g.segment_min)]  # fmt: skip
    late = errors.InvalidArgumentError
    wrong = (Failure((normal(3), np.int32([1, 0, 2])), "not increasing", graph=late), Failure((normal(3), np.int32([-1, 0, 2])), "out of range", graph=late),
             Failure((normal(3), np.int32([0, 1])), "same size as dimension 0", {}, errors.InvalidArgumentError, None), Failure((normal(2, 2), np.int32([[0, 1], [0, 1]])), "should be a vector"))  # fmt: skip
    number = np.array(4, np.int32)
    beyond = (Failure((normal(3), np.int32([5, 0, 0]), number), r"5 is out of range \[0, 4\)", graph=late),
              Failure((normal(2, 2), np.int32([0, 1, 2]), number), "does not start with"), Failure((normal(2), np.int32([0, 1]), np.array(-1, np.int32)), "(not be |be non-)negative"))  # fmt: skip
    plain = [
        case(distinct(3, 2), IDS),
        case(distinct(3), IDS.astype(np.int64)),
        case(distinct(0, 2), IDS[:0]),
        case(distinct(1), IDS[:1]),
    ]
    free = [
        case(distinct(4, 2), ANY, number),
        case(distinct(2, 2, 3), np.int64([[0, 1], [1, 1]]), number),
        case(distinct(0, 2), ANY[:0], number),
    ]
    unsorted = [
        ("Sum", by_segment(sum_of, 0, 0), g.unsorted_segment_sum),
        ("Prod", by_segment(lambda r: r.prod(0, dtype=r.dtype), 1, 1), g.unsorted_segment_prod),
    ]
    return [
        *[Record(f"Segment{k}", plain, by_segment(f, 0, empty), fn, (*FLOATS, "int32", "int64") if k != "Mean" else FLOATS, LOOSE, differentiable=(0,), errors=wrong,
                 compiled=False)  # the number of segments follows from the ids
          for k, f, empty, fn in names],
        *[Record(f"UnsortedSegment{k}", free, f, fn, (*FLOATS, "int32", "int64"), LOOSE, differentiable=(0,), errors=beyond) for k, f, fn in unsorted],
        *[Record(f"UnsortedSegment{k}", free[1:], limits(k), fn, ("float64", "int32", "int64", "uint8"), LOOSE, differentiable=(0,), errors=beyond) for k, fn in
          [("Max", g.unsorted_segment_max), ("Min", g.unsorted_segment_min)]],
        Record(".unsorted_segment_mean", free, by_segment(lambda r: r.mean(0), 0, 0), g.unsorted_segment_mean, FLOATS, LOOSE, differentiable=(0,)),
        Record(".unsorted_segment_sqrt_n", free, by_segment(lambda r: r.sum(0) / np.sqrt(len(r)), 0, 0), g.unsorted_segment_sqrt_n, FLOATS, LOOSE, differentiable=(0,)),
    ]  # fmt: skip


def clipped(values, norm, *_):
    size = np.sqrt(np.sum(values**2))
    return values * norm / max(size, norm)


def norms():
    order = [
        ("euclidean", None),
        (1, None),
        (np.inf, None),
        (3, None),
        ("fro", 2),
        (1, 2),
        (np.inf, 2),
        (2, 1),
    ]

    def norm_reference(x, ord="euclidean", axis=None, keepdims=False):
        matrix = isinstance(axis, list)
        if axis is None:
            x, axis = x.reshape(-1), 0
            assert not keepdims
        return np.linalg.norm(
            x,
            None if ord == "euclidean" and not matrix else ("fro" if ord == "euclidean" else ord),
            tuple(axis) if matrix else axis,
            keepdims,
        )

    calls = [case(normal(2, 3), ord=o, axis={None: None, 1: 1, 2: [0, 1]}[a]) for o, a in order]
    return [
        Record("Atan2", binary_cases(nonzero(0.5, 2)), np.arctan2, n.atan2, (*FLOATS, *HALVES), LOOSE, differentiable=(0, 1)),
        Record("NextAfter", binary_cases(normal()), lambda x, y: np.nextafter(x, y), n.nextafter, FLOATS, {"float32": 0, "float64": 0}, widen=False),
        Record("L2Loss", unary_cases(normal()), lambda t: np.sum(t * t) / 2, n.l2_loss, (*FLOATS, *HALVES), LOOSE, differentiable=(0,)),
        Record(".clip_by_norm", [case(normal(2, 3), 1.0), case(normal(2, 3), 100.0)], clipped, n.clip_by_norm, FLOATS, LOOSE, differentiable=(0,)),
        Record(".clip_by_norm", [case(normal(2, 3), 1.0, axes=[1])], lambda t, c, axes: t / np.maximum(np.linalg.norm(t, axis=1, keepdims=True), c), n.clip_by_norm,
               FLOATS, LOOSE, differentiable=(0,)),
        Record(".clip_by_norm", [case(np.zeros(2, np.float32), 1.0)], lambda t, c: t, n.clip_by_norm),
        Record(".clip_by_norm", [case(normal(2, 3), -1.0)], lambda t, c: np.zeros_like(t), n.clip_by_norm),  # below 0 counts as 0
        Record(".clip_by_average_norm", [case(normal(2, 3), 0.1)], lambda t, c: t * c * min(t.size / np.linalg.norm(t), 1 / c), n.clip_by_average_norm, FLOATS, LOOSE),
        Record(".global_norm", list_cases(normal(), (2, 3))[:2], lambda ts: np.sqrt(sum(np.sum(t * t) for t in ts)), n.global_norm, FLOATS, LOOSE,
               errors=(Failure((normal(2),), "sequence of tensors", eager=TypeError, graph=TypeError),)),
        Record(".clip_by_global_norm", [case([normal(2, 3), normal(2)], 1.0)],
               lambda ts, c: [*(t * c / max(np.sqrt(sum(np.sum(u * u) for u in ts)), c) for t in ts), np.sqrt(sum(np.sum(u * u) for u in ts))],
               n.clip_by_global_norm, FLOATS, LOOSE, differentiable=(0, 1)),
        Record(".norm", calls, norm_reference, n.norm, FLOATS, LOOSE, differentiable=(0,),
               errors=(Failure((normal(2), "foo"), "supported vector norm", eager=ValueError), Failure((normal(2, 2), 3, [0, 1]), "supported matrix norm", eager=ValueError))),
        Record(".polyval", [case([normal(3), normal(3)], normal(3))], lambda c, x: np.polyval(c, x), n.polyval, FLOATS, LOOSE),
        Record(".is_non_decreasing", [case(np.int32([1, 1, 2])), case(np.int32([2, 1])), case(np.int32([]))], lambda x: np.all(np.diff(x) >= 0), n.is_non_decreasing,
               ("bool",)),
        Record(".is_strictly_increasing", [case(np.int32([1, 1, 2])), case(np.int32([1, 2]))], lambda x: np.all(np.diff(x) > 0), n.is_strictly_increasing, ("bool",)),
    ]  # fmt: skip


def products():
    def einsum_reference(inputs, equation):
        return np.einsum(equation, *inputs)

    equations = [("ij,jk->ik", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii->", (3, 3)), ("ij->", (2, 3)), ("i,j->ij", (2,), (3,)),
                 ("...ij,jk->...ik", (2, 2, 3), (3, 2)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("...i,...i->...", (2, 3), (1, 3)), ("ij,ij->i", (2, 3), (2, 3)),
                 ("ij,kl->il", (2, 3), (2, 2)), ("i...->...", (0, 2))]  # fmt: skip
    cases = [case([normal(*s) for s in shapes], equation=text) for text, *shapes in equations]
    public = [case("ij,jk", normal(2, 3), normal(3, 2)), case("i j , j k -> i k", normal(2, 3), normal(3, 2)), case("ij,jk,kl->il", normal(2, 3), normal(3, 2), normal(2, 2)),
              case("ab,ac,ad->bcd", normal(2, 2), normal(2, 3), normal(2, 1))]  # fmt: skip
    return [
        *[Record("Einsum", [c], einsum_reference, None, (*FLOATS, *COMPLEX, "int32") if i < 3 else FLOATS, LOOSE, differentiable=range(len(c.inputs[0])))
          for i, c in enumerate(cases)],
        Record("Einsum", cases[:1], einsum_reference, errors=(
            Failure(([normal(2, 3), normal(2, 3)],), "dimension 3", {"equation": "ij,jk->ik"}), Failure(([normal(2, 3)],), "rank 3", {"equation": "ijk->i"}),
            Failure(([normal(2)] * 3,), "1 or 2 input", {"equation": "i,i,i->i"}))),
        Record(".einsum", public, lambda text, *xs: np.einsum(text.replace(" ", ""), *xs), e.einsum, FLOATS, LOOSE,
               errors=(Failure(("ij,jk->ik", normal(2, 2)), "Got 1 inputs", eager=ValueError), Failure(("ij->ijk", normal(2, 2)), "label k", eager=ValueError))),
        Record(".tensordot", [case(normal(2, 3), normal(3, 4), 1), case(normal(2, 3), normal(2, 3), 2), case(normal(2), normal(3), 0),
                              case(normal(2, 3, 4), normal(4, 2), [[0, 2], [1, 0]])], np.tensordot, e.tensordot, FLOATS, LOOSE, differentiable=(0, 1),
               known=("full", "dims"),  # the rank must be known
               errors=(Failure((normal(2), normal(2), 3), "not be larger", eager=ValueError),)),
    ]  # fmt: skip


def counts():
    values, two = np.int32([1, 1, 3, 9]), np.int64([[1, 1], [0, 3]])
    none = np.float32([])
    late = errors.InvalidArgumentError

    def dense(x, size, w, binary_output=False):
        rows = [
            np.bincount(r[r < size], None if not w.size else w[r < size], int(size))[: int(size)]
            for r in np.atleast_2d(x)
        ]
        result = np.array(rows).reshape(*x.shape[:-1], int(size))
        return np.minimum(result, 1) if binary_output else result

    size, wide = np.array(4, np.int32), np.array(4, np.int64)
    bad = (
        Failure((np.int32([-1]), size, none), "must be non-negative", graph=late),
        Failure((values, np.array(-1, np.int32), none), "must be non-negative"),
    )
    return [
        Record("Bincount", [case(values, size, none), case(values, size, np.float32([1, 2, 3, 4])), case(values[:0], size, none)], dense, errors=bad),
        Record("DenseBincount", [case(two, wide, none), case(values, size, none, binary_output=True), case(values, size, np.float32([1, 2, 3, 4]))], dense, errors=bad),
        Record(".bincount", [case(values[:3]), case(values[:3], minlength=6), case(values, maxlength=3), case(values[:0])],
               lambda x, minlength=0, maxlength=99: np.bincount(x, minlength=minlength)[:maxlength], b.bincount, ("int32",),
               errors=(Failure((values,), "Only 0 and -1", {"axis": 1}, ValueError),)),
        Record("HistogramFixedWidth", [case(np.float32([-1, 0, 1.5, 2, 5, 15]), np.float32([0, 5]), np.array(5, np.int32))], lambda *_: np.int32([2, 1, 1, 0, 2]),
               b.histogram_fixed_width, ("int32",), compiled=False,  # rare, and checks its values
               errors=(Failure((np.float32([1]), np.float32([5, 0]), size), "should satisfy", graph=late),
                       Failure((np.float32([1]), np.float32([0, 5]), np.array(0, np.int32)), "positive number"))),
        Record(".histogram_fixed_width_bins", [case(np.float32([-1, 0, 1.5, 2, 5, 15]), np.float32([0, 5]), 5)], lambda *_: np.int32([0, 0, 1, 2, 4, 4]),
               b.histogram_fixed_width_bins, ("int32",)),
    ]  # fmt: skip


RECORDS = [*segments(), *norms(), *products(), *counts()]
