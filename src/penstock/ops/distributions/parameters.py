"""What distributions do with their parameters: conversion, checks and shapes."""

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import ones_like
from penstock.ops.array_select import where
from penstock.ops.array_shape import broadcast_dynamic_shape, broadcast_static_shape, broadcast_to
from penstock.ops.composing import scope
from penstock.ops.debug_asserts import assert_positive
from penstock.ops.debug_shapes import assert_same_float_dtype
from penstock.ops.distributions.base import FULLY_REPARAMETERIZED, Distribution
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def checked(value: Any, checks: list[Callable[[], Any]], validate: bool) -> Any:
    """`value`, after the checks when arguments are validated."""
    if not validate:
        return value
    done = [check() for check in checks]
    with control_dependencies([op for op in done if op is not None]):
        return identity(value)


def where_defined(
    distribution: Distribution, value: Any, defined: Any, checks: list[Callable[[], Any]]
) -> Any:
    """A statistic where it is defined: NaN elsewhere, or an error by `allow_nan_stats`."""
    if not distribution.allow_nan_stats:
        return checked(value, checks, True)
    return where(defined, value, np.asarray(np.nan, value.dtype.numpy_dtype))


def seed_of(seed: int | None, salt: str) -> int | None:
    """A second seed made of the user's, so that two draws of one method differ.

    TensorFlow's rule: the start of the MD5 sum of the seed and a word, as a number of 31 bits.
    """
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


class Broadcast(Distribution):
    """A distribution of numbers that float parameters describe, which broadcast to the batch."""

    _names: tuple[str, ...]
    _positive: tuple[str, ...] = ()  # those that must be positive

    def _begin(
        self, values: tuple[Any, ...], validate: bool, allow_nan: bool, parameters: Any, name: str
    ) -> None:
        with scope(name, type(self).__name__) as full:
            given = {
                n: convert_to_tensor(v, name=n) for n, v in zip(self._names, values, strict=True)
            }
            dtype = assert_same_float_dtype(list(given.values()))
            for positive in self._positive:
                check = functools.partial(
                    assert_positive, given[positive], message=f"{positive} must be positive."
                )
                given[positive] = checked(given[positive], [check], validate)
            functools.reduce(broadcast_static_shape, [v.shape for v in given.values()])
        self._given = given
        Distribution.__init__(
            self, dtype, FULLY_REPARAMETERIZED, validate, allow_nan, parameters, name=full or name
        )

    def _batch_shape(self) -> TensorShape:
        shapes = [v.shape for v in self._given.values()]
        return TensorShape(functools.reduce(broadcast_static_shape, shapes))

    def _batch_shape_tensor(self) -> Any:
        shapes = [shape_of(v) for v in self._given.values()]
        return functools.reduce(broadcast_dynamic_shape, shapes)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {name: convert_to_tensor(sample_shape, dt.int32) for name in cls._names}

    def _wide(self, value: Any) -> Any:
        """A tensor, repeated to the shape of the batch."""
        return broadcast_to(value, self.batch_shape_tensor())


class LocationScale(Broadcast):
    """A distribution of one form, moved by `loc` and stretched by `scale`."""

    _names: tuple[str, ...] = ("loc", "scale")
    _positive: tuple[str, ...] = ("scale",)

    @property
    def loc(self) -> Any:
        """Where the distribution lies: the mean, where it has one."""
        return self._given["loc"]

    @property
    def scale(self) -> Any:
        """How wide it is."""
        return self._given["scale"]

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def _mean(self) -> Any:
        return self.loc * ones_like(self.scale)

    def _mode(self) -> Any:
        return self._mean()
