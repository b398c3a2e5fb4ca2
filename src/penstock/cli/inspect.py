"""`penstock inspect PATH`: the operations of a saved graph and their cost, or a SavedModel."""

import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock import errors, ops
from penstock.checkpoint.saved_model.folder import contains_saved_model
from penstock.cli.graph_file import GraphFileError, read_graph_def
from penstock.cli.saved_model import SavedModelError, saved_model_text
from penstock.cli.text import format_bytes, format_count, format_table
from penstock.core import autotune
from penstock.core.op_def import find
from penstock.core.patterns import patterns as known_patterns
from penstock.core.patterns import used
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.graph import Graph
from penstock.graph.import_graph import import_graph_def
from penstock.graph.operation import Operation
from penstock.profiler.cost import Cost, cost_of, total_cost

if TYPE_CHECKING:
    from penstock.proto.graph_pb2 import GraphDef

HEADERS = ("NAME", "TYPE", "OUTPUTS", "FLOPS", "BYTES", "DEVICE")
_COMMON = 8  # types named in the summary


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation of the table; its cost is None where its shapes are not known at all."""

    name: str
    kind: str
    outputs: str
    cost: Cost
    device: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What there is to say about a graph.

    Attributes:
      rows: its operations, in the file's order.
      functions: names of the functions in its library.
      doubt: why shapes and costs are missing; None when they are not.
    """

    rows: list[OperationRow]
    functions: list[str]
    doubt: str | None


@click.command()
@click.argument("graphfile", type=click.Path(path_type=Path), required=False)
@click.option(
    "--unknown-as",
    type=click.IntRange(min=0),
    metavar="SIZE",
    help="Count dimensions that are not known, such as the batch, as this size.",
)
@click.option("--patterns", is_flag=True, help="Show what the planner replaces, and when.")
@click.option("--choices", is_flag=True, help="Show which kernels were measured, and what won.")
def inspect(graphfile: Path | None, unknown_as: int | None, patterns: bool, choices: bool) -> None:
    """Show the operations, shapes and cost of GRAPHFILE, a GraphDef (.pb or .pbtxt).

    For the folder of a SavedModel: its signatures, variables, functions, files and operations.

    FLOPS counts a multiply-add as two; BYTES are those read and written if nothing were fused.
    """
    if patterns:
        click.echo(patterns_text())
        return
    if choices:
        click.echo(choices_text())
        return
    if graphfile is None:
        raise click.UsageError(
            "Missing argument 'GRAPHFILE'. Name one, or ask for --patterns or --choices."
        )
    try:
        if contains_saved_model(graphfile):
            click.echo(saved_model_text(graphfile))
            return
        graph_def = read_graph_def(graphfile)
    except (GraphFileError, SavedModelError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(inspection_text(inspect_graph(graph_def, unknown_as)))


def patterns_text() -> str:
    """The planner's patterns, one paragraph each."""
    ops.load_all()
    parts = []
    for each in known_patterns():
        state = "" if used(each.name) else " (off: PENSTOCK_PATTERNS_OFF)"
        rows = (("finds", each.finds), ("gives", each.gives), ("when", each.when))
        lines = [
            f"  {word:6}{textwrap.fill(text, 88, subsequent_indent=' ' * 8)}" for word, text in rows
        ]
        parts.append("\n".join([each.name + state, *lines]))
    return "\n\n".join(parts)


def choices_text() -> str:
    """What was measured on this kind of machine: the work, the winner, the times."""
    state = "" if autotune.enabled() else ", not used: PENSTOCK_AUTOTUNE is off"
    found = autotune.choices()
    lines = [f"{len(found)} in {autotune.folder()}{state}"]
    for each in found:
        times = ", ".join(f"{name} {figure:.0f} us" for name, figure in each.times.items())
        lines.append(f"{each.what}: {each.winner} ({times or 'not measured'})")
    return "\n".join(lines)


def inspect_graph(graph_def: "GraphDef", unknown: int | None = None) -> Inspection:
    """Imports a graph for its shapes, and counts; a graph that does not import has none."""
    functions = [each.signature.name for each in graph_def.library.function]
    missing = sorted({node.op for node in graph_def.node if find(node.op) is None} - {*functions})
    if missing:
        doubt = f"operations that are not registered: {', '.join(missing)}"
        return Inspection(_plain_rows(graph_def), functions, doubt)
    graph = Graph()
    try:
        with graph.as_default():
            import_graph_def(graph_def, name="")
    except (errors.OpError, TypeError, ValueError) as error:
        return Inspection(_plain_rows(graph_def), functions, f"the graph does not import: {error}")
    rows = [_row(op, unknown) for op in graph.get_operations()]
    return Inspection(rows, functions, None)


def inspection_text(inspection: Inspection) -> str:
    """The table, the totals, and what is in doubt."""
    rows = inspection.rows
    cells = [(row.name, row.kind, row.outputs, *_cost_cells(row.cost), row.device) for row in rows]
    total = total_cost(row.cost for row in rows)
    cells.append(("total", "", "", *_cost_cells(total), ""))
    lines = [format_table(HEADERS, cells, right="FLOPS BYTES"), "", _summary(rows)]
    if inspection.functions:
        lines.append(f"Functions: {', '.join(inspection.functions)}.")
    unknown = sum(row.cost.flops is None or row.cost.bytes is None for row in rows)
    if inspection.doubt:
        lines.append(f"Shapes and costs are missing: {inspection.doubt.rstrip('.')}.")
    elif unknown:
        lines.append(
            f"The total leaves out what is marked ?: {unknown} of {len(rows)} operations depend on "
            "sizes or choices that are not known. --unknown-as SIZE counts with a size of yours."
        )
    return "\n".join(lines)


def _row(op: Operation, unknown: int | None) -> OperationRow:
    outputs = ", ".join(_tensor_text(each) for each in op.outputs)
    return OperationRow(op.name, op.type, outputs, cost_of(op, unknown), op.device)


def _tensor_text(tensor: SymbolicTensor) -> str:
    shape = tensor.shape
    if shape.rank is None:
        return f"{tensor.dtype.name}[...]"
    dims = ("?" if dim is None else str(dim) for dim in shape.as_list())
    return f"{tensor.dtype.name}[{','.join(dims)}]"


def _plain_rows(graph_def: "GraphDef") -> list[OperationRow]:
    nothing = Cost(None, None)
    return [OperationRow(node.name, node.op, "?", nothing, node.device) for node in graph_def.node]


def _cost_cells(cost: Cost) -> tuple[str, str]:
    flops = "?" if cost.flops is None else format_count(cost.flops)
    return flops, "?" if cost.bytes is None else format_bytes(cost.bytes)


def _summary(rows: list[OperationRow]) -> str:
    kinds = Counter(row.kind for row in rows)
    common = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(_COMMON))
    more = f", and {len(kinds) - _COMMON} more" if len(kinds) > _COMMON else ""
    operations = "1 operation" if len(rows) == 1 else f"{len(rows)} operations"
    return f"{operations}: {common}{more}."
