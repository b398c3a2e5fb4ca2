"""`ForwardAccumulator`: derivatives along a direction, computed with the values.

The derivative of each operation along the tangents of its inputs follows from its reverse rule: the
reverse is linear in the upstream gradient u, and the gradient of <reverse(u), tangents> with
respect to u is the forward derivative.
"""

from typing import Any

from penstock.autodiff.composites import tracked
from penstock.autodiff.tape import GradientTape
from penstock.autodiff.unconnected import UnconnectedGradients
from penstock.autodiff.walk import Record, as_dense, is_trainable, rule_of
from penstock.config.logging import get_logger
from penstock.core import context
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.tensor import Tensor
from penstock.util import nest


class ForwardAccumulator:
    """Computes Jacobian-vector products while operations run.

    Args:
      primals: tensors or variables.
      tangents: for each of them a tensor of its shape: the direction.

    Raises:
      ValueError: a tensor is given twice, or the numbers differ.
      TypeError: `tangents` is another kind of nest than `primals`.

    Example:
      >>> import penstock as tf
      >>> x = tf.constant([2.0, 3.0])
      >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as acc:
      ...     y = tf.reduce_sum(x * x)
      >>> float(acc.jvp(y))
      4.0
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._tangents: dict[int, Any] = {}
        self._keep: dict[int, Any] = {}
        self._recording = False
        nest.assert_same_structure(primals, tangents)
        flat_primals, flat_tangents = nest.flatten(primals), nest.flatten(tangents)
        for primal, tangent in zip(flat_primals, flat_tangents, strict=True):
            if tangent is not None:
                self._watch(primal, convert_to_tensor(tangent, dtype=primal.dtype))

    def _watch(self, primal: Any, tangent: Any) -> None:
        target = (
            primal.handle
            if hasattr(primal, "handle") and not isinstance(primal, Tensor)
            else primal
        )
        if id(target) in self._tangents:
            raise ValueError("Tensor was watched twice: pass each primal once.")
        if not (target.dtype.is_floating or target.dtype.is_complex or target is not primal):
            get_logger().warning(
                "The dtype of the watched primal must be floating (e.g. tf.float32), got %s",
                target.dtype.name,
            )
        self._set(target, tangent)

    def _set(self, tensor: Any, tangent: Any) -> None:
        """Notes a tangent, inside a function also for what stands for the tensor there."""
        self._tangents[id(tensor)] = tangent
        self._keep[id(tensor)] = tensor
        graph = state.graph
        if graph is not None and graph.building_function:
            inner = graph.as_tensor(tensor)
            self._tangents[id(inner)] = tangent
            self._keep[id(inner)] = inner

    def __enter__(self) -> "ForwardAccumulator":
        if self._recording:
            raise ValueError("Accumulator is already recording.")
        context.push_recorder(self)
        self._recording = True
        return self

    def __exit__(self, *problem: Any) -> None:
        if self._recording:
            context.remove_recorder(self)
            self._recording = False

    def watch_variable(self, variable: Any) -> None:
        """Variables count only when they are primals."""

    def record(
        self,
        op: OpDef,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        outputs: tuple[Tensor, ...],
    ) -> None:
        """Computes the tangents of the outputs."""
        if not any(id(t) in self._tangents for t in inputs):
            return
        source = getattr(outputs[0], "_op", None) if outputs else None
        name = source.name if source is not None else ""
        record = Record(op, inputs, attrs, outputs, name, source)
        self._forward(record, lambda *grads: (rule_of(record) or _none)(record, *grads))

    def record_custom(self, op: OpDef, inputs: Any, outputs: Any, rule: Any) -> None:
        """The same for a step with a rule of its own."""
        if any(id(t) in self._tangents for t in inputs):
            record = Record(op, inputs, {}, outputs)
            self._forward(record, lambda *grads: rule(record, *grads))

    def _forward(self, record: Record, reverse: Any) -> None:
        useful = [o for o in record.outputs if is_trainable(o)]
        if not useful:
            return
        context.remove_recorder(self)
        try:
            tangents = self._push(record, reverse)
        finally:
            if self._recording:
                context.push_recorder(self)
        for output, tangent in zip(record.outputs, tangents, strict=True):
            if tangent is not None:
                self._set(output, tangent)

    def _push(self, record: Record, reverse: Any) -> list[Any]:
        upstream = [execute("ZerosLike", (o,)) if is_trainable(o) else None for o in record.outputs]
        watched = [u for u in upstream if u is not None]
        with GradientTape() as tape:
            tape.watch(watched)
            found = reverse(*upstream)
            found = found if isinstance(found, (list, tuple)) else [found]
            pairs = [
                (as_dense(g), self._tangents[id(i)])
                for g, i in zip(found, record.inputs, strict=True)
                if g is not None and id(i) in self._tangents
            ]
        if not pairs:
            return [None] * len(upstream)
        results = iter(tape.gradient([g for g, _ in pairs], watched, [t for _, t in pairs]))
        return [as_dense(next(results)) if u is not None else None for u in upstream]

    def jvp(
        self, primals: Any, unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE
    ) -> Any:
        """The derivative of `primals` along the tangents.

        Args:
          primals: a nest of tensors computed while the accumulator was active.
          unconnected_gradients: None or zeros for those that depend on no primal.

        Returns:
          A nest of tensors like `primals`.

        Raises:
          TypeError, AttributeError: a primal is neither tensor nor variable.
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        return nest.map_structure(lambda t: self._of(t, unconnected), primals)

    def _of(self, primal: Any, unconnected: UnconnectedGradients) -> Any:
        target = tracked(primal, "ForwardAccumulator.jvp", "primal")
        found = self._tangents.get(id(target))
        if found is None and unconnected is UnconnectedGradients.ZERO:
            with context.no_recording():
                return execute("ZerosLike", (primal,))
        return found


def _none(record: Record, *grads: Any) -> list[None]:
    return [None] * len(record.inputs)
