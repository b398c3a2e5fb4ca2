"""Functions of the user's that a function of ours calls: `tf.map_fn`, `Dataset.map`.

Where a traced function has its control flow converted, so have the functions that it hands to us.
The package that converts installs how; without it they are called as they are.
"""

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def _as_it_is(function: Function) -> Function:
    return function


_converter: Callable[[Function], Function] = _as_it_is


def set_converter(converter: Callable[[Function], Function]) -> None:
    """Installs what makes the function to call from the one that the user gave."""
    global _converter
    _converter = converter


def converted(function: Function) -> Function:
    """The function to call for one that the user gave, as things stand at this call."""
    return _converter(function)
