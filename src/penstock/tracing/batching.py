"""`tf.nondifferentiable_batch_function`: a function whose calls from many threads run as one."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.composing import scope
from penstock.ops.function_calls import BATCH_FUNCTION
from penstock.tracing.function import function
from penstock.types.tensor_spec import TensorSpec


def batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
    enable_large_batch_splitting: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: calls of a function at the same time are joined into one, row after row.

    The function takes tensors of any dtype but with as many rows (axis 0) as each other, and gives
    tensors with as many. It has no gradient.

    Args:
      num_batch_threads: how many batches may run at once.
      max_batch_size: the most rows of a batch.
      batch_timeout_micros: how long a batch waits for more rows, in microseconds.
      allowed_batch_sizes: increasing sizes that batches are padded to, with rows that are dropped
        again; the last is `max_batch_size`. None for any size.
      max_enqueued_batches: how many batches may wait.
      autograph: converts Python control flow over tensors.
      enable_large_batch_splitting: whether a call of more than `max_batch_size` rows is cut into
        several batches; it is one batch of its own otherwise.

    Returns:
      A decorator for functions of tensors that return a nest of tensors.

    Raises:
      ValueError: on a call, an argument is no tensor.
      InvalidArgumentError: on a call, the numbers of rows differ, or the sizes do not fit together.
      FailedPreconditionError: on a call, the function gave another number of rows.
      UnavailableError: on a call, too many batches wait.

    Example:
      >>> import penstock as tf
      >>> @tf.nondifferentiable_batch_function(1, 8, 1000)
      ... def double(x):
      ...     return x * 2
      >>> double(tf.constant([1, 2])).numpy().tolist()
      [2, 4]
    """
    attrs = {
        "num_batch_threads": num_batch_threads,
        "max_batch_size": max_batch_size,
        "batch_timeout_micros": batch_timeout_micros,
        "max_enqueued_batches": max_enqueued_batches,
        "allowed_batch_sizes": tuple(allowed_batch_sizes or ()),
        "enable_large_batch_splitting": enable_large_batch_splitting,
    }

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        computation = function(fn, autograph=autograph)

        @functools.wraps(fn)
        def decorated(*args: Any) -> Any:
            return _call(computation, attrs, args)

        return decorated

    return decorate


def _call(computation: Any, attrs: dict[str, Any], args: tuple[Any, ...]) -> Any:
    for value in args:
        if not isinstance(value, Tensor):
            raise ValueError(
                "All arguments to functions decorated with batch_function are supposed to be"
                f" Tensors; found {value!r}. Convert it with tf.convert_to_tensor."
            )
    specs = [_any_rows(value, f"batch_{i}") for i, value in enumerate(args)]
    concrete = computation.get_concrete_function(*specs)
    captured = tuple(concrete.captured_inputs)
    for variable in concrete.variables:
        for recorder in state.recorders:
            recorder.watch_variable(variable)
    given = {
        **attrs,
        "f": concrete.body,
        "Tin": tuple(t.dtype for t in args),
        "Tcaptured": tuple(t.dtype for t in captured),
        "Tout": tuple(t.dtype for t in concrete.outputs),
    }
    with scope(None, "batch"):
        results = execute(BATCH_FUNCTION, (args, captured), given)
    return concrete._pack(list(results) if isinstance(results, (list, tuple)) else [results])


def _any_rows(value: Tensor, name: str) -> TensorSpec:
    """The spec of an argument with any number of rows."""
    dims = value.shape.dims_tuple
    return TensorSpec((None, *dims[1:]) if dims else dims, value.dtype, name)


__all__ = ["batch_function"]
