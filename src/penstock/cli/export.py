"""`penstock export FOLDER --out FILE`: a signature of a SavedModel as a StableHLO artefact."""

from pathlib import Path
from typing import Any

import click

from penstock import errors
from penstock.checkpoint.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.checkpoint.saved_model.load import load
from penstock.cli.text import format_bytes
from penstock.tracing.exporting import export_stablehlo, serialized


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The file to write.")
@click.option(
    "--signature",
    default=DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    show_default=True,
    help="Which function of the model.",
)
@click.option(
    "--unknown-as",
    type=click.IntRange(min=0),
    metavar="SIZE",
    help="The size of dimensions that are not known; they stay open without it.",
)
@click.option(
    "--platform",
    multiple=True,
    help="A platform that it is for, as cpu, cuda or tpu; may be given several times.",
)
@click.option("--text", is_flag=True, help="Write the StableHLO module as text, for people.")
def export(
    folder: Path, out: Path, signature: str, unknown_as: int | None, platform: tuple[str, ...],
    text: bool,
) -> None:  # fmt: skip
    """Write a signature of the SavedModel in FOLDER as a StableHLO artefact.

    The file runs with JAX alone: jax.export.deserialize(bytearray(data)).call(*inputs) gives the
    outputs, sorted by their names; the inputs are sorted by theirs. Variables become constants.
    """
    try:
        found = _signature(load(folder), folder, signature)
        exported = export_stablehlo(found, unknown_as, platform or None)
        data = exported.mlir_module().encode() if text else serialized(exported)
    except (errors.OpError, OSError, ValueError, NotImplementedError, ImportError) as error:
        raise click.ClickException(str(error)) from None
    try:
        out.write_bytes(data)
    except OSError as error:
        raise click.ClickException(
            f"{out}: the file cannot be written: {error.strerror}. Give another path."
        ) from None
    click.echo(summary(found, exported, out, len(data)))


def _signature(loaded: Any, folder: Path, name: str) -> Any:
    known = getattr(loaded, "signatures", {})
    if name not in known:
        raise click.ClickException(
            f"{folder}: expected a signature '{name}', got {sorted(known) or 'none'}. Choose one "
            "with --signature."
        )
    return known[name]


def summary(found: Any, exported: Any, out: Path, size: int) -> str:
    """What was written: the inputs and outputs by name, with their types."""
    inputs = [spec.name for spec in found.input_specs]
    outputs = sorted(found.structured_outputs)
    lines = [f"{out}: {format_bytes(size)} for {', '.join(exported.platforms)}."]
    for title, names, types in (
        ("in ", inputs, exported.in_avals),
        ("out", outputs, exported.out_avals),
    ):
        lines += [
            f"  {title} {name}: {each.str_short()}" for name, each in zip(names, types, strict=True)
        ]
    return "\n".join(lines)
