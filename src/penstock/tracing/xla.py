"""`tf.xla.experimental`: a computation compiled as a whole, and a scope that asks for it."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.core.context import state
from penstock.tracing.function import function
from penstock.util import nest

_scopes = itertools.count()


def compile(computation: Callable[..., Any], inputs: Sequence[Any] | None = None) -> Any:
    """Builds or runs a computation as one region of XLA.

    Args:
      computation: a function of the inputs that makes operations.
      inputs: what it is called with; nothing when None.

    Returns:
      What the computation returns; in a graph a list where it returned one value, and an operation
      where it returned None.

    Raises:
      InvalidArgumentError: an operation in it cannot be compiled.

    Example:
      >>> from penstock.core.convert import convert_to_tensor
      >>> float(compile(lambda x: x + 1, [convert_to_tensor(2.0)]))
      3.0
    """
    compiled = function(computation, jit_compile=True, autograph=False)
    arguments = [] if inputs is None else list(inputs)
    graph = state.graph
    if graph is None:
        return compiled(*arguments)
    before = len(graph.get_operations())
    result = compiled(*arguments)
    if result is None:
        return graph.get_operations()[before:][-1]
    return result if nest.is_nested(result) else [result]


@contextlib.contextmanager
def jit_scope(
    compile_ops: bool | Callable[[Any], bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """A scope whose operations ask to be compiled together, by attributes of their nodes.

    The planner compiles what it can in any case; the attributes are for programs that read them in
    a GraphDef.

    Args:
      compile_ops: whether to ask, or a function that says so for a node's definition.
      separate_compiled_gradients: whether gradients form regions of their own.

    Raises:
      RuntimeError: in eager mode.
    """
    graph = state.graph
    if graph is None:
        raise RuntimeError(
            "xla.experimental.jit_scope is not supported when eager execution is enabled: expected"
            " a graph. Use it inside of tf.function, or tf.function(jit_compile=True)."
        )

    def wanted(op: Any) -> bool:
        return bool(compile_ops(op.node_def) if callable(compile_ops) else compile_ops)

    scope = f"jit_scope_{next(_scopes)}".encode()
    attributes = {
        "_XlaCompile": wanted,
        "_XlaSeparateCompiledGradients": bool(separate_compiled_gradients),
        "_XlaScope": scope,
    }
    with graph._attr_scope(attributes):
        yield
