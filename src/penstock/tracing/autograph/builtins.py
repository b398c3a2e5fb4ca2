"""Python's built-in functions for tensors; everything else goes to the built-in itself."""

import builtins
from collections.abc import Callable
from typing import Any

from penstock.autodiff.vectorized import vectorized_map
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.array_gather import gather
from penstock.ops.array_select import where
from penstock.ops.array_sort import argsort
from penstock.ops.math_range import range as tensor_range
from penstock.ops.py_functions import numpy_function
from penstock.ops.tensor_array import TensorArray
from penstock.tracing.autograph.values import at, condition, is_staged
from penstock.types import dtypes as dt

_GIVEN = object()  # stands for an argument that was not passed
# built-in -> class -> what is called for an object of that class in the first argument
_overloads: dict[Any, dict[type, Callable[..., Any]]] = {}


def register_builtin(function: Any, kind: type, overload: Callable[..., Any]) -> None:
    """Says what a built-in does with objects of a class: `len` or `enumerate` of a dataset."""
    _overloads.setdefault(function, {})[kind] = overload


def _registered(function: Any, value: Any) -> Callable[..., Any] | None:
    kinds = _overloads.get(function)
    if not kinds:
        return None
    return next((kinds[c] for c in type(value).__mro__ if c in kinds), None)


def abs_(x: Any) -> Any:
    """`abs`."""
    return (_registered(abs, x) or abs)(x)


def int_(x: Any = 0, base: Any = _GIVEN) -> Any:
    """`int`: int32[...] of a tensor, a string of digits included.

    Raises:
      NotImplementedError: a base other than 10 for a tensor.
    """
    if not is_staged(x):
        return int(x) if base is _GIVEN else int(x, base)
    if base not in (_GIVEN, 10):
        raise NotImplementedError(
            f"base {base} not supported for int{at()}: expected base 10 for a tensor. Parse the"
            " string before it becomes a tensor."
        )
    return _number(x, dt.int32)


def float_(x: Any = 0) -> Any:
    """`float`: float32[...] of a tensor, a string of digits included."""
    return _number(x, dt.float32) if is_staged(x) else float(x)


def _number(x: Any, dtype: Any) -> Any:
    x = convert_to_tensor(x)
    if x.dtype is dt.string:
        return execute("StringToNumber", (x,), {"out_type": dtype})
    return execute("Cast", (x,), {"DstT": dtype})


def len_(x: Any) -> Any:
    """`len`: of a tensor the size of its first dimension, an int where it is known.

    Of a TensorArray it is the number of its elements, a tensor.

    Raises:
      ValueError: a scalar.
    """
    registered = _registered(len, x)
    if registered is not None:
        return registered(x)
    if isinstance(x, TensorArray):
        return x.size()
    if not is_staged(x):
        return len(x)
    x = convert_to_tensor(x)
    if x.shape.rank == 0:
        raise ValueError(
            f"len requires a non-scalar tensor{at()}: expected at least one dimension, got one of"
            f" shape {x.shape}. Use tf.size for the number of elements."
        )
    if x.dims is not None and x.dims[0] is not None:
        return x.dims[0]
    shape = execute("Shape", (x,))
    return execute("StridedSlice", (shape, [0], [1], [1]), {"shrink_axis_mask": 1})


def range_(start_or_stop: Any, stop: Any = _GIVEN, step: Any = _GIVEN) -> Any:
    """`range`: a tensor when an argument is one."""
    given = [v for v in (start_or_stop, stop, step) if v is not _GIVEN]
    return tensor_range(*given) if any(map(is_staged, given)) else builtins.range(*given)


def sorted_(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted`: of a tensor a tensor of its elements in order; with `key`, of its rows.

    `key` is called on a row of all rows at once; equal ones stay in order.

    Raises:
      ValueError: what is compared has more or less than one dimension.
    """
    overload = _registered(sorted, iterable)
    if overload is not None:
        return overload(iterable, key=key, reverse=reverse)
    if not is_staged(iterable):
        return sorted(iterable, key=key, reverse=reverse)
    rows = convert_to_tensor(iterable)
    keys = rows if key is None or rows.shape.rank == 0 else vectorized_map(key, rows)
    if keys.shape.rank not in (1, None):
        raise ValueError(
            f"sort only supports only 1D tensors{at()}: expected one value to compare for each"
            f" element, got {keys.dtype.name}{keys.shape}. Give `key`, or use tf.sort."
        )

    def in_order(direction: str) -> Any:
        return gather(rows, argsort(keys, direction=direction, stable=True))

    if is_staged(reverse):
        falls = condition(reverse, "sorted's reverse")
        return where(falls, in_order("DESCENDING"), in_order("ASCENDING"))
    return in_order("DESCENDING" if reverse else "ASCENDING")


def print_(*objects: Any, **kwargs: Any) -> None:
    """`print`: with tensors among the arguments it prints when the graph runs.

    Raises:
      ValueError: there is no such keyword argument.
    """
    staged = [is_staged(value) for value in objects]
    if not any(staged):
        print(*objects, **kwargs)
        return
    unknown = {*kwargs} - {"sep", "end", "file", "flush"}
    if unknown:
        raise ValueError(
            f"invalid keyword arguments{at()}: expected sep, end, file or flush, got"
            f" {', '.join(sorted(unknown))}. Leave them out."
        )

    def run(*values: Any) -> None:
        given = iter(values)
        print(
            *(_shown(next(given)) if s else o for o, s in zip(objects, staged, strict=True)),
            **kwargs,
        )

    numpy_function(run, [o for o, s in zip(objects, staged, strict=True) if s], [])


def _shown(value: Any) -> Any:
    """A value of the graph as Python prints it: text, where it is a string."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _first_argument(function: Any) -> Callable[..., Any]:
    """An overload by the class of the first argument alone."""

    def overload(*args: Any, **kwargs: Any) -> Any:
        registered = _registered(function, args[0]) if args else None
        return (registered or function)(*args, **kwargs)

    return overload


def _all_arguments(function: Any, skipped: int) -> Callable[..., Any]:
    """An overload that needs every argument after the first `skipped` to be of its class."""

    def overload(*args: Any, **kwargs: Any) -> Any:
        found = {_registered(function, a) for a in args[skipped:]}
        chosen = found.pop() if len(found) == 1 else None
        return (chosen or function)(*args, **kwargs)

    return overload


OVERLOADS: dict[Any, Callable[..., Any]] = {
    abs: abs_,
    int: int_,
    float: float_,
    len: len_,
    builtins.range: range_,
    print: print_,
    any: _first_argument(any),
    all: _first_argument(all),
    sorted: sorted_,
    enumerate: _first_argument(enumerate),
    next: _first_argument(next),
    zip: _all_arguments(zip, 0),
    map: _all_arguments(map, 1),
    filter: _all_arguments(filter, 1),
}
