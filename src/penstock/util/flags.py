"""Flags of the command line, `tf.compat.v1.flags`: those of the package `absl`, an extra.

`FLAGS` parses the program's arguments when a flag is first read. The functions that define flags
take TensorFlow's older names of their arguments too.
"""

import sys
from collections.abc import Callable
from typing import Any

from penstock.util.extras import require

_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}
_DEFINING = ("DEFINE_bool", "DEFINE_boolean", "DEFINE_float", "DEFINE_integer", "DEFINE_string")


class Flags:
    """The values of all flags, by name; the arguments are parsed when one is first read."""

    def __init__(self, wrapped: Any) -> None:  # any: absl's FlagValues
        self.__dict__["__wrapped"] = wrapped

    def __getattr__(self, name: str) -> Any:
        wrapped = self.__dict__["__wrapped"]
        if not wrapped.is_parsed() and not name.startswith("_"):
            wrapped(sys.argv)
        return getattr(wrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["__wrapped"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["__wrapped"], name)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["__wrapped"][name]

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["__wrapped"]

    def __iter__(self) -> Any:
        return iter(self.__dict__["__wrapped"])

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__wrapped"])

    def __call__(self, *args: Any, **kwargs: Any) -> list[str]:
        """Parses arguments; the rest of them."""
        return self.__dict__["__wrapped"](*args, **kwargs)  # type: ignore[no-any-return]


def _defining(define: Callable[..., Any]) -> Callable[..., Any]:
    def renamed(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_RENAMED.get(name, name): v for name, v in kwargs.items()})

    renamed.__name__, renamed.__doc__ = define.__name__, define.__doc__
    return renamed


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    absl = require("absl.flags", f"tf.compat.v1.flags.{name}")
    value = getattr(absl, name)
    if name == "FLAGS":
        value = Flags(value)
    elif name in _DEFINING:
        absl.disclaim_key_flags()
        value = _defining(value)
    globals()[name] = value
    return value
