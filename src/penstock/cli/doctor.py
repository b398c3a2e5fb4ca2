"""`penstock doctor`: versions, devices, caches, environment; and what is wrong, with what to do.

Exit code 0 when nothing is wrong and 1 otherwise, so that scripts can ask.
"""

import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import click

from penstock.cli.devices import list_devices
from penstock.cli.findings import Finding, Requirement, check_extras, check_requirements
from penstock.cli.settings import check_caches, check_environment
from penstock.cli.text import format_bytes, format_table
from penstock.config import env
from penstock.core import (
    native,
    native_arrays,
    native_buffers,
    native_images,
    native_matrices,
    native_random,
    native_records,
    native_special,
    native_strings,
    native_wire,
)
from penstock.core.native_library import CALLS, HostLibrary, State
from penstock.version import __version__

NVIDIA_NODE = "/dev/nvidiactl"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report."""

    title: str
    findings: list[Finding]


@click.command()
def doctor() -> None:
    """Show versions, devices, caches and settings, and what is wrong with them."""
    sections = examine()
    for section in sections:
        click.echo(_section_text(section))
    problems = [each for section in sections for each in section.findings if each.problem]
    click.echo(_problems_text(problems))
    sys.exit(1 if problems else 0)


def examine() -> list[Section]:
    """Looks at this machine; starts its devices."""
    environment = dict(os.environ)  # as the user set it: importing JAX adds to it
    requirements, installed = _requirements()
    return [
        Section(
            "Versions",
            [*_own_versions(installed), *check_requirements(requirements, _version_of)],
        ),
        Section("Optional", check_extras(requirements, _version_of)),
        Section("Bytecode", check_bytecode(["jax", "numpy"])),
        Section("Devices", check_devices()),
        Section(
            "Native libraries",
            [
                check_native("kernels", native.state(), native.WITHOUT),
                *(
                    check_native(name, library.state(), library.without)
                    for name, library in _host_libraries().items()
                ),
            ],
        ),
        Section("Caches", check_caches(environment)),
        Section("Environment", check_environment(environment)),
    ]


def check_devices(accelerator_node: str = NVIDIA_NODE) -> list[Finding]:
    """The devices; a problem when they do not start, or when XLA does not see a GPU."""
    try:
        rows = list_devices()
    except (ImportError, RuntimeError) as error:
        problem = f"the devices do not start: {str(error).splitlines()[0]}"
        fix = "check JAX_PLATFORMS and that jax and jaxlib have matching versions"
        return [Finding("devices", "none", problem, fix)]
    findings = [
        Finding(
            row.logical,
            row.model if row.memory is None else f"{row.model}, {format_bytes(row.memory)}",
        )
        for row in rows
    ]
    if os.path.exists(accelerator_node) and all(row.kind == "CPU" for row in rows):
        problem = f"this machine has an NVIDIA GPU ({accelerator_node}) but XLA sees only CPUs"
        fix = "pip install 'jax[cuda13]' ('jax[cuda12]' for older drivers), and unset JAX_PLATFORMS"
        findings.append(Finding("GPU", "not used", problem, fix))
    return findings


def check_native(name: str, state: State, without: str) -> Finding:
    """Whether a native library is there and can be used; `without` says what holds without it."""
    if state.problem:
        return Finding(name, "not in use", state.problem, state.fix)
    if not env.get("PENSTOCK_NATIVE_KERNELS"):
        return Finding(name, f"switched off by PENSTOCK_NATIVE_KERNELS, so {without}")
    return Finding(
        name, f"uses {state.instructions} instructions" if state.instructions else "used"
    )


def _host_libraries() -> dict[str, HostLibrary]:
    libraries = {
        "parsing of Examples": native_wire.LIBRARY,
        "work on strings": native_strings.LIBRARY,
        "special functions": native_special.LIBRARY,
        "work on arrays": native_arrays.LIBRARY,
        "work on images": native_images.LIBRARY,
        "linear algebra": native_matrices.LIBRARY,
        "random numbers": native_random.LIBRARY,
        "reading of records": native_records.LIBRARY,
        "calls of native functions": CALLS,
    }
    if native_buffers.NEEDED:
        libraries["buffers of tensors"] = native_buffers.LIBRARY
    return libraries


def check_bytecode(packages: Iterable[str]) -> list[Finding]:
    """Whether imports find compiled bytecode; without it they take three to five times as long."""
    return [_bytecode(package) for package in packages]


def _bytecode(package: str) -> Finding:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        return Finding(package, "not installed")
    if os.path.exists(importlib.util.cache_from_source(spec.origin)):
        return Finding(package, "compiled")
    folder = os.path.dirname(spec.origin)
    problem = f"{package} has no compiled bytecode, so it imports three to five times slower"
    return Finding(package, "not compiled", problem, f"{sys.executable} -m compileall -q {folder}")


def _own_versions(installed: bool) -> list[Finding]:
    python = Finding("python", f"{platform.python_version()} at {sys.executable}")
    if installed:
        return [python, Finding("penstock", __version__)]
    problem = "penstock runs from a source tree, so its requirements are not known"
    return [
        python,
        Finding("penstock", __version__, problem, "pip install --editable . in that tree"),
    ]


def _requirements() -> tuple[list[Requirement], bool]:
    """What the distribution states that it needs; and whether it is installed."""
    if _version_of("penstock") is None:
        return [], False
    texts = importlib.metadata.requires("penstock") or []
    parsed = [Requirement.parse(text) for text in texts]
    return [each for each in parsed if each.name != "penstock"], True


def _version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _section_text(section: Section) -> str:
    rows = [("!" if each.problem else "", each.name, each.value) for each in section.findings]
    table = format_table(("", "", ""), rows).partition("\n")[2]
    return f"{section.title}\n{table or '  (none)'}\n"


def _problems_text(problems: list[Finding]) -> str:
    if not problems:
        return "No problems found."
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"! {each.problem}\n    what to do: {each.fix}" for each in problems]
    return "\n".join([f"{count} found:", *lines])
