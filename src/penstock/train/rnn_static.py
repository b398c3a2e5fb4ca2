"""Recurrent networks over lists of inputs, and in both directions."""

from collections.abc import Sequence
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import concat, stack, unstack
from penstock.ops.array_order import reverse, reverse_sequence
from penstock.ops.math_compare import greater_equal
from penstock.ops.variable_scope import variable_scope
from penstock.train.rnn_cell_base import check_cell, zeros_of
from penstock.train.rnn_steps import checked_lengths, dynamic_rnn, hold, initial_state_of
from penstock.util import nest


def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Applies a cell to each of a list of inputs; the graph has operations for every step.

    Args:
      cell: the cell.
      inputs: a list of floating [batch, depth], or of nests of them.
      initial_state: a nest as `cell.state_size`, each [batch, size]; zeros by default.
      dtype: the dtype of the zeros.
      sequence_length: integers [batch]: after so many steps a row gives zeros and keeps its state.
      scope: the variable scope; "rnn" by default.

    Returns:
      The list of outputs, each [batch, output_size], and the last state.

    Raises:
      TypeError: `cell` is no cell, or `inputs` is no list.
      ValueError: there are no inputs, or dtype and state are missing.
    """
    check_cell(cell)
    if not isinstance(inputs, Sequence) or isinstance(inputs, str):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")
    with variable_scope(scope or "rnn") as entered:
        inputs = [nest.map_structure(convert_to_tensor, step) for step in inputs]
        batch_size = _batch_size(nest.flatten(inputs))
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = checked_lengths(convert_to_tensor(sequence_length), batch_size)
        kind = dtype or nest.flatten(state)[0].dtype
        blank = None if lengths is None else zeros_of(cell.output_size, batch_size, kind)
        outputs = []
        for time, step in enumerate(inputs):
            if time > 0:
                entered.reuse_variables()
            output, new = cell(step, state)
            if lengths is not None:
                finished = greater_equal(time, lengths)
                output, new = hold(finished, blank, output), hold(finished, state, new)
            outputs.append(output)
            state = new
        return outputs, state


def _batch_size(flat: list[Any]) -> Any:
    for value in flat:
        if value.shape.rank is not None and value.shape.rank < 1:
            raise ValueError(
                "Expected inputs of rank 1 or more, [batch, ...], got a scalar "
                f"{value}. Give each step as a tensor of rows."
            )
    known = {value.dims[0] for value in flat if value.dims} - {None}
    if len(known) > 1:
        raise ValueError(f"Batch size is not the same for all the elements in the input: {known}")
    return known.pop() if known else shape_of(flat[0])[0]


def static_state_saving_rnn(
    cell: Any,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`static_rnn` that begins with a saved state and saves the last one.

    Args:
      cell: the cell.
      inputs: a list of floating [batch, depth].
      state_saver: has `state(name)`, a tensor, and `save_state(name, value)`, an operation.
      state_name: the name of the state, or a nest of names as `cell.state_size`.
      sequence_length: as for `static_rnn`.
      scope: the variable scope; "rnn" by default.

    Returns:
      The list of outputs and the last state; the last output waits for the state to be saved.

    Raises:
      ValueError: the names do not have the structure of the state.
    """
    if nest.is_nested(cell.state_size) != nest.is_nested(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size. Received: "
            f"state_name={state_name}, cell.state_size={cell.state_size}"
        )
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(cell.state_size)):
        raise ValueError(
            f"Number of elements in state_name ({len(names)}) and in cell.state_size "
            f"({len(nest.flatten(cell.state_size))}) do not match"
        )
    saved = [state_saver.state(name) for name in names]
    first = nest.pack_sequence_as(cell.state_size, saved)
    outputs, state = static_rnn(
        cell, inputs, initial_state=first, sequence_length=sequence_length, scope=scope
    )
    pairs = zip(names, nest.flatten(state), strict=True)
    saves = [state_saver.save_state(name, value) for name, value in pairs]
    with control_dependencies([save for save in saves if save is not None]):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
    return outputs, state


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """`static_rnn` in both directions.

    Args:
      cell_fw: the cell that goes forwards.
      cell_bw: the cell that goes backwards, from the end of each sequence.
      inputs: a list of floating [batch, depth].
      initial_state_fw: as `initial_state` of `static_rnn`.
      initial_state_bw: likewise.
      dtype: the dtype of zeros as first states.
      sequence_length: integers [batch].
      scope: the variable scope; "bidirectional_rnn" by default.

    Returns:
      The list of outputs of both, joined along axis 1, and the last states of both.

    Raises:
      TypeError: a cell is no cell, or `inputs` is no list.
      ValueError: there are no inputs.
    """
    check_cell(cell_fw, "cell_fw")
    check_cell(cell_bw, "cell_bw")
    if not isinstance(inputs, Sequence):
        raise TypeError(f"inputs must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            outputs_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw
            )
        with variable_scope("bw") as bw:
            backwards = _reversed(inputs, sequence_length)
            outputs_bw, state_bw = static_rnn(
                cell_bw, backwards, initial_state_bw, dtype, sequence_length, scope=bw
            )
    pairs = zip(outputs_fw, _reversed(outputs_bw, sequence_length), strict=True)
    return [nest.map_structure(_join, f, b) for f, b in pairs], state_fw, state_bw


def _join(forwards: Any, backwards: Any) -> Any:
    return concat([forwards, backwards], 1)


def _reversed(steps: Any, lengths: Any) -> list[Any]:
    """The steps of each row in reverse order, up to its length."""
    if lengths is None:
        return list(reversed(steps))
    flat = [nest.flatten(step) for step in steps]
    turned = []
    for parts in zip(*flat, strict=True):
        whole = reverse_sequence(stack(list(parts)), lengths, seq_axis=0, batch_axis=1)
        turned.append(unstack(whole, len(parts)))
    return [nest.pack_sequence_as(steps[0], list(row)) for row in zip(*turned, strict=True)]


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """`dynamic_rnn` in both directions.

    Args:
      cell_fw: the cell that goes forwards.
      cell_bw: the cell that goes backwards, from the end of each sequence.
      inputs: as for `dynamic_rnn`.
      sequence_length: integers [batch].
      initial_state_fw: as `initial_state` of `dynamic_rnn`.
      initial_state_bw: likewise.
      dtype: the dtype of zeros as first states.
      parallel_iterations: how many steps may run at the same time.
      swap_memory: accepted for compatibility.
      time_major: whether time is the first axis.
      scope: the variable scope; "bidirectional_rnn" by default.

    Returns:
      The outputs of both, and the last states of both, as pairs.

    Raises:
      TypeError: a cell is no cell.
    """
    check_cell(cell_fw, "cell_fw")
    check_cell(cell_bw, "cell_bw")
    options = (parallel_iterations, swap_memory, time_major)

    def turn(x: Any) -> Any:
        axis = 0 if time_major else 1
        if sequence_length is None:
            return reverse(x, [axis])
        return reverse_sequence(x, sequence_length, seq_axis=axis, batch_axis=1 - axis)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, *options, scope=fw
            )
        with variable_scope("bw") as bw:
            backwards = nest.map_structure(turn, inputs)
            output, state_bw = dynamic_rnn(
                cell_bw, backwards, sequence_length, initial_state_bw, dtype, *options, scope=bw
            )
    return (output_fw, nest.map_structure(turn, output)), (state_fw, state_bw)


__all__ = [
    "bidirectional_dynamic_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
]
