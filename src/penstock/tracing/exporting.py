"""Functions as StableHLO artefacts: `export_stablehlo`.

The function is one compiled region, as with `jit_compile=True`; the values of its variables become
constants. `jax.export` writes it: what comes out needs JAX to run, nothing of this package. What
operations check while they run (an index, an assertion) is not part of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock import errors
from penstock.core import native
from penstock.core.lazy import jax, jax_export, wide_types
from penstock.core.resources import eager_resources
from penstock.core.traced import NotStatic
from penstock.runtime.executable import Executable
from penstock.runtime.program import build
from penstock.runtime.whole import WholePlan, make_whole_plan
from penstock.tracing.concrete import ConcreteFunction
from penstock.types import dtypes as dt


def export_stablehlo(
    concrete: ConcreteFunction,
    unknown_as: int | None = None,
    platforms: Sequence[str] | None = None,
) -> Any:
    """A function as an artefact of `jax.export`.

    Args:
      concrete: the function; its tensors are the arguments, in order.
      unknown_as: the size that unknown dimensions get; None leaves them open, and unknown first
        dimensions are one size, the batch.
      platforms: which devices it is for, as "cpu" and "cuda"; the default one's when None.

    Returns:
      A `jax.export.Exported`; `serialized` gives its bytes, `mlir_module()` its text. Called with
      arrays it gives a list of the flat outputs.

    Raises:
      InvalidArgumentError: an operation cannot be compiled, or needs to know a size.
      ValueError: the function updates variables, draws random numbers, or a rank is unknown.
    """
    body = concrete.body
    shapes = _shapes(concrete, unknown_as)
    program = build(body.outputs, body.inputs, body.control_outputs, inline_all=True)
    plan = make_whole_plan(program, eager_resources, body.name)
    captured = concrete.captured_inputs
    count = len(body.inputs) - len(captured)
    known = dict(zip(range(count, len(body.inputs)), [t._array for t in captured], strict=True))
    with wide_types(), native.unused():  # what the library holds would not be in the artefact
        function = jax.jit(_as_function(plan, body.name, count, known))
        try:
            return jax_export.export(function, platforms=platforms)(*shapes)
        except NotStatic as signal:
            raise _refusal(body.name, "operations that XLA compiles", str(signal)) from signal
        except (TypeError, ValueError, jax.errors.JAXTypeError) as problem:
            if unknown_as is not None or all(s.is_fully_defined() for s in _input_shapes(concrete)):
                raise
            expected = "a function that leaves its unknown sizes open"
            raise _refusal(body.name, expected, f"one that needs them: {problem}") from problem


def _refusal(name: str, expected: str, got: str) -> errors.InvalidArgumentError:
    fix = "Give sizes that are not known: --unknown-as SIZE, or unknown_as=."
    return errors.InvalidArgumentError(None, None, errors.located(name, expected, got, fix))


def serialized(exported: Any) -> bytes:
    """The artefact as bytes.

    Args:
      exported: what `export_stablehlo` gave.

    Raises:
      ImportError: the package `flatbuffers`, which JAX writes them with, is missing.
    """
    try:
        return bytes(exported.serialize())
    except ImportError:
        raise ImportError(
            "a StableHLO artefact: expected the package flatbuffers, with which JAX writes it, got "
            "none. pip install 'penstock[export]', or write text."
        ) from None


def _input_shapes(concrete: ConcreteFunction) -> list[Any]:
    return [spec.shape for spec in concrete.input_specs]


def _shapes(concrete: ConcreteFunction, unknown_as: int | None) -> list[Any]:
    """The shape and dtype of each argument; unknown sizes by name when they stay open."""
    scope = jax_export.SymbolicScope()
    found = []
    for number, spec in enumerate(concrete.input_specs):
        where = f"{concrete.name}: argument '{spec.name}'"
        if spec.dtype in (dt.resource, dt.variant, dt.string):
            raise ValueError(
                f"{where}: expected numbers, got {spec.dtype.name}, which XLA does not have. "
                "Decode text before the function."
            )
        dims = spec.shape.dims_tuple
        if dims is None:
            raise ValueError(
                f"{where}: expected a known rank, got {spec}. Save the function with a TensorSpec "
                "of that rank."
            )
        sizes = [
            str(size) if size is not None else _open(unknown_as, number, axis)
            for axis, size in enumerate(dims)
        ]
        shape = jax_export.symbolic_shape(", ".join(sizes), scope=scope) if sizes else ()
        found.append(jax.ShapeDtypeStruct(shape, spec.dtype.numpy_dtype))
    return found


def _open(unknown_as: int | None, number: int, axis: int) -> str:
    """What stands for an unknown size: a size, or a name."""
    if unknown_as is not None:
        return str(unknown_as)
    return "batch" if axis == 0 else f"n{number}_{axis}"


def _as_function(plan: WholePlan, name: str, count: int, captured: Mapping[int, Any]) -> Any:
    """A function of arrays that gives what the plan fetches."""
    program, region = plan.program, plan.region
    constants = {(id(n), 0): n.attrs["value"].array for n in program.nodes if n.type == "Const"}
    executable = None if region is None else Executable(region)
    traced: Any = None if executable is None else executable.function
    if region is not None and any(region.writes):
        raise ValueError(
            f"{name}: expected a function of its arguments, got one that updates the variables "
            f"{[n.name for (n, _), w in zip(region.variables, region.writes, strict=True) if w]}. "
            "Export another signature."
        )
    if region is not None and region.step_nodes:
        raise ValueError(
            f"{name}: expected a function of its arguments, got one that draws random numbers: "
            f"{[region.nodes[i].name for i in region.step_nodes]}. Use the stateless operations."
        )

    def run(*arguments: Any) -> list[Any]:
        fed = [arguments[i] if i < count else captured[i] for i in range(len(program.feeds))]
        values = {(id(n), 0): v for n, v in zip(program.feeds, fed, strict=True)}
        values.update(constants)
        if region is not None and executable is not None:
            inputs = [values[id(n), i] for n, i in region.inputs]
            bound = {**plan.bound, **{key: v for (key, _), v in values.items()}}
            kept = [bound[id(n)].resource.read() for n, _ in region.variables]
            # Without the compiler's options, which only the outermost function may have.
            found = traced.__wrapped__(executable.constants, [], inputs, kept, [])
            outputs = found[0]
            values.update(zip([(id(n), i) for n, i in region.outputs], outputs, strict=True))
        return [values[id(n), i] for n, i in program.fetches]

    return run
