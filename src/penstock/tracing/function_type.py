"""`FunctionType`: the parameters of a function with their types, its result, and its captures.

`trace_type` gives the type of a value or of a nest: specs stand for tensors, `Literal` for Python
values, `Reference` for objects told apart by identity. `repr` of a function type is the text that
`pretty_printed_signature` gives, `str` its one-line form.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.tracing.signature import Opaque
from penstock.types.tensor_spec import TensorSpec
from penstock.types.trace_type import TraceType
from penstock.types.type_spec import TypeSpec
from penstock.util import nest


class _Default:
    """Stands for a default value in a function type."""

    def __repr__(self) -> str:
        return "<captured_default_value>"


CAPTURED_DEFAULT = _Default()


class Literal(TraceType):
    """The type of one Python value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def is_subtype_of(self, other: Any) -> bool:
        """Whether the other is of the same value."""
        return bool(self == other)

    def most_specific_common_supertype(self, others: Sequence[Any]) -> "Literal | None":
        """This type, when all others equal it."""
        return self if all(self == o for o in others) else None

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """The value."""
        return self.value

    def cast(self, value: Any, cast_context: Any) -> Any:
        """The value, when it is equal.

        Raises:
          TypeError: it is another.
        """
        if not bool(value == self.value):
            raise TypeError(f"Can not cast {value!r} to {self!r}")
        return self.value

    def __hash__(self) -> int:
        return hash(("Literal", self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.value == other.value

    def __repr__(self) -> str:
        return f"Literal[{self.value!r}]"


class Reference(Literal):
    """The type of one object, told apart by identity; it does not keep the object alive."""

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """The object; None when it is gone."""
        return self.value.value

    def __repr__(self) -> str:
        return f"Reference[{self.value!r}]"


_NAMES: dict[type, str] = {list: "List", tuple: "Tuple", dict: "Dict"}
_STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


class Structure(TraceType):
    """The type of a nest: its class and the types of its parts by name or position."""

    def __init__(self, kind: type, parts: Mapping[Any, Any] | Sequence[Any]) -> None:
        self.kind = kind
        self.named = isinstance(parts, Mapping)
        self.parts: tuple[Any, ...] = (
            tuple(parts.items()) if isinstance(parts, Mapping) else tuple(enumerate(parts))
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Whether the other has the same parts and serves each of them."""
        return self._matches(other) and all(
            a.is_subtype_of(b) for (_, a), (_, b) in zip(self.parts, other.parts, strict=True)
        )

    def _matches(self, other: Any) -> bool:
        return (
            isinstance(other, Structure)
            and self.kind is other.kind
            and [k for k, _ in self.parts] == [k for k, _ in other.parts]
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> "Structure | None":
        """The same structure of the parts' common types."""
        if not all(self._matches(o) for o in others):
            return None
        made = {}
        for i, (key, part) in enumerate(self.parts):
            common = part.most_specific_common_supertype([o.parts[i][1] for o in others])
            if common is None:
                return None
            made[key] = common
        return Structure(self.kind, made if self.named else list(made.values()))

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """The structure of the parts' placeholders."""
        parts = {k: part.placeholder_value(placeholder_context) for k, part in self.parts}
        if hasattr(self.kind, "_fields"):
            return self.kind(**parts)
        kind: Any = self.kind
        return kind(parts if self.named else parts.values())

    def flatten(self) -> list[Any]:
        """The specs of the tensors inside."""
        return [spec for _, part in self.parts for spec in part.flatten()]

    def __hash__(self) -> int:
        return hash((self.kind, self.parts))

    def __eq__(self, other: object) -> bool:
        return self._matches(other) and self.parts == getattr(other, "parts", None)

    def __repr__(self) -> str:
        name = _NAMES.get(self.kind, self.kind.__name__)
        inside = [f"[{k!r}, {part!r}]" if self.named else repr(part) for k, part in self.parts]
        return f"{name}[{', '.join(inside)}]"


def trace_type(value: Any) -> Any:
    """The type of a value or nest, in which specs stand for tensors."""
    if isinstance(value, (TypeSpec, TraceType)):
        return value
    if isinstance(value, Opaque):
        return Reference(value)
    if isinstance(value, Mapping):
        return Structure(type(value), {k: trace_type(v) for k, v in value.items()})
    if hasattr(value, "_fields"):
        return Structure(
            type(value), {n: trace_type(v) for n, v in zip(value._fields, value, strict=True)}
        )
    if isinstance(value, (list, tuple)):
        return Structure(type(value), [trace_type(v) for v in value])
    if nest.is_nested(value):
        return Structure(type(value), [trace_type(v) for v in nest.flatten(value)])
    return Literal(value)


def nameless(structure: Any) -> Any:
    """The nest with specs that have no names."""
    return nest.map_structure(
        lambda leaf: leaf._without_tensor_names() if isinstance(leaf, TypeSpec) else leaf, structure
    )


class Parameter(inspect.Parameter):
    """One parameter and its type.

    Args:
      name: its name.
      kind: one of `inspect.Parameter`'s kinds.
      optional: whether it has a default.
      type_constraint: its type, or None when any serves.
    """

    def __init__(self, name: str, kind: Any, optional: bool, type_constraint: Any = None) -> None:
        default = CAPTURED_DEFAULT if optional else inspect.Parameter.empty
        annotation = inspect.Parameter.empty if type_constraint is None else type_constraint
        super().__init__(name, kind, default=default, annotation=annotation)

    @property
    def optional(self) -> bool:
        """Whether it has a default."""
        return self.default is not inspect.Parameter.empty

    @property
    def type_constraint(self) -> Any:
        """Its type, or None when any serves."""
        return None if self.annotation is inspect.Parameter.empty else self.annotation

    def __str__(self) -> str:
        text = _STARS.get(self.kind, "") + self.name
        if self.type_constraint is None:
            return f"{text}={self.default!r}" if self.optional else text
        text = f"{text}: {self.type_constraint!r}"
        return f"{text} = {self.default!r}" if self.optional else text

    def __repr__(self) -> str:
        return (
            f"Parameter(name={self.name}, kind={self.kind.name}, optional={self.optional!r},"
            f" type_constraint={self.type_constraint!r})"
        )


class FunctionType(inspect.Signature):
    """The type of a function.

    Args:
      parameters: a sequence of `Parameter`s.
      captures: by a number that tells captured values apart, their types.
      output: the type of the result, or None when it is not known.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter] = (),
        captures: Mapping[int, Any] | None = None,
        output: Any = None,
    ) -> None:
        annotation = inspect.Signature.empty if output is None else output
        super().__init__(list(parameters), return_annotation=annotation)
        self._captured = dict(captures or {})

    @classmethod
    def from_callable(
        cls, obj: Callable[..., Any], *, follow_wrapped: bool = True, **unused: Any
    ) -> "FunctionType":
        """The type of a Python function, without constraints."""
        signature = inspect.signature(obj, follow_wrapped=follow_wrapped)
        return cls.of_parameters(signature)

    @classmethod
    def of_parameters(
        cls, signature: inspect.Signature | None, types: Sequence[Any] | None = None
    ) -> "FunctionType":
        """The type of a signature whose first parameters have these types, and others defaults."""
        parameters = list(signature.parameters.values()) if signature is not None else []
        empty = inspect.Parameter.empty
        made = []
        for i, p in enumerate(parameters):
            constraint = None
            if types is not None:
                if p.kind is p.VAR_POSITIONAL:
                    made += [
                        Parameter(f"{p.name}_{j}", p.POSITIONAL_ONLY, False, t)
                        for j, t in enumerate(types[i:])
                    ]
                    continue
                if i < len(types):
                    constraint = types[i]
                elif p.default is not empty:
                    constraint = trace_type(p.default)
                else:
                    continue
            optional = p.default is not empty and not (types is not None and i < len(types))
            made.append(Parameter(p.name, p.kind, optional, constraint))
        if any(p.kind is p.POSITIONAL_ONLY for p in made):
            made = [
                p
                if p.kind is not p.POSITIONAL_OR_KEYWORD
                else Parameter(p.name, p.POSITIONAL_ONLY, p.optional, p.type_constraint)
                for p in made
            ]
        return cls(made)

    @property
    def output(self) -> Any:
        """The type of the result, or None when it is not known."""
        found = self.return_annotation
        return None if found is inspect.Signature.empty else found

    @property
    def captures(self) -> dict[int, Any]:
        """The types of the captured values."""
        return dict(self._captured)

    @property
    def flat_inputs(self) -> list[Any]:
        """The specs of the tensors among the arguments."""
        types = [p.type_constraint for p in self.parameters.values()]  # type: ignore[attr-defined]
        return [spec for t in types if t is not None for spec in _flat(t)]

    @property
    def flat_outputs(self) -> list[Any]:
        """The specs of the tensors in the result."""
        return [] if self.output is None else _flat(self.output)

    @property
    def flat_captures(self) -> list[Any]:
        """The specs of the captured values."""
        return [spec for t in self._captured.values() for spec in _flat(t)]

    def __repr__(self) -> str:
        lines = ["Input Parameters:"]
        lines += [
            f"  {p.name} ({p.kind.name}): {p.type_constraint!r}"  # type: ignore[attr-defined]
            for p in self.parameters.values()
        ] or ["  None"]
        lines += ["Output Type:", f"  {self.output!r}", "Captures:"]
        lines += [f"  {number}: {t!r}" for number, t in self._captured.items()] or ["  None"]
        return "\n".join(lines)

    def __str__(self) -> str:
        result = "" if self.output is None else f" -> {self.output!r}"
        return f"({', '.join(self._texts())}){result}"

    def _texts(self) -> list[str]:
        texts: list[str] = []
        kinds = inspect.Parameter
        parameters = list(self.parameters.values())
        for i, p in enumerate(parameters):
            before = parameters[i - 1].kind if i else None
            if before is kinds.POSITIONAL_ONLY and p.kind is not kinds.POSITIONAL_ONLY:
                texts.append("/")
            if p.kind is kinds.KEYWORD_ONLY and before not in (
                kinds.KEYWORD_ONLY,
                kinds.VAR_POSITIONAL,
            ):
                texts.append("*")
            texts.append(str(p))
        if parameters and parameters[-1].kind is kinds.POSITIONAL_ONLY:
            texts.append("/")
        return texts


def _flat(kind: Any) -> list[Any]:
    return [kind] if isinstance(kind, TensorSpec) else list(kind.flatten())


def concrete_type(
    signature: inspect.Signature | None,
    arguments: tuple[Any, dict[str, Any]],
    output: Any,
    captures: Mapping[int, Any],
) -> FunctionType:
    """The type of a trace.

    Args:
      signature: that of the Python function, or None.
      arguments: its arguments, bound, with specs for tensors.
      output: the result, with specs for tensors.
      captures: by number, the specs of the captured values.
    """
    args, kwargs = arguments
    kinds = inspect.Parameter
    known = list(signature.parameters.values()) if signature is not None else []
    listed = [p for p in known if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in known if p.kind is kinds.VAR_POSITIONAL), None)
    made = []
    for i, value in enumerate(args):
        name = listed[i].name if i < len(listed) else f"{rest or 'args'}_{i - len(listed)}"
        kind = kinds.POSITIONAL_ONLY if rest is not None or i >= len(listed) else listed[i].kind
        made.append(Parameter(name, kind, False, trace_type(value)))
    made += [Parameter(n, kinds.KEYWORD_ONLY, False, trace_type(v)) for n, v in kwargs.items()]
    return FunctionType(made, captures, trace_type(output))


class FunctionSpec:
    """What a `tf.function` knows of its Python function.

    Args:
      signature: that of the Python function, or None.
      input_signature: the only signature allowed, or None.
      function_type: its type.
      name: its name.
      jit_compile: as given to `tf.function`.
    """

    def __init__(
        self,
        signature: inspect.Signature | None,
        input_signature: tuple[Any, ...] | None,
        function_type: FunctionType,
        name: str,
        jit_compile: bool | None,
    ) -> None:
        self.signature = signature
        self.input_signature = input_signature
        self.function_type = function_type
        self.name = name
        self.jit_compile = jit_compile

    @property
    def is_pure(self) -> bool:
        """Whether the function is known to have no effects: never."""
        return False

    @property
    def fullargspec(self) -> inspect.FullArgSpec:
        """The parameters in the older form of `inspect`."""
        kinds, empty = inspect.Parameter, inspect.Parameter.empty
        known = list(self.signature.parameters.values()) if self.signature is not None else []
        listed = [
            p for p in known if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]
        only = [p for p in known if p.kind is kinds.KEYWORD_ONLY]
        return inspect.FullArgSpec(
            [p.name for p in listed],
            next((p.name for p in known if p.kind is kinds.VAR_POSITIONAL), None),
            next((p.name for p in known if p.kind is kinds.VAR_KEYWORD), None),
            tuple(p.default for p in listed if p.default is not empty) or None,
            [p.name for p in only],
            {p.name: p.default for p in only if p.default is not empty} or None,
            {},
        )

    @property
    def arg_names(self) -> list[str]:
        """The names of the positional parameters."""
        return list(self.fullargspec.args)

    @property
    def default_values(self) -> dict[str, Any]:
        """The defaults by the names of their parameters."""
        known = self.signature.parameters.values() if self.signature is not None else ()
        return {p.name: p.default for p in known if p.default is not inspect.Parameter.empty}

    @property
    def flat_input_signature(self) -> tuple[Any, ...]:
        """The specs of the tensors of `input_signature`; (None,) when there is none."""
        if self.input_signature is None:
            return (None,)
        return tuple(nest.flatten(self.input_signature, expand_composites=True))

    def signature_summary(self, default_values: bool = False) -> str:
        """The function type as text, with the defaults on request."""
        if not default_values:
            return repr(self.function_type)
        lines = [f"  {name}: {value!r}" for name, value in self.default_values.items()]
        return "\n".join([repr(self.function_type), "Defaults:", *(lines or ["  None"])])
