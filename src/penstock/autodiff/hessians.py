"""`tf.hessians`: the jacobians of gradients, in a graph."""

from typing import Any

from penstock.autodiff.gradients import gradients
from penstock.autodiff.jacobians import jacobian_of
from penstock.autodiff.unconnected import UnconnectedGradients
from penstock.autodiff.walk import as_dense
from penstock.core.execute import execute


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Second derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: a tensor or list of tensors.
      xs: a tensor, variable, or list of them.
      name: the name scope of the operations added.
      colocate_gradients_with_ops: places each gradient with its operation.
      gate_gradients: waits for all gradients of an operation before any is used.
      aggregation_method: one of `AggregationMethod`.

    Returns:
      A list of tensors, one for each of `xs`, of shape x.shape + x.shape.

    Raises:
      ValueError: `ys` does not depend on an x.
    """
    results = []
    for x in xs if isinstance(xs, (list, tuple)) else [xs]:
        (gradient,) = gradients(
            ys, [x], None, name, colocate_gradients_with_ops, gate_gradients, aggregation_method
        )
        if gradient is None:
            raise ValueError(f"hessians: {ys!r} does not depend on {x!r}")
        results.append(_second_derivatives(as_dense(gradient), x))
    return results


def _second_derivatives(gradient: Any, x: Any) -> Any:
    def row(seed: Any) -> list[Any]:
        return gradients(gradient, [x], seed, unconnected_gradients=UnconnectedGradients.ZERO)

    (rows,) = jacobian_of(gradient, row, vectorize=True)
    sizes = execute("Shape", (x,))
    found = execute("Reshape", (rows, execute("ConcatV2", ([sizes, sizes], 0))))
    found.set_shape(x.shape.concatenate(x.shape))
    return found


def hessians_v2(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    name: str = "hessians",
) -> list[Any]:
    """Second derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: a tensor or list of tensors.
      xs: a tensor, variable, or list of them.
      gate_gradients: waits for all gradients of an operation before any is used.
      aggregation_method: one of `AggregationMethod`.
      name: the name scope of the operations added.

    Returns:
      A list of tensors, one for each of `xs`, of shape x.shape + x.shape.

    Raises:
      ValueError: `ys` does not depend on an x.
    """
    return hessians(ys, xs, name, True, gate_gradients, aggregation_method)


__all__ = ["hessians", "hessians_v2"]
