"""Cells of recurrent networks: `output, next_state = cell(input, state)`.

A cell is a layer whose state is a tensor or a nest of them. `state_size` has the structure of the
state with the size of each part. Weights are made at the first call, in the scope of that call.
"""

import collections
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import name_scope_v1
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import zeros
from penstock.ops.array_join import concat
from penstock.ops.array_split import split
from penstock.ops.initializers_v1 import Constant, Zeros
from penstock.ops.math_arithmetic import add, multiply
from penstock.ops.math_compare import clip_by_value
from penstock.ops.math_elementwise import sigmoid, tanh
from penstock.ops.math_matmul import matmul
from penstock.ops.nn_bias import bias_add
from penstock.ops.partitioned import fixed_size_partitioner
from penstock.ops.variable_scope import get_variable_scope, variable_scope
from penstock.train.layer import InputSpec, Layer
from penstock.train.layer_functions import activation as activation_of
from penstock.train.layer_functions import initializer as initializer_of
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest

KERNEL, BIAS = "kernel", "bias"

_StateTuple = collections.namedtuple("_StateTuple", ("c", "h"))  # public class


class LSTMStateTuple(_StateTuple):
    """The state of an LSTM: the cell `c` and the output `h`."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both.

        Raises:
          TypeError: they differ.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(
                f"Inconsistent dtypes for internal state: {self.c.dtype} vs {self.h.dtype}"
            )
        return self.c.dtype


def check_cell(value: Any, name: str = "cell") -> None:
    """Refuses what cannot be used as a cell.

    Args:
      value: anything.
      name: of the argument.

    Raises:
      TypeError: it has no sizes, no initial state, or is not callable.
    """
    wrong = [
        f"'{wanted}' property is missing"
        for wanted in ("output_size", "state_size")
        if not hasattr(value, wanted)
    ]
    if not (hasattr(value, "zero_state") or hasattr(value, "get_initial_state")):
        wrong.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(value):
        wrong.append("is not callable")
    if wrong:
        raise TypeError(f"The argument {name!r} ({value}) is not an RNNCell: {', '.join(wrong)}.")


def zeros_of(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros [batch_size, size...] for each size of a nest."""

    def one(size: Any) -> Any:
        inner = TensorShape(size).as_list() if not isinstance(size, int) else [size]
        known = _known_size(batch_size)
        if known is not None:
            return zeros([known, *inner], dtype)
        rows = convert_to_tensor(batch_size, dt.int32)
        return zeros(concat([[rows], convert_to_tensor(inner, dt.int32)], 0), dtype)

    if isinstance(sizes, TensorShape):
        return one(sizes)
    return nest.map_structure(one, sizes)


def _known_size(value: Any) -> int | None:
    if not isinstance(value, Tensor):
        return int(value)
    known = constant_value(value)
    return None if known is None else int(known)


class RNNCell(Layer):
    """The base class of cells.

    A subclass gives `state_size` and `output_size`, and `call(inputs, state)`, which returns the
    output and the next state. Variables that it gets by `get_variable` are the cell's.

    Args:
      trainable: whether the variables are updated by optimizers.
      name: the name of the variable scope.
      dtype: the dtype of the variables; that of the first input by default.
    """

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable, name, dtype, **kwargs)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step.

        Args:
          inputs: floating [batch, depth].
          state: a nest as `state_size`, each [batch, size].
          scope: the variable scope of a first call; the cell's name by default.

        Returns:
          The output [batch, output_size] and the next state.
        """
        if scope is None:
            around = variable_scope(
                get_variable_scope(),
                custom_getter=self._note_variable,
                auxiliary_name_scope=False,
            )
            with around:
                return super().__call__(inputs, state)
        with variable_scope(scope, custom_getter=self._note_variable) as entered:
            return super().__call__(inputs, state, scope=entered)

    def _note_variable(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """The custom getter of the scope: what it gets is a weight of this cell."""
        made = getter(*args, **kwargs)
        for variable in getattr(made, "_get_variable_list", lambda: [made])():
            self._note_weight(variable, bool(variable.trainable))
        return made

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nest of sizes."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_size")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_size")

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """The first state: zeros.

        Args:
          inputs: a tensor whose first axis is the batch.
          batch_size: the size of the batch, when there are no inputs.
          dtype: the dtype, when there are no inputs.

        Returns:
          A nest as `state_size`, each [batch, size].

        Raises:
          ValueError: neither inputs nor batch size and dtype are given, or they differ.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs)
            known = inputs.dims[0] if inputs.dims else None
            given = None if batch_size is None else _known_size(batch_size)
            if None not in (known, given) and known != given:
                raise ValueError(
                    f"batch size from input tensor is different from the input param. Input "
                    f"tensor batch: {known}, batch_size: {batch_size}"
                )
            if dtype is not None and dt.as_dtype(dtype) != inputs.dtype:
                raise ValueError(
                    f"dtype from input tensor is different from the input param. Input tensor "
                    f"dtype: {inputs.dtype}, dtype: {dtype}"
                )
            batch_size = known if known is not None else shape_of(inputs)[0]
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros.

        Args:
          batch_size: an int, or an integer scalar tensor.
          dtype: the dtype.

        Returns:
          A nest as `state_size`, each [batch_size, size].
        """
        with name_scope_v1(f"{type(self).__name__}ZeroState"):
            return zeros_of(self.state_size, batch_size, dtype)


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


def halves(cell: Any, state: Any, sizes: list[int]) -> tuple[Any, Any]:
    """The parts `c` and `h` of the state of an LSTM."""
    if cell._state_is_tuple:
        if not isinstance(state, list | tuple) or len(state) != 2:
            raise TypeError(
                f"{type(cell).__name__} {cell.name!r}: expected a state of two tensors (c, h), got "
                f"{state}. Begin with zero_state(), or make the cell with state_is_tuple=False."
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
    def state_size(self) -> Any:
        """The size of the state, or a nest of sizes."""
        sizes = (self._num_units, self.output_size)
        return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        units, first = self._num_units, self._initializer
        rows = input_shape[-1] + self.output_size
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
        c, h = halves(self, state, [self._num_units, self.output_size])
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


__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "check_cell",
    "zeros_of",
]
