"""Which dtype comes out, and which error class (see ``tools/tf_facts.py``).

Sections, each a table of results. A result is a dtype's name with the shape where it matters
(``"int32"``, ``"int32 [2]"``), or ``!`` and the class of the error (``"!InvalidArgumentError"``).
A row over dtypes is written the other way round: result -> the dtypes that give it, separated by
blanks, or ``"*"`` for all that are not named elsewhere in the row. The result ``same`` is the very
dtype of the column. ``expand`` turns such a row into dtype -> result.

- ``dtypes``: names of the dtypes that a tensor could be made of; the tables cover these.
- ``binary``, ``binary_graph``: operation -> left dtype -> row over the right dtype, for two tensors
  [[1]], eagerly and in a graph. Operations are operators (``a + b``) and functions (``tf.add``).
- ``with_python``, ``with_python_graph``: operation -> expression of a Python or NumPy value -> row
  over the tensor's dtype. Operations that begin with ``value`` have the value on the left.
- ``unary``: function -> row.
- ``cast``: dtype -> row over the target.
- ``constant``, ``convert``: expression -> row over the ``dtype`` argument, with shape; the result
  without the argument stands under ``""``.
- ``convert_hint``: the same over ``dtype_hint``.
- ``expressions``: expression -> result, with shape.

Expressions are evaluated with the names that ``environment`` gives; a test can do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tf_facts_expressions import (
    EXPRESSIONS,
    FUNCTIONS,
    NAMES,
    OPERATORS,
    PYTHON_VALUES,
    UNARY,
    VALUES,
)


def record() -> dict[str, Any]:
    """Return the tables for the installed TensorFlow."""
    import tensorflow as tf

    names = environment(tf)
    tensors = make_tensors(tf)
    operations = list(operators()) + list(functions(tf))
    found: dict[str, Any] = {"version": tf.__version__, "dtypes": list(tensors)}
    found["binary"] = binary_table(operations, tensors)
    found["with_python"] = python_table(operations, tensors, names)
    with tf.Graph().as_default():
        in_graph = {k: v for k, v in make_tensors(tf).items() if k in tensors}
        found["binary_graph"] = binary_table(operations, in_graph)
        found["with_python_graph"] = python_table(operations, in_graph, names)
    found["unary"] = {
        name: squeeze({k: outcome(resolve(tf, name), v) for k, v in tensors.items()})
        for name in UNARY
    }
    found["cast"] = {
        left: squeeze({right: outcome(tf.cast, value, tf.as_dtype(right)) for right in tensors})
        for left, value in tensors.items()
    }
    found["constant"] = conversion_table(tf.constant, "dtype", tensors, names)
    found["convert"] = conversion_table(tf.convert_to_tensor, "dtype", tensors, names)
    found["convert_hint"] = conversion_table(tf.convert_to_tensor, "dtype_hint", tensors, names)
    found["expressions"] = {e: outcome(eval, e, names, shape=True) for e in EXPRESSIONS}
    return found


def environment(tf: Any) -> dict[str, Any]:
    """Return the names that expressions use, with the library under the name ``tf``."""
    import ml_dtypes
    import numpy as np

    return {**NAMES, "tf": tf, "np": np, "ml_dtypes": ml_dtypes}


def make_tensors(tf: Any) -> dict[str, Any]:
    """Return dtype name -> a tensor [[1]] of it, for each dtype that one can be made of."""
    found = {}
    for number in range(1, 100):
        try:
            dtype = tf.as_dtype(number)
        except TypeError:
            continue
        value = make_tensor(tf, dtype)
        if value is not None:
            found[dtype.name] = value
    return found


def make_tensor(tf: Any, dtype: Any) -> Any:
    """Return a tensor [[1]] of the dtype (``[["a"]]`` for strings), or None."""
    if dtype == tf.string:
        return tf.constant([["a"]])
    attempts: list[Callable[[], Any]] = [
        lambda: tf.constant([[1]], dtype),
        lambda: tf.constant([[True]], dtype),
        lambda: tf.cast([[1.0]], dtype),
        lambda: tf.bitcast(
            tf.constant([[1]], {1: tf.int8, 2: tf.int16, 4: tf.int32}[dtype.size]), dtype
        ),
    ]
    for attempt in attempts:
        try:
            return attempt()
        except Exception:
            continue
    return None


def operators() -> Iterable[tuple[str, Callable[[Any, Any], Any]]]:
    """Yield (``a + b``, its function) for every operator."""
    for sign in OPERATORS:
        yield f"a {sign} b", eval(f"lambda a, b: a {sign} b")


def functions(tf: Any) -> Iterable[tuple[str, Callable[[Any, Any], Any]]]:
    """Yield (``tf.add``, the function) for every function."""
    for name in FUNCTIONS:
        yield f"tf.{name}", resolve(tf, name)


def resolve(tf: Any, name: str) -> Any:
    """Return ``tf.a.b`` for ``a.b``."""
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    return found


def outcome(function: Callable[..., Any], *args: Any, shape: bool = False, **kwargs: Any) -> str:
    """Return what the call gives, as text: dtype, and shape when asked, or the error's class."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return f"!{type(error).__name__}"
    return described(result, shape)


def described(result: Any, shape: bool) -> str:
    """Return ``float32``, or ``float32 [2,3]``; the type's name for what is no tensor."""
    if isinstance(result, tuple | list) and result and hasattr(result[0], "dtype"):
        return ", ".join(described(item, shape) for item in result)
    if result is NotImplemented or not hasattr(result, "dtype"):
        return f"Python {type(result).__name__} {result}"
    dtype = getattr(result.dtype, "name", str(result.dtype)).removesuffix("_ref")
    if not shape:
        return dtype
    sizes = ",".join("?" if size is None else str(size) for size in result.shape)
    return f"{dtype} [{sizes}]"


def squeeze(row: dict[str, str]) -> dict[str, str]:
    """Return result -> the dtypes that give it, in the form that the module docstring says."""
    groups: dict[str, list[str]] = {}
    for dtype, result in row.items():
        name, blank, shape = result.partition(" ")
        key = f"same{blank}{shape}" if name == dtype else result
        groups.setdefault(key, []).append(dtype)
    largest = max(groups, key=lambda key: len(groups[key]))
    return {key: "*" if key == largest else " ".join(dtypes) for key, dtypes in groups.items()}


def expand(row: dict[str, str], dtypes: list[str]) -> dict[str, str]:
    """Return dtype -> result for a row that ``squeeze`` made."""
    found = {}
    for result, named in row.items():
        if not result:
            continue
        listed = " ".join(text for key, text in row.items() if key).split()
        others = [d for d in dtypes if d not in listed]
        for dtype in others if named == "*" else named.split():
            found[dtype] = result.replace("same", dtype, 1) if result[:4] == "same" else result
    return found


def binary_table(operations: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """Return operation -> left dtype -> row over the right dtype."""
    return {
        name: {
            left: squeeze({right: outcome(function, a, b) for right, b in tensors.items()})
            for left, a in tensors.items()
        }
        for name, function in operations
    }


def python_table(
    operations: Any, tensors: dict[str, Any], names: dict[str, Any]
) -> dict[str, dict[str, dict[str, str]]]:
    """Return operation -> expression -> row over the tensor's dtype."""
    table: dict[str, dict[str, dict[str, str]]] = {}
    for name, function in operations:
        table[name] = {}
        swapped = f"value: {name}"
        table[swapped] = {}
        for expression in PYTHON_VALUES:
            value = eval(expression, names)
            row = {k: outcome(function, t, value) for k, t in tensors.items()}
            table[name][expression] = squeeze(row)
            row = {k: outcome(function, value, t) for k, t in tensors.items()}
            table[swapped][expression] = squeeze(row)
    return table


def conversion_table(
    function: Any, argument: str, tensors: dict[str, Any], names: dict[str, Any]
) -> dict[str, dict[str, str]]:
    """Return expression -> row over the argument, and the result without it under ""."""

    def convert(expression: str, **kwargs: Any) -> Any:
        return function(eval(expression, names), **kwargs)  # anew each time: some are used up

    table = {}
    for expression in VALUES:
        row = {d: outcome(convert, expression, shape=True, **{argument: d}) for d in tensors}
        table[expression] = {"": outcome(convert, expression, shape=True), **squeeze(row)}
    return table
