"""The parameters of a Python function: binding arguments to them, and their input signature."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any


class Parameters:
    """The parameters of a Python function, for binding calls fast."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None
        kinds = inspect.Parameter
        parameters = list(self.signature.parameters.values()) if self.signature is not None else []
        self.names = [p.name for p in parameters]
        self._variadic = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
        self.positional = sum(
            p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.POSITIONAL_ONLY) for p in parameters
        )
        self.simple = self.signature is not None and self.positional == len(parameters)
        self.required = sum(p.default is kinds.empty for p in parameters)
        self.defaults = {p.name: p.default for p in parameters if p.default is not kinds.empty}

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with keywords moved to their position and defaults filled in.

        Raises:
          TypeError: the arguments do not fit the parameters.
        """
        if self.signature is None:
            return args, kwargs
        if self.simple and not kwargs and len(args) == len(self.names):
            return args, kwargs
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as problem:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{problem}`. Received args: {args}"
                f" and kwargs: {kwargs} for signature: {self.text()}."
            ) from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def names_of(self, count: int) -> list[str]:
        """The names of so many positional arguments; those of `*args` are numbered."""
        if not self._variadic:
            listed = self.names or ["args"]
            return [listed[min(i, len(listed) - 1)] for i in range(count)]
        rest = [f"{self.names[self.positional]}_{i}" for i in range(count - self.positional)]
        return [*self.names[: min(count, self.positional)], *rest]

    def text(self) -> str:
        """The parameters as the user wrote them, in one line."""
        return "(unknown)" if self.signature is None else str(self.signature)

    def check_signature(self, signature: Sequence[Any]) -> None:
        """Checks that an input signature has a type for each parameter that needs one.

        Raises:
          TypeError: it has too few or too many.
        """
        if self.signature is None:
            return
        kinds, empty = inspect.Parameter, inspect.Parameter.empty
        known = list(self.signature.parameters.values())
        for p in known:
            if p.kind is kinds.KEYWORD_ONLY and p.default is empty:
                raise TypeError(
                    f"Since input_signature is defined, keyword-only parameter `{p.name}` must have"
                    f" a default value; got {self.text()}. Give it one, or make it positional."
                )
        listed = [
            p for p in known if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]
        for p in listed[len(signature) :]:
            if p.default is empty:
                raise TypeError(
                    f"input_signature missing type constraint for {p.name}: expected one for each"
                    f" parameter without a default in {self.text()}, got {len(signature)}. Add a"
                    " TensorSpec for it."
                )
        extra = len(signature) - len(listed)
        if extra > 0 and not any(p.kind is kinds.VAR_POSITIONAL for p in known):
            raise TypeError(
                f"input_signature contains {extra} extra type constraints: expected at most"
                f" {len(listed)} for {self.text()}, got {len(signature)}. Drop the last ones."
            )
