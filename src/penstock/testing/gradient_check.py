"""Numerical checks of gradients by central differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.autodiff.gradients import gradients
from penstock.autodiff.tape import GradientTape
from penstock.autodiff.walk import as_dense
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.runtime.client import get_default_session

Array = np.ndarray[Any, Any]


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The theoretical and numerical Jacobians of `f` at `x`.

    Args:
      f: takes the tensors of `x`, returns one tensor.
      x: a list of values, float or complex.
      delta: the step of the central difference; 2**-10 divided down by the precision of the dtype
        when None.

    Returns:
      Two tuples with a matrix [size of x_i, size of y] transposed to [size of y, size of x_i] for
      each x; complex sizes count twice.

    Raises:
      ValueError: `x` is no list, or a value has a dtype without gradients.
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(
            "compute_gradient: expected `x` to be a list or tuple of values for the arguments of "
            f"`f`, got a {type(x).__name__}. Write [x] for a single one."
        )
    tensors = [convert_to_tensor(v) for v in x]
    for tensor in tensors:
        if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
            raise ValueError(
                f"compute_gradient needs float or complex values, got {tensor.dtype.name}"
            )
    theoretical = tuple(_theoretical(f, tensors, i) for i in range(len(tensors)))
    numerical = tuple(_numerical(f, tensors, i, delta) for i in range(len(tensors)))
    return theoretical, numerical


def max_error(grad1: Sequence[Array], grad2: Sequence[Array]) -> float:
    """The largest difference between elements of two lists of Jacobians."""
    error = 0.0
    for a, b in zip(grad1, grad2, strict=True):
        if a.shape != b.shape:
            raise ValueError(f"Jacobians of different shapes: {a.shape} and {b.shape}")
        if a.size:
            error = max(error, float(np.abs(a - b).max()))
    return error


def _components(value: Array) -> Array:
    """A flat real vector; complex elements as real and imaginary part."""
    flat = np.ascontiguousarray(value).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _theoretical(f: Callable[..., Any], tensors: list[Any], index: int) -> Array:
    with GradientTape(persistent=True) as tape:
        tape.watch(tensors)
        y = f(*tensors)
    value = np.asarray(y)
    size_y, size_x = _components(value).size, _components(np.asarray(tensors[index])).size
    jacobian = np.zeros((size_y, size_x), _components(np.asarray(tensors[index])).dtype)
    for row in range(size_y):
        seed = np.zeros_like(value)
        _components_view(seed)[row] = 1
        grad = tape.gradient(y, tensors[index], output_gradients=convert_to_tensor(seed))
        if grad is not None:
            jacobian[row] = _components(np.asarray(as_dense(grad)))
    return jacobian


def _components_view(array: Array) -> Array:
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _step(dtype: Any) -> float:
    return {1: 0.5, 2: 2.0**-5, 4: 2.0**-10, 8: 2.0**-20}[dtype.itemsize]


def _numerical(f: Callable[..., Any], tensors: list[Any], index: int, delta: float | None) -> Array:
    values = [np.array(t) for t in tensors]
    x = values[index]
    real = x.real.dtype
    step = delta if delta is not None else _step(real)

    def at() -> Array:
        return _components(np.asarray(f(*[convert_to_tensor(v) for v in values]))).astype(
            np.float64
        )

    flat = _components_view(x)
    size_y = at().size
    jacobian = np.zeros((size_y, flat.size), np.float64)
    for column in range(flat.size):
        before = flat[column]
        flat[column] = before + step
        high, plus = float(flat[column]), at()
        flat[column] = before - step
        low, minus = float(flat[column]), at()
        flat[column] = before
        jacobian[:, column] = (plus - minus) / (high - low)
    return jacobian.astype(real)


# ---- graphs --------------------------------------------------------------------------------------


def compute_gradient_v1(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """The theoretical and numerical Jacobians [x size, y size] of a graph's `y` by `x`.

    Args:
      x: a tensor, or a list of them.
      x_shape: its shape, or a list of shapes.
      y: a tensor.
      y_shape: its shape.
      x_init_value: where to evaluate; random when None.
      delta: the step of the difference.
      init_targets: operations to run first.
      extra_feed_dict: values of further placeholders.

    Returns:
      A pair of arrays, or a list of pairs for a list of tensors.
    """
    session = get_default_session()
    if session is None:
        raise ValueError(
            "compute_gradient needs a default session: call it inside of "
            "`with session.as_default():`."
        )
    for target in (
        [init_targets]
        if init_targets is not None and not isinstance(init_targets, list)
        else init_targets or []
    ):
        session.run(target)
    several = isinstance(x, (list, tuple))
    xs = list(x) if several else [x]
    shapes = list(x_shape) if several else [x_shape]
    start = list(x_init_value) if several and x_init_value is not None else [x_init_value] * len(xs)
    feeds = dict(extra_feed_dict or {})
    values = [_initial(t, s, v) for t, s, v in zip(xs, shapes, start, strict=True)]
    results = []
    for i in range(len(xs)):
        results.append(_graph_pair(session, xs, values, i, y, delta, feeds))
    return results if several else results[0]


def _initial(x: Any, shape: Any, value: Any) -> Array:
    dtype = x.dtype.numpy_dtype
    if value is not None:
        return np.asarray(value, dtype)
    made = np.random.default_rng(0).uniform(size=tuple(shape))
    return (made + 1j * made[::-1]).astype(dtype) if x.dtype.is_complex else made.astype(dtype)


def _graph_pair(
    session: Any,
    xs: list[Any],
    values: list[Array],
    index: int,
    y: Any,
    delta: float,
    feeds: dict[Any, Any],
) -> tuple[Array, Array]:
    x, value = xs[index], values[index]
    with x.graph.as_default():
        seed = _placeholder(y)
        (grad,) = gradients(y, [x], seed)
        grad = None if grad is None else as_dense(grad)
    given = {**feeds, **dict(zip(xs, values, strict=True))}
    start = np.asarray(session.run(y, given))
    size_x, size_y = _components(value).size, _components(start).size
    theoretical = np.zeros((size_x, size_y), value.real.dtype)
    numerical = np.zeros((size_x, size_y), value.real.dtype)
    for column in range(size_y if grad is not None else 0):
        one = np.zeros_like(start)
        _components_view(one)[column] = 1
        theoretical[:, column] = _components(np.asarray(session.run(grad, {**given, seed: one})))
    flat = _components_view(value)
    for row in range(size_x):
        before = flat[row]
        flat[row] = before + delta
        plus = _components(np.asarray(session.run(y, given)))
        flat[row] = before - delta
        minus = _components(np.asarray(session.run(y, given)))
        flat[row] = before
        numerical[row] = (plus - minus) / (2 * delta)
    return theoretical, numerical


def _placeholder(like: Any) -> Any:
    graph = state.graph
    return graph.create_op(
        "Placeholder", (), name="grad_seed", attrs={"dtype": like.dtype, "shape": like.shape}
    ).outputs[0]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """The largest difference between the Jacobians of a graph's `y` by `x`, as a check.

    One is theoretical, one numerical, as `compat.v1.test.compute_gradient` gives them.

    Args:
      x: a tensor, or a list of them.
      x_shape: its shape, or a list of shapes.
      y: a tensor.
      y_shape: its shape.
      x_init_value: where to evaluate; random when None.
      delta: the step of the difference.
      init_targets: operations to run first.
      extra_feed_dict: values of further placeholders.
    """
    pairs = compute_gradient_v1(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = pairs if isinstance(pairs, list) else [pairs]
    return max(max_error([a], [b]) for a, b in pairs)
