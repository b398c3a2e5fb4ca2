"""Packages that an extra of the distribution brings, and the error when one is missing.

`PROVIDED_BY` says which extra to install for a package; `pyproject.toml` states the same, by the
names of distributions, and a test compares the two.
"""

import importlib
from collections.abc import Mapping
from types import ModuleType

PROVIDED_BY: Mapping[str, str] = {
    "absl": "flags",
    "flatbuffers": "export",
    "keras": "keras",
    "matplotlib": "demo",
    "onnx": "models",
    "ray": "cluster",
    "safetensors": "models",
    "sklearn": "demo",
    "tensorboard": "tensorboard",
}


def install_command(package: str) -> str | None:
    """The command that installs the extra with `package`; None when no extra has it.

    Example:
      >>> install_command("sklearn")
      "pip install 'penstock[demo]'"
    """
    extra = PROVIDED_BY.get(package.partition(".")[0])
    return None if extra is None else f"pip install 'penstock[{extra}]'"


def require(module: str, purpose: str) -> ModuleType:
    """Imports a module of an optional package.

    Args:
      module: its dotted name; the package is one of `PROVIDED_BY`.
      purpose: what needs it, as the subject of an error: "tf.summary.plot".

    Raises:
      ModuleNotFoundError: the package is not installed; the text has the command that installs it.
    """
    command = install_command(module)
    if command is None:
        raise KeyError(f"require: expected a package of PROVIDED_BY, got {module!r}. Add it there.")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # a package that this one needs in turn
        raise ModuleNotFoundError(
            f"{purpose}: expected the package {error.name!r}, which is not installed. "
            f"Install it: {command}",
            name=error.name,
        ) from None
