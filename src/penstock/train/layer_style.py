"""`compat.v1.layers.experimental`: layers that make their variables as Keras's layers do.

Such a layer's variables are its own: no variable scope shares, partitions or initialises them, and
their names follow the name scope of the layer's first call. What a layer is, is settled when it is
made.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

_style = {"keras": False}


def is_keras() -> bool:
    """Whether layers are made in Keras's style now."""
    return _style["keras"]


@contextlib.contextmanager
def keras_style_scope() -> Iterator[None]:
    """A context in which layers are made in Keras's style.

    Example:
      >>> with tf.compat.v1.layers.experimental.keras_style_scope():
      ...     layer = tf.compat.v1.layers.Dense(2, name="head")
      >>> layer(tf.ones([1, 3])).shape.as_list()
      [1, 2]
      >>> [weight.name for weight in layer.weights]
      ['head/kernel:0', 'head/bias:0']
    """
    before = _style["keras"]
    _style["keras"] = True
    try:
        yield
    finally:
        _style["keras"] = before


def set_keras_style() -> None:
    """Makes all layers from now on in Keras's style; there is no way back."""
    _style["keras"] = True


def refuse(argument: str, value: Any) -> None:
    """Refuses what such a layer has no use for.

    Args:
      argument: its name.
      value: what was given.

    Raises:
      ValueError: it is not None.
    """
    if value is not None:
        raise ValueError(
            f"{argument} argument not allowed when keras style layers are enabled, but saw:"
            f" {value}. Make the layer outside of keras_style_scope, or leave {argument} out."
        )


__all__ = ["keras_style_scope", "set_keras_style"]
