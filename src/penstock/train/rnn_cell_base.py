"""Recurrent cells: what all have in common, and their states."""

import collections
import operator
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import name_scope_v1
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import zeros
from penstock.ops.array_join import concat
from penstock.ops.variable_scope import get_variable_scope, variable_scope
from penstock.train.layer import Layer
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest

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
    if value is None:
        raise ValueError("batch_size: expected an int or a tensor, got None. Use tf.shape(x)[0].")
    if not isinstance(value, Tensor):
        try:
            return operator.index(value)
        except TypeError:
            raise TypeError(
                f"batch_size: expected an int or a tensor, got {value!r}. Use tf.shape(x)[0]."
            ) from None
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
                auxiliary_name_scope=self._keras_style,  # its variables are named by name scopes
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


__all__ = ["LSTMStateTuple", "RNNCell", "check_cell", "zeros_of"]
