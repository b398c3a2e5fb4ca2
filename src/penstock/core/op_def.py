"""Definitions of operations.

An `OpDef` says everything about a kind of operation that does not depend on where it runs: name,
inputs, outputs, attributes with types and defaults, shape rule, gradient, effects on resources,
documentation. Its interface is one line of text,

    MatMul(a: T, b: T; transpose_a: bool = False, T: {half, float}) -> product: T

parsed when it is first looked at. Inputs come before the semicolon, attributes after it. `xs: N*T`
is a list of N tensors of type T, `xs: [Ts]` a list whose types are the attribute Ts. `define_op`
registers; `lookup` finds. Kernels and gradients attach to the OpDef through its decorators and live
in their own registries.
"""

import ast
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock import errors
from penstock.types import dtypes
from penstock.types.dtypes import DType

REAL = "float double int32 uint8 int16 int8 int64 bfloat16 uint16 half uint32 uint64"
QUANTIZED = "qint8 quint8 qint32 qint16 quint16"
TYPE_GROUPS = {
    "numbertype": f"{REAL} complex64 complex128 qint8 quint8 qint32 qint16 quint16",
    "realnumbertype": REAL,
    "quantizedtype": QUANTIZED,
}
TYPE_NAMES = {"float": "float32", "double": "float64", "half": "float16"}
ATTR_KINDS = ("string", "int", "float", "bool", "type", "shape", "tensor", "func")


class _Required:
    """The default of an attribute that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True, slots=True)
class ArgDef:
    """An input or output: its dtype is fixed, or given by a type attribute; it may be a list."""

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    number_attr: str | None = None
    type_list_attr: str | None = None
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        """Whether the argument is a list of tensors."""
        return self.number_attr is not None or self.type_list_attr is not None

    @property
    def type(self) -> int:
        """The number of its dtype, as in an OpDef message; 0 when an attribute says it."""
        return 0 if self.dtype is None else self.dtype.as_datatype_enum


@dataclass(frozen=True, slots=True)
class AttrDef:
    """An attribute: kind ("int", "list(shape)", ...), default, lower bound, allowed values."""

    name: str
    kind: str
    default: Any = REQUIRED  # any: what the kind says
    minimum: int | None = None
    allowed: tuple[Any, ...] | None = None

    @property
    def type(self) -> str:
        """The kind, under the name that it has in an OpDef message."""
        return self.kind

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return self.kind.startswith("list(")

    @property
    def element_kind(self) -> str:
        """The kind of one element of a list, or the kind itself."""
        return self.kind[5:-1] if self.is_list else self.kind


class SingleInput(NamedTuple):
    """What an operation says of an input that is no list.

    Attributes:
      kind: its dtype, or the attribute that says it.
      default: the attribute's own, if that is a dtype.
      known: whether kernels read its value.
    """

    kind: Any  # a DType or a str
    default: DType | None
    known: bool


_PARSED = {"inputs", "outputs", "attrs", "single_inputs", "type_attrs", "float_attrs"}  # lazily


class OpDef:
    """The definition of a kind of operation, by `define_op`; only decorators attach to it."""

    __slots__ = (
        "any_resource", "attrs", "calls", "doc", "effect_rule", "effects", "fallible",
        "float_attrs", "gradient_function", "gradient_reason", "gradient_refused",
        "host_checks",
        "host_inputs", "inputs", "name", "numbers", "outputs", "prepared", "shape_rule",
        "single_inputs", "standard_form", "stateful", "step_input", "text", "type_attrs",
    )  # fmt: skip

    inputs: tuple[ArgDef, ...]
    outputs: tuple[ArgDef, ...]
    attrs: dict[str, AttrDef]
    single_inputs: tuple[SingleInput, ...]  # () where some are lists
    type_attrs: frozenset[str]  # attributes that say the dtypes of inputs
    float_attrs: tuple[str, ...]  # attributes that are floats, or lists of them

    def __init__(
        self,
        text: str,
        *,
        shape: Callable[..., Any] | None,
        stateful: bool,
        effects: dict[str, str] | None,
        any_resource: bool,
        host_inputs: Iterable[str],
        step_input: Callable[..., Any] | None,
        fallible: bool,
        doc: str,
    ) -> None:
        self.text = text
        self.name = text[: text.index("(")].strip()
        self.shape_rule = shape
        self.stateful = stateful
        self.effects = effects or {}
        self.any_resource = any_resource
        self.host_inputs = frozenset(host_inputs)
        self.step_input = step_input
        self.fallible = fallible
        self.doc = doc
        self.gradient_function: Callable[..., Any] | None = None
        self.gradient_reason: str | None = None
        self.gradient_refused = False  # whether asking for one is an error
        self.prepared: dict[Any, Any] = {}  # eager dispatch: (dtypes, attrs) -> PreparedOp
        self.numbers: dict[Any, Any] = {}  # (dtypes, classes) of inputs -> how numbers convert
        self.calls = False  # whether an attribute names a function that the operation runs
        self.effect_rule: Callable[[dict[str, Any]], dict[int, str]] | None = None
        self.host_checks: Callable[..., None] | None = None
        self.standard_form: Any = None  # penstock.graph.standard_forms: what files have instead

    def __getattr__(self, name: str) -> Any:
        if name not in _PARSED:
            raise AttributeError(name)
        self.inputs, self.outputs, self.attrs = parse_signature(self.text)
        plain = not any(a.is_list for a in self.inputs)
        self.single_inputs = tuple(map(self._single, self.inputs)) if plain else ()
        self.type_attrs = frozenset([a.type_attr for a in self.inputs if a.type_attr])
        floats = [n for n, a in self.attrs.items() if a.element_kind == "float"]
        self.float_attrs = tuple(floats)
        return getattr(self, name)

    def _single(self, arg: ArgDef) -> SingleInput:
        default = self.attrs[arg.type_attr].default if arg.type_attr else None
        own = default if isinstance(default, DType) else None
        return SingleInput(arg.dtype or arg.type_attr, own, arg.name in self.host_inputs)

    @property
    def input_arg(self) -> tuple[ArgDef, ...]:
        """`inputs`, under the name that they have in an OpDef message."""
        return self.inputs

    @property
    def output_arg(self) -> tuple[ArgDef, ...]:
        """`outputs`, under the name that they have in an OpDef message."""
        return self.outputs

    @property
    def attr(self) -> tuple[AttrDef, ...]:
        """The attributes in their order, under the name that they have in an OpDef message."""
        return tuple(self.attrs.values())

    @property
    def is_stateful(self) -> bool:
        """`stateful`, under the name that it has in an OpDef message."""
        return self.stateful

    def __repr__(self) -> str:
        return f"OpDef({self.text!r})"

    def __reduce__(self) -> Any:
        return lookup, (self.name,)

    def effects_at(self, counts: Sequence[int], attrs: dict[str, Any]) -> dict[int, str]:
        """The effect on each flat input that the operation touches.

        "r", "w", "rw"; with a "?" before it where it depends on values whether it does.
        """
        found = self.effect_rule(attrs) if self.effect_rule is not None else {}
        position = 0
        for arg, count in zip(self.inputs, counts, strict=True):
            effect = self.effects.get(arg.name)
            if effect is not None:
                found.update(dict.fromkeys(range(position, position + count), effect))
            position += count
        return found

    def gradient(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: `function(op, *grads)` returns the gradient with respect to each input."""
        self.gradient_function = function
        self.gradient_reason = None
        return function

    def checked_on_host(self, function: Callable[..., None]) -> Callable[..., None]:
        """Decorator: `function(ctx, *inputs)` makes every check of the compiled kernels.

        An eager call whose inputs are in the host's memory makes them before it starts, and runs
        the kernel without checks: the caller need not wait for what they would tell. Variables come
        as their arrays, whose numbers may not be looked at.
        """
        self.host_checks = function
        return function

    def not_differentiable(self, reason: str) -> "OpDef":
        """States that no gradient flows through the operation, and why: asked for, it is None."""
        self.gradient_reason, self.gradient_refused = reason, False
        return self

    def without_gradient(self, reason: str) -> "OpDef":
        """States that the operation has no gradient, and why: to ask for it is a LookupError."""
        self.gradient_reason, self.gradient_refused = reason, True
        return self

    @property
    def has_gradient_record(self) -> bool:
        """Whether the operation has a gradient or says why it has none."""
        return self.gradient_function is not None or self.gradient_reason is not None


_ops: dict[str, OpDef] = {}
_unserved: dict[str, OpDef] = {}  # of other devices: graphs may hold them, nothing here runs them
_loading = threading.RLock()  # guards: _loaders while they run
_loaders: list[
    Callable[[], None]
] = []  # each registers more operations; called once, when a name is not found


def define_op(
    text: str,
    *,
    shape: Callable[..., Any] | None = None,
    stateful: bool = False,
    effects: dict[str, str] | None = None,
    any_resource: bool = False,
    host_inputs: Iterable[str] = (),
    step_input: Callable[..., Any] | None = None,
    fallible: bool = False,
    doc: str = "",
) -> OpDef:
    """Registers an operation.

    Args:
      text: the interface in one line, see the module's text.
      shape: the shape rule: takes a `ShapeContext`, returns the dimensions of each output (one
        tuple or None for a single output, a list for several).
      stateful: it has effects or its result differs between runs; never folded, shared or dropped
        by simplification.
      effects: for each resource input that the operation touches: "r", "w" (writes without reading)
        or "rw".
      any_resource: these need not be variables: the kernels look what they are. Others are refused
        before a kernel sees them.
      host_inputs: inputs whose values its compiled kernels must know while they are traced (shapes,
        axes).
      step_input: `function(context, attrs)`, run on the host once a step; its result comes first in
        the compiled kernel's inputs.
      fallible: its compiled kernels call `ctx.check`, so a region that holds it can fail.
      doc: one paragraph for the generated wrapper.

    Raises:
      AlreadyExistsError: an operation of this name is registered.
    """
    op = OpDef(
        text, shape=shape, stateful=stateful, effects=effects, any_resource=any_resource,
        host_inputs=host_inputs, step_input=step_input, fallible=fallible, doc=doc,
    )  # fmt: skip
    if op.name in _ops:
        raise errors.AlreadyExistsError(
            None, None, f"operation {op.name!r} is already registered as {_ops[op.name].text!r}"
        )
    _ops[op.name] = op
    return op


def lookup(name: str) -> OpDef:
    """The operation registered under `name`.

    Raises:
      NotFoundError: there is none.
    """
    op = find(name)
    if op is None:
        raise errors.NotFoundError(
            None,
            None,
            f"Op type not registered '{name}'. Expected one of {len(_ops)} registered operations; "
            "register it with define_op, or import the package that does.",
        )
    return op


def find(name: str) -> OpDef | None:
    """The operation registered under `name`, or None."""
    found = _ops.get(name)
    if found is None:
        with _loading:  # others that look for a name wait until it is there
            found = _load_until(name) or _unserved.get(name)
    return found


def define_unserved(text: str, *, stateful: bool) -> None:
    """Makes an operation known that only devices which this package does not serve run.

    It can be put into graphs and found in GraphDefs; where it is to run, there is no kernel for it.
    It does not count as registered, and `define_op` may still register one of its name.
    """
    op = OpDef(
        text, shape=None, stateful=stateful, effects=None, any_resource=False, host_inputs=(),
        step_input=None, fallible=False, doc="",
    )  # fmt: skip
    _unserved[op.name] = op.without_gradient("no device here runs it")


def unserved() -> dict[str, OpDef]:
    """The operations of `define_unserved` by name."""
    return dict(_unserved)


def _load_until(name: str) -> OpDef | None:
    """Runs the loaders that are left until one registers `name`."""
    found = _ops.get(name)
    while found is None and _loaders:
        loader = _loaders.pop()
        try:
            loader()
        except BaseException:  # a Ctrl-C too: it is asked again at the next name
            _loaders.append(loader)
            raise
        found = _ops.get(name)
    return found


def add_loader(loader: Callable[[], None]) -> None:
    """Registers a function that registers operations, called when a name is not found."""
    _loaders.append(loader)


def load_all() -> None:
    """Runs the loaders that are left: every operation of the installed packages is registered."""
    with _loading:
        _load_until("")


def registered() -> dict[str, OpDef]:
    """All registered operations by name."""
    return dict(_ops)


# ---- parsing -------------------------------------------------------------------------------------


def split_text(text: str, separator: str) -> list[str]:
    """Splits at separators outside of brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def parse_signature(text: str) -> tuple[tuple[ArgDef, ...], tuple[ArgDef, ...], dict[str, AttrDef]]:
    """Inputs, outputs and attributes of a one-line interface."""
    head, _, tail = text.partition("->")
    inner = head[head.index("(") + 1 : head.rindex(")")]
    sections = _split_sections(inner)
    attrs = {a.name: a for a in map(_parse_attr, split_text(sections[1], ","))}
    inputs = tuple(_parse_arg(a, attrs) for a in split_text(sections[0], ","))
    tail = tail.strip()
    if tail.startswith("(") and tail.endswith(")"):
        tail = tail[1:-1]
    outputs = tuple(_parse_arg(a, attrs) for a in split_text(tail, ","))
    return inputs, outputs, attrs


def _split_sections(inner: str) -> tuple[str, str]:
    if inner.lstrip().startswith(";"):
        return "", inner.lstrip()[1:]
    parts = split_text(inner, ";")
    return (parts[0] if parts else "", parts[1] if len(parts) > 1 else "")


def parse_type(name: str) -> DType:
    """A dtype by TensorFlow's short or long name."""
    return dtypes.as_dtype(TYPE_NAMES.get(name, name))


def _parse_arg(text: str, attrs: dict[str, AttrDef]) -> ArgDef:
    is_ref = text.startswith("ref ")
    name, _, kind = text.removeprefix("ref ").partition(":")
    name, kind = name.strip(), kind.strip()
    if kind.startswith("["):
        return ArgDef(name, type_list_attr=kind[1:-1].strip(), is_ref=is_ref)
    number = None
    if "*" in kind:
        number, _, kind = (part.strip() for part in kind.partition("*"))
    if kind in attrs:
        return ArgDef(name, type_attr=kind, number_attr=number, is_ref=is_ref)
    return ArgDef(name, dtype=parse_type(kind), number_attr=number, is_ref=is_ref)


def _parse_attr(text: str) -> AttrDef:
    name, _, rest = text.partition(":")
    rest, default = _take_default(rest.strip())
    minimum = None
    if ">=" in rest:
        rest, _, bound = rest.partition(">=")
        minimum = int(bound)
    kind, allowed = _parse_kind(rest.strip())
    return AttrDef(name.strip(), kind, _parse_default(kind, default), minimum, allowed)


def _take_default(rest: str) -> tuple[str, str | None]:
    depth, quote = 0, ""
    for i, c in enumerate(rest):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "=" and depth == 0 and (i == 0 or rest[i - 1] not in "<>"):
            return rest[:i].strip(), rest[i + 1 :].strip()
    return rest, None


def _parse_kind(text: str) -> tuple[str, tuple[Any, ...] | None]:
    if text.startswith("list(") and text.endswith(")"):
        kind, allowed = _parse_kind(text[5:-1].strip())
        return f"list({kind})", allowed
    if text in TYPE_GROUPS:
        return "type", tuple(parse_type(t) for t in TYPE_GROUPS[text].split())
    if text.startswith("{"):
        items = split_text(text[1:-1], ",")
        if items[0][0] in "'\"":
            return "string", tuple(ast.literal_eval(i) for i in items)
        names = [n for i in items for n in TYPE_GROUPS.get(i, i).split()]
        return "type", tuple(parse_type(n) for n in names)
    if text not in ATTR_KINDS:
        raise ValueError(
            f"unknown kind of attribute: {text!r}, expected one of {ATTR_KINDS}, a set or a list"
        )
    return text, None


def _parse_default(kind: str, text: str | None) -> Any:
    if text is None:
        return REQUIRED
    if kind.startswith("list("):
        return tuple(_parse_default(kind[5:-1], item) for item in split_text(text[1:-1], ","))
    if kind == "type":
        return parse_type(text)
    if kind == "shape":
        return (
            None
            if text == "?"
            else tuple(None if d == "?" else int(d) for d in split_text(text[1:-1], ","))
        )
    if kind == "float" and text in ("inf", "-inf", "nan"):
        return float(text)
    if kind == "func":
        return None if text in ("None", "''") else text.strip("'\"")
    return ast.literal_eval(text)
