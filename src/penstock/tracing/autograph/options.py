"""What conversion can be asked for, and the directives that stand in user code."""

import enum
import functools
from collections.abc import Callable
from typing import Any

from penstock.core.lazy import malt

_UNSPECIFIED = object()


class Feature(enum.Enum):
    """Parts of conversion that are off unless asked for.

    `ASSERT_STATEMENTS` is always on: an assert over a tensor of a graph can only be an operation.

    Attributes:
      ALL: all of them.
      AUTO_CONTROL_DEPS: accepted; functions of a graph always keep effects in order.
      ASSERT_STATEMENTS: an assert of a tensor becomes an operation.
      BUILTIN_FUNCTIONS: `print` of a tensor prints when the graph runs.
      EQUALITY_OPERATORS: `==` compares tensors element by element; that is on anyway.
      LISTS: accepted; lists stay Python's, and `tf.TensorArray` collects values in a loop.
      NAME_SCOPES: operations are named after the function they are in.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple["Feature", ...]:
        """All features, `ALL` included."""
        return tuple(cls.__members__.values())

    @classmethod
    def all_but(cls, exclude: Any) -> tuple["Feature", ...]:
        """All features but those given."""
        excluded = {*exclude} if isinstance(exclude, (list, tuple, set)) else {exclude}
        return tuple(set(cls.all()) - excluded - {cls.ALL})


def library_options(features: Any, user_requested: bool, recursive: bool = True) -> Any:
    """The options as the library has them.

    Raises:
      TypeError: `features` holds something else than features.
    """
    given = () if features is None else features
    names = sorted(_name(f) for f in (given if isinstance(given, (list, tuple, set)) else (given,)))
    return _options(tuple(names), user_requested, recursive)


def _name(feature: Any) -> str:
    if not isinstance(feature, Feature):
        raise TypeError(
            "experimental_autograph_options: expected tf.autograph.experimental.Feature values, got"
            f" {feature!r}. Pass one, or a tuple of them."
        )
    return feature.name


@functools.cache
def _options(names: tuple[str, ...], user_requested: bool, recursive: bool) -> Any:
    theirs = malt.core.converter.Feature
    return malt.core.converter.ConversionOptions(
        recursive=recursive,
        user_requested=user_requested,
        optional_features=tuple(theirs[n] for n in {*names, "ASSERT_STATEMENTS"}),
    )


def set_loop_options(
    parallel_iterations: Any = _UNSPECIFIED,
    swap_memory: Any = _UNSPECIFIED,
    maximum_iterations: Any = _UNSPECIFIED,
    shape_invariants: Any = _UNSPECIFIED,
) -> None:
    """Options of the loop whose first statement this is, if the loop becomes one of the graph.

    Args:
      parallel_iterations: as for `tf.while_loop`.
      swap_memory: as for `tf.while_loop`.
      maximum_iterations: as for `tf.while_loop`.
      shape_invariants: a list of pairs (variable, TensorShape), for variables whose shape changes.

    Example:
      >>> import penstock as tf
      >>> @tf.function
      ... def doubled(n):
      ...     v = tf.constant([1])
      ...     for _ in tf.range(n):
      ...         tf.autograph.experimental.set_loop_options(
      ...             shape_invariants=[(v, tf.TensorShape([None]))])
      ...         v = tf.concat([v, v], 0)
      ...     return v
      >>> doubled(tf.constant(2)).numpy().tolist()
      [1, 1, 1, 1]
    """


def set_element_type(entity: Any, dtype: Any, shape: Any = _UNSPECIFIED) -> None:
    """Says what a list will hold, for `Feature.LISTS`.

    Args:
      entity: the list.
      dtype: of its elements.
      shape: of each element.
    """


def DIRECTIVES() -> dict[Callable[..., None], Any]:
    """Our directives, and what the library looks for in their place."""
    theirs = malt.lang.directives
    return {
        set_loop_options: theirs.set_loop_options,
        set_element_type: theirs.set_element_type,
    }
