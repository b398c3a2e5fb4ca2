"""`make_template`: a function whose calls share the variables that the first one made."""

from collections.abc import Callable
from typing import Any

from penstock.core.context import state
from penstock.graph.default_graph import get_default_graph
from penstock.ops.variable_scope import VariableScope, variable_scope
from penstock.ops.variable_store import VariableStore, keeping, new_eager_store
from penstock.ops.variables_v1 import GraphKeys


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> "Template":
    """A function that calls `func_` in one variable scope, so that its calls share variables.

    The first call makes the variables with `get_variable`; later ones find them. In eager mode the
    template holds them.

    Args:
      name_: the name of the scope, made unique.
      func_: a function that uses `compat.v1.get_variable`.
      create_scope_now_: whether the scope gets its name now, not at the first call.
      unique_name_: the name of the scope as it is, not made unique.
      custom_getter_: a custom getter for the scope.
      **kwargs: arguments that every call passes to `func_`.

    Raises:
      ValueError: there is no name, or `unique_name_` is given in eager mode.
    """
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class Template:
    """What `make_template` makes. Not thread-safe before its first call has ended."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool,
        unique_name: str | None,
        custom_getter: Any,
        arguments: dict[str, Any],
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        if unique_name is not None and state.graph is None:
            raise ValueError(
                "unique_name_ cannot be used when eager execution is enabled. Pass name_ alone: "
                "the template holds its variables."
            )
        self._name = name
        self._func = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._arguments = arguments
        self._scope: VariableScope | None = None
        self._store: VariableStore | None = None  # of the variables made in eager mode
        self._called = False
        if create_scope_now:
            with self._new_scope() as scope:
                self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function in the template's scope.

        Raises:
          ValueError: a later call makes variables that the first one did not.
        """
        if not self._called:
            self._store = new_eager_store()
        if self._scope is None:
            with self._new_scope() as scope, keeping(self._store):
                self._scope = scope
                return self._first(args, kwargs)
        with variable_scope(self._scope, reuse=self._called or None), keeping(self._store):
            return self._again(args, kwargs) if self._called else self._first(args, kwargs)

    def _new_scope(self) -> variable_scope:
        return variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter)

    def _first(self, args: Any, kwargs: Any) -> Any:
        result = self._func(*args, **{**self._arguments, **kwargs})
        self._called = True
        return result

    def _again(self, args: Any, kwargs: Any) -> Any:
        before = len(self._trainable())
        result = self._func(*args, **{**self._arguments, **kwargs})
        made = self._trainable()[before:]
        if made:
            raise ValueError(
                f"template '{self._name}': expected no new trainable variable after the first "
                f"call, got {', '.join(v.name for v in made)}. Use tf.compat.v1.get_variable, not "
                "tf.Variable, in the function."
            )
        return result

    def _trainable(self) -> list[Any]:
        """All trainable variables, of the scope or not, that a graph or the template holds."""
        if self._store is not None:
            return self.trainable_variables
        return list(get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES))

    @property
    def name(self) -> str:
        """The name that was asked for."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope; None before the first call."""
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        """The old name of `variable_scope`."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with a trailing slash; None before the first call."""
        return None if self._scope is None else _with_slash(self._scope.name)

    @property
    def variables(self) -> list[Any]:
        """Global and local variables of the scope."""
        return self.global_variables + self.local_variables

    weights = variables

    @property
    def global_variables(self) -> list[Any]:
        """The scope's variables in GLOBAL_VARIABLES."""
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """The scope's variables in LOCAL_VARIABLES."""
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def trainable_variables(self) -> list[Any]:
        """The scope's variables in TRAINABLE_VARIABLES."""
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The scope's variables that are not trainable."""
        trainable = set(map(id, self.trainable_variables))
        return [v for v in self.variables if id(v) not in trainable]

    non_trainable_weights = non_trainable_variables

    def _collected(self, key: str) -> list[Any]:
        if self._scope is None:
            return []
        if self._store is not None:
            return self._held(key)
        return list(get_default_graph().get_collection(key, _with_slash(self._scope.name)))

    def _held(self, key: str) -> list[Any]:
        """The variables made in eager mode, all of them global; they are in no collection."""
        assert self._store is not None
        assert self._scope is not None
        prefix = _with_slash(self._scope.name)
        return [
            v
            for name, v in self._store.variables.items()
            if name.startswith(prefix)
            and key != GraphKeys.LOCAL_VARIABLES
            and (key != GraphKeys.TRAINABLE_VARIABLES or v.trainable)
        ]


def _with_slash(name: str) -> str:
    return name if not name or name.endswith("/") else name + "/"
