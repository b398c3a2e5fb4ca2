"""What the build does beyond copying files: it compiles the native kernels (`native/build.py`).

Where they cannot be compiled (no C++ compiler, an unknown processor), the build says so and makes a
wheel without them, which works everywhere, slower. `PENSTOCK_BUILD_NATIVE` in the environment makes
it strict (`require`) or leaves the kernels out (`0`).
"""

import importlib.util
import os
import pathlib
import sys
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

ROOT = pathlib.Path(__file__).parent
JAXLIB = "jaxlib>=0.10,<0.12"  # for its headers; the oldest release that we support


class NativeKernels(BuildHookInterface):
    """Compiles the kernels into the package before its files are collected."""

    def dependencies(self) -> list[str]:
        """What the build's environment needs: nothing where nothing will be compiled."""
        return [JAXLIB] if _wanted() and _builder().compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles, and marks the wheel as one for this platform."""
        if self.target_name != "wheel" or not _wanted():
            return
        builder = _builder()
        try:
            libraries = [*map(builder.build_host, builder.HOST), builder.build()]
        except builder.CannotBuildError as problem:
            if os.environ.get("PENSTOCK_BUILD_NATIVE") == "require":
                raise
            for library in (builder.TARGET, *map(builder.host_target, builder.HOST)):
                library.unlink(missing_ok=True)
            text = f"penstock is built without native libraries, so it will be slower: {problem}"
            self.app.display_warning(text)
            return
        build_data["artifacts"] += [each.relative_to(ROOT).as_posix() for each in libraries]
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(iter(platform_tags()))}"


def _wanted() -> bool:
    return os.environ.get("PENSTOCK_BUILD_NATIVE") != "0"


def _builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("penstock_native_build", ROOT / "native/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
