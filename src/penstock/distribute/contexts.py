"""Which strategy and which replica the program is in: `tf.distribute.get_strategy()` and others."""

import threading
from collections.abc import Callable
from typing import Any

from penstock.distribute import stack
from penstock.distribute.default import REPLICA, STRATEGY, scopes
from penstock.distribute.values import ReduceOp

# Any: strategies and replica contexts of every kind.


class _Thread(threading.local):
    def __init__(self) -> None:
        self.scope: Any = None  # that of `experimental_set_strategy`


_thread = _Thread()


def get_strategy() -> Any:
    """The strategy that the program is in: the default one outside every scope.

    Example:
      >>> tf.distribute.get_strategy().num_replicas_in_sync
      1
    """
    here = stack.current()
    return STRATEGY if here is None else here.strategy


def has_strategy() -> bool:
    """Whether the program is in another strategy than the default one.

    Example:
      >>> tf.distribute.has_strategy()
      False
    """
    return get_strategy() is not STRATEGY


def in_cross_replica_context() -> bool:
    """Whether the program is in no replica: in a scope, or in what `merge_call` runs.

    Example:
      >>> replica = tf.distribute.get_replica_context()
      >>> replica.merge_call(lambda strategy: tf.distribute.in_cross_replica_context())
      True
    """
    here = stack.current()
    return here is not None and here.replica is None


def get_replica_context() -> Any:
    """The replica that the program is in; None where it is in none.

    Example:
      >>> tf.distribute.get_replica_context().num_replicas_in_sync
      1
    """
    here = stack.current()
    return REPLICA if here is None else here.replica


def experimental_set_strategy(strategy: Any) -> None:
    """Enters the scope of a strategy for the rest of the program, in this thread.

    Args:
      strategy: the strategy, or None to leave the scope that was entered so.

    Raises:
      RuntimeError: called inside a scope.
    """
    scope = None if strategy is None else strategy.scope()
    _require_outside(entering=scope is not None)
    if _thread.scope is not None:
        _thread.scope.__exit__(None, None, None)
        _thread.scope = None
    if scope is not None:
        scope.__enter__()
        _thread.scope = scope


def _require_outside(entering: bool) -> None:
    """Refuses another strategy inside a scope, but for that which the last call entered."""
    last = _thread.scope
    here, opened = stack.current(), [scope for scope in scopes() if scope is not last]
    if here is not getattr(last, "entry", None) or (entering and opened):
        raise RuntimeError(
            "tf.distribute.experimental_set_strategy: expected to be called outside of scopes, got"
            f" a call inside one of {type(get_strategy()).__name__}. Must not be called inside a"
            " tf.distribute.Strategy scope: leave it first."
        )


def get_loss_reduction() -> ReduceOp:
    """How the losses of replicas become one: they are added.

    Example:
      >>> tf.compat.v1.distribute.get_loss_reduction()
      <ReduceOp.SUM: 'SUM'>
    """
    return ReduceOp.SUM


def strategy_supports_no_merge_call() -> bool:
    """Whether the strategy that the program is in updates variables without `merge_call`."""
    return not has_strategy() or not get_strategy().extended._use_merge_call()


def maybe_merge_call(fn: Callable[..., Any], strategy: Any, *args: Any, **kwargs: Any) -> Any:
    """`fn(strategy, *args, **kwargs)`, across replicas where the strategy needs that.

    Args:
      fn: the function.
      strategy: the strategy that the program is in.
      *args: further arguments.
      **kwargs: the same, by name.
    """
    if strategy_supports_no_merge_call():
        return fn(strategy, *args, **kwargs)
    return get_replica_context().merge_call(fn, args=args, kwargs=kwargs)
