"""Methods of datasets whose functions hand a state from element to element."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import errors
from penstock.core.execute import execute
from penstock.data.base import DatasetBase
from penstock.data.functions import Traced, trace
from penstock.data.looping import REDUCE, SCAN, SINGLE
from penstock.data.structure import Structure, normalized, spec_of
from penstock.util import nest

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset


class LoopingMethods(DatasetBase):
    """Methods of `Dataset` that go through elements with a state, and end with one."""

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last state of a function that takes a state and each element in turn.

        Args:
          initial_state: the first state, a structure of tensors.
          reduce_func: takes a state and an element, returns the next state.
          name: the operation's name in a graph.

        Returns:
          The state after the last element, in the structure of `initial_state`.

        Raises:
          TypeError: states are of other classes or dtypes than the first.
          InvalidArgumentError: a state has another structure.

        Example:
          >>> import penstock as tf
          >>> import numpy as np
          >>> int(tf.data.Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x))
          10
        """
        if not callable(reduce_func):
            raise ValueError(
                f"Argument `func` must be a callable. Received func={reduce_func!r} (of type"
                f" {type(reduce_func)})"
            )
        first = normalized(initial_state)
        traced, state = trace_states(
            reduce_func, spec_of(first), self._structure, "reduce", lambda output: output
        )
        inputs = (self._variant_tensor, state.flatten(first), traced.captured)
        found = execute(REDUCE, inputs, {"f": traced.body, **state.attrs}, name)
        return state.pack(found)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> "Dataset":
        """What a function makes of a state and of each element, with the state that it gives on.

        Args:
          initial_state: the first state, a structure of tensors.
          scan_func: takes a state and an element, returns the next state and a result.
          name: the operation's name in a graph.

        Returns:
          A dataset of the results.

        Raises:
          TypeError: the function returns no pair, or a state of another class or dtype.

        Example:
          >>> import penstock as tf
          >>> import numpy as np
          >>> sums = tf.data.Dataset.range(5).scan(
          ...     np.int64(0), lambda total, x: (total + x, total + x))
          >>> [int(x) for x in sums]
          [0, 1, 3, 6, 10]
        """
        first = normalized(initial_state)
        traced, state = trace_states(
            scan_func, spec_of(first), self._structure, "scan", _scan_state
        )
        output = Structure(traced.output.spec[1])
        attrs = {"f": traced.body, "preserve_cardinality": True}
        inputs = (self._variant_tensor, state.flatten(first), traced.captured)
        return self._derived(SCAN, inputs, output, attrs, name)  # type: ignore[no-any-return]

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element.

        Args:
          name: the operation's name in a graph.

        Raises:
          InvalidArgumentError: there is none, or another one.

        Example:
          >>> import penstock as tf
          >>> int(tf.data.Dataset.range(3).batch(3).map(tf.reduce_sum).get_single_element())
          3
        """
        structure = self._structure
        found = execute(SINGLE, (self._variant_tensor,), structure.attrs, name)
        return structure.pack(found)


def _scan_state(output: Any) -> Any:
    if not (isinstance(output, tuple) and len(output) == 2):
        raise TypeError(
            "Invalid `scan_func`. `scan_func` should return a pair consisting of new state and the"
            f" output value but its return type is {output}."
        )
    return output[0]


def trace_states(
    function: Callable[..., Any],
    state: Any,
    element: Structure,
    what: str,
    state_of: Callable[[Any], Any],
) -> tuple[Traced, Structure]:
    """Traces a function of a state and an element that gives the next state.

    Where states have other shapes than the first, it is traced again for shapes that all have.

    Args:
      function: the function.
      state: the structure of TypeSpecs of the first state.
      element: the structure of elements.
      what: what the method is called.
      state_of: gives the part of the function's output that is the state.

    Returns:
      The function, and the structure of states.

    Raises:
      TypeError: a state is of other classes or dtypes.
      InvalidArgumentError: it has another structure.
    """
    while True:
        traced = trace(function, [Structure(state), element], what)
        relaxed = _common(state, state_of(traced.output.spec), what)
        if relaxed == state:
            return traced, Structure(state)
        state = relaxed


def _common(state: Any, new: Any, what: str) -> Any:
    """The structure that both states have."""
    olds, news = nest.flatten(state), nest.flatten(new)
    if len(olds) != len(news):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{what}: The number of components of the initial state and the new state must match:"
            f" expected {state}, got {new}.",
        )
    found = []
    for old, made in zip(olds, news, strict=True):
        if type(old) is not type(made):
            raise TypeError(
                f"{what}: The element classes for the new state must match the initial state."
                f" Expected {old.value_type}, got {made.value_type}."
            )
        if getattr(old, "dtype", None) != getattr(made, "dtype", None):
            raise TypeError(
                f"{what}: The element types for the new state must match the initial state."
                f" Expected {old.dtype!r}, got {made.dtype!r}. Cast one of them."
            )
        common = old.most_specific_common_supertype([made])
        if common is None:
            raise TypeError(
                f"{what}: The new state must be like the initial state. Expected {old}, got {made}."
            )
        found.append(common)
    return nest.pack_sequence_as(state, found)
