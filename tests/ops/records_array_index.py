"""Records of array operations that select or write by index, by condition or by order."""

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
)

from penstock import errors
from penstock.core.execute import execute
from penstock.ops import array_gather as g
from penstock.ops import array_getitem as at
from penstock.ops import array_scatter as k
from penstock.ops import array_select as w
from penstock.ops import array_sort as o

REALS = (*FLOATS, *HALVES, *SIGNED, *UNSIGNED)
ALL = (*REALS, *COMPLEX, "bool")
NUMBERS = (*REALS, *COMPLEX)
BAD = errors.InvalidArgumentError


def ints(*values):
    return np.array(values, np.int32)


def scattered(combine):
    """Writes updates one after the other with `combine`."""

    def reference(x, indices, updates):
        x = x.copy()
        for place in np.ndindex(indices.shape[:-1]):
            where = tuple(indices[place])
            x[where] = combine(x[where], updates[place])
        return x

    return reference


def slices():
    def strided(x, begin, end, strides, **masks):
        items = []
        for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
            bit = 1 << i
            if masks.get("shrink_axis_mask", 0) & bit:
                items.append(int(b))
            elif masks.get("new_axis_mask", 0) & bit:
                items.append(None)
            else:
                first = None if masks.get("begin_mask", 0) & bit else int(b)
                last = None if masks.get("end_mask", 0) & bit else int(e)
                items.append(slice(first, last, int(s)))
        return x[tuple(items)]

    def updated(x, begin, end, strides, value, **masks):
        x = x.copy()
        strided(x, begin, end, strides, **masks)[...] = value
        return x

    def spread(shape, begin, end, strides, dy, **masks):
        x = np.zeros(shape, dy.dtype)
        strided(x, begin, end, strides, **masks)[...] = dy
        return x

    index = (ints(0, 3), ints(2, 0), ints(1, -2))
    return [
        Record("Slice", [case(normal(3, 4), ints(1, 0), ints(2, -1)), case(normal(), ints(), ints()), case(normal(3), ints(3), ints(0))],
               lambda x, b, n: x[tuple(slice(i, None if m < 0 else i + m) for i, m in zip(b, n, strict=True))], at.slice_, ALL, differentiable=(0,),
               errors=(Failure((normal(3), ints(2), ints(2)), "begin \\+ size <= 3", graph=BAD),
                       Failure((normal(3), ints(-1), ints(1)), "begin >= 0", graph=BAD),
                       Failure((normal(3), ints(0, 0), ints(1, 1)), "1 entries"))),
        Record("StridedSlice", [case(normal(3, 4), *index), case(normal(3, 4), *index, shrink_axis_mask=1), case(normal(3, 4), *index, begin_mask=3, end_mask=2),
                                case(normal(4), *index, new_axis_mask=1), case(normal(0), ints(0), ints(5), ints(1))],
               strided, at.strided_slice, ALL, differentiable=(0,),
               errors=(Failure((normal(3), ints(0), ints(1), ints(0)), "strides other than 0"), Failure((normal(3), ints(3), ints(4), ints(1)), r"index in \[-3, 3\)", {"shrink_axis_mask": 1}),
                       Failure((normal(3), ints(0, 0), ints(1, 1), ints(1, 1)), "at most 1 indices"))),
        Record("StridedSliceGrad", [case(ints(3, 4), *index, normal(2, 2))], spread, dtypes=ALL, differentiable=(4,)),
        Record("TensorStridedSliceUpdate", [case(normal(3, 4), *index, normal(2, 2)), case(normal(3, 4), *index, normal())], updated, dtypes=ALL, differentiable=(0, 4),
               errors=(Failure((normal(3, 4), *index, normal(3, 2)), "broadcast"),)),
    ]  # fmt: skip


def gathers():
    def batched(x, i, axis=None, batch_dims=0):
        axis = batch_dims if axis is None else axis
        if not batch_dims:
            return np.take(x, i, axis)
        return np.stack(
            [batched(a, b, axis - 1, batch_dims - 1) for a, b in zip(x, i, strict=True)]
        )

    def picked(x, i):
        return (
            x[tuple(np.moveaxis(i, -1, 0))]
            if i.shape[-1]
            else np.broadcast_to(x, i.shape[:-1] + x.shape)
        )

    pairs = np.int32([[0, 1], [2, 0], [0, 1]])
    return [
        Record("GatherV2", [case(normal(3, 4), ints(2, 0, 2)), case(normal(3, 4), np.int32([[1, 3], [0, 0]]), axis=1), case(normal(3), np.int32(1)),
                            case(normal(2, 3, 4), np.int32([[1, 0], [3, 3]]), axis=2, batch_dims=1), case(normal(2, 3), np.int32([[1], [0]]), batch_dims=1),
                            case(normal(3, 2), np.zeros((0,), np.int32))],
               batched, g.gather, ALL, differentiable=(0,),
               errors=(Failure((normal(3), ints(3)), r"indices\[0\] = 3 is not in \[0, 3\)", graph=BAD), Failure((normal(3), ints(1, -1)), r"indices\[1\] = -1 is not in", graph=BAD),
                       Failure((normal(3), np.int32(0)), r"axis in the range \[-1, 1\)", {"axis": 1}), Failure((normal(), np.int32(0)), "rank at least 1"))),
        Record("Gather", [case(normal(3, 4), ints(2, 0, 2)), case(normal(3), np.int32(1))], lambda x, i: x[i], dtypes=ALL, differentiable=(0,),
               errors=(Failure((normal(3), ints(3)), r"is not in \[0, 3\)", graph=BAD),)),
        Record(".batch_gather", [case(normal(2, 3), np.int32([[1, 1], [0, 2]]))], lambda x, i: np.take_along_axis(x, i, 1), g.batch_gather, differentiable=(0,), graph=False),
        Record("GatherNd", [case(normal(3, 2, 2), pairs), case(normal(3, 2), np.int32([[2], [0]])), case(normal(3), np.zeros((2, 0), np.int32)), case(normal(2), np.int32([1]))],
               picked, g.gather_nd, ALL, differentiable=(0,),
               errors=(Failure((normal(3, 2), pairs + 1), r"indices\[0\] = \[1, 2\] does not index into param shape \[3, 2\]", graph=BAD), Failure((normal(3), pairs), "depth at most 1"))),
        Record(".gather_nd", [case(normal(2, 3), np.int32([[1], [2]]), batch_dims=1)], lambda x, i, batch_dims: x[[0, 1], i[:, 0]], g.gather_nd, differentiable=(0,), graph=False),
        Record(".gather_nd", [case(normal(3), np.int32([[1], [7]]), bad_indices_policy="IGNORE")], lambda x, i, bad_indices_policy: np.array([x[1], 0]), g.gather_nd),
    ]  # fmt: skip


def scatters():
    pairs = np.int32([[0, 1], [2, 0], [0, 1]])
    once = np.int32([[0, 1], [2, 0]])
    rows = np.int32([[2], [0]])
    outside = Failure(
        (normal(3, 2), pairs + 1, normal(3)),
        r"indices\[0\] = \[1, 2\] does not index into tensor shape \[3, 2\]",
        graph=BAD,
    )
    wrong = Failure((normal(3, 2), pairs, normal(2)), r"updates of shape \(3,\)")

    def into(name, combine, function, types, differentiable=(0, 2)):
        places = once if name == "Update" else pairs
        cases = [
            case(normal(3, 2), places, normal(len(places))),
            case(normal(3, 2), rows, normal(2, 2)),
            case(normal(3, 0), rows, normal(2, 0)),
        ]
        if name in ("Min", "Max"):
            cases = [
                case(distinct(3, 2), once, distinct(2).shaped(2)),
                case(normal(3, 2), rows, normal(2, 2)),
            ]
        return Record(
            f"TensorScatter{name}",
            cases,
            scattered(combine),
            function,
            types,
            differentiable=differentiable,
            order=1,
            errors=(outside, wrong),
        )

    def zeros(i, u, n):
        return scattered(np.add)(np.zeros(n, u.dtype), i, u)

    return [
        Record("ScatterNd", [case(pairs, normal(3), ints(3, 2)), case(rows, normal(2, 4), ints(3, 4)), case(np.zeros((0, 1), np.int32), normal(0), ints(2))],
               zeros, k.scatter_nd, NUMBERS, differentiable=(1,), tolerance={"bfloat16": 4e-2, "float16": 4e-3},
               errors=(Failure((pairs + 1, normal(3), ints(3, 2)), "does not index into tensor shape", graph=BAD), Failure((pairs, normal(2), ints(3, 2)), r"updates of shape \(3,\)"))),
        into("Update", lambda a, b: b, k.tensor_scatter_nd_update, ALL),
        into("Add", np.add, k.tensor_scatter_nd_add, FLOATS + SIGNED),
        into("Sub", np.subtract, k.tensor_scatter_nd_sub, FLOATS + SIGNED),
        into("Min", np.minimum, k.tensor_scatter_nd_min, FLOATS + SIGNED, differentiable=(0,)),
        into("Max", np.maximum, k.tensor_scatter_nd_max, FLOATS + SIGNED, differentiable=(0,)),
        Record("ScatterNdNonAliasingAdd", [case(normal(3, 2), pairs, normal(3))], scattered(np.add), dtypes=FLOATS, differentiable=(0, 2)),
    ]  # fmt: skip


def selections():
    def first_seen(x, **attrs):
        y, first, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        rank = np.argsort(order)
        return y[order], rank[inverse].astype(np.int32), counts[order].astype(np.int32)

    def raw(name):
        return lambda x, *rest: execute(name, (x, *rest))

    values = np.int32([3, 1, 3, 2, 1])
    matrix = np.int32([[1, 2], [3, 4], [1, 2]])
    rows = (matrix[:2], ints(0, 1, 0), ints(2, 1))
    axis = np.int64([0])
    host = {"compiled": False, "dtypes": ("int32",)}  # the result's shape depends on the data
    return [
        Record("Where", [case(np.array([[True, False], [True, True]])), case(np.int32([0, 2])), case(np.zeros((0, 2), bool))],
               np.argwhere, w.where, result_dtype="int64", compiled=False),
        Record(".boolean_mask", [case(normal(3, 2), np.array([True, False, True])), case(normal(2, 2), np.array([[True, False], [True, True]])),
                                 case(normal(2, 3), np.array([False, True, True]), axis=1)],
               lambda x, m, axis=0: x[(slice(None),) * axis + (m,)], w.boolean_mask, ALL, differentiable=(0,), graph=False),
        Record("Unique", [case(values), case(np.zeros(0, np.int32))], lambda x: first_seen(x)[:2], w.unique, **host, errors=(Failure((matrix,), "rank 1"),)),
        Record("Unique", [case(np.array([b"b", b"a", b"b"], object))], lambda x: (np.array([b"b", b"a"], object), ints(0, 1, 0)), w.unique, ("string",), compiled=False),
        Record("UniqueWithCounts", [case(values), case(np.zeros(0, np.int32))], first_seen, w.unique_with_counts, **host),
        Record("UniqueV2", [case(matrix, axis)], lambda x, a: rows[:2], raw("UniqueV2"), **host, errors=(Failure((matrix, np.int64([2])), "axis in the range"),)),
        Record("UniqueWithCountsV2", [case(matrix, axis)], lambda x, a: rows, raw("UniqueWithCountsV2"), **host),
        Record("ListDiff", [case(values, ints(1, 9)), case(ints(), ints(1))], lambda x, y: (x[~np.isin(x, y)], np.flatnonzero(~np.isin(x, y)).astype(np.int32)), w.setdiff1d, **host),
    ]  # fmt: skip


def ordered():
    def largest(x, n=1):
        places = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")[..., :n]
        return np.take_along_axis(x, places, -1), places.astype(np.int32)

    def along(x, axis=-1, direction="ASCENDING"):
        y = np.sort(x, axis)
        return y if direction == "ASCENDING" else np.flip(y, axis)

    sorted_row, found = np.float32([1, 3, 3, 5]), np.float32([0, 3, 4, 9])

    def bound(side):
        return lambda x, y: np.stack(
            [np.searchsorted(a, c, side) for a, c in zip(x, y, strict=True)]
        ).astype(np.int32)

    small = tuple(t for t in REALS if t != "bool")
    return [
        Record("TopKV2", [case(distinct(2, 4), 2), case(distinct(3), 3), case(distinct(2, 3), 0)], largest, o.top_k, small, differentiable=(0,),
               errors=(Failure((distinct(2), 3), "Had 2, needed 3|k = 3 but is 2"), Failure((distinct(), 1), "rank at least 1"))),
        Record("TopK", [case(distinct(2, 4), k=2)], lambda x, k: largest(x, k), compiled=False),  # for old graphs only
        Record(".sort", [case(distinct(2, 4)), case(distinct(3, 2), axis=0, direction="DESCENDING"), case(distinct(0))], along, o.sort, small, differentiable=(0,), graph=False),
        Record(".argsort", [case(distinct(2, 4)), case(distinct(3, 2), axis=0)], lambda x, axis=-1: np.argsort(x, axis).astype(np.int32), o.argsort, small,
               result_dtype="int32", graph=False),
        Record("UpperBound", [case(sorted_row[None], found[None])], bound("right"), result_dtype="int32"),
        Record("LowerBound", [case(sorted_row[None], found[None])], bound("left"), result_dtype="int32"),
        Record(".searchsorted", [case(sorted_row, found), case(sorted_row, found, side="right")], lambda x, y, side="left": np.searchsorted(x, y, side).astype(np.int32),
               o.searchsorted, result_dtype="int32"),
    ]  # fmt: skip


RECORDS = [*slices(), *gathers(), *scatters(), *selections(), *ordered()]
