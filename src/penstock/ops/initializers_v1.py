"""The first generation's initializers (`compat.v1.initializers`): the dtype is part of the object.

They are called `initializer(shape, dtype=None, partition_info=None)`; `partition_info` tells a
part of a partitioned variable its place in the whole. A seed is an operation's seed: it sets where
a stream of numbers begins.
"""

import math
from typing import Any

import numpy as np

from penstock.core.arrays import to_array
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.ops import initializer_scales as scales
from penstock.ops.array_basics import constant
from penstock.ops.array_fill import ones, zeros
from penstock.ops.initializer_scales import known_dims
from penstock.ops.random_ops import random_normal, random_uniform, truncated_normal
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape


class Initializer:
    """The base class: a subclass defines `__call__` and `get_config`."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value.

        Args:
          shape: the shape of the variable, or of its part.
          dtype: the dtype; the object's when None.
          partition_info: where the part is in the whole.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Initializer":
        """The initializer with the arguments that `get_config` gave."""
        return cls(**config)


class Zeros(Initializer):
    """All zeros.

    Args:
      dtype: the default dtype.
    """

    def __init__(self, dtype: Any = dt.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value."""
        return zeros(shape, self.dtype if dtype is None else dtype)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"dtype": self.dtype.name}


class Ones(Zeros):
    """All ones.

    Args:
      dtype: the default dtype.
    """

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value."""
        return ones(shape, self.dtype if dtype is None else dtype)


def _sizes(shape: Any) -> tuple[int, ...]:
    """A shape that is known; a number stands for a vector of this size."""
    sizes = TensorShape(shape).as_list()
    if None in sizes:
        raise ValueError(
            f"Initializer: expected a fully defined shape, got {shape!r}. Give it a list of"
            " integers, such as [2, 3]."
        )
    return tuple(n for n in sizes if n is not None)


class Constant(Initializer):
    """A given value; the last element is repeated where there are too few.

    Args:
      value: a number, list, tuple or array.
      dtype: the default dtype.
      verify_shape: whether `value` must have the shape asked for.

    Raises:
      TypeError: `value` is none of these.
    """

    def __init__(self, value: Any = 0, dtype: Any = dt.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected "
                "Python scalar, list or tuple of values, or numpy.ndarray."
            )
        self.value = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Any:
        """The first value.

        Raises:
          TypeError: the shape is verified and another one; or in eager mode there are neither one
            value nor as many as the shape has.
          ValueError: there are too many values.
        """
        kind = as_dtype(dtype) if dtype is not None else self.dtype
        wanted = np.shape(self.value) if shape is None else _sizes(shape)
        verify = self._verify_shape if verify_shape is None else verify_shape
        array = to_array(self.value, kind)[0]
        if verify and array.shape != wanted:
            raise TypeError(f"Expected Tensor's shape: {wanted}, got {array.shape}.")
        count = math.prod(wanted)
        if state.graph is None and array.size not in (1, count):
            raise TypeError(
                f"Eager execution of a constant expected one value or {count}, for shape {wanted},"
                f" got {array.size}. Repeat the last one, as graphs do."
            )
        if array.size > count > 0:
            raise ValueError(
                f"Too many elements provided. Needed at most {count}, but received {array.size}"
            )
        flat = array.reshape(-1)[:count]
        if array.size < count:
            last = flat[-1] if flat.size else np.zeros((), flat.dtype)
            flat = np.concatenate([flat, np.full(count - flat.size, last, flat.dtype)])
        return constant(flat.reshape(wanted), kind)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """Evenly distributed numbers in [minval, maxval).

    Args:
      minval: the smallest number.
      maxval: the bound above; 1 for floating dtypes when None.
      seed: the operation's seed.
      dtype: the default dtype.
    """

    def __init__(
        self,
        minval: Any = 0.0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = dt.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value."""
        kind = self.dtype if dtype is None else dtype
        return random_uniform(shape, self.minval, self.maxval, kind, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        bounds = {"minval": self.minval, "maxval": self.maxval}
        return {**bounds, "seed": self.seed, "dtype": self.dtype.name}


class RandomNormal(Initializer):
    """Normally distributed numbers.

    Args:
      mean: their mean.
      stddev: their standard deviation.
      seed: the operation's seed.
      dtype: the default dtype.
    """

    _draw = staticmethod(random_normal)

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = dt.float32
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = scales.floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value."""
        kind = self.dtype if dtype is None else dtype
        return self._draw(shape, self.mean, self.stddev, kind, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        moments = {"mean": self.mean, "stddev": self.stddev}
        return {**moments, "seed": self.seed, "dtype": self.dtype.name}


class TruncatedNormal(RandomNormal):
    """Normally distributed numbers no further than two standard deviations from the mean.

    Args:
      mean: the mean before cutting.
      stddev: the standard deviation before cutting.
      seed: the operation's seed.
      dtype: the default dtype.
    """

    _draw = staticmethod(truncated_normal)


class UniformUnitScaling(Initializer):
    """Evenly distributed numbers that keep the scale of the input. Deprecated: use VarianceScaling.

    Args:
      factor: what the bound is multiplied with.
      seed: the operation's seed.
      dtype: the default dtype.
    """

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = dt.float32
    ) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = scales.floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value."""
        whole = scales.drawn_dims(
            partition_info.full_shape if partition_info is not None else shape
        )
        inputs = max(float(math.prod(whole[:-1])), 1.0)
        bound = math.sqrt(3 / inputs) * self.factor
        kind = self.dtype if dtype is None else dtype
        return random_uniform(shape, -bound, bound, kind, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


class VarianceScaling(Initializer):
    """Numbers whose variance is `scale / n`, n being the number of inputs or outputs of a unit.

    Args:
      scale: a positive number.
      mode: "fan_in", "fan_out" or "fan_avg".
      distribution: "normal", "truncated_normal", "untruncated_normal" or "uniform".
      seed: the operation's seed.
      dtype: the default dtype.

    Raises:
      ValueError: an argument is none of these.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dt.float32,
    ) -> None:
        self._kind = scales.check_variance_scaling(scale, mode, distribution)
        self.distribution = distribution.lower()
        self.scale = scale
        self.mode = mode
        self.seed = seed
        self.dtype = scales.floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value."""
        kind = self.dtype if dtype is None else dtype
        whole = partition_info.full_shape if partition_info is not None else shape
        variance = scales.fan_scale(self.scale, self.mode, scales.drawn_dims(whole))
        if self._kind == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, kind, seed=self.seed)
        if self._kind == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), kind, seed=self.seed)
        stddev = math.sqrt(variance) / scales.TRUNCATED_STDDEV
        return truncated_normal(shape, 0.0, stddev, kind, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("scale", "mode", "distribution", "seed")
        return {**{n: getattr(self, n) for n in names}, "dtype": self.dtype.name}


class GlorotUniform(VarianceScaling):
    """Uniform within sqrt(6 / (inputs + outputs)) of zero (Glorot and Bengio, 2010).

    Args:
      seed: the operation's seed.
      dtype: the default dtype.
    """

    _fixed = "uniform"

    def __init__(self, seed: int | None = None, dtype: Any = dt.float32) -> None:
        super().__init__(1.0, "fan_avg", self._fixed, seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(GlorotUniform):
    """Normal of variance 2 / (inputs + outputs) (Glorot and Bengio, 2010).

    Args:
      seed: the operation's seed.
      dtype: the default dtype.
    """

    _fixed = "truncated_normal"


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns; leading dimensions are flattened.

    Args:
      gain: what it is multiplied with.
      seed: the operation's seed.
      dtype: the default dtype.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dt.float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype = scales.floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value."""
        sizes = scales.drawn_dims(shape)
        kind = self.dtype if dtype is None else dtype
        normal = random_normal(scales.tall_shape(sizes), dtype=kind, seed=self.seed)
        return scales.orthogonal_from(normal, sizes, self.gain)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """The identity matrix.

    Args:
      gain: what it is multiplied with.
      dtype: the default dtype.
    """

    def __init__(self, gain: float = 1.0, dtype: Any = dt.float32) -> None:
        self.gain = gain
        self.dtype = scales.floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The first value, or its part."""
        whole = known_dims(partition_info.full_shape if partition_info is not None else shape)
        matrix = scales.identity_matrix(whole, self.dtype if dtype is None else dtype, self.gain)
        if partition_info is None:
            return matrix
        return execute("Slice", (matrix, list(partition_info.var_offset), known_dims(shape)))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"gain": self.gain, "dtype": self.dtype.name}


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Normal of variance 1 / inputs (LeCun et al., 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform within sqrt(3 / inputs) of zero (LeCun et al., 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Normal of variance 2 / inputs (He et al., 2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform within sqrt(6 / inputs) of zero (He et al., 2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
