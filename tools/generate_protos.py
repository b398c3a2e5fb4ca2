"""Generate ``src/penstock/proto/*_pb2.py`` and their stubs from ``proto/penstock/*.proto``.

    python tools/generate_protos.py            # write them anew
    python tools/generate_protos.py --check    # exit 1, with a difference, when they are stale

The compiler is pinned (``TOOLS``), because generated code runs only with a protobuf at least as
new as the one it was made for, and at most one major version newer: code of this compiler runs
with protobuf ``RUNTIMES``. The newest compiler would shut out every environment with an older one.
When the running interpreter lacks these very versions, a virtual environment with them is made in
the user's cache folder, once.

The compiler thinks that modules lie beside each other in a package named as the folder of the
``.proto`` files; imports and module names are rewritten to where they lie, ``penstock.proto``.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "proto"
PACKAGE = ROOT / "src" / "penstock" / "proto"

TOOLS = {"grpcio-tools": "1.76.0", "mypy-protobuf": "5.1.0"}
RUNTIMES = ">=6.31.1,<8"


def compiler_python() -> str:
    """Return an interpreter with the pinned compiler; make its environment when there is none."""
    if all(_installed(name) == version for name, version in TOOLS.items()):
        return sys.executable
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tag = "-".join(TOOLS.values()) + f"-py{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache / "penstock" / f"protoc-{tag}"
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if not ready.exists():
        print(f"making {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        wanted = [f"{name}=={version}" for name, version in TOOLS.items()]
        # the project's own pins are for another environment
        settings = {k: v for k, v in os.environ.items() if k != "PIP_CONSTRAINT"}
        install = [python, "-m", "pip", "install", "--quiet", *wanted]
        subprocess.run(install, check=True, env=settings)
        ready.touch()
    return str(python)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def generate(python: str) -> dict[str, str]:
    """Return file name -> text of every generated module and stub."""
    sources = sorted(SOURCES.glob("penstock/*.proto"))
    with tempfile.TemporaryDirectory() as out:
        outputs = [f"--python_out={out}", f"--mypy_out=quiet:{out}"]
        # the stub plugin is a command beside the interpreter
        path = os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", "")])
        subprocess.run(
            [python, "-m", "grpc_tools.protoc", f"--proto_path={SOURCES}", *outputs, *sources],
            check=True,
            env={**os.environ, "PATH": path},
        )
        made = sorted(Path(out, "penstock").iterdir())
        return {file.name: relocate(file.read_text()) for file in made}


def relocate(text: str) -> str:
    """Return generated text with ``penstock.X_pb2`` where it says ``penstock.proto.X_pb2``."""
    text = re.sub(
        r"^from penstock import (\w+_pb2)", r"from penstock.proto import \1", text, flags=re.M
    )
    return re.sub(r"'penstock\.(\w+_pb2)'", r"'penstock.proto.\1'", text)


def stale(made: dict[str, str]) -> list[str]:
    """Return the lines of a unified difference between the committed files and those made."""
    committed = {file.name: file.read_text() for file in PACKAGE.glob("*_pb2.py*")}
    lines: list[str] = []
    for name in sorted(committed.keys() | made.keys()):
        lines += difflib.unified_diff(
            committed.get(name, "").splitlines(),
            made.get(name, "").splitlines(),
            f"committed/{name}",
            f"generated/{name}",
            lineterm="",
        )
    return lines


def main() -> int:
    """Write the generated files, or compare them; 1 when stale."""
    parser = argparse.ArgumentParser(description="Generate Python from the message definitions.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    made = generate(compiler_python())
    if check:
        difference = stale(made)
        if difference:
            print("\n".join(difference))
            print("generated code is stale: run tools/generate_protos.py", file=sys.stderr)
        return int(bool(difference))
    for file in PACKAGE.glob("*_pb2.py*"):
        if file.name not in made:
            file.unlink()
    for name, text in made.items():
        (PACKAGE / name).write_text(text)
    print(f"{len(made)} files in {PACKAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
