"""Examples for the tests of parsing: built as messages, and by hand where they are odd."""

from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as tf


def fill(feature: Any, values: list[Any]) -> None:
    """Writes values into a Feature, by the type of the first one; an empty list writes nothing."""
    if values and isinstance(values[0], float):
        feature.float_list.value.extend(values)
    elif values and isinstance(values[0], bytes):
        feature.bytes_list.value.extend(values)
    elif values:
        feature.int64_list.value.extend(values)


def example(**features: list[Any]) -> bytes:
    """A serialised Example."""
    message = tf.train.Example()
    for key, values in features.items():
        fill(message.features.feature[key], values)
    data: bytes = message.SerializeToString()
    return data


def sequence(context: dict[str, Any], lists: dict[str, Any]) -> bytes:
    """A serialised SequenceExample."""
    message = tf.train.SequenceExample()
    for key, values in context.items():
        fill(message.context.feature[key], values)
    for key, steps in lists.items():
        feature_list = message.feature_lists.feature_list[key]
        for values in steps:
            fill(feature_list.feature.add(), values)
    data: bytes = message.SerializeToString()
    return data


def sized(data: bytes) -> bytes:
    """Bytes with their length, below 128, before them."""
    assert len(data) < 128
    return bytes([len(data)]) + data


def example_of(feature: bytes) -> bytes:
    """An Example whose one feature "a" is these bytes."""
    entry = b"\x0a\x01a\x12" + sized(feature)
    return b"\x0a" + sized(b"\x0a" + sized(entry))


def plain(value: Any) -> Any:
    """A tensor of any kind as lists, dense shapes and dtypes."""
    if isinstance(value, tf.SparseTensor):
        parts = (value.indices, value.values, value.dense_shape)
        return ("sparse", *(plain(part) for part in parts))
    if isinstance(value, tf.RaggedTensor):
        return ("ragged", value.dtype.name, value.row_splits.dtype.name, value.to_list())
    return (value.dtype.name, tuple(value.shape), np.array(value).tolist())


def everywhere(function: Callable[[Any], Any], strings: Any) -> Any:
    """The result of `function`, eagerly; the same in a tf.function and in a graph."""
    eager = function(tf.constant(strings))
    wanted = tf.nest.map_structure(plain, eager)
    traced = tf.function(function)(tf.constant(strings))
    assert tf.nest.map_structure(plain, traced) == wanted
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        shape = np.shape(np.array(strings, object))
        fed = tf.compat.v1.placeholder(tf.string, [None] * len(shape))
        built = function(fed)
        symbols = tf.nest.flatten(built, expand_composites=True)
        values = tf.nest.flatten(eager, expand_composites=True)
        for symbol, value in zip(symbols, values, strict=True):
            assert symbol.dtype == value.dtype
            assert symbol.shape.is_compatible_with(value.shape)
        for got, value in zip(session.run(symbols, {fed: strings}), values, strict=True):
            np.testing.assert_array_equal(got, value.numpy())
    return wanted
