"""Initializers: functions from a shape to the first value of a variable (`tf.initializers`).

Each is called `initializer(shape, dtype=float32)`. With a seed the same numbers come at every
call, without one new ones. The first generation's are in `penstock.ops.initializers_v1`.
"""

import math
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops import initializer_scales as scales
from penstock.ops.array_fill import ones, zeros
from penstock.ops.initializer_scales import known_dims
from penstock.ops.math_cast import cast
from penstock.ops.random_ops import random_normal, random_uniform, truncated_normal
from penstock.ops.random_stateless_ops import (
    stateless_random_normal,
    stateless_random_uniform,
    stateless_truncated_normal,
)
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype

PARTITION_ARGUMENTS = ("partition_shape", "partition_offset")


class Initializer:
    """The base class: a subclass defines `__call__` and `get_config`."""

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value.

        Args:
          shape: the variable's shape.
          dtype: its dtype.
          **kwargs: `partition_shape` and `partition_offset` of a part of a larger variable.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Initializer":
        """The initializer with the arguments that `get_config` gave."""
        config = dict(config)
        config.pop("dtype", None)
        return cls(**config)

    def _shape(self, shape: Any, kwargs: dict[str, Any]) -> Any:
        """The shape to fill: the part's, when the variable is one of several."""
        for name in kwargs:
            if name not in PARTITION_ARGUMENTS:
                raise TypeError(
                    f"Keyword argument should be one of {list(PARTITION_ARGUMENTS)}. Received: "
                    f"{name}"
                )
        return kwargs.get("partition_shape") or shape


class Zeros(Initializer):
    """All zeros."""

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, of any numeric, bool or string dtype."""
        return zeros(self._shape(shape, kwargs), _filling(dtype))


class Ones(Initializer):
    """All ones."""

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, of any numeric or bool dtype."""
        return ones(self._shape(shape, kwargs), _filling(dtype))


def _filling(dtype: Any) -> Any:
    kind = as_dtype(dtype)
    if not (kind.is_numpy_compatible and kind is not dt.resource):
        raise ValueError(f"Argument `dtype` expected to be numeric or boolean. Received {kind}.")
    return kind


class Constant(Initializer):
    """A given value.

    Args:
      value: a number, or what broadcasts to the shape of the variable.
    """

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, cast to `dtype`."""
        kind = dt.float32 if dtype is None else as_dtype(dtype)
        size = self._shape(shape, kwargs)
        if kind is dt.bool_:
            return execute("LogicalAnd", (cast(self.value, kind), ones(size, kind)))
        return execute("Mul", (cast(self.value, kind), ones(size, kind)))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"value": self.value}


class _Random(Initializer):
    """The base of initializers that draw numbers."""

    seed: Any

    def _draw(self, kind: str, shape: Any, *bounds: Any, dtype: Any) -> Any:
        fresh, repeatable = _GENERATORS[kind]
        if self.seed is None:
            return fresh(shape, *bounds, dtype=dtype)
        return repeatable(shape, [int(self.seed), 0], *bounds, dtype=dtype)


_GENERATORS: dict[str, tuple[Any, Any]] = {
    "normal": (random_normal, stateless_random_normal),
    "truncated_normal": (truncated_normal, stateless_truncated_normal),
    "uniform": (random_uniform, stateless_random_uniform),
}


class RandomUniform(_Random):
    """Evenly distributed numbers in [minval, maxval).

    Args:
      minval: the smallest number.
      maxval: the bound above; for floating dtypes 1 when None.
      seed: an integer; the same numbers at every call then.
    """

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, of a floating or integer dtype."""
        kind = as_dtype(dtype)
        if not (kind.is_floating or kind.is_integer):
            raise ValueError(f"Expected float or integer dtype, got {kind}.")
        size = self._shape(shape, kwargs)
        return self._draw("uniform", size, self.minval, self.maxval, dtype=kind)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


class RandomNormal(_Random):
    """Normally distributed numbers.

    Args:
      mean: their mean.
      stddev: their standard deviation.
      seed: an integer; the same numbers at every call then.
    """

    _kind = "normal"

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, of a floating dtype."""
        size = self._shape(shape, kwargs)
        return self._draw(self._kind, size, self.mean, self.stddev, dtype=as_dtype(dtype))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}


class TruncatedNormal(RandomNormal):
    """Normally distributed numbers no further than two standard deviations from the mean.

    Args:
      mean: the mean before cutting.
      stddev: the standard deviation before cutting.
      seed: an integer; the same numbers at every call then.
    """

    _kind = "truncated_normal"


class VarianceScaling(_Random):
    """Numbers whose variance is `scale / n`, n being the number of inputs or outputs of a unit.

    Args:
      scale: a positive number.
      mode: "fan_in" (inputs), "fan_out" (outputs) or "fan_avg" (their mean).
      distribution: "truncated_normal", "untruncated_normal" or "uniform".
      seed: an integer; the same numbers at every call then.

    Raises:
      ValueError: an argument is none of these.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        self.distribution = scales.check_variance_scaling(scale, mode, distribution)
        self.scale = scale
        self.mode = mode
        self.seed = seed

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, of a floating dtype; of an integer one when evenly distributed."""
        kind = as_dtype(dtype)
        variance = scales.fan_scale(self.scale, self.mode, known_dims(shape))
        size = self._shape(shape, kwargs)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            limit = int(limit) if kind.is_integer else limit
            return self._draw("uniform", size, -limit, limit, dtype=kind)
        if self.distribution == "untruncated_normal":
            return self._draw("normal", size, 0.0, math.sqrt(variance), dtype=kind)
        stddev = math.sqrt(variance) / scales.TRUNCATED_STDDEV
        return self._draw("truncated_normal", size, 0.0, stddev, dtype=kind)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
        }


def _scaled(
    name: str, scale: float, mode: str, distribution: str, doc: str
) -> type[VarianceScaling]:
    """A VarianceScaling with fixed arguments, as a class of its own."""

    def __init__(self: Any, seed: int | None = None) -> None:
        VarianceScaling.__init__(self, scale, mode, distribution, seed)

    def get_config(self: Any) -> dict[str, Any]:
        return {"seed": self.seed}

    get_config.__doc__ = VarianceScaling.get_config.__doc__
    body = {"__init__": __init__, "get_config": get_config, "__doc__": doc, "__module__": __name__}
    return type(name, (VarianceScaling,), body)


_ARGS = "\n\n    Args:\n      seed: an integer; the same numbers at every call then.\n"
GlorotUniform = _scaled(
    "GlorotUniform", 1.0, "fan_avg", "uniform",
    "Uniform within sqrt(6 / (inputs + outputs)) of zero (Glorot and Bengio, 2010)." + _ARGS,
)  # fmt: skip
GlorotNormal = _scaled(
    "GlorotNormal", 1.0, "fan_avg", "truncated_normal",
    "Normal of variance 2 / (inputs + outputs) (Glorot and Bengio, 2010)." + _ARGS,
)  # fmt: skip
HeUniform = _scaled(
    "HeUniform", 2.0, "fan_in", "uniform",
    "Uniform within sqrt(6 / inputs) of zero (He et al., 2015)." + _ARGS,
)  # fmt: skip
HeNormal = _scaled(
    "HeNormal", 2.0, "fan_in", "truncated_normal",
    "Normal of variance 2 / inputs (He et al., 2015)." + _ARGS,
)  # fmt: skip
LecunUniform = _scaled(
    "LecunUniform", 1.0, "fan_in", "uniform",
    "Uniform within sqrt(3 / inputs) of zero (LeCun et al., 1998)." + _ARGS,
)  # fmt: skip
LecunNormal = _scaled(
    "LecunNormal", 1.0, "fan_in", "truncated_normal",
    "Normal of variance 1 / inputs (LeCun et al., 1998)." + _ARGS,
)  # fmt: skip


class Orthogonal(_Random):
    """A matrix with orthonormal rows or columns; leading dimensions are flattened.

    Args:
      gain: what it is multiplied with.
      seed: an integer; the same numbers at every call then.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain = gain
        self.seed = seed

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, of a floating dtype."""
        sizes = known_dims(self._shape(shape, kwargs))
        tall = scales.tall_shape(sizes)
        normal = self._draw("normal", tall, 0.0, 1.0, dtype=as_dtype(dtype))
        return scales.orthogonal_from(normal, sizes, self.gain)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"gain": self.gain, "seed": self.seed}


class Identity(Initializer):
    """The identity matrix.

    Args:
      gain: what it is multiplied with.
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = dt.float32, **kwargs: Any) -> Any:
        """The first value, a matrix of a numeric dtype that holds `gain`."""
        sizes = known_dims(self._shape(shape, kwargs))
        return scales.identity_matrix(sizes, as_dtype(dtype), self.gain)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"gain": self.gain}


CLASSES: dict[str, type[Initializer]] = {
    "zeros": Zeros,
    "ones": Ones,
    "constant": Constant,
    "random_uniform": RandomUniform,
    "random_normal": RandomNormal,
    "truncated_normal": TruncatedNormal,
    "variance_scaling": VarianceScaling,
    "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal,
    "he_uniform": HeUniform,
    "he_normal": HeNormal,
    "lecun_uniform": LecunUniform,
    "lecun_normal": LecunNormal,
    "orthogonal": Orthogonal,
    "identity": Identity,
}
_BY_NAME = {**CLASSES, **{c.__name__: c for c in CLASSES.values()}}


def serialize(initializer: Any) -> Any:
    """The initializer as a dictionary that `deserialize` takes."""
    return {"class_name": type(initializer).__name__, "config": initializer.get_config()}


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The initializer that a dictionary describes.

    Args:
      config: `{"class_name": ..., "config": {...}}`.
      custom_objects: further classes by name.

    Raises:
      ValueError: the class is not known.
    """
    known = {**_BY_NAME, **(custom_objects or {})}
    name = config["class_name"]
    if name not in known:
        raise ValueError(f"Unknown initializer: '{name}'. Expected one of {sorted(known)}.")
    return known[name].from_config(config.get("config") or {})


def get(identifier: Any) -> Any:
    """The initializer that a name, dictionary, class or function stands for; None for None.

    Raises:
      ValueError: it stands for none.
    """
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier!r}")


__all__ = ["CLASSES", "Initializer", "convert_to_tensor", "deserialize", "get", "serialize"]
