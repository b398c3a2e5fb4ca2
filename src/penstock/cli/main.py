"""The command group: `penstock --help`, `penstock --version`, and the subcommands."""

import click

from penstock.cli.devices import devices
from penstock.cli.doctor import doctor
from penstock.cli.export import export
from penstock.cli.inspect import inspect
from penstock.cli.run import run
from penstock.version import __version__

EPILOG = """\
Shell completion: add  eval "$(_PENSTOCK_COMPLETE=bash_source penstock)"  to ~/.bashrc, or the same
with zsh_source to ~/.zshrc, or  _PENSTOCK_COMPLETE=fish_source penstock | source  to fish's
configuration.
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="penstock")
def main() -> None:
    """Run programs with Penstock, and look at what they run on."""


for command in (run, devices, doctor, inspect, export):
    main.add_command(command)
