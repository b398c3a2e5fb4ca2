"""Operations made ready to run.

`PreparedOp` holds what follows from an operation's definition, the dtypes of its inputs and its
attributes: completed attributes, output dtypes, kernels with attributes bound. It is built once and
found again by that key.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock import errors
from penstock.core import attributes, lapack
from penstock.core.host_sizes import single_limit
from penstock.core.kernels import (
    Kernel,
    KernelContext,
    NoKernel,
    bind,
    missing_kernel,
    select,
)
from penstock.core.op_def import OpDef
from penstock.core.resources import eager_resources
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType

UNBOUNDED = 1 << 62  # the limit of kernels that take arrays of any size as they are
PREPARED = 4096  # kept for each operation


class PreparedOp:
    """An operation with known dtypes and attributes, ready to run."""

    __slots__ = (
        "attrs", "compiled", "counts", "device", "head", "host", "host_kernel", "in_dtypes",
        "last", "leasing", "limit", "locks", "of_variables", "op", "out_dtypes", "out_numpy",
        "reads", "refs", "seen", "single", "single_limit", "small_limit", "static", "validated",
        "writes",
    )  # fmt: skip

    def __init__(
        self,
        op: OpDef,
        in_dtypes: tuple[DType, ...],
        counts: Sequence[int],
        given: dict[str, Any],
        device: str,
        planned: bool = False,
    ) -> None:
        self.op = op
        self.device = device
        self.in_dtypes = in_dtypes
        self.counts = tuple(counts)
        self.attrs = attributes.complete(op, in_dtypes, given, counts, runtime=True)
        self.out_dtypes = attributes.output_dtypes(op, self.attrs)
        self.out_numpy = tuple(
            None if t in (dt.resource, dt.variant) else t.numpy_dtype for t in self.out_dtypes
        )
        self.single = len(op.outputs) == 1 and not op.outputs[0].is_list
        self.refs, self.writes = effect_positions(op, counts, self.attrs)
        self.of_variables = bool(op.effects) and not op.any_resource
        self.host_kernel: Kernel | None = select(
            op.name, "host", device, self.attrs, singly=not planned
        )
        arrays = not any(t is dt.string for t in (*in_dtypes, *self.out_dtypes))
        compiled = select(op.name, "compiled", device, self.attrs) if arrays else None
        if self.host_kernel is None and compiled is None:
            raise NoKernel(missing_kernel(op.name, device, self.attrs))
        self.host: Callable[..., Any] | None = (
            bind(op, self.host_kernel, self.attrs) if self.host_kernel else None
        )
        if self.host is not None and op.name in lapack.OPERATIONS:
            self.host = lapack.limited(self.host)
        self.compiled: tuple[Callable[..., Any], bool] | None = (
            (bind(op, compiled, self.attrs), compiled.wants_context) if compiled else None
        )
        self.limit = self.host_kernel.limit if self.host_kernel else 0
        if dt.variant in in_dtypes or dt.variant in self.out_dtypes:
            self.limit = UNBOUNDED  # only regions hold lists as arrays
        self.single_limit = single_limit(op.name, in_dtypes, self.limit)
        reentrant = self.host_kernel is not None and self.host_kernel.reentrant
        # Whether outputs may be variables' own arrays; user code takes no part in it.
        self.leasing = bool(self.refs and self.out_dtypes) and not reentrant
        # What a host kernel that wants a context gets eagerly; () for others.
        self.head: tuple[KernelContext, ...] = ()
        if self.host_kernel is not None and self.host_kernel.wants_context:
            self.head = (KernelContext(op.name, self.attrs, eager_resources, device),)
        self.locks: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # in order, by those of variables
        self.validated: set[Any] = set()
        self.reads: tuple[int, ...] = ()  # inputs whose values the shape rule has read
        # Shapes of arrays and variables that were allowed last, whatever their numbers, and how
        # many elements these arrays have.
        self.last: tuple[Any, int] = (None, 0)
        self.seen: set[Any] = set()
        self.static = _static_positions(self)
        self.small_limit = _small_limit(self)


def effect_positions(
    op: OpDef, counts: Sequence[int], attrs: dict[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Flat positions of the inputs the operation has effects on, and of those it writes."""
    touched = op.effects_at(counts, attrs)
    refs = sorted(touched)
    return tuple(refs), tuple(i for i in refs if "w" in touched[i])


def prepare(
    op: OpDef, flat: Sequence[Any], counts: Sequence[int] | None, attrs: dict[str, Any], device: str
) -> PreparedOp:
    """The prepared operation for these inputs and attributes."""
    numbers = tuple([t._dtype.index for t in flat])  # their hashes are made in C
    key: Any = (
        (numbers, counts, attributes.key_of(op, attrs), device)
        if attrs or counts or device != "CPU"
        else numbers
    )
    try:
        found = op.prepared.get(key)
    except TypeError:  # an attribute given as a list, say
        attrs = {
            n: v if v is None else attributes.canonical(op, attributes._known(op, n), v)
            for n, v in attrs.items()
        }
        key = (numbers, counts, attributes.key_of(op, attrs), device)
        found = op.prepared.get(key)
    if found is None:
        _refuse_references(op)
        if len(op.prepared) > PREPARED:
            op.prepared.clear()
        for name, value in attrs.items():  # a value of the wrong kind is a TypeError here too
            if name in op.attrs:
                attributes.check_kind(op, op.attrs[name], value)
        try:
            in_dtypes = tuple([t._dtype for t in flat])
            found = PreparedOp(op, in_dtypes, counts or (1,) * len(op.inputs), attrs, device)
        except NoKernel as problem:  # eager TensorFlow says not found
            raise errors.NotFoundError(None, None, str(problem)) from None
        except (TypeError, ValueError) as problem:
            raise attributes.user_error(op.name, problem, eager=True) from None
        if not op.calls:  # its bodies would live as long as the cache
            op.prepared[key] = found
    return found


def _refuse_references(op: OpDef) -> None:
    for arg in (*op.outputs, *op.inputs):
        if arg.is_ref:
            raise RuntimeError(
                f"{op.name} op does not support eager execution. Arg '{arg.name}' is a ref. Use it "
                "in a tf.Graph, or tf.Variable and its methods."
            )


def _small_limit(prepared: PreparedOp) -> int:
    """Up to how many elements of inputs nothing is to be decided: the host kernel runs.

    -1 for operations whose kernels run others, and with effects, but for those that update
    variables and return nothing, those that read one, and those that draw.
    """
    kernel, types = prepared.host_kernel, [*prepared.in_dtypes, *prepared.out_dtypes]
    if kernel is None or kernel.reentrant or dt.variant in types:
        return -1
    op = prepared.op
    if kernel.draws:
        return UNBOUNDED if prepared.compiled is None else prepared.limit
    if op.calls or op.step_input is not None:
        return -1
    count = len(prepared.refs)
    if count == types.count(dt.resource) > 0:
        only_one = not prepared.writes and count == 1
        updates = prepared.compiled is not None and not prepared.out_dtypes
        return prepared.limit if only_one or updates else -1
    if prepared.refs or op.stateful:
        return -1
    if dt.resource in types:
        return -1
    return UNBOUNDED if prepared.compiled is None else prepared.limit


def _static_positions(prepared: PreparedOp) -> tuple[int, ...]:
    """Flat positions of inputs whose values the compiled kernel must know."""
    op = prepared.op
    if not op.host_inputs:
        return ()
    positions: list[int] = []
    position = 0
    for arg in op.inputs:
        if arg.number_attr is not None:
            count = prepared.attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            count = len(prepared.attrs[arg.type_list_attr])
        else:
            count = 1
        if arg.name in op.host_inputs:
            positions.extend(range(position, position + count))
        position += count
    return tuple(positions)
