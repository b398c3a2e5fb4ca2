"""The functions of `native/arrays.cc`: work on arrays that NumPy has no single call for.

A shared library of its own, loaded at first use: it has neither Python nor XLA in it, and leaves
Python's lock while it works. Each function here returns None where the library is not in use, or
does not serve what it is given: wrong ids, dtypes that it has no code for. Then the caller does the
work in NumPy, which also says what is wrong. Where memory runs out, there is a MemoryError.
Thread-safe: nothing is kept between calls.
"""

import math
from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary, processors

LIBRARY = HostLibrary(
    "arrays",
    what="native work on arrays",
    without="unique, segments, top_k and the like take two to ten times as long",
    version=25,
    functions={
        "unique": "pnnnnppp",
        "combine": "nnpnpnnpnnnnpp",
        "deal": "pnpnnpp",
        "invert": "pnnp",
        "top": "npnnnnpp",
        "extreme": "npnnnp",
        "nth": "npnnnp",
        "pad": "pnpnnnnpp",
        "apart": "ppnpnp",
        "apart_by_overlaps": "pnpnpnp",
        "apart_by_class": "ppppnnpppp",
        "among": "pnnpnnp",
        "edits": "ppppnnp",
        "index": "pnpn",
        "places": "ppnpnnp",
        "enter": "pnpnpnp",
        "leave": "ppnpnp",
        "level": "pnnpp",
        "histogram": "npnpnnp",
        "ranges": "ppnpnp",
        "chain": "ppn",
        "nearer": "pnnppp",
        "nearest": "pnnpnnnpp",
        "tridiagonal_product": "nppppnnnnp",
        "sets": "npnpnpnpnpp",
        "counts": "npnpnpnnpp",
        "ctc": "npnnnpnppnnnpp",
        "ctc_sparse": "npnnnppnpnnnnnpp",
        "ctc_best": "npnnnpnnpppp",
        "ctc_search": "pnnnpnnnppp",
        "rule": "nppppppppnnnnn",
        "pass": "nnpppnp",
        "choose": "pppnnp",
        "to_rows": "pnnppnppp",
        "from_rows": "ppnpp",
        "dense_rows": "ppnppnp",
        "bounds": "pnnpp",
        "unite": "pnpnnppp",
        "elements_at": "pnpnnpnp",
        "in_turn": "pnpnnppnp",
        "in_box": "pnnpppp",
        "product": "npnnnppnnpn",
        "shift": "npnnp",
        "cross": "nppppnnpp",
        "cross_classes": "nppppnnnpp",
        "weighted": "ppnnpnp",
        "by_powers": "pnpnp",
        "quantise": "pnpnnnp",
        "dequantise": "pnnnpnp",
        "quantised_product": "ppnpnp",
        "far_apart": "pnnnnppp",
        "fake_steps": "pnnpnnp",
        "fake_steps_back": "ppnnpnppp",
        "sobol": "pnnnnp",
        "hits": "pnpnnpp",
        "flatten": "pnnnpp",
        "different": "pnnnpp",
        "share": "npnnpnp",
        "spread": "npnnpnpnnnnp",
        "often": "pnnnp",
        "are_splits": "pnnn",
        "items_of_rows": "pnnnnpp",
        "count_rows": "npnpnnnpnp",
        "count_places": "npnnpnnnpnp",
        "chosen_rows": "pnnpnnpp",
        "range_splits": "pppnpnnp",
        "fill_rows": "pnnppp",
        "mark": "npnnnppnp",
        "put": "pnnnpnpnnp",
        "fill_empty_rows": "pnnnppnpppp",
        "part_filled": "npnpnpp",
        "square_sum": "npnp",
        "line": "npnp",
    },
)
ADD, MULTIPLY, LARGEST, SMALLEST, SUBTRACT, DIVIDE, REPLACE, RAISE, LOWER = range(9)
INSIDE, RISING, NEGATIVE_TOO, LARGE_TOO, ALL_INSIDE = range(5)  # right ids, see `combined`
_KINDS = {np.dtype(t).num: i for i, t in enumerate((np.float32, np.float64, np.int32, np.int64))}
_KINDS.update({np.dtype(c).num: {4: 2, 8: 3}[np.dtype(c).itemsize] for c in "ilq"})  # aliases
_WIDE = {number: kind == 3 for number, kind in _KINDS.items() if kind >= 2}
_ALONE = 1 << 14  # elements up to which one thread works
_COUNTED_ALONE = 1 << 17  # numbers up to which one thread counts
_NO_MEMORY = -3
Array = Any  # numpy.ndarray


def kind_of(dtype: np.dtype[Any]) -> int | None:
    """The number by which the library knows a dtype; None for those it has no code for."""
    return _KINDS.get(dtype.num)


def checked(found: int) -> int:
    """What a function of the library returned that needs room of its own."""
    if found == _NO_MEMORY:
        raise MemoryError(
            "native work on arrays: there is no memory left for its intermediate values"
        )
    return found


def floating_kind(dtype: np.dtype[Any]) -> int | None:
    """`kind_of` of float32 and float64; None for all others."""
    kind = kind_of(dtype)
    return kind if kind in (0, 1) else None


def is_wide(ids: Array) -> bool | None:
    """Whether the integers have 64 bits; None for those of other sizes."""
    return _WIDE.get(ids.dtype.num)


def word_size(dtype: np.dtype[Any]) -> int | None:
    """The bytes of an element that is moved as it is; None where there is no code for so many."""
    size = dtype.itemsize
    return None if dtype.hasobject or size not in (1, 2, 4, 8, 16) else size


def unique(items: Array, out: np.dtype[Any]) -> tuple[Array, Array, Array] | None:
    """Distinct rows in the order in which they first occur.

    Args:
      items: numbers [N, ...], not complex. Vectors of floats of NumPy's are compared as numbers,
        all others by their bytes.
      out: the dtype of numbers, int32 or int64.

    Returns:
      Where each distinct row first stands (int64), the number of each row's distinct one (`out`),
      how often each occurs (int64).
    """
    dtype = items.dtype
    floating = dtype.kind == "f" and items.ndim == 1
    if dtype.kind not in "iubfV" or (dtype.kind == "f" and dtype.itemsize > 8):
        return None
    call = LIBRARY.function("unique")
    if call is None:
        return None
    items = np.ascontiguousarray(items)
    size = dtype.itemsize * math.prod(items.shape[1:])
    numbers = np.empty(len(items), out)
    first, counts = np.empty((2, len(items)), np.int64)
    wide = out.itemsize == 8
    found = checked(call(items, len(items), size, floating, wide, numbers, first, counts))
    return None if found < 0 else (first[:found], numbers, counts[:found])


def combined(
    operation: int,
    rows: Array,
    ids: Array,
    result: Array,
    order: int = INSIDE,
    places: Array | None = None,
    sizes: Array | None = None,
) -> Array | None:
    """`result`, with rows combined into it by id: result[id] = result[id] op row.

    Args:
      operation: ADD, MULTIPLY, SUBTRACT, DIVIDE (floats alone) or REPLACE; LARGEST and SMALLEST,
        the rule of segments in `penstock.ops.extremes`; RAISE and LOWER, that of scatters.
      rows: numbers [N, ...].
      ids: int32 or int64[M].
      result: begun [K, ...], of the dtype of `rows`; written to.
      order: INSIDE for ids in [0, K), RISING for those that also never fall; NEGATIVE_TOO for ids
        below K, LARGE_TOO for those of at least 0: rows of ids that are not inside are left out;
        ALL_INSIDE for ids in [0, K), where nothing is written if one is not.
      places: the rows, int32 or int64[M], in [0, N); all in order when None.
      sizes: zeros, int64[K]; becomes the number of rows of each id.

    Returns:
      None also where ids or places are wrong; then `result` and `sizes` hold anything.
    """
    kind, wide = kind_of(rows.dtype), is_wide(ids)
    by_wide = False if places is None else is_wide(places)
    if kind is None or wide is None or by_wide is None or not result.flags.c_contiguous:
        return None
    if len(ids) != len(rows if places is None else places):
        return None
    call = LIBRARY.function("combine")
    if call is None:
        return None
    rows, ids = np.ascontiguousarray(rows), np.ascontiguousarray(ids)
    places = None if places is None else np.ascontiguousarray(places)
    width = 1 if rows.ndim == 1 else math.prod(rows.shape[1:])
    wrong = call(
        operation, kind, rows, width, places, by_wide, len(rows),
        ids, wide, len(ids), order, len(result), result, sizes,
    )  # fmt: skip
    return result if wrong < 0 else None


def padded(rows: Array, splits: Array, width: int, rest: Array) -> Array | None:
    """Rows of a ragged tensor side by side, cut or filled up to one length.

    Args:
      rows: the items [N, ...], no objects.
      splits: int32 or int64[R + 1], never falling, from 0 to N.
      width: the length, at least 0.
      rest: what fills rows that end earlier; broadcasts to an item.

    Returns:
      [R, width, ...]
    """
    wide, item = is_wide(splits), rows.shape[1:]
    call = LIBRARY.function("pad")
    if call is None or wide is None or rows.dtype.hasobject:
        return None
    rows, splits = np.ascontiguousarray(rows), np.ascontiguousarray(splits)
    number = len(splits) - 1
    result = np.empty((number, width, *item), rows.dtype)
    fill = np.empty(item, rows.dtype)
    fill[...] = rest
    size, threads = fill.nbytes, processors() if result.size > _ALONE else 1
    call(rows, size, splits, wide, number, width, threads, fill, result)
    return result


def apart(boxes: Array, scores: Array, most: int, limit: float, least: float) -> Array | None:
    """The best of boxes that overlap, in order: int64[K], K at most `most`.

    Args:
      boxes: float32[N, 4], rows of two opposite corners.
      scores: float32[N].
      most: how many are taken at most.
      limit: boxes with more than this part of their union in common overlap.
      least: boxes are only taken with scores above it.
    """
    call = LIBRARY.function("apart")
    if call is None:
        return None
    boxes, scores = np.ascontiguousarray(boxes), np.ascontiguousarray(scores)
    taken, limits = np.empty(max(min(len(scores), most), 0), np.int64), np.array([limit, least])
    given = limits.astype(np.float32), most, taken
    return taken[: checked(call(boxes, scores, len(scores), *given))]


def apart_by_overlaps(overlaps: Array, order: Array, most: int, limit: float) -> Array | None:
    """Of boxes in order those that none taken before covers: int64[K], K at most `most`.

    None also where a NaN, or an infinity that is not above the limit, leaves open whether one does.

    Args:
      overlaps: float32[N, N], what each row's box has in common with each column's.
      order: int64[M], the boxes.
      most: how many are taken at most.
      limit: a box covers those that have more than this in common with it; no NaN.
    """
    call = LIBRARY.function("apart_by_overlaps")
    if call is None:
        return None
    taken = np.empty(max(min(len(order), most), 0), np.int64)
    given = np.ascontiguousarray(overlaps), len(overlaps), np.ascontiguousarray(order), len(order)
    found = call(*given, np.array([limit], np.float32), most, taken)
    return taken[:found] if found >= 0 else None


def apart_by_class(
    boxes: Array, scores: Array, most: int, room: int, limits: tuple[float, float], clipped: bool
) -> tuple[Array, Array, Array, Array] | None:
    """The best boxes of all classes of each image, each class's apart as by `apart`.

    Args:
      boxes: float32[N, M, 1 or K, 4].
      scores: float32[N, M, K].
      most: how many of a class are taken at most.
      room: how many of an image are.
      limits: `limit` and `least` of `apart`.
      clipped: whether corners become numbers in [0, 1].

    Returns:
      Boxes [N, room, 4], scores and classes [N, room], zeros where there are fewer; how many there
      are, int32[N].
    """
    call, (batch, number, classes) = LIBRARY.function("apart_by_class"), scores.shape
    if call is None or boxes.shape[2] not in (1, classes) or boxes.shape[:2] != scores.shape[:2]:
        return None
    boxes, scores = np.ascontiguousarray(boxes), np.ascontiguousarray(scores)
    corners = np.zeros((batch, room, 4), np.float32)
    found, kinds = np.zeros((batch, room), np.float32), np.zeros((batch, room), np.float32)
    counts = np.zeros(batch, np.int32)
    sizes = np.array([batch, number, boxes.shape[2], classes, most, room], np.int64)
    threads = processors() if scores.size > _ALONE else 1
    given = boxes, scores, sizes, np.array(limits, np.float32), clipped, threads
    checked(call(*given, corners, found, kinds, counts))
    return corners, found, kinds, counts


def dealt(rows: Array, ids: Array, parts: int) -> list[Array] | None:
    """Rows [N, ...] by id, int32[N] in [0, parts): an array for each part."""
    call = LIBRARY.function("deal")
    if call is None or rows.dtype.hasobject or ids.dtype != np.int32:
        return None
    rows, ids = np.ascontiguousarray(rows), np.ascontiguousarray(ids)
    ends, result = np.zeros(parts, np.int64), np.empty(rows.shape, rows.dtype)
    size = rows.dtype.itemsize * math.prod(rows.shape[1:])
    if call(rows, size, ids, len(ids), parts, ends, result) >= 0:
        return None
    bounds = ends.tolist()
    return [result[a:b] for a, b in zip([0, *bounds], bounds, strict=False)]


def inverted(x: Array) -> Array | None:
    """The inverse of a permutation, int32 or int64[N]."""
    call, wide = LIBRARY.function("invert"), is_wide(x)
    if call is None or wide is None:
        return None
    x = np.ascontiguousarray(x)
    result = np.empty_like(x)
    return result if call(x, wide, len(x), result) < 0 else None


def top(x: Array, k: int) -> tuple[Array, Array] | None:
    """The k largest of each row of float32 or int32 [..., N], and where they are: int64[..., k].

    The largest is first, of equal ones the first; NaN is larger than all numbers.
    """
    kind = kind_of(x.dtype)
    if kind not in (0, 2) or x.shape[-1] >= 1 << 32:
        return None
    call = LIBRARY.function("top")
    if call is None:
        return None
    x = np.ascontiguousarray(x)
    values = np.empty((*x.shape[:-1], k), x.dtype)
    places = np.empty(values.shape, np.int64)
    rows = math.prod(x.shape[:-1])
    threads = processors() if x.size > _ALONE else 1
    checked(call(kind, x, rows, x.shape[-1], k, threads, values, places))
    return values, places


def largest(x: Array) -> Array | None:
    """Where the largest number of each row [..., N] is, the first of equal ones: int64[...].

    A NaN is none. N is at least 1.
    """
    kind, call = kind_of(x.dtype), LIBRARY.function("extreme")
    if kind is None or call is None or not x.shape[-1]:
        return None
    x = np.ascontiguousarray(x)
    found = np.empty(x.shape[:-1], np.int64)
    call(kind, x, found.size, x.shape[-1], 0, found)
    return found


def among_largest(rows: Array, targets: Array, k: int) -> Array | None:
    """Whether fewer than k numbers of each row (float32 [N, M]) are larger than its target's."""
    call, wide = LIBRARY.function("among"), is_wide(targets)
    if call is None or wide is None or rows.dtype != np.float32:
        return None
    rows, targets = np.ascontiguousarray(rows), np.ascontiguousarray(targets)
    found = np.empty(len(rows), bool)
    call(rows, *rows.shape, targets, wide, k, found)
    return found


def edits(a: Array, a_splits: Array, b: Array, b_splits: Array) -> Array | None:
    """The edit distances of rows of int32, a pair at a time: int64[number of rows].

    Args:
      a, b: the rows' numbers, one row's after the other's.
      a_splits, b_splits: where rows begin and end, int64[number of rows + 1].
    """
    call = LIBRARY.function("edits")
    if call is None:
        return None
    held = [np.ascontiguousarray(x) for x in (a, a_splits, b, b_splits)]
    found = np.empty(len(a_splits) - 1, np.int64)
    threads = processors() if len(a) > _ALONE else 1
    checked(call(*held, len(found), threads, found))
    return found


def index(keys: Array) -> Array | None:
    """What finds the places of different keys, int64[N], for `places`."""
    call = LIBRARY.function("index")
    if call is None or len(keys) >= 1 << 30:
        return None
    slots = np.full(2 << len(keys).bit_length(), -1, np.int32)
    call(keys, len(keys), slots, len(slots))
    return slots


def places(keys: Array, slots: Array, wanted: Array) -> Array | None:
    """The place among `keys`, of which `slots` is the index, of each of int64[M], or -1."""
    call = LIBRARY.function("places")
    if call is None:
        return None
    found = np.empty(len(wanted), np.int64)
    threads = processors() if len(wanted) > _ALONE else 1
    call(keys, slots, len(slots), wanted, len(wanted), threads, found)
    return found


def level(rows: Array) -> tuple[Array, Array] | None:
    """The nearest rows that do not rise (float64 [N, M]), and the numbers of their level parts."""
    call = LIBRARY.function("level")
    if call is None:
        return None
    rows = np.ascontiguousarray(rows)
    values, parts = np.empty(rows.shape), np.empty(rows.shape, np.int32)
    checked(call(rows, *rows.shape, values, parts))
    return values, parts


def histogram(values: Array, low: float, high: float, bins: int) -> Array | None:
    """How many numbers lie in each of `bins` parts of [low, high), those outside in the nearest.

    None also where one is NaN.
    """
    kind, call = kind_of(values.dtype), LIBRARY.function("histogram")
    if kind is None or call is None or not 0 < bins < 1 << 31:
        return None
    counts = np.zeros(bins, np.int64)
    threads = processors() if values.size > _COUNTED_ALONE else 1
    given = np.ascontiguousarray(values), values.size, np.array([low, high]), bins, threads, counts
    return counts if checked(call(kind, *given)) < 0 else None


def ranges(starts: Array, deltas: Array, splits: Array) -> Array | None:
    """Rows of evenly spaced whole numbers, one after the other; sums wrap around.

    Args:
      starts: int32 or int64[R].
      deltas: the same.
      splits: int64[R + 1], where rows begin and end; they do not fall.
    """
    call, wide = LIBRARY.function("ranges"), is_wide(starts)
    if call is None or wide is None:
        return None
    starts, deltas = np.ascontiguousarray(starts), np.ascontiguousarray(deltas, starts.dtype)
    result = np.empty(int(splits[-1]), starts.dtype)
    call(starts, deltas, wide, splits, len(starts), result)
    return result


def chain_end(numbers: Array, uniform: Array) -> int | None:
    """Where a Markov chain over float32[N] ends that moves on by chance, float64[N]; N > 0."""
    call = LIBRARY.function("chain")
    return None if call is None else call(np.ascontiguousarray(numbers), uniform, len(numbers))


def nearer(points: Array, center: Array, before: Array | None) -> Array | None:
    """The squared distances of points, float32[N, D], from a centre, or `before` where less."""
    call = LIBRARY.function("nearer")
    if call is None:
        return None
    found = np.empty(len(points))
    points, center = np.ascontiguousarray(points), np.ascontiguousarray(center)
    call(points, *points.shape, center, before, found)
    return found


def tridiagonal_product(high: Array, main: Array, low: Array, dense: Array) -> Array | None:
    """The products of tridiagonal matrices and dense ones: [..., N, K].

    Args:
      high: float32 or float64[..., N], the diagonal above the main one; its last is not looked at.
      main: of the same dtype and shape.
      low: the same, below the main one; its first is not looked at.
      dense: of the same dtype, [..., N, K].
    """
    kind, call = floating_kind(dense.dtype), LIBRARY.function("tridiagonal_product")
    if kind is None or call is None:
        return None
    given = [np.ascontiguousarray(each) for each in (high, main, low, dense)]
    result = np.empty(dense.shape, dense.dtype)
    threads = processors() if result.size > _COUNTED_ALONE else 1
    call(kind, *given, math.prod(dense.shape[:-2]), *dense.shape[-2:], threads, result)
    return result


def sets(
    operation: int, a: tuple[Array | None, int, Array], b: tuple[Array | None, int, Array]
) -> tuple[Array, Array] | None:
    """Numbered sets: a - b (0), b - a (1), the intersections (2) or unions (3).

    Args:
      operation: which.
      a: the number of the set of each element, int64[N] that does not fall, or None where elements
        follow each other; then how many each set has; int64[N], elements.
      b: the same.

    Returns:
      int64[K, 2], a set's number and a place in it, and int64[K], the element: in order, each once.
      None also where numbers of sets fall.
    """
    call = LIBRARY.function("sets")
    if call is None:
        return None
    given: list[Any] = []
    for rows, width, values in (a, b):
        values = np.ascontiguousarray(values, np.int64)
        given += [None if rows is None else np.ascontiguousarray(rows), width, values, len(values)]
    most = given[3] + given[7]
    places, values = np.empty((most, 2), np.int64), np.empty(most, np.int64)
    found = checked(call(operation, *given, places, values))
    return None if found < 0 else (places[:found], values[:found])


def counts(
    rows: Array | None, width: int, values: Array, weights: Array, most: int, binary: bool
) -> tuple[Array, Array] | None:
    """The weights of numbered sets' elements, added up by value.

    Args:
      rows: the number of the set of each element, int64[N] that does not fall, or None where
        elements follow each other.
      width: how many each set has then.
      values: integers of at least 0, [N].
      weights: float32, float64, int32 or int64[N]; empty where each counts one.
      most: only values below it count; all where it is negative.
      binary: whether sums are all ones.

    Returns:
      int64[K, 2], a set's number and a value, and the sums [K]: in order. None also where numbers
      of sets fall, or a value is below 0.
    """
    call, kind = LIBRARY.function("counts"), kind_of(weights.dtype)
    if call is None or kind is None or values.dtype.itemsize > 8:
        return None
    rows = None if rows is None else np.ascontiguousarray(rows, np.int64)
    values = np.ascontiguousarray(values, np.int64)
    given = np.ascontiguousarray(weights).reshape(-1) if weights.size else None
    if given is not None and len(given) != len(values):
        return None
    places, totals = np.empty((len(values), 2), np.int64), np.empty(len(values), weights.dtype)
    elements = rows, width, values, len(values), given
    found = checked(call(kind, *elements, most, binary, places, totals))
    return None if found < 0 else (places[:found], totals[:found])
