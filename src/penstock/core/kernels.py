"""Kernels: implementations of operations for a device type and dtypes.

A host kernel works on NumPy arrays, a compiled kernel on JAX arrays or tracers; `kernel` registers
one function as both, written against `xp`, the array namespace (`numpy` or `jax.numpy`). A kernel
function takes

    function([ctx,] [xp,] *inputs, *, attribute, ...)

where `ctx` and `xp` are passed when the first parameters have these names, list inputs come as
lists, inputs that the operation has effects on come as objects with `read()` and `write(value)`,
and the keyword-only parameters name the attributes it wants. It returns one array for one output,
else a flat sequence. The kernel with the most constraints that fit wins. A kernel for some shapes
alone has a predicate, `when`; where that says no, the next kernel in line serves.
"""

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef
from penstock.types.dtypes import DType, as_dtype

ErrorClass = Callable[[Any, Any, str], errors.OpError]  # (node_def, op, message)
When = Callable[..., bool]  # (attrs, *flat inputs): arrays or tracers, of known shape and dtype

HOST_LIMIT = 16_384  # elements up to which NumPy beats a compiled call, by the dispatch benchmark


@dataclass(frozen=True, slots=True)
class Kernel:
    """One implementation.

    Attributes:
      limit: elements up to which a host kernel is preferred, see `penstock.runtime.host_choice`.
      when: the inputs that it serves; None for all.
      otherwise: what serves the other inputs; set by `select` on a kernel with `when`.
      by_rows: of a variable it reads or changes only the rows that its other inputs name.
      blocks: it waits for what other operations of its step may do.
      alone_from: elements of an input or output from which XLA's code takes so much longer that a
        plan runs this host kernel between regions; None for never.
      available: whether it can run in this process at all; None for always.
      draws: all it does beside its outputs is to draw numbers or move a generator's state on.
      singly: it serves single calls of little work alone, and no plan.
    """

    op_name: str
    function: Callable[..., Any]
    kind: str  # "host" or "compiled"
    device: str | None
    types: tuple[tuple[str, tuple[DType, ...]], ...]
    limit: int
    reentrant: bool
    wants_context: bool
    wants_namespace: bool
    attr_names: tuple[str, ...]
    when: When | None = None
    otherwise: "Kernel | None" = None
    by_rows: bool = False
    blocks: bool = False
    alone_from: int | None = None
    available: Callable[[], bool] | None = None
    draws: bool = False
    singly: bool = False

    def fits(self, kind: str, device: str, attrs: dict[str, Any]) -> bool:
        """Whether the kernel serves this kind, device type and these attributes."""
        if self.kind != kind or (self.device is not None and self.device != device):
            return False
        if not all(_type_fits(attrs.get(name), allowed) for name, allowed in self.types):
            return False
        return self.available is None or self.available()

    @property
    def specificity(self) -> int:
        """More constraints, more specific."""
        conditions = (self.device, self.when, self.available)
        return 2 * len(self.types) + sum(each is not None for each in conditions)

    def describe(self) -> str:
        """One line for error messages."""
        types = (
            ", ".join(f"{n} in {{{', '.join(t.name for t in ts)}}}" for n, ts in self.types)
            or "any types"
        )
        some = "" if self.when is None else ", some shapes"
        return f"{self.kind} on {self.device or 'any device'} for {types}{some}"


def _type_fits(value: Any, allowed: tuple[DType, ...]) -> bool:
    return all(v in allowed for v in value) if isinstance(value, tuple) else value in allowed


_kernels: dict[str, list[Kernel]] = {}
# operation -> what imports more kernels of it, and the dtype that they are for; None for all
_late: dict[str, tuple[Callable[[], None], DType | None]] = {}


def register_kernel(
    op: OpDef | str,
    function: Callable[..., Any],
    *,
    kind: str,
    device: str | None = None,
    types: Mapping[str, Sequence[Any]] | None = None,
    limit: int = HOST_LIMIT,
    reentrant: bool = False,
    when: When | None = None,
    by_rows: bool = False,
    blocks: bool = False,
    alone_from: int | None = None,
    available: Callable[[], bool] | None = None,
    draws: bool = False,
    singly: bool = False,
) -> None:
    """Adds a kernel.

    Args:
      op: the operation, or its name.
      function: see the module's text.
      kind: "host" or "compiled".
      device: a device type ("CPU", "GPU"), or None for all.
      types: for each type attribute it is limited to, the dtypes.
      limit: elements of all inputs up to which this host kernel is preferred where a compiled one
        exists too.
      reentrant: it runs user code, or waits.
      when: `when(attrs, *inputs)` says whether it serves inputs of these shapes; all when None.
        Its function must want a context where the kernel next in line does.
      by_rows: of a variable it reads, or changes, only the rows that its other inputs name, so that
        a few are read on the host however large the variable is, and those of an array that the
        host has and nobody else refers to are changed there.
      blocks: it waits for what other operations of its step may do, so nothing that does not
        depend on it may be made to wait for it. Then it is reentrant too.
      alone_from: elements of an input or output from which a plan on a CPU takes the operation out
        of its region to run this host kernel, because XLA's code takes several times as long.
      available: says whether it can run in this process at all: its library may be missing. It is
        asked when a kernel is selected, for the first call with some dtypes and attributes.
      draws: this host kernel of an operation with effects draws numbers, or moves a generator's
        state on, and does nothing else. It does so when all its checks are made.
      singly: this host kernel serves single calls up to `limit` alone, beside a compiled one: no
        plan runs it, nor does it take sizes that are new. It may raise `TooMuchWork`.
    """
    name = op if isinstance(op, str) else op.name
    code = getattr(function, "__code__", None)
    parameters = code.co_varnames[: code.co_argcount] if code is not None else ()
    wants_context = parameters[:1] == ("ctx",)
    wants_namespace = parameters[int(wants_context) :][:1] == ("xp",)
    attr_names = (
        code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        if code
        else ()
    )
    constraint = tuple((n, tuple(as_dtype(t) for t in ts)) for n, ts in (types or {}).items())
    made = Kernel(
        name,
        function,
        kind,
        device,
        constraint,
        limit,
        reentrant or blocks,
        wants_context,
        wants_namespace,
        attr_names,
        when,
        by_rows=by_rows,
        blocks=blocks,
        draws=draws,
        alone_from=alone_from,
        available=available,
        singly=singly,
    )
    _kernels.setdefault(name, []).append(made)


def host_kernel(
    op: OpDef | str, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: registers a host kernel.

    Args:
      op: an operation, or the name of one.
      **options: as for `register_kernel`.
    """
    return _decorator(op, ("host",), options)


def compiled_kernel(
    op: OpDef | str, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: registers a compiled kernel.

    Args:
      op: an operation, or the name of one.
      **options: as for `register_kernel`.
    """
    return _decorator(op, ("compiled",), options)


def kernel(op: OpDef | str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: registers a function of `xp` as host and as compiled kernel.

    Args:
      op: an operation, or the name of one.
      **options: as for `register_kernel`.
    """
    return _decorator(op, ("host", "compiled"), options)


def _decorator(
    op: OpDef | str, kinds: tuple[str, ...], options: dict[str, Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in kinds:
            register_kernel(op, function, kind=kind, **options)
        return function

    return register


class TooMuchWork(Exception):
    """What a kernel for single calls of little work raises where the compiled one is to run."""


def select(
    op_name: str, kind: str, device: str, attrs: dict[str, Any], singly: bool = False
) -> Kernel | None:
    """The most specific kernel, the latest among equals; None when none fits.

    `singly`: for a single call, which kernels serve that are for such calls alone.

    A kernel for some inputs comes with the one that serves the others; it needs one, and is asked
    before one for all inputs that is as specific.
    """
    load, dtype = _late.get(op_name, (None, None))
    if load is not None and (dtype is None or any(value is dtype for value in attrs.values())):
        load()
    known = [k for k in _kernels.get(op_name, ()) if singly or not k.singly]
    fitting = [k for k in known if k.fits(kind, device, attrs)]
    chosen: Kernel | None = None
    for each in sorted(fitting, key=lambda k: (k.specificity, k.when is not None)):
        if each.when is None:
            chosen = each
        elif chosen is not None:
            chosen = replace(each, otherwise=chosen)
    return chosen


def add_late_kernels(
    op_names: Sequence[str], load: Callable[[], None], dtype: DType | None = None
) -> None:
    """Says what imports more kernels of operations, when one is first selected.

    So a module may have kernels for operations of another, which does not import it.

    Args:
      op_names: the operations.
      load: registers the kernels; may be called again.
      dtype: the dtype that they are for: others select without them.
    """
    _late.update(dict.fromkeys(op_names, (load, dtype)))


def kernels_of(op_name: str) -> tuple[Kernel, ...]:
    """All kernels of an operation."""
    return tuple(_kernels.get(op_name, ()))


class NoKernel(LookupError):
    """No kernel serves an operation on a device: eager calls and plans make their error of it."""


def missing_kernel(op_name: str, device: str, attrs: dict[str, Any]) -> str:
    """The message for an operation that no kernel serves, listing those there are."""
    known = kernels_of(op_name)
    listing = "\n".join(f"  {k.describe()}" for k in known) or "  <no registered kernels>"
    types = {n: v for n, v in attrs.items() if isinstance(v, DType)}
    wanted = ", ".join(f"{n}={t.name}" for n, t in types.items())
    way_out = "Cast the inputs to one of these types, or register" if known else "Register"
    return (
        f"Could not find a kernel of op {op_name} for device {device} and types ({wanted}). "
        f"Registered:\n{listing}\n{way_out} a kernel with penstock.library.register_kernel."
    )


def bind(op: OpDef, chosen: Kernel, attrs: dict[str, Any]) -> Callable[..., Any]:
    """The kernel with its attributes fixed: takes `ctx` when it wants one, then the flat inputs."""
    if chosen.when is not None and chosen.otherwise is not None:
        return _bind_either(op, chosen, chosen.when, chosen.otherwise, attrs)
    function, namespace = chosen.function, np if chosen.kind == "host" else jnp
    wanted = {name: attrs[name] for name in chosen.attr_names}
    groups = input_groups(op, attrs)
    if not wanted and not chosen.wants_namespace and groups is None:
        return function
    head: tuple[Any, ...] = (namespace,) if chosen.wants_namespace else ()
    if chosen.wants_context:
        return lambda ctx, *inputs: function(ctx, *head, *regroup(inputs, groups), **wanted)
    if groups is None:
        return _bind_plain(function, head, wanted)
    return lambda *inputs: function(*head, *regroup(inputs, groups), **wanted)


def _bind_either(
    op: OpDef, chosen: Kernel, when: When, otherwise: Kernel, attrs: dict[str, Any]
) -> Callable[..., Any]:
    """The kernel for some inputs, or the next in line, as the inputs of each call say."""
    special = bind(op, replace(chosen, when=None, otherwise=None), attrs)
    general = bind(op, otherwise, attrs)
    if not chosen.wants_context:
        assert not otherwise.wants_context, f"{chosen.describe()}: it must want a context"
        return lambda *inputs: (special if when(attrs, *inputs) else general)(*inputs)

    def run(ctx: Any, *inputs: Any) -> Any:
        if when(attrs, *inputs):
            return special(ctx, *inputs)
        return general(ctx, *inputs) if otherwise.wants_context else general(*inputs)

    return run


def _bind_plain(
    function: Callable[..., Any], head: tuple[Any, ...], wanted: dict[str, Any]
) -> Callable[..., Any]:
    if head:
        xp = head[0]
        return lambda *inputs: function(xp, *inputs, **wanted)
    return lambda *inputs: function(*inputs, **wanted)


def input_groups(op: OpDef, attrs: dict[str, Any]) -> tuple[int | None, ...] | None:
    """For each input its number of tensors, None for a single one; None when no input is a list."""
    if not any(arg.is_list for arg in op.inputs):
        return None
    return tuple(
        (
            attrs[arg.number_attr]
            if arg.number_attr
            else len(attrs[arg.type_list_attr])
            if arg.type_list_attr
            else None
        )
        for arg in op.inputs
    )


def regroup(flat: Sequence[Any], groups: tuple[int | None, ...] | None) -> list[Any]:
    """Flat inputs as the operation's arguments: lists where an argument is a list."""
    if groups is None:
        return list(flat)
    result: list[Any] = []
    position = 0
    for count in groups:
        if count is None:
            result.append(flat[position])
            position += 1
        else:
            result.append(list(flat[position : position + count]))
            position += count
    return result


# ---- running host kernels without NumPy's warnings -----------------------------------------------


class _Quiet(threading.local):
    """A context of this thread in which NumPy's floating-point warnings are off."""

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


quiet = (
    _Quiet()
)  # quiet.run(function, *args): cheaper than np.errstate; not for code that may call it again


class KernelContext:
    """What a kernel may ask of its surroundings. Traced regions' subclass records checks.

    Args:
      op_name: the type of the operation.
      attrs: its attributes.
      resources: the manager of the state that operations name.
      device: the full name of the device, "" for the first CPU.
      step: the step that runs, None eagerly.
      graph: the graph that the operation is part of, None eagerly.
    """

    uncompiled: Any = None  # how long bodies that the kernel runs are not worth compiling either

    def __init__(
        self,
        op_name: str,
        attrs: dict[str, Any],
        resources: Any,
        device: str = "",
        step: Any = None,
        graph: Any = None,
    ) -> None:
        self.op_name = op_name
        self.attrs = attrs
        self.resources = resources
        self.device = device
        self.step = step
        self.graph = graph  # that the operation is part of; None eagerly and in toy programs

    def check(self, ok: Any, error: ErrorClass, message: Callable[..., str], *values: Any) -> None:
        """Fails the step unless a condition holds.

        Args:
          ok: bool[].
          error: the class of the error.
          message: `message(*values)` is its text.
          *values: arrays that the text shows.

        Raises:
          OpError: of the class given; from a compiled kernel when the step has run.
        """
        if not bool(ok):
            raise error(None, None, message(*values))
