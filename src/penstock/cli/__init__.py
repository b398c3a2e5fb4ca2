"""The `penstock` command, and the progress display that it offers to scripts.

`main` is the console script. Each subcommand has a module of its own: `run`, `devices`, `doctor`,
`inspect`. Commands read arguments and print; what they print is computed by plain functions, which
the tests call without a terminal. A user's mistake ends in one message and a non-zero exit code,
never in a traceback of ours.
"""

from penstock.cli.main import main
from penstock.cli.progress import Progress, progress

__all__ = ["Progress", "main", "progress"]
