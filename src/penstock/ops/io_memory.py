"""Constants whose values are a file's bytes, and settings of file systems."""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import files, shapes
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_HOST = 1 << 62


def _declared(c: ShapeContext) -> Dims:
    """The attribute in a graph; a shape that is not known is no number's until it runs."""
    return None if c.running else c.attr("shape")


IMMUTABLE_CONST = define_op(
    "ImmutableConst(; dtype: type, shape: shape, memory_region_name: string) -> tensor: dtype",
    shape=_declared,
    fallible=True,
    doc="A constant whose value is the first bytes of a file, which is mapped and not read.",
).not_differentiable("it has no inputs")


@host_kernel(IMMUTABLE_CONST, limit=_HOST)
def _immutable_const(*, dtype: DType, shape: Dims, memory_region_name: bytes) -> Array:
    if dtype in (dt.resource, dt.variant):
        raise _invalid("Resource and variant dtypes are invalid for this op: expected numbers.")
    if dtype is dt.string:
        raise errors.UnimplementedError(
            None,
            None,
            "DT_STRING is not currently supported for ImmutableConst: expected numbers, whose "
            "bytes a file can hold.",
        )
    dims = () if shape is None else shape  # as TensorFlow reads an unknown rank
    if not d.is_full(dims):
        raise _invalid(f"Shape {d.text(dims)} is not fully defined: expected every dimension.")
    return _mapped(memory_region_name, tuple(n for n in dims if n is not None), dtype)


def _mapped(name: bytes, dims: tuple[int, ...], dtype: DType) -> Array:
    stored = np.dtype(dtype.numpy_dtype)
    needed = stored.itemsize * math.prod(dims)
    if needed >= 1 << 63:
        raise _invalid(f"Shape {d.text(dims)} is too large: expected fewer bytes than 2^63.")
    path = files.local_path(name)
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
    except OSError as problem:
        raise errors.NotFoundError(
            None, None, f"{path}; {problem.strerror}. Expected a file of {needed} bytes or more."
        ) from problem
    if size < needed:
        raise errors.InternalError(
            None,
            None,
            f"Readonly memory region has wrong length ({size}) when allocating {needed}: {path} is "
            f"too short for {dtype.name}{list(dims)}.",
        )
    if not needed:
        return np.empty(dims, stored)
    data = np.memmap(path, np.uint8, "r", shape=(needed,))
    return np.asarray(data != 0 if dtype is dt.bool_ else data.view(stored)).reshape(dims)


def _invalid(sentence: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, sentence)


SET_CONFIGURATION = define_op(
    "FileSystemSetConfiguration(scheme: string, key: string, value: string) -> ()",
    shape=shapes.no_output,
    stateful=True,
    fallible=True,
    doc="Sets an option of a file system. Local files have none, so it is always refused.",
).not_differentiable("names and values are strings")


@host_kernel(SET_CONFIGURATION, limit=_HOST)
def _set_configuration(scheme: Array, key: Array, value: Array) -> None:
    for name, given in (("scheme", scheme), ("key", key), ("value", value)):
        if np.ndim(given):
            raise _invalid(f"{name} must be scalar, got shape {d.text(np.shape(given))}.")
    asked = scheme.item().decode(errors="replace")
    known = asked in ("", "file")
    raise errors.UnimplementedError(
        None,
        None,
        f"SetOption: the file system of local files has no options, got {key.item()!r}."
        if known
        else f"File system scheme '{asked}' not found to set configuration: expected '' or 'file'.",
    )
