"""Operations on checkpoints of the first format: one file of tensors. Host only."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.bundle import slices
from penstock.core.bundle.single_file import SingleFileReader, write_single_file
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.io_checkpoint import check_counts, check_part, path_text, read_part, texts
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray


def _save_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "filename")
    c.rank(1, 1, "tensor_names")
    return []


SAVE = define_op(
    "Save(filename: string, tensor_names: string, data: [T]; T: list(type) >= 1) -> ()",
    shape=_save_shape,
    stateful=True,
    doc="Writes tensors into a file of the first checkpoint format.",
).not_differentiable("it has no outputs")


@host_kernel(SAVE, limit=1 << 62)
def _save(
    filename: Array, tensor_names: Array, data: list[Array], *, T: Sequence[DType]
) -> list[Array]:
    names = texts(tensor_names)
    check_counts(names, None, len(data), "tensors")
    _write(path_text(filename), names, [""] * len(names), data, T)
    return []


def _write(
    path: str, names: list[str], specs: list[str], data: list[Array], dtypes: Sequence[DType]
) -> None:
    parts = []
    for name, spec, tensor, dtype in zip(names, specs, data, dtypes, strict=True):
        array = np.asarray(tensor)
        shape, slice_ = check_part(name, spec, array) if spec else (array.shape, None)
        parts.append((name, tuple(shape), slice_, array, dtype))
    write_single_file(path, parts)


def _save_slices_shape(c: ShapeContext) -> list[Dims]:
    c.rank(2, 1, "shapes_and_slices")
    return _save_shape(c)


SAVE_SLICES = define_op(
    "SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: [T]; "
    "T: list(type) >= 1) -> ()",
    shape=_save_slices_shape,
    stateful=True,
    doc="Writes tensors, or parts of tensors, into a file of the first checkpoint format.",
).not_differentiable("it has no outputs")


@host_kernel(SAVE_SLICES, limit=1 << 62)
def _save_slices(
    filename: Array,
    tensor_names: Array,
    shapes_and_slices: Array,
    data: list[Array],
    *,
    T: Sequence[DType],
) -> list[Array]:
    names, specs = texts(tensor_names), texts(shapes_and_slices)
    check_counts(names, specs, len(data), "tensors")
    _write(path_text(filename), names, specs, data, T)
    return []


def _restore_shape(c: ShapeContext) -> Dims:
    c.rank(0, 0, "file_pattern")
    c.rank(1, 0, "tensor_name")
    return None


RESTORE = define_op(
    "Restore(file_pattern: string, tensor_name: string; dt: type, preferred_shard: int = -1) -> "
    "tensor: dt",
    shape=_restore_shape,
    stateful=True,
    doc="Reads a tensor from files of the first checkpoint format.",
).not_differentiable("a checkpoint is no tensor")


@host_kernel(RESTORE, limit=1 << 62)
def _restore(file_pattern: Array, tensor_name: Array, *, dt: DType) -> Array:
    return _read(path_text(file_pattern), texts(tensor_name)[0], "", dt)


def _read(pattern: str, name: str, spec: str, dtype: DType) -> Array:
    with SingleFileReader(pattern) as contents:
        stored = contents.info(name).dtype
        if stored is not dtype.base_dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected to restore a tensor of type {dtype.name}, got a tensor of type "
                f"{stored.name} instead: tensor_name = {name} in {contents.path}. Restore it as "
                f"{stored.name}, and cast.",
            )
        return read_part(contents, name, spec)


def _restore_slice_shape(c: ShapeContext) -> Dims:
    _restore_shape(c)
    c.rank(2, 0, "shape_and_slice")
    spec = c.constant(2)
    text = texts(spec)[0] if spec is not None else ""
    return slices.slice_shape(*slices.parse_spec(text)) if text else None


RESTORE_SLICE = define_op(
    "RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string; dt: type, "
    "preferred_shard: int = -1) -> tensor: dt",
    shape=_restore_slice_shape,
    stateful=True,
    doc="Reads a tensor, or a part of one, from files of the first checkpoint format.",
).not_differentiable("a checkpoint is no tensor")


@host_kernel(RESTORE_SLICE, limit=1 << 62)
def _restore_slice(
    file_pattern: Array, tensor_name: Array, shape_and_slice: Array, *, dt: DType
) -> Array:
    spec = texts(shape_and_slice)[0]
    return _read(path_text(file_pattern), texts(tensor_name)[0], spec, dt)
