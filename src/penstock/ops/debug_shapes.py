"""Assertions about dtypes, ranks and shapes.

Checked when they are made as far as shapes are known, else when they run.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor, SparseTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor
from penstock.ops.array_basics import shape as shape_tensor
from penstock.ops.array_identity import no_op
from penstock.ops.debug_asserts import assert_that, known
from penstock.ops.grouping import group
from penstock.types.dtypes import as_dtype, float32


def _named(tensor: Any) -> str:
    return getattr(tensor, "name", "") if not isinstance(tensor, EagerTensor) else ""


def _described(tensor: Any) -> str:
    return f"{_named(tensor)} shape={tensor.shape} dtype={tensor.dtype.name}".strip()


def _prefix(message: str | None, dot: str = ".  ") -> str:
    return f"{message}{dot}" if message else ""


def _passed(name: str) -> Any:
    return None if state.graph is None else no_op(name)


# ---- dtypes


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> None:
    """Asserts that a tensor has a dtype.

    Args:
      tensor: a tensor, SparseTensor or RaggedTensor.
      tf_type: the dtype.
      message: the beginning of the error's text.
      name: the name in a graph.

    Raises:
      TypeError: the dtype differs.
    """
    assert_type_v1(tensor, tf_type, message, name)


def assert_type_v1(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Asserts that a tensor has a dtype; in a graph gives an Operation that does nothing.

    See `tf.debugging.assert_type`.
    """
    wanted = as_dtype(tf_type)
    tensor = tensor if isinstance(tensor, CompositeTensor) else convert_to_tensor(tensor)
    if tensor.dtype != wanted:
        raise TypeError(
            f"{_prefix(message)}{_named(tensor) or 'tensor'} must be of type {wanted!r}; got "
            f"{tensor.dtype!r}"
        )
    return _passed(name or "statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Asserts that a tensor has an integer dtype.

    Args:
      x: a tensor.
      message: the beginning of the error's text.
      name: the name in a graph.

    Raises:
      TypeError: the dtype is no integer dtype.
    """
    assert_integer_v1(x, message, name)


def assert_integer_v1(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Asserts that a tensor has an integer dtype; in a graph gives an Operation.

    See `tf.debugging.assert_integer`.
    """
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        text = (
            f'Expected "x" to be integer type.  Found: {_named(x) or "tensor"} of dtype {x.dtype!r}'
        )
        raise TypeError(f"{message}  {text}" if message else text)
    return _passed(name or "statically_determined_was_integer")


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: Any = None) -> Any:
    """Asserts that tensors have one floating dtype, and returns it.

    Args:
      tensors: tensors, or None.
      dtype: the dtype they must have; by default that of the first, else float32.

    Returns:
      The dtype.

    Raises:
      ValueError: dtypes differ, or the dtype is not floating.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    first = None
    for tensor in tensors or []:
        if tensor is None:
            continue
        found = tensor.dtype.base_dtype
        if wanted is None:
            wanted, first = found, tensor
        elif found is not wanted:
            of = f" as {first}" if first is not None else ""
            raise ValueError(
                f"{tensor}, type={found!r}, must be of the same type ({wanted!r}){of}."
            )
    wanted = wanted or float32
    if not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted!r}.")
    return wanted


def assert_proper_iterable(values: Any) -> None:
    """Asserts that a value is iterable and neither a tensor, an array nor text.

    Raises:
      TypeError: it is one of these, or not iterable.
    """
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, bytes, str)):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not isinstance(values, Iterable):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether a value is a tensor of a floating, complex, integer or quantized dtype."""
    if not isinstance(tensor, Tensor):
        return False
    dtype = tensor.dtype.base_dtype
    return bool(dtype.is_floating or dtype.is_complex or dtype.is_integer or dtype.is_quantized)


# ---- ranks


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> None:
    """Asserts that a tensor is a scalar, as far as its static shape tells.

    Args:
      tensor: a tensor.
      message: the beginning of the error's text.
      name: the name of the tensor in the error's text.

    Raises:
      ValueError: its rank is known and not 0.
    """
    assert_scalar_v1(tensor, name, message)


def assert_scalar_v1(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """The tensor itself, after a check that it is a scalar; see `tf.debugging.assert_scalar`."""
    tensor = convert_to_tensor(tensor)
    if tensor.dims is not None and tensor.dims:
        shown = f" {_named(tensor)}" if _named(tensor) else ""
        raise ValueError(
            f"{message or ''}Expected scalar shape{f' for{shown}' if shown else ''}, saw shape: "
            f"{tensor.shape}."
        )
    return tensor


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> Any:
    """Asserts that a tensor has a rank.

    Args:
      x: a tensor.
      rank: integer scalar.
      message: the beginning of the error's text.
      name: the name in a graph.

    Returns:
      None; in a graph an Operation.

    Raises:
      ValueError: the rank is known and differs.
      InvalidArgumentError: it differs when the graph runs.
    """
    return assert_rank_v1(x, rank, None, None, message, name)


def assert_rank_v1(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that a tensor has a rank; see `tf.debugging.assert_rank`."""
    return _rank_check(x, [rank], "Equal", "", data, summarize, message, name or "assert_rank")


def assert_rank_at_least(
    x: Any, rank: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Asserts that a tensor has at least a rank.

    Args:
      x: a tensor.
      rank: an integer scalar.
      message: what the error begins with.
      name: the name in a graph.

    Returns:
      None; in a graph an operation that fails when the rank is lower.

    Raises:
      ValueError: the rank is known to be lower, or `rank` is no integer scalar.
    """
    return assert_rank_at_least_v1(x, rank, None, None, message, name)


def assert_rank_at_least_v1(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that a tensor has at least a rank; see `tf.debugging.assert_rank_at_least`."""
    return _rank_check(
        x,
        [rank],
        "GreaterEqual",
        "at least ",
        data,
        summarize,
        message,
        name or "assert_rank_at_least",
    )


def assert_rank_in(x: Any, ranks: Any, message: str | None = None, name: str | None = None) -> Any:
    """Asserts that a tensor has one of several ranks.

    Args:
      x: a tensor.
      ranks: integer scalars.
      message: what the error begins with.
      name: the name in a graph.

    Returns:
      None; in a graph an operation that fails when the rank is another.

    Raises:
      ValueError: the rank is known to be another, or one of `ranks` is no integer scalar.
    """
    return assert_rank_in_v1(x, ranks, None, None, message, name)


def assert_rank_in_v1(
    x: Any,
    ranks: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that a tensor has one of several ranks; see `tf.debugging.assert_rank_in`."""
    return _rank_check(
        x, list(ranks), "Equal", "in ", data, summarize, message, name or "assert_rank_in"
    )


def _rank_check(
    x: Any,
    ranks: list[Any],
    op: str,
    words: str,
    data: Any,
    summarize: int | None,
    message: str | None,
    name: str,
) -> Any:
    x = x if isinstance(x, SparseTensor) else convert_to_tensor(x)
    if not ranks and x.dims is None:
        raise ValueError(f"{_prefix(message)}Tensor {_named(x)} must have rank in (). Pass ranks.")
    values = [_known_rank(r) for r in ranks]
    dims = x.dims
    shown = tuple(values) if words == "in " else values[0]  # one rank, but for "in"
    if dims is not None and None not in values:
        least = values[0] if values else None
        at_least = op == "GreaterEqual" and least is not None and len(dims) >= least
        if not at_least and (op == "GreaterEqual" or len(dims) not in values):
            raise ValueError(
                f"{_prefix(message)}Tensor {_named(x)} must have rank {words}{shown}.  Received "
                f"rank {len(dims)}, shape {x.shape}"
            )
        return _passed(f"{name}/static_checks_determined_all_ok")
    actual = (
        execute("Rank", (x,))
        if not isinstance(x, SparseTensor)
        else execute("Size", (x.dense_shape,))
    )
    held = [execute(op, (actual, convert_to_tensor(r))) for r in ranks]
    condition = held[0]
    for other in held[1:]:
        condition = execute("LogicalOr", (condition, other))
    text = [
        message or "",
        f"Tensor {_named(x)} must have rank {words}",
        *ranks,
        "Received shape: ",
        shape_tensor(x),
    ]
    return assert_that(condition, data or text, summarize, name)


def _known_rank(rank: Any) -> int | None:
    if isinstance(rank, (int, np.integer)):
        return int(rank)
    tensor = convert_to_tensor(rank)
    if not tensor.dtype.is_integer:
        raise TypeError(f"rank must be of an integer type; got {tensor.dtype!r}")
    if tensor.dims is not None and tensor.dims:
        raise ValueError(f"Rank must be a scalar, got shape {tensor.shape}.")
    value = known(tensor)
    return None if value is None else int(value)


# ---- shapes


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Asserts that tensors have shapes in which equal symbols stand for equal sizes.

    Args:
      shapes: a dict from tensors, or a list of pairs (tensor, shape). A shape is a sequence of
        integers, symbols (text), None or "." for any size, and "..." or "*" first or last for any
        number of axes.
      data: what the error shows instead of the shapes.
      summarize: elements shown of each tensor; 3 by default.
      message: the beginning of the error's text.
      name: the name in a graph.

    Raises:
      ValueError: a known shape does not fit.
      InvalidArgumentError: a shape does not fit when the graph runs.
    """
    assert_shapes_v1(shapes, data, summarize, message, name)


def assert_shapes_v1(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that tensors have shapes; in a graph gives an Operation.

    See `tf.debugging.assert_shapes`.
    """
    pairs = shapes.items() if isinstance(shapes, dict) else shapes
    parsed = []
    for tensor, wanted in pairs:
        value = getattr(tensor, "deref", lambda t=tensor: t)()
        value = value if isinstance(value, SparseTensor) else convert_to_tensor(value)
        parsed.append((value, _symbols(value, wanted, message)))
    checks: list[Any] = []
    sizes: dict[Any, tuple[Any, str]] = {}
    for tensor, (symbols, open_at) in parsed:
        _check_ranks(tensor, symbols, open_at, message)
        checks += _check_sizes(tensor, symbols, open_at, sizes, message, data, summarize)
    if state.graph is None:
        return None
    return group(*checks, name=name or "assert_shapes")


def _symbols(tensor: Any, wanted: Any, message: str | None) -> tuple[list[Any], str]:
    """The symbols of a shape, and which end is open: "", "front" or "back"."""
    if isinstance(wanted, str):
        wanted = list(wanted) if wanted != "..." else ["..."]
    if not hasattr(wanted, "__iter__"):
        raise ValueError(
            f"{_prefix(message)}Tensor {_described(tensor)}.  Specified shape must be an "
            "iterable.  An iterable has the attribute "
            f"`__iter__` or `__getitem__`.  Received specified shape: {wanted}"
        )
    symbols = ["..." if s is ... else s for s in wanted]
    if symbols and symbols[0] in ("...", "*"):
        return symbols[1:], "front"
    if symbols and symbols[-1] in ("...", "*"):
        return symbols[:-1], "back"
    if any(s in ("...", "*") for s in symbols if isinstance(s, str)):
        raise ValueError(
            f"{_prefix(message)}Tensor {_described(tensor)} specified shape index: expected '...' "
            f"or '*' at the front or the back, got {symbols}."
        )
    return symbols, ""


def _check_ranks(tensor: Any, symbols: list[Any], open_at: str, message: str | None) -> None:
    if tensor.dims is None:
        return
    rank, least = len(tensor.dims), len(symbols)
    if open_at and rank < least:
        raise ValueError(
            f"{_prefix(message)}Tensor {_named(tensor)} must have rank at least {least}.  "
            f"Received rank {rank}, shape {tensor.shape}"
        )
    allowed = (0, 1) if least == 1 and not open_at else (least,)
    if not open_at and rank not in allowed:
        shown = f"in {allowed}" if len(allowed) > 1 else f"{least}"
        raise ValueError(
            f"{_prefix(message)}Tensor {_named(tensor)} must have rank {shown}.  Received rank "
            f"{rank}, shape {tensor.shape}"
        )


def _check_sizes(
    tensor: Any,
    symbols: list[Any],
    open_at: str,
    sizes: dict[Any, tuple[Any, str]],
    message: str | None,
    data: Any,
    count: int | None,
) -> list[Any]:
    checks = []
    if (
        tensor.dims == () and len(symbols) == 1 and not open_at
    ):  # a scalar passes as a vector of one element
        actual: list[Any] = [1]
    else:
        actual = []
    for i, symbol in enumerate(symbols):
        if symbol is None or symbol == ".":
            continue
        axis = i - len(symbols) if open_at == "front" else i
        size = actual[i] if actual else _size_along(tensor, axis)
        if not isinstance(symbol, str) or symbol.isdigit():
            wanted, origin = int(symbol), "Specified explicitly"
        elif symbol in sizes:
            wanted, origin = sizes[symbol]
        else:
            sizes[symbol] = (size, f"Specified by tensor {_described(tensor)} dimension {axis}")
            continue
        if isinstance(size, int) and isinstance(wanted, int):
            if size != wanted:
                raise ValueError(
                    f"{_prefix(message)}{origin}.  Tensor {_described(tensor)} dimension {axis} "
                    f"must have size {wanted}.  Received size "
                    f"{size}, shape {tensor.shape}"
                )
            continue
        text = [
            message or "",
            origin,
            f"Tensor {_named(tensor)} dimension",
            axis,
            "must have size",
            wanted,
            "Received shape: ",
            shape_tensor(tensor),
        ]
        checks.append(
            assert_that(execute("Equal", (convert_to_tensor(size), wanted)), data or text, count)
        )
    return checks


def _size_along(tensor: Any, axis: int) -> Any:
    dims = tensor.dims
    if dims is not None and dims[axis] is not None:
        return dims[axis]
    return shape_tensor(tensor)[axis]
