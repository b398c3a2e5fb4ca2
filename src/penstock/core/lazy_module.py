"""Modules that are imported when they are first used."""

import gc
import importlib
import importlib.util  # malt uses it without importing it
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class LazyModule:
    """A module that is imported when one of its attributes is first read. Thread-safe.

    Args:
      name: the module's.
      before: called ahead of each import, which may happen once for each attribute.
      after: called after it.
    """

    def __init__(
        self,
        name: str,
        before: Callable[[], object] | None = None,
        after: Callable[[], object] | None = None,
    ) -> None:
        self.__dict__["_name"] = name
        self.__dict__["_before"] = before
        self.__dict__["_after"] = after

    def __getattr__(self, attribute: str) -> Any:  # any: whatever the module holds
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        if self._before is not None:
            self._before()
        value = getattr(import_large(self._name), attribute)
        if self._after is not None:
            self._after()
        self.__dict__[attribute] = value
        return value


def import_large(name: str) -> ModuleType:
    """Imports a module, without searches for garbage among what it makes.

    Its objects stay, and are counted with the old ones at once: to look through them as they come
    is a quarter of the time of importing JAX.
    """
    if name in sys.modules or not gc.isenabled():
        return importlib.import_module(name)
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        if not gc.get_freeze_count():  # else the program has frozen objects of its own
            gc.freeze()
            gc.unfreeze()
        gc.enable()
