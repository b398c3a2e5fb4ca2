"""Errors of wrong use in Python, and the one way to phrase an error.

These classes derive from Python's own, as TensorFlow's do. `located` puts an error's text together
from its four parts, so that every message says where, what was expected, what came, and what to do.
"""

from __future__ import annotations


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used where Python needs a value: in `if`, `for`, `int(...)`."""


class InaccessibleTensorError(ValueError, TypeError):
    """A tensor was used outside the function or graph that it belongs to."""


class NoTensorError(TypeError, AttributeError):
    """A value that is no tensor where only tensors have a place, as in a gradient.

    TensorFlow raises one of the two classes, by the value.
    """


def located(where: str, expected: str, got: str, fix: str = "", created_at: str = "") -> str:
    """Composes the text of an error from its four parts.

    Args:
      where: the operation and its name, the device, or the public function.
      expected: what must hold, as a noun phrase or condition.
      got: what came instead, with shapes, dtypes and values.
      fix: one sentence that shows a way out; empty when there is none.
      created_at: `file:line` of the user's code that made the operation, if known.

    Returns:
      One paragraph of text.

    Example:
      >>> located("MatMul 'm'", "equal inner sizes", "128 and 64", "Pass transpose_b=True.")
      "MatMul 'm': expected equal inner sizes, got 128 and 64. Pass transpose_b=True."
    """
    text = f"{where}: expected {expected}, got {got}."
    if created_at:
        text += f" Created at {created_at}."
    if fix:
        text += f" {fix}" if fix.endswith((".", "!", "?")) else f" {fix}."
    return text
