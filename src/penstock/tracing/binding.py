"""Arguments of calls of a concrete function: structured as it was traced, or its flat tensors."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.tensor import EagerTensor, Tensor
from penstock.errors import InvalidArgumentError
from penstock.tracing.arguments import matched
from penstock.tracing.signature import Opaque
from penstock.tracing.variable_arguments import is_variable
from penstock.types.composite_specs import VariableSpec
from penstock.types.tensor_spec import DenseSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest

_MISSING = object()


class FlatSignature:
    """What a concrete function may be called with.

    Args:
      arguments: (args, kwargs) it was traced for, with specs for tensors.
      parameters: the names and kinds of these, in order.
      names: the names of the flat tensors.
      check: `check(i, value)` gives flat tensor i, or raises TypeError or InvalidArgumentError.
    """

    def __init__(
        self,
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        parameters: Sequence[inspect.Parameter],
        names: Sequence[str],
        check: Callable[[int, Any], Any],
    ) -> None:
        wanted = [*arguments[0], *arguments[1].values()]
        pairs = list(zip(parameters, wanted, strict=True))
        keyed = [pair for pair in pairs if pair[0].kind is inspect.Parameter.KEYWORD_ONLY]
        self._parameters = parameters
        # In the order of the flat tensors: keywords are traced sorted by name.
        self._pairs = pairs[: len(arguments[0])] + sorted(keyed, key=lambda pair: pair[0].name)
        self._names = list(names)
        self._check = check

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Any) -> list[Any]:
        """The flat tensors of a call.

        Raises:
          TypeError: the arguments fit neither the structured nor the flat signature.
        """
        if not kwargs and len(args) == len(self._names):
            for value in args:
                if value.__class__ is not EagerTensor:
                    break
            else:
                return [self._check(i, value) for i, value in enumerate(args)]
        try:
            return self._structured(args, kwargs)
        except (TypeError, InvalidArgumentError) as problem:
            first = problem
        try:
            return self._flat(args, kwargs)
        except TypeError as second:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{first}`. Received args: {args} and"
                f" kwargs: {kwargs} for signature: {signature}.\nFallback to flat signature also"
                f" failed due to: {second}. Call the tf.function itself to trace it for these."
            ) from None

    # ---- as the Python function is called --------------------------------------------------------

    def _structured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        positional = [p for p in self._parameters if p.kind is not p.KEYWORD_ONLY]
        if len(args) > len(positional):
            raise TypeError("too many positional arguments")
        given = dict(zip((p.name for p in positional), args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"multiple values for argument {name!r}")
            if not any(p.name == name for p in self._parameters):
                raise TypeError(f"got an unexpected keyword argument {name!r}")
            given[name] = value
        flat: list[Any] = []
        for parameter, wanted in self._pairs:
            value = given.get(parameter.name, _MISSING)
            if value is not _MISSING:
                self._take(wanted, value, flat)
            elif _has_tensors(wanted):
                raise TypeError(f"missing a required argument: {parameter.name!r}")
        return flat

    def _take(self, wanted: Any, value: Any, flat: list[Any]) -> None:
        """Appends the tensors of a value that must be as `wanted`."""
        for leaf, part in matched(wanted, value):
            if isinstance(leaf, DenseSpec):
                if isinstance(leaf, VariableSpec) and not is_variable(part):
                    raise TypeError(f"Can not cast {part!r} to {leaf}")
                flat.append(self._check(len(flat), part))
                continue
            kept = leaf.value if isinstance(leaf, Opaque) else leaf
            if kept is not part and (isinstance(part, Tensor) or not bool(kept == part)):
                raise TypeError(f"Can not cast {part!r} to Literal[{kept!r}]")

    # ---- flat tensors ----------------------------------------------------------------------------

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        values = [*args]
        if len(values) > len(self._names):
            values = nest.flatten(args, expand_composites=True)
        if len(values) > len(self._names):
            raise TypeError(f"it takes {len(self._names)} positional tensors, got {len(values)}")
        left = self._names[len(values) :]
        missing = [n for n in left if n not in kwargs]
        unknown = [n for n in kwargs if n not in left]
        if missing:
            raise TypeError(f"it is missing required arguments: {', '.join(missing)}")
        if unknown:
            raise TypeError(f"it got unexpected keyword arguments: {', '.join(unknown)}")
        values += [kwargs[n] for n in left]
        return [self._check(i, value) for i, value in enumerate(values)]


def _has_tensors(wanted: Any) -> bool:
    return any(isinstance(leaf, TypeSpec) for leaf in nest.flatten(wanted))
