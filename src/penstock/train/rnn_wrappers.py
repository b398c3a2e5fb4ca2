"""Cells around other cells: dropout, residual connections, devices."""

import hashlib
from collections.abc import Callable
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import device_v1, name_scope_v1
from penstock.graph.static_values import constant_value
from penstock.ops.math_arithmetic import add, multiply
from penstock.ops.math_division import divide
from penstock.ops.math_elementwise import floor
from penstock.ops.nn_dropout import dropout_v1
from penstock.ops.random_ops import random_uniform
from penstock.ops.tensor_array import TensorArray
from penstock.train.rnn_cell_base import LSTMStateTuple, RNNCell, check_cell
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest


class _Wrapper(RNNCell):
    """A cell that calls another one, whose scope and variables stay as they are."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        check_cell(cell)
        super().__init__(**kwargs)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nest of sizes."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self.cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros; see `RNNCell`."""
        with name_scope_v1(f"{type(self).__name__}ZeroState"):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step of the cell inside; arguments as for `RNNCell`."""
        result = self._step(inputs, state, lambda x, s: self.cell(x, s, scope=scope))
        self.built = True
        return result

    def call(self, inputs: Any, state: Any) -> Any:
        """One step."""
        return self._step(inputs, state, self.cell.call)

    def _step(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        inner = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), "cell": inner}


class DeviceWrapper(_Wrapper):
    """A cell whose operations are placed on a device.

    Args:
      cell: the cell.
      device: a device name or function, as for `tf.compat.v1.device`.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros; see `RNNCell`."""
        with device_v1(self._device):
            return super().zero_state(batch_size, dtype)

    def _step(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        with device_v1(self._device):
            return step(inputs, state)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {**super().get_config(), "device": self._device}


class ResidualWrapper(_Wrapper):
    """A cell whose input is added to its output.

    Args:
      cell: the cell.
      residual_fn: `residual_fn(inputs, outputs)`, instead of their sum.
    """

    def __init__(self, cell: Any, residual_fn: Any = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _step(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        outputs, new = step(inputs, state)
        return (self._residual_fn or _sum)(inputs, outputs), new


def _sum(inputs: Any, outputs: Any) -> Any:
    def one(x: Any, y: Any) -> Any:
        if not x.shape.is_compatible_with(y.shape):
            raise ValueError(f"Shapes {x.shape} and {y.shape} are incompatible")
        return add(x, y)

    return nest.map_structure(one, inputs, outputs)


class DropoutWrapper(_Wrapper):
    """A cell whose inputs, outputs or states are dropped at random.

    Args:
      cell: the cell.
      input_keep_prob: the part of the inputs that is kept; a number or scalar tensor.
      output_keep_prob: likewise of the outputs.
      state_keep_prob: likewise of the states that go to the next step.
      variational_recurrent: whether all steps and rows of a batch drop the same (Gal and
        Ghahramani, arXiv:1512.05287).
      input_size: the depth of the inputs, which `variational_recurrent` needs to drop them.
      dtype: the dtype of everything, which `variational_recurrent` needs.
      seed: makes the choices repeat.
      dropout_state_filter_visitor: `visitor(state)` says which parts of the state are dropped; by
        default all but the memory `c` of an LSTMStateTuple and TensorArrays.

    Raises:
      TypeError: `cell` is no cell, or the visitor is not callable.
      ValueError: a number is not between 0 and 1, or dtype or size are missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        visitor = dropout_state_filter_visitor
        if visitor is not None and not callable(visitor):
            raise TypeError(f"dropout_state_filter_visitor must be callable. Received: {visitor}")
        self._visitor = visitor or _drops
        self._seed = seed
        self._input_keep_prob = _probability("input_keep_prob", input_keep_prob)
        self._state_keep_prob = _probability("state_keep_prob", state_keep_prob)
        self._output_keep_prob = _probability("output_keep_prob", output_keep_prob)
        self._input_size = input_size
        self._variational_recurrent = variational_recurrent
        self._noise: dict[str, Any] = {"input": None, "state": None, "output": None}
        if variational_recurrent:
            self._make_noise(dtype)

    def _make_noise(self, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        if not _keeps_all(self._input_keep_prob):
            if self._input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            self._noise["input"] = self._noise_of(self._input_size, "input", dtype)
        self._noise["state"] = self._noise_of(self.cell.state_size, "state", dtype)
        self._noise["output"] = self._noise_of(self.cell.output_size, "output", dtype)

    def _noise_of(self, sizes: Any, place: str, dtype: Any) -> list[Any]:
        """Uniform numbers [1, size] for each size of a nest."""
        flat = [sizes] if isinstance(sizes, TensorShape) else nest.flatten(sizes)
        shapes = [[1, *([s] if isinstance(s, int) else TensorShape(s).as_list())] for s in flat]
        return [
            random_uniform(shape, seed=self._seed_of(place, i), dtype=dtype)
            for i, shape in enumerate(shapes)
        ]

    def _seed_of(self, place: str, index: int) -> int | None:
        """Different seeds for different places: those that TensorFlow's wrapper has."""
        if self._seed is None:
            return None
        text = f"{self._seed}{place}_{index}"
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF

    def _drop(self, values: Any, place: str, keep: Any, wanted: list[bool] | None = None) -> Any:
        flat = nest.flatten(values)
        wanted = wanted or [True] * len(flat)
        noise = self._noise[place] or [None] * len(flat)
        dropped = []
        for index, (value, drop) in enumerate(zip(flat, wanted, strict=True)):
            if not drop or not isinstance(value, Tensor):
                dropped.append(value)
            elif noise[index] is not None:
                keeping = convert_to_tensor(keep, value.dtype)
                mask = floor(add(keeping, noise[index]))
                dropped.append(multiply(divide(value, keeping), mask))
            else:
                seed = self._seed_of(place, index)
                dropped.append(dropout_v1(value, keep_prob=keep, seed=seed))
        return nest.pack_sequence_as(values, dropped)

    def _step(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        if not _keeps_all(self._input_keep_prob):
            inputs = self._drop(inputs, "input", self._input_keep_prob)
        output, new = step(inputs, state)
        if not _keeps_all(self._state_keep_prob):
            wanted = _visit(new, self._visitor)
            new = self._drop(new, "state", self._state_keep_prob, wanted)
        if not _keeps_all(self._output_keep_prob):
            output = self._drop(output, "output", self._output_keep_prob)
        return output, new

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        names = (
            "input_keep_prob output_keep_prob state_keep_prob variational_recurrent input_size seed"
        ).split()
        return {**super().get_config(), **{n: getattr(self, f"_{n}") for n in names}}


def _probability(name: str, value: Any) -> Any:
    if not isinstance(value, Tensor):
        value = float(value)
        known: Any = value
    else:
        known = constant_value(value)
    if known is not None and not 0.0 <= float(known) <= 1.0:
        raise ValueError(f"Parameter {name} must be between 0 and 1. Received {float(known)}")
    return value if known is None else float(known)


def _keeps_all(keep: Any) -> bool:
    return isinstance(keep, float) and keep >= 1.0


def _drops(state: Any) -> Any:
    """Which parts of a state are dropped by default."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


def _visit(state: Any, visitor: Callable[[Any], Any]) -> list[bool]:
    """The visitor's answer for each leaf: an answer for a nest counts for all inside of it."""
    if nest.is_nested(state) and not isinstance(state, LSTMStateTuple):
        parts = list(state.values()) if isinstance(state, dict) else list(state)
        return [answer for part in parts for answer in _visit(part, visitor)]
    answer = visitor(state)
    leaves = len(nest.flatten(state))
    return nest.flatten(answer) if nest.is_nested(answer) else [bool(answer)] * leaves


__all__ = ["DeviceWrapper", "DropoutWrapper", "ResidualWrapper"]
