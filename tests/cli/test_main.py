"""The command group."""

import os
import pathlib
import subprocess
import sys

import pytest
from click.testing import CliRunner

from penstock.cli.main import main
from penstock.version import __version__

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"
COMMANDS = ["devices", "doctor", "export", "inspect", "run"]


def test_help_lists_the_commands_and_names_completion():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in result.output] == []
    assert sorted(main.commands) == COMMANDS
    assert "_PENSTOCK_COMPLETE" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name):
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {name}")


def test_the_version():
    assert CliRunner().invoke(main, ["--version"]).output == f"penstock, version {__version__}\n"


def test_an_unknown_command_is_a_usage_error():
    result = CliRunner().invoke(main, ["trian"])
    assert result.exit_code == 2
    assert "No such command 'trian'" in result.output


def test_the_module_is_the_command():
    result = subprocess.run(
        [sys.executable, "-m", "penstock.cli", "--help"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Usage: penstock [OPTIONS] COMMAND")


def test_completion_offers_the_commands():
    result = subprocess.run(
        [sys.executable, "-m", "penstock.cli"],
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "_PENSTOCK_COMPLETE": "bash_complete",
            "COMP_WORDS": "penstock d",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stdout.split() == ["plain,devices", "plain,doctor"]
