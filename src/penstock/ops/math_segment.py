"""Sums, means, products and extremes of rows by segment.

`segment_...` takes sorted ids of one axis; the number of segments is the last id plus one, so it
is known only when it runs. `unsorted_segment_...` takes ids of any order and a number of segments;
a negative id drops its row.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import positions
from penstock.ops.composing import composed
from penstock.ops.extremes import is_floating, largest_by_id
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal
from penstock.ops.math_division import div_no_nan, real_div, truediv
from penstock.ops.math_elementwise import sqrt
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer


def lowest(dtype: np.dtype[Any]) -> Any:
    """The smallest finite number of a dtype."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else jnp_finfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else jnp_finfo(dtype).max


def jnp_finfo(dtype: np.dtype[Any]) -> Any:
    """The limits of a floating dtype, those of ml_dtypes included."""
    if dtype.kind == "f":
        return np.finfo(dtype)
    return dt.from_numpy(dtype)


_START: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "Sum": lambda dtype: 0, "Prod": lambda dtype: 1, "Max": lowest, "Min": _highest,
}  # fmt: skip


@functools.cache
def _start(kind: str, dtype: np.dtype[Any]) -> Any:
    """What a segment without rows has before they are combined."""
    return _START[kind](dtype)


_UFUNC = {"Sum": np.add, "Prod": np.multiply}
_AT = {"Sum": "add", "Prod": "multiply"}


_SPARSE = 1000  # times as many segments as rows, above which wrong ids are looked for first
_OPERATION = {
    "Sum": native_arrays.ADD,
    "Prod": native_arrays.MULTIPLY,
    "Max": native_arrays.LARGEST,
    "Min": native_arrays.SMALLEST,
}


@functools.cache
def _sorted_start(kind: str, dtype: np.dtype[Any]) -> Any:
    """The same of segments with sorted ids, whose largest may be -inf."""
    if kind in ("Max", "Min") and is_floating(dtype):
        return dtype.type(-np.inf if kind == "Max" else np.inf)
    return _start(kind, dtype)


def _combined(
    kind: str, data: Array, ids: Array, count: int, order: int, start: Any,
    sizes: Array | None = None,
) -> Array | None:  # fmt: skip
    """Rows combined by id in the native library; None where it does not serve them."""
    shape = (count, *data.shape[1:])
    if kind == "Sum":
        result = np.zeros(shape, data.dtype)
    else:
        result = np.empty(shape, data.dtype)
        result.fill(start)
    return native_arrays.combined(_OPERATION[kind], data, ids, result, order, sizes=sizes)


def _scatter(kind: str, data: Array, ids: Array, count: int, start: Any, empty: Any) -> Array:
    """Rows combined by id, `empty` where there is none; ids are valid."""
    result = np.full((count, *data.shape[1:]), start, data.dtype)
    if kind in ("Max", "Min"):
        result = largest_by_id(np, kind == "Max", result, ids, data)
    else:
        _UFUNC[kind].at(result, ids, data)
    if empty != start:
        present = np.zeros(count, bool)
        present[ids] = True
        result[~present] = empty
    return result


# sorted segments


def _segment_shape(c: ShapeContext) -> Dims:
    ids = c.shape(1)
    if ids is not None and len(ids) != 1:
        c.fail("segment_ids of rank 1", f"segment_ids should be a vector, not {d.text(ids)}")
    data = c.rank_at_least(0, 1, "data")
    if data is None:
        return None
    wrong = ids is not None and data[0] is not None and ids[0] not in (None, data[0])
    if wrong and c.running:  # graphs are built of it, as in TensorFlow, and fail when they run
        assert ids is not None
        c.fail(
            "one segment id for each row",
            f"segment_ids should be the same size as dimension 0 of input: {ids[0]} and {data[0]}",
        )
    # A kernel finds the number of segments itself: to read it here would check every call's shapes.
    values = None if c.running else c.constant(1)
    if values is None or wrong:
        return (None, *data[1:])
    return (max(int(values[-1]) + 1, 0) if values.size else 0, *data[1:])


def _sorted_ids(ids: Array) -> int:
    """Checks sorted ids; returns the number of segments."""
    if not ids.size:
        return 0
    if ids[0] < 0:
        raise errors.InvalidArgumentError(
            None, None, f"Segment id {ids[0]} out of range: expected segment ids >= 0."
        )
    if (np.diff(ids) < 0).any():
        raise errors.InvalidArgumentError(
            None,
            None,
            "segment ids are not increasing: expected sorted ids. Sort them, or use "
            "tf.math.unsorted_segment_sum and the like.",
        )
    return int(ids[-1]) + 1


def _define_segment(kind: str, types: str, doc: str) -> OpDef:
    op = define_op(
        f"Segment{kind}(data: T, segment_ids: Tindices; T: {types}, Tindices: {{int32, int64}}) -> "
        "output: T",
        shape=_segment_shape,
        doc=doc,
    )
    empty = 1 if kind == "Prod" else 0

    def run(data: Array, ids: Array) -> Array:
        found = _run_natively(kind, data, ids, empty)
        if found is not None:
            return found
        count = _sorted_ids(ids)
        if kind != "Mean":
            start = _sorted_start(kind, data.dtype)
            return _scatter(kind, data, ids, count, start, empty)
        total = _scatter("Sum", data, ids, count, 0, 0)
        sizes = np.maximum(np.bincount(ids, minlength=count), 1)
        return (total / sizes.reshape((-1,) + (1,) * (data.ndim - 1))).astype(data.dtype)

    host_kernel(op)(run)
    return op


def _run_natively(kind: str, data: Array, ids: Array, empty: int) -> Array | None:
    """A sorted segment operation in one pass; None where the library does not serve it."""
    count = int(ids[-1]) + 1 if ids.size else 0
    if not 0 <= count <= _SPARSE * (len(ids) + 1):
        return None
    sizes = None if kind in ("Sum", "Prod") else np.zeros(count, np.int64)
    operation = "Sum" if kind == "Mean" else kind
    start = _sorted_start(operation, data.dtype)
    found = _combined(operation, data, ids, count, native_arrays.RISING, start, sizes)
    if found is None or sizes is None:
        return found
    if kind == "Mean":
        column = np.maximum(sizes, 1)
        if data.ndim > 1:
            column = column.reshape((-1,) + (1,) * (data.ndim - 1))
        return np.divide(found, column, out=found, casting="unsafe")
    if np.count_nonzero(sizes) < count:
        found[sizes == 0] = empty
    return found


SEGMENT_SUM = _define_segment("Sum", "numbertype", "Adds rows of each segment; ids are sorted.")
SEGMENT_MEAN = _define_segment(
    "Mean", "numbertype", "Averages rows of each segment; ids are sorted."
)
SEGMENT_PROD = _define_segment(
    "Prod", "numbertype", "Multiplies rows of each segment; ids are sorted."
)
SEGMENT_MAX = _define_segment(
    "Max", "realnumbertype", "Returns the largest of each segment's rows; ids are sorted."
)
SEGMENT_MIN = _define_segment(
    "Min", "realnumbertype", "Returns the smallest of each segment's rows; ids are sorted."
)


def _rows(x: Any, ids: Any) -> Any:
    return execute("GatherV2", (x, ids, np.int32(0)))


def _rank_ones(sizes: Any, x: Any) -> Any:
    """A vector as a column that broadcasts against the rows of `x`."""
    ones = execute("OnesLike", (execute("Shape", (x,)),))
    head = execute("Shape", (sizes,))
    tail = execute(
        "StridedSlice",
        (ones, np.array([1], np.int32), np.array([0], np.int32), np.array([1], np.int32)),
        {"end_mask": 1},
    )
    return execute("Reshape", (sizes, execute("ConcatV2", ([head, tail], np.int32(0)))))


@SEGMENT_SUM.gradient
def _segment_sum_gradient(op: Any, grad: Any) -> list[Any]:
    return [_rows(grad, op.inputs[1]), None]


@SEGMENT_MEAN.gradient
def _segment_mean_gradient(op: Any, grad: Any) -> list[Any]:
    ids = op.inputs[1]
    ones = execute("Fill", (execute("Shape", (ids,)), convert_to_tensor(1, grad.dtype)))
    sizes = execute(SEGMENT_SUM, (ones, ids))
    return [_rows(div_no_nan(grad, _rank_ones(sizes, grad)), ids), None]


def _segment_extreme_gradient(op: Any, grad: Any) -> list[Any]:
    data, ids = op.inputs
    chosen = cast(equal(data, _rows(op.outputs[0], ids)), grad.dtype)
    share = div_no_nan(grad, execute(SEGMENT_SUM, (chosen, ids)))
    return [multiply(chosen, _rows(share, ids)), None]


SEGMENT_MAX.gradient(_segment_extreme_gradient)
SEGMENT_MIN.gradient(_segment_extreme_gradient)


def _others_product(kind: str, op: Any, grad: Any, more: tuple[Any, ...]) -> Any:
    """The gradient of a product: with the zeros of a segment left out where there is just one."""
    data, ids = op.inputs[0], op.inputs[1]
    zeros = execute("ZerosLike", (data,))
    is_zero = equal(data, zeros)
    sums = kind.replace("Prod", "Sum")
    count = execute(sums, (cast(is_zero, dt.int32), ids, *more))
    none = execute("ZerosLike", (grad,))
    grad = execute("SelectV2", (execute("Greater", (count, np.int32(1))), none, grad))
    filled = execute("SelectV2", (is_zero, execute("OnesLike", (data,)), data))
    product = execute(kind, (filled, ids, *more))
    safe = execute("Maximum", (ids, execute("ZerosLike", (ids,))))
    whole, spread = _rows(op.outputs[0], safe), _rows(grad, safe)
    others = execute("SelectV2", (is_zero, _rows(product, safe), real_div(whole, filled)))
    return multiply(spread, others), safe


@SEGMENT_PROD.gradient
def _segment_prod_gradient(op: Any, grad: Any) -> list[Any]:
    return [_others_product("SegmentProd", op, grad, ())[0], None]


# unsorted segments


def _unsorted_shape(c: ShapeContext) -> Dims:
    data, ids, count = c.shape(0), c.shape(1), c.constant(2)
    if c.shape(2):
        c.fail(
            "num_segments of rank 0",
            f"num_segments should be a scalar, not shape {d.bracketed(c.shape(2))}",
        )
    size = None if count is None else int(count)
    if size is not None and size < 0:
        known = c.says(
            f"Input num_segments == {size} must not be negative",
            f"Dimension size, given by scalar input 2, must be non-negative but is {size}",
        )
        c.fail("num_segments >= 0", f"{size}: {known}")
    if data is None or ids is None:
        return None
    c.starts(
        "segment_ids whose shape starts that of data",
        lambda: (
            f"data.shape = {d.text(data)} does not start with segment_ids.shape = {d.text(ids)}"
        ),
        data,
        ids,
    )
    return (size, *data[len(ids) :])


def _check_ids(ctx: Any, xp: Any, ids: Array, count: int) -> None:
    if not ids.size:
        return
    if xp is np or isinstance(ids, np.ndarray):  # they may be known constants in compiled code
        largest = ids.max()
        _refuse_ids(ctx, largest < count, largest, count)
    else:
        flat = ids.reshape(-1)
        ok, first = positions.first_outside(jnp, flat[:, None], (count,), below=True)
        _refuse_ids(ctx, ok, flat[first], count)


def _refuse_ids(ctx: Any, ok: Any, wrong: Any, count: int) -> None:
    ctx.check(
        ok,
        errors.InvalidArgumentError,
        lambda found: (
            f"segment_ids = {found} is out of range [0, {count}): expected ids below num_segments."
        ),
        wrong,
    )


def _define_unsorted(
    kind: str, types: str, id_types: str, doc: str, name: str = "", checked: bool = True
) -> OpDef:
    op = define_op(
        f"{name or 'UnsortedSegment' + kind}(data: T, segment_ids: Tindices, num_segments: "
        f"Tnumsegments; T: {types}, Tindices: {id_types}, Tnumsegments: {{int32, int64}} = int32) "
        "-> output: T",
        shape=_unsorted_shape,
        host_inputs=("num_segments",),
        fallible=True,
        doc=doc,
    )

    @host_kernel(op)
    def run_host(ctx: Any, data: Array, ids: Array, number: Array) -> Array:
        count = int(number)
        rows, flat = data, ids
        if ids.ndim != 1:
            rows, flat = data.reshape(ids.size, *data.shape[ids.ndim :]), ids.reshape(-1)
        start = _start(kind, data.dtype)
        found = _combined(kind, rows, flat, count, native_arrays.NEGATIVE_TOO, start)
        if found is not None:
            return found
        if checked:
            _check_ids(ctx, np, ids, count)
        kept = flat >= 0 if checked else (flat >= 0) & (flat < count)
        if not kept.all():
            rows, flat = rows[kept], flat[kept]
        return _scatter(kind, rows, flat, count, start, start)

    @compiled_kernel(op)
    def run_compiled(ctx: Any, data: Array, ids: Array, number: Array) -> Array:
        count = int(number)
        rows = data.reshape(ids.size, *data.shape[ids.ndim :])
        start = jnp.full((count, *rows.shape[1:]), _START[kind](data.dtype), data.dtype)
        if checked:
            flat, order = ids.reshape(-1), native_arrays.NEGATIVE_TOO
            found = positions.combined(_OPERATION[kind], start, flat[:, None], rows, order)
            if found is not None:
                _refuse_ids(ctx, found[1], flat[found[2]], count)
                return found[0]
            _check_ids(ctx, jnp, ids, count)
        ids = jnp.asarray(ids).reshape(-1)  # they may be known constants
        if kind in ("Max", "Min"):
            return largest_by_id(jnp, kind == "Max", start, ids, rows)
        add = getattr(start.at[ids], _AT[kind])
        return add(rows, mode="drop", wrap_negative_indices=False)

    return op


UNSORTED_SUM = _define_unsorted(
    "Sum", "numbertype", "{int16, int32, int64}", "Adds rows of each segment."
)
UNSORTED_PROD = _define_unsorted(
    "Prod", "numbertype", "{int32, int64}", "Multiplies rows of each segment."
)
UNSORTED_MAX = _define_unsorted(
    "Max", "realnumbertype", "{int32, int64}", "Returns the largest of each segment's rows."
)
UNSORTED_MIN = _define_unsorted(
    "Min", "realnumbertype", "{int32, int64}", "Returns the smallest of each segment's rows."
)


def _define_v2(kind: str, types: str) -> OpDef:
    """The form with a number of segments: ids may be in any order; those out of range are left out.

    TensorFlow has it in functions with jit_compile=True alone, and without gradients.
    """
    doc = f"{kind} of rows by segment; ids that are out of range are left out."
    op = _define_unsorted(kind, types, "{int32, int64}", doc, f"Segment{kind}V2", checked=False)
    return op.without_gradient("use tf.math.unsorted_segment_sum and the like")


SEGMENT_V2 = [
    _define_v2("Sum", "numbertype"),
    _define_v2("Prod", "numbertype"),
    _define_v2("Max", "realnumbertype"),
    _define_v2("Min", "realnumbertype"),
]


def _gather_kept(x: Any, ids: Any) -> Any:
    """Rows of `x` by id, zeros where the id is negative."""
    zeros = execute("ZerosLike", (ids,))
    gathered = _rows(x, execute("Maximum", (ids, zeros)))
    kept = execute("GreaterEqual", (ids, zeros))
    shape = execute("Shape", (kept,))
    missing = execute("Sub", (execute("Rank", (gathered,)), execute("Rank", (kept,))))
    ones = execute("Fill", (execute("ExpandDims", (missing, np.int32(0))), np.int32(1)))
    column = execute("Reshape", (kept, execute("ConcatV2", ([shape, ones], np.int32(0)))))
    return execute("SelectV2", (column, gathered, execute("ZerosLike", (gathered,))))


@UNSORTED_SUM.gradient
def _unsorted_sum_gradient(op: Any, grad: Any) -> list[Any]:
    return [_gather_kept(grad, op.inputs[1]), None, None]


def _unsorted_extreme_gradient(op: Any, grad: Any) -> list[Any]:
    data, ids, number = op.inputs
    chosen = cast(equal(data, _gather_kept(op.outputs[0], ids)), grad.dtype)
    share = div_no_nan(grad, execute(UNSORTED_SUM, (chosen, ids, number)))
    return [multiply(chosen, _gather_kept(share, ids)), None, None]


UNSORTED_MAX.gradient(_unsorted_extreme_gradient)
UNSORTED_MIN.gradient(_unsorted_extreme_gradient)


@UNSORTED_PROD.gradient
def _unsorted_prod_gradient(op: Any, grad: Any) -> list[Any]:
    ids = op.inputs[1]
    by_data, _ = _others_product("UnsortedSegmentProd", op, grad, (op.inputs[2],))
    kept = _gather_kept(execute("OnesLike", (grad,)), ids)
    return [multiply(by_data, kept), None, None]


# public functions


def _public(op: OpDef, name: str) -> Callable[..., Any]:
    def segment(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        return execute(op, (data, segment_ids), None, name)

    segment.__name__ = segment.__qualname__ = name
    segment.__doc__ = (
        f"{op.doc}\n\nArgs:\n  data: tensor of numbers, rank at least 1.\n"
        "  segment_ids: int32 or int64 vector, sorted: the segment of each row.\n"
        "  name: the name of the operation in a graph.\n\n"
        "Returns:\n  Tensor with a row for each segment, up to the last id.\n\n"
        "Raises:\n  InvalidArgumentError: ids are not sorted, or negative.\n"
    )
    return segment


def _public_unsorted(op: OpDef, name: str) -> Callable[..., Any]:
    def segment(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return execute(op, (data, segment_ids, num_segments), None, name)

    segment.__name__ = segment.__qualname__ = name
    segment.__doc__ = _UNSORTED_DOC.format(op.doc)
    return segment


_UNSORTED_DOC = """{}

Args:
  data: tensor of numbers.
  segment_ids: ints, of a shape that the shape of `data` starts with; negative ids drop rows.
  num_segments: scalar int, the number of segments.
  name: the name of the operation in a graph.

Returns:
  Tensor with a row for each segment.

Raises:
  InvalidArgumentError: an id is not below `num_segments`.
"""

segment_sum = _public(SEGMENT_SUM, "segment_sum")
segment_mean = _public(SEGMENT_MEAN, "segment_mean")
segment_prod = _public(SEGMENT_PROD, "segment_prod")
segment_max = _public(SEGMENT_MAX, "segment_max")
segment_min = _public(SEGMENT_MIN, "segment_min")
unsorted_segment_sum = _public_unsorted(UNSORTED_SUM, "unsorted_segment_sum")
unsorted_segment_prod = _public_unsorted(UNSORTED_PROD, "unsorted_segment_prod")
unsorted_segment_max = _public_unsorted(UNSORTED_MAX, "unsorted_segment_max")
unsorted_segment_min = _public_unsorted(UNSORTED_MIN, "unsorted_segment_min")


def _sizes(data: Any, ids: Any, number: Any) -> Any:
    """The number of rows of each segment, at least 1, as a column for the summed rows."""
    ones = execute("Fill", (execute("Shape", (ids,)), convert_to_tensor(1, data.dtype)))
    counted = unsorted_segment_sum(ones, ids, number)
    return execute("Maximum", (counted, convert_to_tensor(1, data.dtype)))


@composed("UnsortedSegmentMean", "truediv")
def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Averages rows of each segment; 0 for a segment without rows."""
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    total = unsorted_segment_sum(data, ids, num_segments)
    column = _rank_ones(_sizes(data, ids, num_segments), total)
    return truediv(total, column, name)  # means of integers are float64


@composed("UnsortedSegmentSqrtN", "truediv")
def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Adds rows of each segment and divides by the root of their number."""
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    total = unsorted_segment_sum(data, ids, num_segments)
    column = _rank_ones(sqrt(_sizes(data, ids, num_segments)), total)
    return execute("RealDiv", (total, column), None, name)


unsorted_segment_mean.__doc__ = _UNSORTED_DOC.format(unsorted_segment_mean.__doc__)
unsorted_segment_sqrt_n.__doc__ = _UNSORTED_DOC.format(unsorted_segment_sqrt_n.__doc__)
