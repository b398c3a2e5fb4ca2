"""What the build does beyond copying files: it compiles the native libraries (`native/build.py`).

A wheel gets libraries for the processor that the compiler compiles for, and the platform tag that
they need (`native/platform_tag.py`), so a cross compiler in `CXX` makes a wheel for another
machine. They are compiled outside of the package, so a source tree keeps those of its own machine,
which an editable installation puts there.

Where they cannot be compiled (no C++ compiler, an unknown processor), the build says so and makes a
wheel without them, which works everywhere, slower. `PENSTOCK_BUILD_NATIVE` in the environment makes
it strict (`require`) or leaves the libraries out (`0`).
"""

import importlib.util
import os
import pathlib
import sys
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = pathlib.Path(__file__).parent
FOLDER = ROOT / "build/native"  # of what goes into a wheel
JAXLIB = "jaxlib>=0.10,<0.12"  # for its headers; the oldest release that we support


class NativeKernels(BuildHookInterface):
    """Compiles the kernels into the package before its files are collected."""

    def dependencies(self) -> list[str]:
        """What the build's environment needs: nothing where nothing will be compiled."""
        return [JAXLIB] if _wanted() and _module("build").compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles, and marks the wheel as one for the platform that it was compiled for."""
        if self.target_name != "wheel" or not _wanted():
            return
        builder = _module("build")
        editable = version == "editable"
        folder = builder.FOLDER if editable else FOLDER
        try:
            libraries = builder.build(folder)
        except builder.CannotBuildError as problem:
            if os.environ.get("PENSTOCK_BUILD_NATIVE") == "require":
                raise
            for library in builder.targets(folder):
                library.unlink(missing_ok=True)
            text = f"penstock is built without native libraries, so it will be slower: {problem}"
            self.app.display_warning(text)
            return
        if editable:
            return
        for library in libraries:
            build_data["force_include"][str(library)] = f"penstock/_native/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_module('platform_tag').platform_tag(libraries)}"


def _wanted() -> bool:
    return os.environ.get("PENSTOCK_BUILD_NATIVE") != "0"


def _module(name: str) -> ModuleType:
    """A module of `native/`, which is no package."""
    spec = importlib.util.spec_from_file_location(
        f"penstock_native_{name}", ROOT / f"native/{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
