"""Operations that choose among bodies and repeat them, and the stacks that loops keep values on.

A stack has one row for each round of a loop with a known bound, so it is an array like others;
other loops keep values in lists (`tensor_lists`). The kernels of the control flow itself belong to
the runtime, its gradients to `penstock.autodiff`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jax, jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.func_graph import bodies_of
from penstock.graph.standard_forms import standard_form
from penstock.types.dims import Dims, union
from penstock.types.dtypes import DType, int32

Array = Any  # numpy.ndarray or jax.Array

_IF = (
    "Tcond: type, Tin: list(type) >= 0, Tout: list(type) >= 0, then_branch: func, "
    "else_branch: func, output_shapes: list(shape) = []"
)
_CASE = (
    "Tin: list(type) >= 0, Tout: list(type) >= 0, branches: list(func) >= 1, "
    "output_shapes: list(shape) = []"
)
_WHILE = (
    "T: list(type) >= 0, cond: func, body: func, output_shapes: list(shape) = [], "
    "parallel_iterations: int = 10"
)


def check_body(
    c: ShapeContext, body: Any, taken: Sequence[DType], given: Sequence[DType] | None
) -> None:
    """Refuses a body of other inputs than `taken` or other outputs than `given`."""
    inputs = tuple(t.dtype for t in body.inputs)
    outputs = body.output_dtypes
    if inputs != tuple(taken) or (given is not None and outputs != tuple(given)):
        expected = _signature(taken, given)
        c.fail(
            f"a function {expected}",
            f"{body.name}{_signature(inputs, outputs)}",
            "What a concrete function captures comes after its arguments: see captured_inputs.",
        )


def _signature(taken: Sequence[DType], given: Sequence[DType] | None) -> str:
    left = ", ".join(t.name for t in taken)
    return f"({left})" + ("" if given is None else f" -> ({', '.join(t.name for t in given)})")


def _branch_shapes(c: ShapeContext) -> list[Dims]:
    bodies = bodies_of(c.attrs)
    for body in bodies:
        check_body(c, body, c.attr("Tin"), c.attr("Tout"))
    rows = zip(*[[t.dims for t in body.outputs] for body in bodies], strict=True)
    result: list[Dims] = []
    for first, *rest in rows:
        for dims in rest:
            first = union(first, dims)
        result.append(first)
    return result


def _loop_shapes(c: ShapeContext) -> list[Dims]:
    body, types = c.attr("body"), c.attr("T")
    check_body(c, c.attr("cond"), types, None)
    if len(c.attr("cond").outputs) != 1:
        c.fail("a condition of one value", f"one of {len(c.attr('cond').outputs)}")
    check_body(c, body, types, types)
    return [t.dims for t in body.inputs]


def effects_after(offset: int, before: int | None = None) -> Any:
    """The effects of the bodies, whose inputs are those of the operation from `offset` on.

    `before`: how many inputs of the operation are none of a list; `offset` by default.
    """
    single = offset if before is None else before

    def effects(attrs: dict[str, Any]) -> dict[int, str]:
        found: dict[int, str] = {}
        count = sum(len(attrs.get(name, ())) for name in ("T", "Tin", "Tcaptured"))
        for body in bodies_of(attrs):
            for i, effect in body.effects.items():
                if i + offset >= single + count:
                    continue  # the shape rule refuses a body of more inputs
                both = set(effect) | set(found.get(i + offset, ""))
                found[i + offset] = "?" + "".join(c for c in "rw" if c in both)
        return found

    return effects


def needs_autodiff(op: Any, *grads: Any) -> Any:
    """Stands for a rule of `penstock.autodiff`, which goes before it where it is loaded."""
    raise RuntimeError(f"the gradient of {op.type} needs penstock.autodiff, which is not loaded")


def _define(name: str, text: str, shape: Any, offset: int, doc: str) -> tuple[OpDef, OpDef]:
    made = []
    for prefix, more in (("", ""), ("Stateless", " The bodies have no effects.")):
        op = define_op(
            f"{prefix}{name}{text}",
            shape=shape,
            stateful=not prefix,
            fallible=True,
            doc=doc + more,
        )
        op.calls = True
        op.effect_rule = effects_after(offset)
        op.gradient(needs_autodiff)
        made.append(op)
    return made[0], made[1]


IF, STATELESS_IF = _define(
    "If",
    f"(cond: Tcond, input: [Tin]; {_IF}) -> output: [Tout]",
    _branch_shapes,
    1,
    "Runs one of two bodies.",
)
CASE, STATELESS_CASE = _define(
    "Case",
    f"(branch_index: int32, input: [Tin]; {_CASE}) -> output: [Tout]",
    _branch_shapes,
    1,
    "Runs the body with a number, the last one for a number that none has.",
)
WHILE, STATELESS_WHILE = _define(
    "While",
    f"(input: [T]; {_WHILE}) -> output: [T]",
    _loop_shapes,
    0,
    "Runs a body on its own results as long as another body says so.",
)


def _for_shapes(c: ShapeContext) -> list[Dims]:
    types = c.attr("T")
    check_body(c, c.attr("body"), (int32, *types), types)
    for i in range(3):
        c.rank(i, 0)
    return [None] * len(types)


FOR = define_op(
    "For(start: int32, limit: int32, delta: int32, input: [T]; T: list(type) >= 0, body: func) -> "
    "output: [T]",
    shape=_for_shapes,
    fallible=True,
    doc="Runs a body on the number of the round and its own results: from `start`, before `limit`.",
).without_gradient("loops with one are made by tf.while_loop")
FOR.calls = True
FOR.effect_rule = effects_after(2, 3)  # the body's first input is the number of the round

# ---- what loops keep for their gradients: files have gathers and scatters for it ----------------

STACK_WRITE = define_op(
    "PenstockStackWrite(stack: T, index: int32, value: T; T: type) -> output: T",
    shape=lambda c: c.shape(0),
    doc="The stack with `value` as row `index`.",
)


@host_kernel(STACK_WRITE)
def _write_on_host(stack: Array, index: Array, value: Array) -> Array:
    result = stack.copy()
    result[int(index)] = value
    return result


@compiled_kernel(STACK_WRITE)
def _write_compiled(stack: Array, index: Array, value: Array) -> Array:
    if not stack.shape[0]:
        return stack  # in a loop without rounds
    return jax.lax.dynamic_update_index_in_dim(stack, value, index, 0)


def _as_rows(index: Any, value: Any) -> tuple[Any, Any]:
    """A place and a value as those of one row, as scatters take them."""
    place = execute("Reshape", (index, np.array([1, 1], np.int32)))
    return place, execute("ExpandDims", (value, np.int32(0)))


@standard_form(STACK_WRITE, in_place=True)
def _write_in_files(stack: Any, index: Any, value: Any) -> Any:
    return execute("TensorScatterUpdate", (stack, *_as_rows(index, value)))


@STACK_WRITE.gradient
def _write_gradient(op: Any, grad: Any) -> list[Any]:
    index = op.inputs[1]
    nothing = execute("ZerosLike", (op.inputs[2],))
    return [execute(STACK_WRITE, (grad, index, nothing)), None, execute(STACK_READ, (grad, index))]


STACK_READ = define_op(
    "PenstockStackRead(stack: T, index: Tindex; T: type, Tindex: {int32, int64} = int32) -> "
    "output: T",
    shape=lambda c: None if c.shape(0) is None else c.shape(0)[1:],
    doc="Row `index` of the stack.",
)


@host_kernel(STACK_READ, limit=1 << 62)
def _read_on_host(stack: Array, index: Array) -> Array:
    return stack[int(index)]


@compiled_kernel(STACK_READ)
def _read_compiled(stack: Array, index: Array) -> Array:
    if not stack.shape[0]:
        return jnp.zeros(stack.shape[1:], stack.dtype)  # in a loop without rounds
    return jax.lax.dynamic_index_in_dim(stack, index, 0, keepdims=False)


@standard_form(STACK_READ, in_place=True)
def _read_in_files(stack: Any, index: Any) -> Any:
    return execute("GatherV2", (stack, index, np.int32(0)))


@STACK_READ.gradient
def _read_gradient(op: Any, grad: Any) -> list[Any]:
    zeros = execute("ZerosLike", (op.inputs[0],))
    index = op.inputs[1]
    if index.dtype is not int32:
        index = execute("Cast", (index,), {"DstT": int32})
    return [execute(STACK_WRITE, (zeros, index, grad)), None]


STACK_ADD = define_op(
    "PenstockStackAdd(stack: T, index: int32, value: T; T: type) -> output: T",
    shape=lambda c: c.shape(0),
    doc="The stack with `value` added to row `index`.",
)


@host_kernel(STACK_ADD)
def _add_on_host(stack: Array, index: Array, value: Array) -> Array:
    result = stack.copy()
    result[int(index)] += value
    return result


@compiled_kernel(STACK_ADD)
def _add_compiled(stack: Array, index: Array, value: Array) -> Array:
    if not stack.shape[0]:
        return stack
    row = jax.lax.dynamic_index_in_dim(stack, index, 0, keepdims=False)
    return jax.lax.dynamic_update_index_in_dim(stack, row + value, index, 0)


@standard_form(STACK_ADD, in_place=True)
def _add_in_files(stack: Any, index: Any, value: Any) -> Any:
    return execute("TensorScatterAdd", (stack, *_as_rows(index, value)))


@STACK_ADD.gradient
def _add_gradient(op: Any, grad: Any) -> list[Any]:
    return [grad, None, execute(STACK_READ, (grad, op.inputs[1]))]
