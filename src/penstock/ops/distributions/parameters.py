"""What distributions do with their parameters: conversion, checks and shapes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_shape import broadcast_dynamic_shape, broadcast_static_shape
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


class TwoParameters(Distribution):
    """A distribution of numbers that two float parameters describe, which broadcast."""

    _names: tuple[str, str]
    _positive: bool = True  # whether the second parameter is a scale

    def _begin(
        self, first: Any, second: Any, validate: bool, allow_nan: bool, parameters: Any, name: str
    ) -> None:
        one, two = self._names
        with scope(name, type(self).__name__) as full:
            self._one = convert_to_tensor(first, name=one)
            self._two = convert_to_tensor(second, name=two)
            dtype = assert_same_float_dtype([self._one, self._two])
            if self._positive:
                self._two = checked(self._two, [lambda: assert_positive(self._two)], validate)
            broadcast_static_shape(self._one.shape, self._two.shape)
        Distribution.__init__(
            self, dtype, FULLY_REPARAMETERIZED, validate, allow_nan, parameters, name=full or name
        )

    def _batch_shape(self) -> TensorShape:
        shape: TensorShape = broadcast_static_shape(self._one.shape, self._two.shape)
        return shape

    def _batch_shape_tensor(self) -> Any:
        return broadcast_dynamic_shape(shape_of(self._one), shape_of(self._two))

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {name: convert_to_tensor(sample_shape, dt.int32) for name in cls._names}

    def _number(self, value: float) -> Any:
        return np.asarray(value, self._dtype.numpy_dtype)
