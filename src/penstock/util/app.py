"""`tf.compat.v1.app.run`: runs a program's `main` with the flags of the command line."""

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from penstock.util.extras import require


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> NoReturn:
    """Parses flags, calls `main` with the other arguments, and ends the process.

    Args:
      main: the function; that of the module `__main__` by default.
      argv: the program's name and arguments; `sys.argv` by default. Unknown flags stay in it.

    Raises:
      SystemExit: always, with what `main` returned.
      ModuleNotFoundError: the package `absl` is not installed; names the command that installs it.
    """
    app = require("absl.app", "tf.compat.v1.app.run")
    flags = require("absl.flags", "tf.compat.v1.app.run")

    def parse(arguments: list[str]) -> list[str]:
        return flags.FLAGS(arguments, known_only=True)  # type: ignore[no-any-return]

    app.run(main or sys.modules["__main__"].main, argv, flags_parser=parse)
    raise SystemExit  # not reached: it ends the process itself


__all__ = ["run"]
