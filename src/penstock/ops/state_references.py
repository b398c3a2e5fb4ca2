"""Variables of the first kind: a tensor that refers to a buffer, and operations that change it.

GraphDefs of TensorFlow 1 hold them. They have no kernels: the planner puts the operations on
resource variables in their place, see `penstock.runtime.references`, so a variable is a variable
however a graph names it. A reader gets the value at the time when it runs.
"""

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op, lookup
from penstock.core.resources import ResourceHandle, VariableCell
from penstock.core.shapes import ShapeContext
from penstock.ops.control_frames import define_flow, enter_shape, merge_shapes, switch_shapes
from penstock.ops.optimizer_rules import RULES
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray


def _declared(c: ShapeContext) -> Dims:
    return c.attr("shape")  # type: ignore[no-any-return]


def _variable(name: str) -> OpDef:
    return define_op(
        f"{name}(; shape: shape, dtype: type, container: string = '', shared_name: string = '') -> "
        "ref ref: dtype",
        shape=_declared,
        stateful=True,
        doc="A reference to the variable with this container and name; made when there is none.",
    ).not_differentiable("it has no inputs")


VARIABLE, VARIABLE_V2 = _variable("Variable"), _variable("VariableV2")

TEMPORARY = define_op(
    "TemporaryVariable(; shape: shape, dtype: type, var_name: string = '') -> ref ref: dtype",
    shape=_declared,
    stateful=True,
    doc="A reference to a variable that lives as long as the step.",
).not_differentiable("it has no inputs")

DESTROY_TEMPORARY = define_op(
    "DestroyTemporaryVariable(ref ref: T; T: type, var_name: string) -> value: T",
    shape=shapes.same,
    doc="The last value of a temporary variable.",
).without_gradient("nothing flows through a temporary variable but its value")

TEMPORARY_HANDLE = define_op(
    "PenstockTemporaryVariable(; shape: shape, dtype: type, var_name: string = '') -> "
    "resource: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="The handle of a variable that lives as long as something refers to it.",
).not_differentiable("a handle is no number")


@host_kernel(TEMPORARY_HANDLE)
def _temporary(ctx: KernelContext, *, shape: Dims, dtype: DType, var_name: str) -> ResourceHandle:
    name = var_name or ctx.op_name
    return ResourceHandle("", name, VariableCell(name, dtype, shape))


SELECT_HANDLE = define_op(
    "PenstockSelectHandle(index: int32, inputs: N*resource; N: int >= 1) -> output: resource",
    shape=shapes.scalar,
    doc="The handle with number `index`.",
).not_differentiable("a handle is no number")


@host_kernel(SELECT_HANDLE)
def _select(index: Array, inputs: list[Any]) -> Any:
    if not 0 <= index < len(inputs):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Index must be in the range [0, {len(inputs)}) but got {int(index)}. There is one "
            "reference for each number in it.",
        )
    return inputs[int(index)]


RESHAPE_HANDLE = define_op(
    "PenstockAssignAnyShape(resource: resource, value: dtype; dtype: type) -> ()",
    shape=shapes.no_output,
    stateful=True,
    effects={"resource": "w"},
    doc="Gives a variable a value of any shape. On the host: no buffer can be used again.",
).not_differentiable("it has no outputs")


@host_kernel(RESHAPE_HANDLE)
def _assign_any_shape(resource: Any, value: Array) -> None:
    if not d.compatible(resource.dims, value.shape):
        resource.dims = None
    resource.write(value)


# ---- control flow --------------------------------------------------------------------------------

_FRAME = "T: type, frame_name: string, is_constant: bool = False, parallel_iterations: int = 10"


def _select_shape(c: ShapeContext) -> Dims:
    c.rank(0, 0, "index")
    merged = c.shape(1)
    for dims in c.shapes[2:]:
        merged = d.union(merged, dims)
    return merged


REF_SWITCH = define_flow(
    "RefSwitch(ref data: T, pred: bool; T: type) -> ref output_false: T, ref output_true: T",
    switch_shapes,
    "`Switch` of a reference to a variable.",
)
REF_MERGE = define_flow(
    "RefMerge(ref inputs: N*T; T: type, N: int >= 1) -> ref output: T, value_index: int32",
    merge_shapes,
    "`Merge` of references to variables.",
)
REF_SELECT = define_flow(
    "RefSelect(index: int32, ref inputs: N*T; T: type, N: int >= 1) -> ref output: T",
    _select_shape,
    "The reference with number `index`.",
)
REF_ENTER = define_flow(
    f"RefEnter(ref data: T; {_FRAME}) -> ref output: T",
    enter_shape,
    "`Enter` of a reference to a variable.",
)
REF_EXIT = define_flow(
    "RefExit(ref data: T; T: type) -> ref output: T",
    shapes.same,
    "`Exit` of a reference to a variable.",
)
REF_NEXT_ITERATION = define_flow(
    "RefNextIteration(ref data: T; T: type) -> ref output: T",
    shapes.same,
    "`NextIteration` of a reference to a variable.",
)
REF_IDENTITY = define_op(
    "RefIdentity(ref input: T; T: type) -> ref output: T",
    shape=shapes.same,
    doc="The same reference.",
)


@REF_IDENTITY.gradient
def _identity_gradient(op: Any, grad: Any) -> Any:
    return grad


DEBUG_GRADIENT = define_op(
    "DebugGradientRefIdentity(ref input: T; T: type) -> ref output: T",
    shape=shapes.same,
    doc="The same reference, marked for a debugger of gradients.",
)
DEBUG_GRADIENT.gradient(_identity_gradient)

FAKE_QUEUE = define_op(
    "FakeQueue(resource: resource) -> ref handle: string",
    shape=lambda c: (2,),
    stateful=True,
    doc="A queue's resource as the string reference of TensorFlow 1.",
).not_differentiable("a handle is no number")

# ---- updates -------------------------------------------------------------------------------------


def _update(text: str, shape: Callable[..., Any], doc: str) -> OpDef:
    op = define_op(text, shape=shape, doc=doc)
    return op.not_differentiable("it changes a variable")


def _assign_shape(c: ShapeContext) -> Dims:
    return c.merge(c.shape(0), c.shape(1)) if c.attr("validate_shape") else c.shape(1)


def _both(c: ShapeContext) -> Dims:
    return c.merge(c.shape(0), c.shape(1))


ASSIGN = _update(
    "Assign(ref ref: T, value: T; T: type, validate_shape: bool = True, use_locking: bool = True) "
    "-> ref output_ref: T",
    _assign_shape,
    "Gives a variable a value; without `validate_shape` it may have another shape.",
)
for _name, _doc in (("Add", "Adds to the value of a variable."), ("Sub", "Subtracts from it.")):
    _update(
        f"Assign{_name}(ref ref: T, value: T; T: numbertype, use_locking: bool = False) -> "
        "ref output_ref: T",
        _both,
        _doc,
    )

IS_INITIALIZED = define_op(
    "IsVariableInitialized(ref ref: dtype; dtype: type) -> is_initialized: bool",
    shape=shapes.scalar,
    doc="Whether a variable has a value.",
).not_differentiable("it is a question")

COUNT_UP_TO = define_op(
    "CountUpTo(ref ref: T; limit: int, T: {int32, int64}) -> output: T",
    shape=shapes.scalar,
    doc="The value of a scalar variable, which grows by one; OutOfRangeError at the limit.",
).not_differentiable("a counter is an integer")


def _as_resource(op: OpDef) -> Callable[[ShapeContext], Dims]:
    """The shape rule of an operation on resources, for one on references; gives the first one's."""

    def rule(c: ShapeContext) -> Dims:
        assert op.shape_rule is not None
        held = ShapeContext(
            op.name, c.shapes, c.dtypes, c.attrs, c.constant, c.shape_value, c.shape
        )
        op.shape_rule(held)
        return c.shape(0)

    return rule


_update(
    "StridedSliceAssign(ref ref: T, begin: Index, end: Index, strides: Index, value: T; T: type, "
    "Index: {int32, int64}, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, "
    "new_axis_mask: int = 0, shrink_axis_mask: int = 0) -> ref output_ref: T",
    lambda c: c.shape(0),  # what does not fit is refused when it runs
    "Assigns to a slice of a variable; the value is broadcast to the slice's shape.",
)
_ORDERED = "{half, bfloat16, float, double, int32, int64}"
for _name in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    _types = {"Update": "type", "Min": _ORDERED, "Max": _ORDERED}.get(_name, "numbertype")
    _update(
        f"Scatter{_name}(ref ref: T, indices: Tindices, updates: T; T: {_types}, "
        f"Tindices: {{int32, int64}}, use_locking: bool = {_name == 'Update'}) -> "
        "ref output_ref: T",
        _as_resource(lookup(f"ResourceScatter{_name}")),
        f"Changes rows of a variable: {_name.lower()}.",
    )
for _name in ("Update", "Add", "Sub", "Min", "Max"):
    _types = "type" if _name == "Update" else "numbertype"
    _update(
        f"ScatterNd{_name}(ref ref: T, indices: Tindices, updates: T; T: {_types}, "
        f"Tindices: {{int32, int64}}, use_locking: bool = {_name == 'Update'}, "
        "bad_indices_policy: string = '') -> ref output_ref: T",
        _as_resource(lookup(f"ResourceScatterNd{_name}")),
        f"Changes parts of a variable: {_name.lower()}.",
    )

ONLY_RESOURCES = frozenset({"AdamWithAmsgrad", "KerasMomentum"})


def _define_rule(resource_op: OpDef) -> OpDef:
    """The operation on references that does what one on resources does."""
    inputs, _, rest = resource_op.text.partition(";")
    inputs = inputs.removeprefix("Resource")
    for arg in resource_op.inputs:
        if arg.dtype is not None and arg.dtype.name == "resource":
            inputs = inputs.replace(f"{arg.name}: resource", f"ref {arg.name}: T")
    text = f"{inputs};{rest.rstrip()} ref out: T"
    return _update(text, _as_resource(resource_op), resource_op.doc)


RULE_OPS: dict[str, OpDef] = {}
for _name in RULES:
    for _kind in ("Apply", "SparseApply"):
        if _name not in ONLY_RESOURCES and (_kind == "Apply" or RULES[_name].sparse):
            RULE_OPS[_kind + _name] = _define_rule(lookup(f"Resource{_kind}{_name}"))

__all__ = ["ONLY_RESOURCES", "RULE_OPS"]
