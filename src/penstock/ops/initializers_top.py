"""`tf.constant_initializer` and `tf.random_normal_initializer`.

They check more than `tf.initializers.Constant` and `RandomNormal`, whose names they have: a class
that is written into a configuration or a pickle is called as it is in TensorFlow.
"""

from typing import Any

import numpy as np

from penstock.core.tensor import Tensor
from penstock.ops import initializer_scales as scales
from penstock.ops import initializers
from penstock.ops.array_basics import constant
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype


class Constant(initializers.Constant):
    """A given value, `tf.constant_initializer`.

    Args:
      value: a number, or what has as many elements as the variable.
      support_partition: whether it may fill a part of a variable.

    Raises:
      TypeError: `value` is no number, list, tuple or array.
    """

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray, Tensor))):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, "
                "list or tuple of values, or numpy.ndarray."
            )
        self.value = value
        self.support_partition = support_partition

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """The first value.

        Raises:
          ValueError: a part of a variable is asked for without `support_partition`.
        """
        shape = self._shape(shape, kwargs)
        if not self.support_partition and kwargs.keys() & {"partition_shape", "partition_offset"}:
            raise ValueError(
                "Constant initializer doesn't support partition-related arguments, got "
                f"{sorted(kwargs)}. Make it with support_partition=True."
            )
        return constant(self.value, None if dtype is None else as_dtype(dtype), shape)


class RandomNormal(initializers.RandomNormal):
    """Normally distributed numbers, `tf.random_normal_initializer`: arguments as there."""

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value; raises ValueError for a dtype that is not floating."""
        return super().__call__(shape, scales.floating(dtype), **kwargs)
