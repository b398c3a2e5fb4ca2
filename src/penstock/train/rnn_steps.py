"""Recurrent networks over time: a cell is applied to one step of the inputs after the other.

`raw_rnn` and `dynamic_rnn` loop in the graph, over `TensorArray`s of inputs and outputs. A row
whose sequence has ended gives zeros and keeps its state.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.context import state as context_state
from penstock.core.convert import convert_to_tensor
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import zeros
from penstock.ops.array_join import concat
from penstock.ops.array_order import transpose
from penstock.ops.array_select import where
from penstock.ops.array_shape import expand_dims
from penstock.ops.debug_asserts import to_wait_for
from penstock.ops.loops import while_loop
from penstock.ops.math_arithmetic import add, maximum, minimum
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, greater_equal, less, logical_or
from penstock.ops.math_range import range as range_op
from penstock.ops.math_reduce import reduce_all, reduce_max
from penstock.ops.tensor_array import TensorArray
from penstock.ops.variable_scope import variable_scope
from penstock.train.rnn_cell_base import check_cell, zeros_of
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest


def swap_batch_and_time(x: Any) -> Any:
    """[batch, time, ...] as [time, batch, ...], and back."""
    rank = x.shape.rank
    if rank is not None and rank < 2:
        return x
    if rank is None:
        order = concat([[1, 0], range_op(2, _rank(x))], 0)
        return transpose(x, order)
    return transpose(x, [1, 0, *range(2, rank)])


def _rank(x: Any) -> Any:
    return shape_of(shape_of(x))[0]


def one_mask(finished: Any, value: Any) -> Any:
    """`finished`, [batch], with axes of size 1 behind it for the others of `value`."""
    for _ in range((value.shape.rank or 1) - 1):
        finished = expand_dims(finished, -1)
    return finished


def hold(finished: Any, old: Any, new: Any) -> Any:
    """`old` where a sequence has ended, else `new`, for nests of tensors.

    Args:
      finished: bool [batch].
      old: a nest of tensors [batch, ...].
      new: a nest of the same structure.

    Raises:
      ValueError: the structures differ.
    """

    def one(before: Any, after: Any) -> Any:
        if isinstance(after, TensorArray) or after.shape.rank == 0:
            return after  # it has no batch
        return where(one_mask(finished, after), before, after)

    return nest.map_structure(one, old, new)


def initial_state_of(cell: Any, state: Any, batch_size: Any, dtype: Any) -> Any:
    """The state given, or the cell's first one.

    Args:
      cell: the cell.
      state: a state or None.
      batch_size: the size of the batch.
      dtype: the dtype, when no state is given.

    Raises:
      ValueError: neither state nor dtype is given.
    """
    if state is not None:
        return nest.map_structure(_tensor_or_array, state)
    if dtype is None:
        raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _tensor_or_array(value: Any) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def checked_lengths(lengths: Any, batch_size: Any) -> Any:
    """The lengths of the sequences as a vector.

    Args:
      lengths: integers [batch].
      batch_size: the size of the batch.

    Raises:
      ValueError: they are no vector.
      InvalidArgumentError: there are more or fewer than rows of the batch.
    """
    if lengths.shape.rank not in (None, 1):
        raise ValueError(
            "Argument sequence_length must be a vector of length batch_size. Received "
            f"sequence_length={lengths} of shape: {lengths.shape}"
        )
    lengths = identity(cast(lengths, dt.int32), name="sequence_length")
    known = lengths.dims[0] if lengths.dims else None
    if isinstance(batch_size, int) and known == batch_size:
        return lengths
    found = shape_of(lengths)
    same = reduce_all(equal(found, convert_to_tensor(batch_size, dt.int32)))
    text = "Expected shape for Tensor sequence_length is the batch size: "
    shown = [text, batch_size, " but saw shape: ", found]
    with control_dependencies(to_wait_for(same, shown)):
        return identity(lengths, name="CheckSeqLen")


def batch_and_time(flat: list[Any]) -> tuple[Any, Any]:
    """The sizes of the first two axes: time and batch."""
    sizes: list[Any] = [None, None]
    for value in flat:
        for axis in (0, 1):
            known = value.dims[axis]
            if known is None:
                continue
            if sizes[axis] not in (None, known):
                what = ("Time", "Batch")[axis]
                raise ValueError(
                    f"{what} size is not the same for all the elements in the input: "
                    f"{sizes[axis]} and {known}"
                )
            sizes[axis] = known
    return tuple(
        shape_of(flat[0])[axis] if size is None else size for axis, size in enumerate(sizes)
    )


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Applies a cell to each step of the inputs, in a loop of the graph.

    Args:
      cell: the cell.
      inputs: floating [batch, time, ...], or [time, batch, ...] with `time_major`; or a nest.
      sequence_length: integers [batch]: after so many steps a row gives zeros and keeps its state.
      initial_state: a nest as `cell.state_size`, each [batch, size]; zeros by default.
      dtype: the dtype of the zeros.
      parallel_iterations: how many steps may run at the same time.
      swap_memory: accepted for compatibility.
      time_major: whether time is the first axis.
      scope: the variable scope; "rnn" by default.

    Returns:
      The outputs [batch, time, output_size], or as the inputs are laid out, and the last state.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: an input has fewer than two axes, or an unknown depth; dtype or state is missing.
      InvalidArgumentError: there are more or fewer lengths than rows.
    """
    check_cell(cell)
    with variable_scope(scope or "rnn"):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(swap_batch_and_time, inputs)
        flat = nest.flatten(inputs)
        for value in flat:
            _check_input(value)
        steps, batch_size = batch_and_time(flat)
        lengths = None
        if sequence_length is not None:
            lengths = checked_lengths(convert_to_tensor(sequence_length), batch_size)
        first = initial_state_of(cell, initial_state, batch_size, dtype)
        outputs, last = _loop(
            cell, inputs, first, steps, batch_size, lengths, parallel_iterations or 32, dtype
        )
        if not time_major:
            outputs = nest.map_structure(swap_batch_and_time, outputs)
        return outputs, last


def _check_input(value: Any) -> None:
    rank = value.shape.rank
    if rank is None:
        raise ValueError("Input tensor should have known rank, at least 2. Received unknown rank")
    if rank < 2:
        raise ValueError(
            f"Input tensor should have rank >= 2. Received input={value} of rank {rank}"
        )
    if None in value.shape.as_list()[2:]:
        raise ValueError(
            "Input size (depth of inputs) must be accessible via shape inference, but saw value "
            f"None for input={value}."
        )


def _loop(
    cell: Any, inputs: Any, first: Any, steps: Any, batch_size: Any, lengths: Any, parallel: int,
    dtype: Any,
) -> tuple[Any, Any]:  # fmt: skip
    flat = nest.flatten(inputs)
    kind = dtype or nest.flatten(first)[0].dtype
    blank = zeros_of(cell.output_size, batch_size, kind)
    known_batch = batch_size if isinstance(batch_size, int) else None
    reads = tuple(TensorArray(x.dtype, steps, element_shape=x.shape[1:]).unstack(x) for x in flat)
    writes = tuple(
        TensorArray(kind, steps, element_shape=TensorShape([known_batch, *_inner(size)]))
        for size in _flat_sizes(cell.output_size)
    )
    bound: Any = steps
    if lengths is not None and context_state.graph is not None:
        bound = minimum(steps, maximum(1, reduce_max(lengths)))

    def body(time: Any, arrays: Any, state: Any) -> Any:
        step = nest.pack_sequence_as(inputs, [array.read(time) for array in reads])
        output, new = cell(step, state)
        nest.assert_same_structure(state, new, check_types=False)
        new = nest.pack_sequence_as(state, nest.flatten(new))  # of the classes it was given
        if lengths is not None:
            finished = greater_equal(time, lengths)
            output = hold(finished, blank, output)
            new = hold(finished, state, new)
        new = nest.map_structure(_with_shape_of, state, new)
        parts = zip(arrays, nest.flatten(output), strict=True)
        return add(time, 1), tuple(array.write(time, value) for array, value in parts), new

    _, arrays, last = while_loop(
        lambda time, *_: less(time, bound),
        body,
        (convert_to_tensor(0, dt.int32, name="time"), writes, first),
        parallel_iterations=parallel,
        maximum_iterations=steps,
    )
    stacked = [array.stack() for array in arrays]
    known_steps = steps if isinstance(steps, int) else None
    for outputs, size in zip(stacked, _flat_sizes(cell.output_size), strict=True):
        outputs.set_shape([known_steps, known_batch, *_inner(size)])
    return _packed(cell.output_size, stacked), last


def _with_shape_of(old: Any, new: Any) -> Any:
    """`new` with what is known of the shape of `old`, which the loop keeps."""
    if isinstance(new, SymbolicTensor) and context_state.graph is not None:
        new.set_shape(new.shape.merge_with(old.shape))
    return new


def _flat_sizes(sizes: Any) -> list[Any]:
    return [sizes] if isinstance(sizes, TensorShape) else nest.flatten(sizes)


def _inner(size: Any) -> list[Any]:
    return [size] if isinstance(size, int) else TensorShape(size).as_list()


def _packed(sizes: Any, values: list[Any]) -> Any:
    return values[0] if isinstance(sizes, TensorShape) else nest.pack_sequence_as(sizes, values)


LoopFunction = Callable[[Any, Any, Any, Any], Any]


def raw_rnn(
    cell: Any,
    loop_fn: LoopFunction,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Applies a cell as long as a function says, to the inputs that it gives.

    Args:
      cell: the cell.
      loop_fn: `loop_fn(time, cell_output, cell_state, loop_state)` returns which rows have ended
        (bool [batch]), the next input, the next state, what to emit, and the next loop state. It
        is called first with `cell_output`, `cell_state` and `loop_state` None; what it then emits
        says the shapes (None for those of `cell.output_size`).
      parallel_iterations: how many steps may run at the same time.
      swap_memory: accepted for compatibility.
      scope: the variable scope; "rnn" by default.

    Returns:
      A TensorArray of what was emitted (or a nest of them), the last state, the last loop state.

    Raises:
      TypeError: `cell` is no cell or `loop_fn` is not callable.
      ValueError: the first input has no axis of known batch and depth.
    """
    check_cell(cell)
    if not callable(loop_fn):
        raise TypeError("Argument `loop_fn` must be a callable.")
    with variable_scope(scope or "rnn"):
        time = convert_to_tensor(0, dt.int32, name="time")
        finished, following, state, emit, loop_state = loop_fn(time, None, None, None)
        first_loop = convert_to_tensor(0) if loop_state is None else loop_state
        flat = nest.flatten(following)
        batch_size = flat[0].dims[0]
        if batch_size is None:
            batch_size = shape_of(flat[0])[0]
        kind = nest.flatten(state)[0].dtype
        if emit is None:
            blank = zeros_of(cell.output_size, batch_size, kind)
        else:
            blank = nest.map_structure(lambda e: _blank_like(e, batch_size), emit)
        arrays = nest.map_structure(
            lambda value: TensorArray(value.dtype, 0, True, element_shape=value.shape), blank
        )

        def body(time: Any, done: Any, arrays: Any, x: Any, state: Any, loop: Any) -> Any:
            output, new = cell(x, state)
            given = None if loop_state is None else loop
            after = add(time, 1)
            ended, following, new, emitted, new_loop = loop_fn(after, output, new, given)
            new = hold(done, state, new)
            emitted = hold(done, blank, output if emitted is None else emitted)
            arrays = nest.map_structure(lambda a, e: a.write(time, e), arrays, emitted)
            ended = logical_or(done, ended)
            return after, ended, arrays, following, new, loop if new_loop is None else new_loop

        values = (time, convert_to_tensor(finished), arrays, following, state, first_loop)
        _, _, arrays, _, last, loop = while_loop(
            lambda time, done, *_: ~reduce_all(done),
            body,
            values,
            parallel_iterations=parallel_iterations or 32,
        )
        return arrays, last, None if loop_state is None else loop


def _blank_like(emit: Any, batch_size: Any) -> Any:
    """Zeros [batch, ...] for what one row emits."""
    emit = convert_to_tensor(emit)
    inner = emit.shape.as_list()
    if isinstance(batch_size, int):
        return zeros([batch_size, *inner], emit.dtype)
    return zeros(concat([[batch_size], inner], 0), emit.dtype)


__all__ = ["dynamic_rnn", "raw_rnn"]
