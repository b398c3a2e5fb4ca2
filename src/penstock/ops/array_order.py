"""The same elements in another order: transpose, reverse, roll, and permutations."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.static_values import constant_value
from penstock.ops.array_shape import one_of
from penstock.ops.composing import composed
from penstock.ops.factories import operand
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import int32

Array = Any
VIEW_LIMIT = 1 << 62


# ---- transpose


def _transpose_shape(c: ShapeContext) -> Dims:
    dims, perm = c.shape(0), c.constant(1)
    length = c.rank(1, 1, "perm")[0]  # type: ignore[index]
    if dims is None:
        return None if length is None else (None,) * length
    if length is not None and length != len(dims):
        fact = f"Dimension must be {len(dims)} but is {length}"
        if c.running:
            fact = (
                f"transpose expects a vector of size {len(dims)}. But input(1) is a vector of size"
                f" {length}"
            )
        c.fail(
            f"a permutation of {len(dims)} axes for an input of shape {d.text(dims)}",
            f"{length} entries: {fact}",
        )
    if perm is None:
        return (None,) * len(dims)
    rank = len(dims)
    order = [
        c.axis(
            int(p),
            rank,
            known=lambda p=p: c.says(  # type: ignore[misc]
                f"{p} is out of range [0 .. {rank})",
                f"perm dim {p} is out of range of input rank {rank}",
            ),
        )
        for p in perm
    ]
    missing = [i for i in range(rank) if i not in order]
    if missing:
        listed = ",".join(map(str, perm.tolist()))
        c.fail_at_step(
            f"a permutation of {list(range(rank))}",
            f"{perm.tolist()}: {missing[0]} is missing from {{{listed}}}",
            known=(None,) * rank,
        )
    return tuple(dims[p] for p in order)


def _transpose_op(name: str, doc: str) -> OpDef:
    return define_op(
        f"{name}(x: T, perm: Tperm; T: type, Tperm: {{int32, int64}} = int32) -> y: T",
        shape=_transpose_shape,
        host_inputs=("perm",),
        doc=doc,
    )


TRANSPOSE = _transpose_op("Transpose", "The input with its axes in another order.")
CONJUGATE_TRANSPOSE = _transpose_op(
    "ConjugateTranspose", "The conjugated input with its axes in another order."
)


@kernel(TRANSPOSE, limit=VIEW_LIMIT)
def _transpose(xp: Any, x: Array, perm: Array) -> Array:
    return xp.transpose(x, perm.tolist())


@kernel(CONJUGATE_TRANSPOSE)
def _conjugate_transpose(xp: Any, x: Array, perm: Array) -> Array:
    moved = xp.transpose(x, perm.tolist())
    return xp.conj(moved) if moved.dtype.kind == "c" else moved


def _undo(perm: Any) -> Any:
    """The permutation that undoes `perm`, whose entries may count from the end."""
    value = constant_value(perm)
    if value is None:
        return execute(INVERT_PERMUTATION, (perm,))
    return np.argsort(value % max(len(value), 1)).astype(value.dtype)


@TRANSPOSE.gradient
def _transpose_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(TRANSPOSE, (grad, _undo(op.inputs[1]))), None]


@CONJUGATE_TRANSPOSE.gradient
def _conjugate_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(CONJUGATE_TRANSPOSE, (grad, _undo(op.inputs[1]))), None]


INVERT_PERMUTATION = define_op(
    "InvertPermutation(x: T; T: {int32, int64} = int32) -> y: T",
    shape=lambda c: c.rank(0, 1, "x", lambda: "invert_permutation expects a 1D vector"),
    doc="The permutation that undoes another: y[x[i]] = i.",
    fallible=True,
).not_differentiable("a permutation is made of integers")


@host_kernel(INVERT_PERMUTATION, limit=VIEW_LIMIT)
def _invert_permutation(x: Array) -> Array:
    found = native_arrays.inverted(x)
    if found is not None:
        return found
    rank = len(x)
    inverse = np.full(rank, -1, x.dtype)
    if not rank or 0 <= x.min() <= x.max() < rank:
        inverse[x] = np.arange(rank)
    if (inverse < 0).any():  # a number that is there twice leaves a gap
        raise errors.InvalidArgumentError(
            None,
            None,
            _no_permutation(x),
        )
    return inverse


def _no_permutation(x: Array) -> str:
    outside = x[(x < 0) | (x >= len(x))]
    numbers, counts = np.unique(x, return_counts=True)
    why = (
        f"{outside[0]} is not between 0 and {len(x)}"
        if len(outside)
        else f"{numbers[counts > 1][0]} is duplicated in the input"
    )
    return f"InvertPermutation: {why}: expected each of 0 to {len(x) - 1} once, got {x.tolist()}"


@compiled_kernel(INVERT_PERMUTATION)
def _invert_compiled(ctx: KernelContext, x: Array) -> Array:
    rank = x.shape[0]
    wrapped = jnp.where(x < 0, rank, x)  # beyond the end: dropped
    inverse = (
        jnp.full(rank, -1, x.dtype).at[wrapped].set(jnp.arange(rank, dtype=x.dtype), mode="drop")
    )
    # A number that is outside, or there twice, leaves a gap.
    ctx.check((inverse >= 0).all(), errors.InvalidArgumentError, _no_permutation, x)
    return inverse


# ---- reverse

ORDERED = (
    "uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, "
    "double, complex64, complex128, string"
)


def _reverse_shape(c: ShapeContext) -> Dims:
    dims, axes = c.shape(0), c.constant(1)
    c.rank(1, 1, "axis", lambda: f"'dims' must be 1-dimension, not {len(c.shape(1) or ())}")
    if dims is not None and axes is not None:
        last = len(dims) - 1
        chosen = [
            c.axis(
                int(a),
                len(dims),
                known=lambda i=i, a=a: (  # type: ignore[misc]
                    f"'axis'[{i}] = {a} is out of valid range [0, {last}]"
                ),
            )
            for i, a in enumerate(axes)
        ]
        if len(set(chosen)) != len(chosen):
            twice = next(a for i, a in enumerate(chosen) if a in chosen[:i])
            c.fail("each axis once", f"{axes.tolist()}: axis {twice} specified more than once")
    return dims


REVERSE_V2 = define_op(
    f"ReverseV2(tensor: T, axis: Tidx; Tidx: {{int32, int64}} = int32, T: {{{ORDERED}}}) -> "
    "output: T",
    shape=_reverse_shape,
    host_inputs=("axis",),
    doc="The input with the elements along some axes in reverse order.",
)


@kernel(REVERSE_V2, limit=VIEW_LIMIT)
def _reverse_v2(xp: Any, x: Array, axis: Array) -> Array:
    return xp.flip(x, tuple(axis.tolist()))


@REVERSE_V2.gradient
def _reverse_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(REVERSE_V2, (grad, op.inputs[1])), None]


REVERSE = define_op(
    f"Reverse(tensor: T, dims: bool; T: {{{ORDERED}}}) -> output: T",
    shape=lambda c: _marked_shape(c),
    host_inputs=("dims",),
    doc="The input with the elements along the marked axes in reverse order.",
)


def _marked_shape(c: ShapeContext) -> Dims:
    dims, marks = c.shape(0), c.rank(1, 1, "dims")
    if dims is not None and marks is not None and marks[0] not in (None, len(dims)):
        c.fail(f"a mark for each of {len(dims)} axes", f"dims of shape {d.text(marks)}")
    if dims is None and marks is not None and marks[0] is not None:
        return (None,) * marks[0]
    return dims


@kernel(REVERSE, limit=VIEW_LIMIT)
def _reverse(xp: Any, x: Array, dims: Array) -> Array:
    return xp.flip(x, tuple(np.flatnonzero(dims).tolist()))


@REVERSE.gradient
def _reverse_v1_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(REVERSE, (grad, op.inputs[1])), None]


def _reverse_sequence_shape(c: ShapeContext) -> Dims:
    dims, lengths = c.shape(0), c.rank(1, 1, "seq_lengths")
    if dims is None:
        return None
    seq, batch = c.attr("seq_dim"), c.attr("batch_dim")
    for name, axis in (("seq_dim", seq), ("batch_dim", batch)):
        if not 0 <= axis < len(dims):
            c.fail(f"{name} in [0, {len(dims)})", f"{axis}", "Count axes from the front.")
    if seq == batch:
        c.fail("seq_dim other than batch_dim", f"both {seq}: batch_dim == seq_dim == {seq}")

    def unlike() -> str:
        count = d.num_elements(lengths)
        return f"Length of seq_lengths != input.dims({batch}), ({count} vs. {dims[batch]})"

    size = c.merge((dims[batch],), lengths, unlike)[0]  # type: ignore[index]
    return (*dims[:batch], size, *dims[batch + 1 :])


REVERSE_SEQUENCE = define_op(
    "ReverseSequence(input: T, seq_lengths: Tlen; seq_dim: int, batch_dim: int = 0, T: type, "
    "Tlen: {int32, int64} = int64) -> output: T",
    shape=_reverse_sequence_shape,
    fallible=True,
    doc="The input with the first `seq_lengths[i]` elements along an axis reversed in batch i.",
)


@host_kernel(REVERSE_SEQUENCE)
def _reverse_sequence_host(
    ctx: KernelContext, x: Array, lengths: Array, *, seq_dim: int, batch_dim: int
) -> Array:
    size = x.shape[seq_dim]
    # lengths below 0 are large ones without a sign; they are refused there
    if lengths.size and np.maximum.reduce(lengths.view(f"u{lengths.itemsize}")) > size:
        return _reverse_sequence(ctx, np, x, lengths, seq_dim=seq_dim, batch_dim=batch_dim)
    place, length = np.arange(size), lengths[:, None]
    place = np.where(place < length, length - 1 - place, place)
    rows = x.swapaxes(0, batch_dim)  # the axis of sequences may be where that of batches was
    axis = batch_dim if seq_dim == 0 else seq_dim
    rows = rows.swapaxes(1, axis)
    taken = rows[np.arange(len(rows))[:, None], place]
    return taken.swapaxes(1, axis).swapaxes(0, batch_dim)


@compiled_kernel(REVERSE_SEQUENCE)
def _reverse_sequence(
    ctx: KernelContext, xp: Any, x: Array, lengths: Array, *, seq_dim: int, batch_dim: int
) -> Array:
    seq, batch = seq_dim % x.ndim, batch_dim % x.ndim
    size = x.shape[seq]
    ctx.check(
        ((lengths >= 0) & (lengths <= size)).all(),
        errors.InvalidArgumentError,
        lambda v: (
            f"ReverseSequence: expected seq_lengths in [0, {size}], the size along axis {seq}, "
            f"got {v.tolist()}: {_wrong_length(v, size, seq)}"
        ),
        lengths,
    )
    at = [1] * x.ndim
    at[seq] = size
    place = xp.arange(size).reshape(at)
    per = [1] * x.ndim
    per[batch] = x.shape[batch]
    length = lengths.reshape(per)
    return xp.take_along_axis(x, xp.where(place < length, length - 1 - place, place), seq)


def _wrong_length(lengths: Array, size: int, axis: int) -> str:
    """What a kernel says of the first length that is none."""
    place = int(np.argmax((lengths < 0) | (lengths > size)))
    return f"seq_lens({place}) " + ("< 0" if lengths[place] < 0 else f"> input.dims({axis})")


@REVERSE_SEQUENCE.gradient
def _reverse_sequence_gradient(op: Any, grad: Any) -> list[Any]:
    attrs = {"seq_dim": op.get_attr("seq_dim"), "batch_dim": op.get_attr("batch_dim")}
    return [execute(REVERSE_SEQUENCE, (grad, op.inputs[1]), attrs), None]


# ---- roll


def _roll_shape(c: ShapeContext) -> Dims:
    dims = c.rank_at_least(0, 1, "input")
    shift, axis, value = c.shape(1), c.shape(2), c.constant(2)
    for name, s in (("shift", shift), ("axis", axis)):
        if s is not None and len(s) > 1:
            c.fail(f"a scalar or vector {name}", f"shape {d.text(s)}")
    if not d.compatible(shift, axis):
        c.merge(shift, axis, lambda: "shift and axis must have the same size")
    if dims is not None and value is not None:
        for a in value.reshape(-1):
            if not -len(dims) <= a < len(dims):
                c.fail_at_step(
                    f"an axis in [{-len(dims)}, {len(dims)})",
                    f"{a}: axis {a} is out of range",
                    known=dims,
                )
    return dims


ROLL = define_op(
    "Roll(input: T, shift: Tshift, axis: Taxis; T: type, Tshift: {int32, int64}, Taxis: {int32, "
    "int64}) -> output: T",
    shape=_roll_shape,
    host_inputs=("axis",),
    doc="The input moved along axes; what leaves at one end comes in at the other.",
)


@kernel(ROLL)
def _roll(xp: Any, x: Array, shift: Array, axis: Array) -> Array:
    for s, a in zip(shift.reshape(-1), axis.reshape(-1).tolist(), strict=True):
        x = xp.roll(x, s, a)
    return x


@ROLL.gradient
def _roll_gradient(op: Any, grad: Any) -> list[Any]:
    _, shift, axis = op.inputs
    return [execute(ROLL, (grad, execute("Neg", (shift,)), axis)), None, None]


# ---- public functions


def transpose(
    a: Any, perm: Any = None, conjugate: bool = False, name: str | None = "transpose"
) -> Any:
    """The input with its axes in another order.

    Args:
      a: any tensor of rank R.
      perm: integer vector: entry i is the axis of `a` that becomes axis i; reversed order by
        default.
      conjugate: whether complex elements are conjugated too.
      name: the name in a graph.

    Returns:
      A tensor of rank R.

    Raises:
      InvalidArgumentError, ValueError: `perm` is no permutation of the axes.

    Example:
      >>> transpose([[1, 2, 3]]).shape
      TensorShape([3, 1])
    """
    a = operand(a)
    op = CONJUGATE_TRANSPOSE if conjugate and a.dtype.is_complex else TRANSPOSE
    if perm is None:
        if a.dims is not None:
            perm = np.arange(len(a.dims) - 1, -1, -1, dtype=np.int32)
        else:
            rank = execute("Rank", (a,))
            perm = execute("Sub", (execute("Sub", (rank, 1)), execute("Range", (0, rank, 1))))
    return execute(op, (a, perm), None, name)


def transpose_v1(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Any:
    """The input with its axes in another order; see `tf.transpose`."""
    return transpose(a, perm, conjugate, name)


@composed("matrix_transpose", result="transpose")
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Any:
    """The input with its last two axes exchanged.

    Args:
      a: a tensor of rank at least 2.
      name: the name in a graph.
      conjugate: whether complex elements are conjugated too.

    Returns:
      A tensor of the same rank.

    Raises:
      ValueError: the rank is less than 2.
    """
    a = convert_to_tensor(a)
    if a.dims is not None:
        rank = len(a.dims)
        if rank < 2:
            raise ValueError(
                f"Argument `a` should be a (batch) matrix with rank >= 2. Received `a` = {a!r} "
                f"with shape: {a.shape}"
            )
        return transpose(a, [*range(rank - 2), rank - 1, rank - 2], conjugate, name)
    rank = execute("Rank", (a,))
    head = execute("Range", (0, execute("Sub", (rank, 2)), 1))
    tail = execute("Pack", ([execute("Sub", (rank, 1)), execute("Sub", (rank, 2))],))
    return transpose(a, execute("ConcatV2", ([head, tail], 0)), conjugate, name)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """The input with the elements along some axes in reverse order.

    Args:
      tensor: any tensor.
      axis: int32 or int64 vector, each axis at most once.
      name: the name in a graph.

    Returns:
      A tensor of the same shape.

    Raises:
      InvalidArgumentError, ValueError: an axis is out of range or named twice.

    Example:
      >>> reverse([1, 2, 3], [0]).numpy().tolist()
      [3, 2, 1]
    """
    return execute(REVERSE_V2, (tensor, axis), None, name)


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: Any = None,
    batch_axis: Any = None,
    name: str | None = None,
) -> Any:
    """The input with the first `seq_lengths[i]` elements along `seq_axis` reversed in batch i.

    Args:
      input: any tensor.
      seq_lengths: int32 or int64 vector, one entry for each slice along `batch_axis`.
      seq_axis: the axis that is reversed.
      batch_axis: the axis of batches, 0 by default.
      name: the name in a graph.

    Returns:
      A tensor of the same shape.

    Raises:
      InvalidArgumentError: a length is out of range.
    """
    if seq_axis is None:
        raise ValueError("reverse_sequence: expected a seq_axis, got None. Pass seq_axis=...")
    return execute(
        REVERSE_SEQUENCE,
        (input, seq_lengths),
        {"seq_dim": seq_axis, "batch_dim": batch_axis or 0},
        name,
    )


def reverse_sequence_v1(
    input: Any,
    seq_lengths: Any,
    seq_axis: Any = None,
    batch_axis: Any = None,
    name: str | None = None,
    seq_dim: Any = None,
    batch_dim: Any = None,
) -> Any:
    """The input with the first elements of each batch reversed; see `tf.reverse_sequence`."""
    seq = one_of(seq_axis, "seq_axis", seq_dim, "seq_dim")
    return reverse_sequence(
        input, seq_lengths, seq, one_of(batch_axis, "batch_axis", batch_dim, "batch_dim"), name
    )


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """The input moved along axes; what leaves at one end comes in at the other.

    Args:
      input: a tensor of rank at least 1.
      shift: int32 or int64 scalar or vector: by how much.
      axis: a scalar or vector of the same length: along which axis.
      name: the name in a graph.

    Returns:
      A tensor of the same shape.

    Raises:
      InvalidArgumentError, ValueError: an axis is out of range, or lengths differ.

    Example:
      >>> roll([1, 2, 3], 1, 0).numpy().tolist()
      [3, 1, 2]
    """
    return execute(ROLL, (input, shift, axis), None, name)


def invert_permutation(x: Any, name: str | None = None) -> Any:
    """The permutation that undoes another: `y[x[i]] = i`.

    Args:
      x: int32 or int64 vector that holds each of 0 to n - 1 once.
      name: the name in a graph.

    Returns:
      A vector like `x`.

    Raises:
      InvalidArgumentError: it is no permutation.

    Example:
      >>> invert_permutation([2, 0, 1]).numpy().tolist()
      [1, 2, 0]
    """
    return execute(INVERT_PERMUTATION, (convert_to_tensor(x, dtype_hint=int32),), None, name)
