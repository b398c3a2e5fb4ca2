"""Cells of recurrent networks: `output, next_state = cell(input, state)`.

A cell is a layer whose state is a tensor or a nest of them. `state_size` has the structure of the
state with the size of each part. Weights are made at the first call, in the scope of that call.
"""

from typing import Any

import numpy as np

from penstock.core import context
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor
from penstock.errors import InvalidArgumentError
from penstock.graph.behavior import name_scope_v1
from penstock.ops.array_join import concat
from penstock.ops.array_split import split
from penstock.ops.initializers_v1 import Constant, Zeros
from penstock.ops.math_arithmetic import add, multiply
from penstock.ops.math_compare import clip_by_value
from penstock.ops.math_elementwise import sigmoid, tanh
from penstock.ops.math_matmul import matmul
from penstock.ops.nn_bias import bias_add
from penstock.ops.partitioned import fixed_size_partitioner
from penstock.ops.variable_scope import variable_scope
from penstock.train.layer import Layer
from penstock.train.layer_functions import activation as activation_of
from penstock.train.layer_functions import initializer as initializer_of
from penstock.train.layer_inputs import InputSpec
from penstock.train.rnn_cell_base import LSTMStateTuple, RNNCell, zeros_of
from penstock.types import dtypes as dt
from penstock.util import nest

KERNEL, BIAS = "kernel", "bias"


class _LayerCell(RNNCell):
    """What the cells below have in common: a number of units, an activation, a vector as input."""

    def __init__(
        self, num_units: int, activation: Any, reuse: Any, name: Any, dtype: Any, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_of(activation) or tanh

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step, with the variables that `build` made; see `RNNCell`."""
        return Layer.__call__(self, inputs, state, scope=scope)

    def _check(self, inputs: Any) -> None:
        super()._check(inputs)
        if inputs.dims and inputs.dims[-1] is None:
            raise ValueError(
                f"Expected inputs.shape[-1] to be known, received shape: {inputs.shape}"
            )
        if not (inputs.dtype.is_floating or inputs.dtype.is_complex):
            raise ValueError(
                f"{type(self).__name__} {self.name!r}: expected floating inputs, got"
                f" {inputs.dtype.name}. Use tf.cast."
            )

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._num_units

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nest of sizes."""
        return self._num_units

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {
            **super().get_config(),
            "num_units": self._num_units,
            "activation": getattr(self._activation, "__name__", self._activation),
            "reuse": self._reuse,
        }


class BasicRNNCell(_LayerCell):
    """`output = state = activation(W * [input, state] + b)`.

    Args:
      num_units: the size of output and state.
      activation: a function or its name; tanh by default.
      reuse: whether variables of the scope are shared.
      name: the name of the variable scope.
      dtype: the dtype of the variables; that of the first input by default.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        depth, units = input_shape[-1], self._num_units
        self._kernel = self.add_weight(KERNEL, [depth + units, units])
        self._bias = self.add_weight(BIAS, [units], initializer=Zeros(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; see the class."""
        gates = matmul(concat([inputs, state], 1), self._kernel)
        output = self._activation(bias_add(gates, self._bias))
        return output, output


class GRUCell(_LayerCell):
    """A gated recurrent unit (Cho et al., 2014).

    Args:
      num_units: the size of output and state.
      activation: of the candidate: a function or its name; tanh by default.
      reuse: whether variables of the scope are shared.
      kernel_initializer: of both kernels.
      bias_initializer: of both biases; by default 1 for the gates and 0 for the candidate.
      name: the name of the variable scope.
      dtype: the dtype of the variables; that of the first input by default.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = initializer_of(kernel_initializer)
        self._bias_initializer = initializer_of(bias_initializer)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        depth, units = input_shape[-1] + self._num_units, self._num_units
        first, given = self._kernel_initializer, self._bias_initializer
        one = given if given is not None else Constant(1.0, self.dtype)
        zero = given if given is not None else Zeros(self.dtype)
        self._gate_kernel = self.add_weight("gates/kernel", [depth, 2 * units], initializer=first)
        self._gate_bias = self.add_weight("gates/bias", [2 * units], initializer=one)
        self._candidate_kernel = self.add_weight(
            "candidate/kernel", [depth, units], initializer=first
        )
        self._candidate_bias = self.add_weight("candidate/bias", [units], initializer=zero)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; see the class."""
        gates = matmul(concat([inputs, state], 1), self._gate_kernel)
        reset, update = split(sigmoid(bias_add(gates, self._gate_bias)), 2, 1)
        # with operators, which names in old graphs come from: gru_cell/mul_2, not Mul_2
        candidate = matmul(concat([inputs, reset * state], 1), self._candidate_kernel)
        value = self._activation(bias_add(candidate, self._candidate_bias))
        new = update * state + (1 - update) * value
        return new, new

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {
            **super().get_config(),
            "kernel_initializer": self._kernel_initializer,
            "bias_initializer": self._bias_initializer,
        }


class BasicLSTMCell(_LayerCell):
    """A long short-term memory (Zaremba et al., arXiv:1409.2329).

    Args:
      num_units: the size of output and of each half of the state.
      forget_bias: added to the forget gates, so that a new cell remembers.
      state_is_tuple: whether the state is an LSTMStateTuple; one tensor [batch, 2 * num_units]
        otherwise.
      activation: of input and output: a function or its name; tanh by default.
      reuse: whether variables of the scope are shared.
      name: the name of the variable scope.
      dtype: the dtype of the variables; that of the first input by default.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nest of sizes."""
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        units = self._num_units
        self._kernel = self.add_weight(KERNEL, [input_shape[-1] + units, 4 * units])
        self._bias = self.add_weight(BIAS, [4 * units], initializer=Zeros(self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; see the class."""
        c, h = halves(self, state, [self._num_units, self._num_units])
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        enter, new, forget, leave = split(gates, 4, 1)
        bias = convert_to_tensor(self._forget_bias, forget.dtype)
        kept = multiply(c, sigmoid(add(forget, bias)))
        c = add(kept, multiply(sigmoid(enter), self._activation(new)))
        h = multiply(self._activation(c), sigmoid(leave))
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {
            **super().get_config(),
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
        }


def _wrong_state(state: Any, message: str) -> Exception:
    """The error for a state that is no pair, of the class that taking it apart would raise."""
    if isinstance(state, EagerTensor | np.ndarray):
        rows_fit = context.state.graph is None and state.ndim > 0 and len(state) == 2
        return InvalidArgumentError(None, None, message) if rows_fit else ValueError(message)
    return ValueError(message) if nest.is_nested(state) else TypeError(message)


def halves(cell: Any, state: Any, sizes: list[int]) -> tuple[Any, Any]:
    """The parts `c` and `h` of the state of an LSTM."""
    if cell._state_is_tuple:
        if not isinstance(state, list | tuple) or len(state) != 2:
            raise _wrong_state(
                state,
                f"{type(cell).__name__} {cell.name!r}: expected a state of two tensors (c, h), got "
                f"{state}. Begin with zero_state(), or make the cell with state_is_tuple=False.",
            )
        return state[0], state[1]
    c, h = split(state, sizes, 1)
    return c, h


class LSTMCell(_LayerCell):
    """A long short-term memory with peepholes and a projection (Sak et al., 2014).

    Args:
      num_units: the size of the cell.
      use_peepholes: whether the gates see the cell.
      cell_clip: the largest absolute value of the cell.
      initializer: of kernels, peepholes and projection.
      num_proj: the size of the output, when it is projected.
      proj_clip: the largest absolute value of the projected output.
      num_unit_shards: the number of parts of the kernel.
      num_proj_shards: the number of parts of the projection.
      forget_bias: added to the forget gates, so that a new cell remembers.
      state_is_tuple: whether the state is an LSTMStateTuple; one tensor otherwise.
      activation: of input and output: a function or its name; tanh by default.
      reuse: whether variables of the scope are shared.
      name: the name of the variable scope.
      dtype: the dtype of the variables; that of the first input by default.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._use_peepholes = use_peepholes
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer = initializer_of(initializer)
        self._num_proj = num_proj
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._num_proj or self._num_units

    @property
    def _depth(self) -> int:
        """How many columns `h` has: none with `num_proj=0`, whatever the sizes say."""
        return self._num_units if self._num_proj is None else self._num_proj

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nest of sizes."""
        sizes = (self._num_units, self.output_size)
        return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        units, first = self._num_units, self._initializer
        rows = input_shape[-1] + self._depth
        self._kernel = self.add_weight(
            KERNEL, [rows, 4 * units], initializer=first, partitioner=_parts(self._num_unit_shards)
        )
        zero = Zeros(self.dtype or dt.float32)
        self._bias = self.add_weight(BIAS, [4 * units], initializer=zero)
        if self._use_peepholes:
            self._w_f_diag = self.add_weight("w_f_diag", [units], initializer=first)
            self._w_i_diag = self.add_weight("w_i_diag", [units], initializer=first)
            self._w_o_diag = self.add_weight("w_o_diag", [units], initializer=first)
        if self._num_proj is not None:
            self._proj_kernel = self.add_weight(
                "projection/kernel",
                [units, self._num_proj],
                initializer=first,
                partitioner=_parts(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; see the class."""
        c, h = halves(self, state, [self._num_units, self._depth])
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        enter, new, forget, leave = split(gates, 4, 1)
        # with operators, which names in old graphs come from: lstm_cell/mul_2, not Mul_2
        forget = forget + self._forget_bias
        if self._use_peepholes:
            kept = sigmoid(forget + self._w_f_diag * c) * c
            enter = enter + self._w_i_diag * c
        else:
            kept = sigmoid(forget) * c
        c = kept + sigmoid(enter) * self._activation(new)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            leave = leave + self._w_o_diag * c
        h = sigmoid(leave) * self._activation(c)
        if self._num_proj is not None:
            h = matmul(h, self._proj_kernel)
            if self._proj_clip is not None:
                h = clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        names = (
            "use_peepholes cell_clip initializer num_proj proj_clip num_unit_shards"
            " num_proj_shards forget_bias state_is_tuple"
        ).split()
        return {**super().get_config(), **{n: getattr(self, f"_{n}") for n in names}}


def _parts(count: int | None) -> Any:
    return None if count is None else fixed_size_partitioner(count)


class MultiRNNCell(RNNCell):
    """Cells on top of each other: the output of one is the input of the next.

    Args:
      cells: the cells, from below.
      state_is_tuple: whether the state is a tuple of the cells' states; one tensor that joins
        them along axis 1 otherwise.

    Raises:
      ValueError: there is no cell, or a cell's state is a tuple while `state_is_tuple` is false.
      TypeError: `cells` is not a list or tuple.
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but received: {cells}.")
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  "
                f"State sizes are: {[c.state_size for c in cells]}"
            )
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nest of sizes."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros; see `RNNCell`."""
        with name_scope_v1(f"{type(self).__name__}ZeroState"):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return zeros_of(self.state_size, batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:
        """One step; see the class."""
        sizes = [cell.state_size for cell in self._cells]
        if self._state_is_tuple and (not nest.is_nested(state) or len(state) != len(self._cells)):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        states = state if self._state_is_tuple else split(state, sizes, 1)
        following = []
        for index, (cell, held) in enumerate(zip(self._cells, states, strict=True)):
            with variable_scope(f"cell_{index}"):
                inputs, new = cell(inputs, held)
            following.append(new)
        return inputs, tuple(following) if self._state_is_tuple else concat(following, 1)


__all__ = ["BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell", "MultiRNNCell"]
