"""What layers expect of their inputs and of the sizes in their arguments: `InputSpec`.

`check_inputs` refuses what a layer is called with, `last_size` and `as_tuple` read sizes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest


class InputSpec:
    """What a layer expects of an input.

    Args:
      dtype: the dtype.
      shape: the shape, None for any size.
      ndim: the rank.
      max_ndim: the largest rank.
      min_ndim: the smallest rank.
      axes: the sizes by axis.
      allow_last_axis_squeeze: whether a last axis of size 1 may be missing or too many.
      name: the key of the input among those in a dictionary.
      optional: whether the input may be None.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype = None if dtype is None else dt.as_dtype(dtype).name
        known = None if shape is None else TensorShape(shape)
        self.shape = None if known is None or known.rank is None else tuple(known.as_list())
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name, self.optional = name, optional
        limit = self.ndim if self.ndim is not None else max_ndim
        if limit is not None and self.axes and max(self.axes) >= limit:
            raise ValueError(
                f"Axis {max(self.axes)} is greater than the maximum allowed value: {limit - 1}"
            )

    def __repr__(self) -> str:
        fields = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        told = [f"{n}={getattr(self, n)}" for n in fields if getattr(self, n)]
        return f"InputSpec({', '.join(told)})"

    def problem(self, value: Any) -> str | None:
        """What is wrong with an input: what was expected and found, or None."""
        dims = value.shape.rank
        if dims is None:
            return None
        sizes = value.shape.as_list()
        if self.ndim is not None and dims != self.ndim and not self._squeezes(sizes):
            return f"expected ndim={self.ndim}, found ndim={dims}"
        if self.max_ndim is not None and dims > self.max_ndim:
            return f"expected max_ndim={self.max_ndim}, found ndim={dims}"
        if self.min_ndim is not None and dims < self.min_ndim:
            return f"expected min_ndim={self.min_ndim}, found ndim={dims}"
        if self.dtype is not None and value.dtype.name != self.dtype:
            return f"expected dtype={self.dtype}, found dtype={value.dtype}"
        wanted = dict(enumerate(self.shape)) if self.shape and dims == len(self.shape) else {}
        for axis, size in {**wanted, **self.axes}.items():
            if size is not None and axis < dims and sizes[axis] not in (size, None):
                return f"expected axis {axis} to have value {size}, found size {sizes[axis]}"
        return None

    def _squeezes(self, sizes: list[int | None]) -> bool:
        if not self.allow_last_axis_squeeze or self.ndim is None:
            return False
        if len(sizes) == self.ndim + 1:
            return sizes[-1] == 1
        return len(sizes) == self.ndim - 1 and self.shape is not None and self.shape[-1] == 1


def check_inputs(layer: str, input_spec: Any, inputs: Any) -> None:
    """Refuses inputs that a layer of this name does not allow.

    Args:
      layer: the name.
      input_spec: InputSpecs in the structure of the inputs; None for any inputs.
      inputs: what the layer is called with.

    Raises:
      ValueError: there are more or fewer inputs, or one is not as its InputSpec says.
    """
    if input_spec is None:
        return
    specs, values = nest.flatten(input_spec), nest.flatten(inputs)
    if len(specs) != len(values):
        raise ValueError(
            f'Layer "{layer}" expects {len(specs)} input(s), but it received '
            f"{len(values)} input tensors. Inputs received: {inputs}"
        )
    for index, (spec, value) in enumerate(zip(specs, values, strict=True)):
        problem = None if spec is None else spec.problem(value)
        if problem is not None:
            raise ValueError(
                f'Input {index} of layer "{layer}" is incompatible with the layer: '
                f"{problem}. Full shape received: {_text(value.shape)}"
            )


def last_size(shape: Any, what: str, axis: int = -1) -> int:
    """The size of an axis that a layer's variables need.

    Args:
      shape: the shape of the input, a TensorShape or its sizes.
      what: says in the error which layer it is.
      axis: which axis.

    Raises:
      ValueError: the size is not known.
    """
    shape = TensorShape(shape)
    size = None if shape.rank is None else shape.as_list()[axis]
    if size is None:
        raise ValueError(
            f"{what} should be defined. Found None. Full input shape received: {_text(shape)}"
        )
    return int(size)


def as_tuple(value: Any, count: int, name: str, allow_zero: bool = False) -> tuple[int, ...]:
    """`count` sizes: a number stands for all of them.

    Args:
      value: a number, or a sequence of them.
      count: how many.
      name: of the argument.
      allow_zero: whether 0 is a size.

    Raises:
      ValueError: there are more or fewer, or one is too small.
    """
    many = isinstance(value, Sequence) and not isinstance(value, str)
    sizes = tuple(value) if many else (value,) * count
    expected = f"The `{name}` argument must be a tuple of {count} integers. Received: {value}"
    if len(sizes) != count or not all(isinstance(s, int | np.integer) for s in sizes):
        raise ValueError(expected)
    least = 0 if allow_zero else 1
    if any(s < least for s in sizes):
        raise ValueError(f"{expected}, of which each must be {least} or more")
    return tuple(int(s) for s in sizes)


def _text(shape: Any) -> str:
    return "<unknown>" if shape.rank is None else str(tuple(shape.as_list()))
