"""What the compiler makes of a function: `Function.experimental_get_compiler_ir`.

The function's plan is one region; the region's executable is lowered for the shapes asked for, by
JAX's public interface, and shown as text or bytes. Nothing runs, and no variable changes.
"""

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.lazy import jax, wide_types
from penstock.core.resources import eager_resources
from penstock.core.tensor import EagerTensor
from penstock.core.traced import NotStatic
from penstock.runtime.executable import Executable
from penstock.runtime.needed_values import Values, WithValues
from penstock.runtime.plan import Plan
from penstock.runtime.regions import Region
from penstock.runtime.step import Step
from penstock.runtime.whole import BETWEEN, WholePlan
from penstock.types import dtypes as dt

Stage = Callable[[Any], "str | bytes"]

_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"[^"]*")*\}')


def _bytecode(lowered: Any) -> bytes:
    file = io.BytesIO()
    lowered.compiler_ir("stablehlo").operation.write_bytecode(file)
    return file.getvalue()


def _optimized(compiled: Any) -> bytes:
    """The module that is run, as a HloModuleProto."""
    return bytes(compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto())


def _as_field(module: bytes) -> bytes:
    """A HloProto with the module: a message of one field, of number 1."""
    size, length = len(module), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return b"\n" + bytes((*length, size)) + module


# What a stage needs: the lowered computation, or both that and the executable made from it.
_LOWERED: dict[str, Stage] = {
    "hlo": lambda lowered: str(lowered.compiler_ir("hlo").as_hlo_text()),
    "hlo_serialized": lambda lowered: bytes(
        lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    ),
    "hlo_no_metadata": lambda lowered: _METADATA.sub("", lowered.compiler_ir("hlo").as_hlo_text()),
    "stablehlo": lambda lowered: str(lowered.as_text("stablehlo")),
    "stablehlo_serialized": _bytecode,
}
_COMPILED: dict[str, Callable[[Any, Any], str | bytes]] = {
    "optimized_hlo": lambda lowered, compiled: str(compiled.as_text()),
    "optimized_hlo_serialized": lambda lowered, compiled: _optimized(compiled),
    "optimized_hlo_proto_serialized": lambda lowered, compiled: _as_field(_optimized(compiled)),
    "optimized_hlo_dot": lambda lowered, compiled: str(
        type(lowered.compiler_ir("hlo"))(_optimized(compiled)).as_hlo_dot_graph()
    ),
}
STAGES = (*_LOWERED, *_COMPILED)


def show(plan: Plan, feeds: Sequence[Any], stage: str) -> str | bytes:
    """The compiler's view of a plan at a stage.

    Args:
      plan: of one region, or it is refused.
      feeds: for each feed of the program an array or handle, or what gives its shape.
      stage: one of `STAGES`.

    Raises:
      ValueError: there is no such stage, or the plan computes nothing.
      InvalidArgumentError: a value is needed that no feed gives, or there are several regions.
    """
    if not isinstance(plan, WholePlan):
        found = [n for n in plan.program.nodes if n.type in BETWEEN]
        between = ", ".join(f"{n.type} {n.where()}" for n in found)
        raise errors.InvalidArgumentError(
            None,
            None,
            "experimental_get_compiler_ir: expected a function of one compiled region, got one that"
            f" is compiled in parts, around {between or 'operations in its loops and branches'}."
            " Move these out of it.",
        )
    if stage not in STAGES:
        raise ValueError(
            f"Invalid stage selected: expected one of {', '.join(map(repr, STAGES))},"
            f" got {stage!r}."
        )
    if plan.region is None:
        raise ValueError(
            f"{plan.name}: expected a function that computes something, got one that does"
            " not: there is nothing to compile."
        )
    with wide_types():
        lowered = _lower(plan, plan.region, feeds)
        if stage in _LOWERED:
            return _LOWERED[stage](lowered)
        return _COMPILED[stage](lowered, lowered.compile())


def _lower(plan: WholePlan, region: Region, feeds: Sequence[Any]) -> Any:
    values = {id(n): v for n, v in zip(plan.program.feeds, feeds, strict=True)}
    values.update(plan.bound)
    arrays = [values[id(n)] for n, _ in region.inputs]
    known: set[int] = set()  # inputs that are constants, as a call would make them
    while True:
        constants = Values({i: np.asarray(arrays[i]) for i in known})
        executable = WithValues(region, constants) if known else Executable(region)
        try:
            return _lowered(region, executable, values)
        except NotStatic as signal:
            needed = region.needed_for(signal, arrays)
            if needed <= known or any(isinstance(arrays[i], jax.ShapeDtypeStruct) for i in needed):
                plan.not_static(signal)
            known |= needed


def _lowered(region: Region, executable: Executable, values: dict[int, Any]) -> Any:
    step = Step(eager_resources, {})
    steps, _ = region.step_values(step)
    cells = [values[id(n)].resource for n, _ in region.variables]
    held = [None if c.value is None else _like(c.value) for c in cells]
    kept = [v for v, w in zip(held, region.writes, strict=True) if not w]
    taken = [v for v, w in zip(held, region.writes, strict=True) if w]
    inputs = [_like(values[id(n)]) for n, _ in region.inputs]
    return executable.function.lower(executable.constants, steps, inputs, kept, taken)  # type: ignore[attr-defined]


def _like(value: Any) -> Any:
    return jax.ShapeDtypeStruct(value.shape, value.dtype)


def feed_of(argument: Any, placeholder: Any) -> Any:
    """An argument, a tensor or a spec, as `show` takes it.

    Raises:
      ValueError: its shape is not known.
    """
    if isinstance(argument, EagerTensor):
        return argument._array
    shape, dtype = argument.shape, argument.dtype
    if not shape.is_fully_defined() or dtype in (dt.resource, dt.variant, dt.string):
        raise ValueError(
            "Only support static input shape but got inputs ="
            f" [{placeholder.name}: {dtype.name}{shape}]. Give a tensor, or a TensorSpec whose"
            " sizes are all known."
        )
    return jax.ShapeDtypeStruct(tuple(shape.as_list()), dtype.numpy_dtype)
