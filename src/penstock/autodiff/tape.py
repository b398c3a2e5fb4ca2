"""`GradientTape`: records what depends on watched tensors and walks it backwards.

A tape is a recorder of its thread while it is entered. It keeps an operation when one of its inputs
is watched or follows from something watched. Variables are watched when they are read, unless that
is turned off.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.autodiff.composites import gradient_leaves, like_source, pack_gradients, tracked
from penstock.autodiff.jacobians import batch_jacobian_of, jacobian_of
from penstock.autodiff.unconnected import UnconnectedGradients
from penstock.autodiff.walk import Record, Sums, as_dense, is_trainable, named_rules, walk
from penstock.config.logging import get_logger
from penstock.core import context
from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.tensor import Tensor
from penstock.util import nest

_GRADIENT = "GradientTape.gradient"


class GradientTape:
    """Records operations for automatic differentiation.

    Args:
      persistent: `gradient` may be called more than once; the records live as long as the tape.
      watch_accessed_variables: trainable variables are watched when they are read.

    Example:
      >>> import penstock as tf
      >>> x = tf.constant(3.0)
      >>> with tf.GradientTape() as tape:
      ...     tape.watch(x)
      ...     y = x * x
      >>> float(tape.gradient(y, x))
      6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._recording = False
        self._used = False
        self._entered = False
        self._clear()

    def _clear(self) -> None:
        self._records: list[Record] = []
        self._tracked: dict[
            int, Any
        ] = {}  # id -> tensor that is watched or follows from one (held, so ids stay unique)
        self._variables: dict[int, Any] = {}
        self._aliases: dict[
            int, int
        ] = {}  # id of a captured handle inside a function -> id of the variable's handle

    # ---- recording -------------------------------------------------------------------------------

    def __enter__(self) -> "GradientTape":
        if self._recording:
            raise ValueError("Tape is already recording.")
        context.push_recorder(self)
        self._recording = self._entered = True
        return self

    def __exit__(self, *problem: Any) -> None:
        if self._recording:
            self._stop()

    def _stop(self) -> None:
        context.remove_recorder(self)
        self._recording = False

    def record(
        self,
        op: OpDef,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        outputs: tuple[Tensor, ...],
    ) -> None:
        """Keeps the operation when a watched tensor reaches it."""
        tracked = self._tracked
        for tensor in inputs:
            if id(tensor) in tracked:
                break
        else:
            return
        if (
            op.gradient_reason is not None
            and not op.gradient_refused
            and "_gradient_op_type" not in attrs
            and op.gradient_function is None
        ):
            return
        useful = [o for o in outputs if is_trainable(o)]
        if not useful:
            return
        source = getattr(outputs[0], "_op", None)
        self._records.append(
            Record(op, inputs, attrs, outputs, source.name if source is not None else "", source)
        )
        for output in useful:
            tracked[id(output)] = output

    def record_custom(
        self,
        op: OpDef,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        rule: Callable[..., Any],
    ) -> None:
        """Keeps a step whose gradient is `rule(record, *grads)`."""
        if any(id(t) in self._tracked for t in inputs):
            self._records.append(_CustomRecord(op, inputs, outputs, rule))
            self._tracked.update({id(o): o for o in outputs if is_trainable(o)})

    def watch_variable(self, variable: Any) -> None:
        """Called when a variable is read."""
        if self._watch_accessed_variables and variable.trainable:
            self._watch_handle(variable)

    def _watch_handle(self, variable: Any) -> None:
        handle = variable.handle
        self._variables[id(handle)] = variable
        self._track(handle)

    def _track(self, tensor: Tensor) -> None:
        """Follows a tensor, and inside a function also what stands for it there."""
        self._tracked[id(tensor)] = tensor
        graph = state.graph
        if graph is not None and graph.building_function:
            inner = graph.as_tensor(tensor)
            if inner is not tensor:
                self._aliases[id(inner)] = id(tensor)
                self._tracked[id(inner)] = inner

    def watch(self, tensor: Any) -> None:
        """Makes the tape keep what depends on `tensor`: a tensor, a variable, or a nest of them.

        Raises:
          ValueError: something else is passed.
        """
        for item in gradient_leaves(tensor):
            if hasattr(item, "handle") and not isinstance(item, Tensor):
                self._watch_handle(item)
                continue
            if not isinstance(item, Tensor):
                raise ValueError(
                    f"Passed in object {item!r} of type {type(item).__name__!r}, not tf.Tensor or"
                    " tf.Variable or ExtensionType."
                )
            if not (item.dtype.is_floating or item.dtype.is_complex or not is_numeric(item)):
                get_logger().warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    item.dtype,
                )
                continue
            self._track(item)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Operations inside are not recorded.

        Raises:
          ValueError: the tape is not recording.
        """
        self._check_recording("stop_recording")
        self._stop()
        try:
            yield
        finally:
            context.push_recorder(self)
            self._recording = True

    def reset(self) -> None:
        """Forgets everything recorded and watched.

        Raises:
          ValueError: the tape is not recording.
        """
        self._check_recording("reset")
        self._clear()
        self._used = False

    def _check_recording(self, method: str) -> None:
        if not self._recording:
            raise ValueError(
                f"GradientTape.{method}: Tape is not recording. Call it inside of `with tape:`."
            )

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables watched so far, in the order of their first read."""
        return tuple(self._variables.values())

    # ---- gradients -------------------------------------------------------------------------------

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of `target` with respect to `sources`.

        Args:
          target: tensors or variables, summed when there are several.
          sources: a nest of watched tensors or variables.
          output_gradients: for each target what its gradient is multiplied with; ones by default.
          unconnected_gradients: None or zeros for sources that `target` does not depend on.

        Returns:
          A nest like `sources` of tensors, IndexedSlices (where rows were gathered) or None.

        Raises:
          RuntimeError: a tape that is not persistent is used a second time, or before it recorded
            anything.
          TypeError, AttributeError: a target or source is neither tensor nor variable.
        """
        self._check_unused()
        if not self._entered:
            raise RuntimeError(
                "GradientTape.gradient: expected a tape that recorded something, got one that was"
                " never entered. Compute the target inside `with tf.GradientTape() as tape:`."
            )
        if self._recording:
            if not self._persistent:
                self._stop()
            else:
                get_logger().log(
                    5, "Calling GradientTape.gradient on a persistent tape inside its context."
                )
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or"
                " CompositeTensors to be differentiated, but received None."
            )
        flat_sources = [tracked(s, _GRADIENT, "source") for s in gradient_leaves(sources)]
        targets, grads = self._targets(target, output_gradients)
        self._used = True
        sums = Sums()
        for t, g in zip(targets, grads, strict=True):
            sums.add(t, g)
        recorded = list(reversed(self._records))
        if not self._persistent:
            self._records = []
        walk(
            recorded,
            sums,
            set(self._tracked),
            _custom_rule,
            keep=frozenset(id(s) for s in flat_sources),
        )
        results = [
            self._result(s, sums, UnconnectedGradients(unconnected_gradients)) for s in flat_sources
        ]
        if not self._persistent:
            self._tracked = {}
        return pack_gradients(sources, results)

    def _check_unused(self) -> None:
        if self._used and not self._persistent:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or"
                " jacobians): expected this to be the first, got a second one. Make the tape with"
                " persistent=True."
            )

    def _targets(self, target: Any, output_gradients: Any) -> tuple[list[Any], list[Any]]:
        targets, grads = [], []
        flat = gradient_leaves(target)
        given = (
            [None] * len(flat) if output_gradients is None else gradient_leaves(output_gradients)
        )
        if len(given) == 1 and len(flat) > 1:
            given = given * len(flat)
        if len(given) != len(flat):
            raise ValueError(
                f"GradientTape.gradient: expected one of output_gradients for each of {len(flat)} "
                f"targets, got {len(given)}. A list counts as several: pass a tensor for one."
            )
        for item, grad in zip(flat, given, strict=True):
            tensor = tracked(item, _GRADIENT, "target")
            if not is_trainable(tensor):
                get_logger().warning(
                    "The dtype of the target tensor must be floating (e.g. tf.float32) when calling"
                    " GradientTape.gradient, got %r",
                    tensor.dtype,
                )
                continue
            targets.append(tensor)
            value = (
                item.read_value() if tensor is not item and hasattr(item, "read_value") else tensor
            )
            grads.append(execute("OnesLike", (value,)) if grad is None else convert_to_tensor(grad))
        return targets, grads

    def _result(self, source: Any, sums: Sums, unconnected: UnconnectedGradients) -> Any:
        found = sums.get(id(source))
        for inner, outer in self._aliases.items():
            if outer == id(source) and sums.get(inner) is not None:
                part = sums.get(inner)
                found = part if found is None else _add(found, part)
        if found is None and unconnected is UnconnectedGradients.ZERO:
            variable = self._variables.get(id(source))
            return execute(
                "ZerosLike", (variable.read_value() if variable is not None else _value_of(source),)
            )
        return found

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivative of each element of `target` with respect to each element of `sources`.

        Args:
          target: a tensor of shape T.
          sources: a nest of tensors or variables of shapes S.
          unconnected_gradients: as for `gradient`.
          parallel_iterations: accepted for compatibility; at least 1.
          experimental_use_pfor: while a graph is built, compute all rows at the same time, where
            every operation allows it; else, and eagerly unless they are many, one by one.

        Returns:
          A nest like `sources` of tensors of shape T + S, or None.

        Raises:
          RuntimeError: a tape that is not persistent is used a second time, or eagerly without
            `experimental_use_pfor`.
          TypeError, ValueError: `parallel_iterations` is no positive number.
        """
        self._check_rows(parallel_iterations, experimental_use_pfor)
        flat_sources = nest.flatten(sources)
        with self._several():
            rows = jacobian_of(
                target,
                lambda seed: self.gradient(target, flat_sources, seed, unconnected_gradients),
                experimental_use_pfor,
            )
        shape = execute("Shape", (target,))
        results = [
            None if found is None else _reshaped(found, shape, execute("Shape", (_read(source),)))
            for found, source in zip(rows, flat_sources, strict=True)
        ]
        return nest.pack_sequence_as(sources, list(map(like_source, flat_sources, results)))

    def _check_rows(self, parallel_iterations: Any, at_once: bool) -> None:
        """Refuses what `jacobian` cannot mean, and what TensorFlow does not take."""
        if parallel_iterations is not None:
            if not isinstance(parallel_iterations, int):
                raise TypeError(
                    f"GradientTape: expected parallel_iterations to be an int or None, got"
                    f" {parallel_iterations!r}."
                )
            if parallel_iterations < 1:
                raise ValueError(
                    f"GradientTape: parallel_iterations must be at least 1, got"
                    f" {parallel_iterations}."
                )
        if not at_once and not self._persistent and state.graph is None:
            raise RuntimeError(
                "GradientTape must be created with persistent=True to compute the jacobian eagerly"
                " with experimental_use_pfor=False, got a tape that is not persistent. Leave"
                " experimental_use_pfor at True, or make the tape persistent."
            )

    @contextlib.contextmanager
    def _several(self) -> Iterator[None]:
        """Lets the tape be asked more than once; it may be used once all the same."""
        self._check_unused()
        persistent, self._persistent = self._persistent, True
        if self._recording and not persistent:
            self._stop()
        try:
            yield
        finally:
            self._persistent = persistent
            if not persistent:
                self._records, self._tracked = [], {}

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The jacobian of each example: `target` [B, T...] by `source` [B, S...], no cross terms.

        Args:
          target: a tensor [B, T...], recorded by this tape.
          source: a tensor [B, S...] that the tape watched.
          unconnected_gradients: None or zeros where `target` does not depend on `source`.
          parallel_iterations: accepted for compatibility.
          experimental_use_pfor: as for `jacobian`.

        Returns:
          A tensor of shape [B, T..., S...]; zeros where `target` does not depend on `source`.

        Raises:
          RuntimeError, TypeError: as `jacobian`.
          ValueError: a rank is unknown or 0, or the first dimensions differ.
        """
        self._check_rows(parallel_iterations, experimental_use_pfor)
        t, s = target.dims, source.dims
        if not t or not s or (None not in (t[0], s[0]) and t[0] != s[0]):
            raise ValueError(
                f"Need first dimension of target shape {t} and source shape {s} to match."
            )
        for tensor in (source, target):
            tensor.shape.with_rank_at_least(2)
        with self._several():
            rows = batch_jacobian_of(
                target,
                lambda seed: [self.gradient(target, source, seed, unconnected_gradients)],
                experimental_use_pfor,
            )
        places = execute("Shape", (target,)), execute("Shape", (source,))[1:]
        if rows is None:
            zero = convert_to_tensor(0, target.dtype.base_dtype)
            return execute("Fill", (execute("ConcatV2", ([*places], 0)), zero))
        order = np.array([1, 0, *range(2, len(s) + 1)], np.int32)
        examples = execute("Transpose", (rows, order))
        return _reshaped(examples, *places)


def _reshaped(x: Any, first: Any, second: Any) -> Any:
    return execute("Reshape", (x, execute("ConcatV2", ([first, second], 0))))


class _CustomRecord(Record):
    """A step with a gradient rule of its own."""

    __slots__ = ("rule",)

    def __init__(
        self,
        op: OpDef,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        rule: Callable[..., Any],
    ) -> None:
        super().__init__(op, inputs, {"_gradient_op_type": CUSTOM_RULE}, outputs)
        self.rule = rule


CUSTOM_RULE = "_penstock_custom"


def _custom_rule(record: Record, rule: Any, grads: list[Any]) -> Any:
    if isinstance(record, _CustomRecord):
        return record.rule(record, *grads)
    return rule(record, *grads)


def _never(record: Record, *grads: Any) -> Any:
    raise AssertionError("a custom record carries its own rule")


def is_numeric(tensor: Any) -> bool:
    """Whether the dtype is one of numbers (not a resource or variant)."""
    return bool(tensor.dtype.is_numeric or tensor.dtype.is_bool)


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, IndexedSlices) or isinstance(b, IndexedSlices):
        a, b = as_dense(a), as_dense(b)
    return execute("AddV2", (a, b))


def _read(source: Any) -> Any:
    return source.read_value() if hasattr(source, "read_value") else source


def _value_of(handle: Any) -> Any:
    cell = getattr(getattr(handle, "_array", None), "resource", None)
    return handle if cell is None else execute("ReadVariableOp", (handle,), {"dtype": cell.dtype})


named_rules[CUSTOM_RULE] = _never
