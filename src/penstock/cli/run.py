"""`penstock run SCRIPT ARGS...`: a script as Python would run it, its errors shown for its author.

The script is the module `__main__`, sees its own `sys.argv`, and has its folder first on
`sys.path`. Its exit code is the command's. Folders and archives with a `__main__.py` run too.
"""

import builtins
import io
import os
import runpy
import sys
import types
import zipfile

import click

from penstock.cli.traceback_text import format_exception, innermost_user_line
from penstock.config import env
from penstock.util.extras import install_command

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--traceback",
    type=click.Choice(["user", "full"]),
    help="Which frames of an exception to show: the script's own, or all. The script's own unless "
    "PENSTOCK_FULL_TRACEBACKS is set.",
)
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(script: str, args: tuple[str, ...], traceback: str | None) -> None:
    """Run SCRIPT with ARGS, as `python SCRIPT ARGS` would.

    Options for this command stand before SCRIPT; all that follows it belongs to the script.
    """
    if not os.path.exists(script):
        raise click.BadParameter(
            f"expected a Python script, found no file {script!r} in {os.getcwd()}. "
            "Check the spelling, or give the full path.",
            param_hint="SCRIPT",
        )
    sys.exit(run_script(script, args, full_traceback=_wants_full(traceback)))


def _wants_full(choice: str | None) -> bool:
    if choice is not None:
        return choice == "full"
    try:
        return bool(env.get("PENSTOCK_FULL_TRACEBACKS"))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def run_script(script: str, args: tuple[str, ...], *, full_traceback: bool = False) -> int:
    """Runs `script` in this process and returns its exit code.

    `sys.argv`, `sys.path` and the module `__main__` stay the script's, for what runs after it:
    threads, `atexit`.

    Raises:
      SystemExit: the script's own.
    """
    sys.argv = [script, *args]
    try:
        _execute(script)
    except KeyboardInterrupt as error:
        line = innermost_user_line(error.__traceback__)
        print(f"\nInterrupted{f' at {line}' if line else ''}.", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        _report(error, full_traceback)
        return 1
    return 0


def _execute(script: str) -> None:
    if os.path.isdir(script) or script.endswith(".pyc") or zipfile.is_zipfile(script):
        runpy.run_path(script, run_name="__main__")
        return
    if not sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    with io.open_code(os.path.abspath(script)) as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _report(error: Exception, full: bool) -> None:
    """Prints `error` as a script's own hook would, or as ours does."""
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(type(error), error, error.__traceback__)
        return
    sys.stdout.flush()
    print(format_exception(error, full=full), end="", file=sys.stderr)
    command = install_command(getattr(error, "name", None) or "")
    if isinstance(error, ModuleNotFoundError) and command and command not in str(error):
        print(f"An extra of penstock brings it: {command}", file=sys.stderr)
