"""Operations that write and read checkpoint bundles. Host only.

The format is `penstock.core.bundle`'s. Tensors are named; `shape_and_slices` has for each the empty
string, or what part of a whole it is: "4 2 0,2:-" for rows 0 and 1 of a tensor of shape [4, 2].
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.bundle import slices
from penstock.core.bundle.merge import merge_bundles, shard_name
from penstock.core.bundle.reader import BundleReader, Contents
from penstock.core.bundle.single_file import open_checkpoint
from penstock.core.bundle.writer import BundleWriter
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray


def texts(array: Array) -> list[str]:
    """The elements of a string tensor as text."""
    return [_text(item) for item in np.asarray(array, object).reshape(-1)]


def _text(item: Any) -> str:
    return item if isinstance(item, str) else item.decode("utf-8", "surrogateescape")


def path_text(array: Array) -> str:
    """A string scalar as a path."""
    return os.fsdecode(array.item())


def bad(text: str) -> errors.OpError:
    """The error for arguments that do not go together."""
    return errors.InvalidArgumentError(None, None, text)


def check_counts(names: Sequence[str], specs: Sequence[str] | None, count: int, what: str) -> None:
    """Refuses names, slices and tensors of different numbers.

    Raises:
      InvalidArgumentError: they differ.
    """
    if specs is not None and len(names) != len(specs):
        raise bad(
            "tensor_names and shape_and_slices have different number of elements: "
            f"{len(names)} vs. {len(specs)}. Give one slice, or '', for each name."
        )
    if len(names) != count:
        raise bad(
            f"Got {len(names)} tensor names, but {count} expected {what}. Give one name for each."
        )


def check_part(name: str, spec: str, array: Array) -> tuple[tuple[int, ...], slices.Slice]:
    """The whole shape and the slice that `spec` writes, which must be the part's.

    Raises:
      InvalidArgumentError: the part has another shape.
    """
    shape, slice_ = slices.parse_spec(spec)
    if slices.slice_shape(shape, slice_) != tuple(array.shape):
        raise bad(
            "Slice in shape_and_slice specification does not match the shape of the tensor to  "
            f"save: {spec}, tensor: {list(array.shape)} ({name}): expected shape "
            f"{list(slices.slice_shape(shape, slice_))}. Correct the slice."
        )
    return shape, slice_


def _save_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "prefix")
    c.rank(1, 1, "tensor_names")
    c.rank(2, 1, "shape_and_slices")
    return []


SAVE_V2 = define_op(
    "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: [dtypes]; "
    "dtypes: list(type) >= 1) -> ()",
    shape=_save_shape,
    stateful=True,
    doc="Writes tensors, or parts of tensors, as a bundle under a prefix.",
).not_differentiable("it has no outputs")


@host_kernel(SAVE_V2, limit=1 << 62)
def _save_v2(
    prefix: Array,
    tensor_names: Array,
    shape_and_slices: Array,
    tensors: list[Array],
    *,
    dtypes: Sequence[DType],
) -> list[Array]:
    names, specs = texts(tensor_names), texts(shape_and_slices)
    check_counts(names, specs, len(tensors), "tensors")
    writer = BundleWriter(path_text(prefix))
    for name, spec, tensor, dtype in zip(names, specs, tensors, dtypes, strict=True):
        array = np.asarray(tensor)
        if spec:
            writer.add_slice(name, *check_part(name, spec, array), array, dtype)
        else:
            writer.add(name, array, dtype)
    writer.finish()
    return []


DISABLE_COPY_ON_READ = define_op(
    "DisableCopyOnRead(resource: resource) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Stands in graphs of savers. Reads of variables never copy here, so it does nothing.",
).not_differentiable("it has no outputs")


@host_kernel(DISABLE_COPY_ON_READ, limit=1 << 62)
def _disable_copy_on_read(resource: Any) -> list[Array]:
    return []


def _restore_shapes(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "prefix")
    c.rank(1, 1, "tensor_names")
    c.rank(2, 1, "shape_and_slices")
    count, specs = len(c.attr("dtypes")), c.constant(2)
    if specs is None or specs.size != count:
        return [None] * count
    return [slices.slice_shape(*slices.parse_spec(s)) if s else None for s in texts(specs)]


RESTORE_V2 = define_op(
    "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string; dtypes: list(type) "
    ">= 1) -> tensors: [dtypes]",
    shape=_restore_shapes,
    stateful=True,
    doc="Reads tensors, or parts of tensors, from the checkpoint under a prefix.",
).not_differentiable("a checkpoint is no tensor")


@host_kernel(RESTORE_V2, limit=1 << 62)
def _restore_v2(
    prefix: Array, tensor_names: Array, shape_and_slices: Array, *, dtypes: Sequence[DType]
) -> list[Array]:
    names, specs = texts(tensor_names), texts(shape_and_slices)
    check_counts(names, specs, len(dtypes), "dtypes")
    with open_checkpoint(path_text(prefix)) as contents:
        for name, dtype in zip(names, dtypes, strict=True):
            check_dtype(contents, name, dtype)
        if isinstance(contents, BundleReader):
            wanted = [slices.parse_spec(spec) if spec else None for spec in specs]
            return contents.read_parts(names, wanted)
        return [read_part(contents, *each) for each in zip(names, specs, strict=True)]


def check_dtype(contents: Contents, name: str, dtype: DType) -> None:
    """Refuses to restore a tensor as another dtype.

    Raises:
      InvalidArgumentError: the checkpoint has it in another dtype.
      NotFoundError: the checkpoint does not have it.
    """
    stored = contents.info(name).dtype
    if stored is not dtype.base_dtype:
        raise bad(
            f"tensor_name = {name}; expected dtype {dtype.name} does not equal original dtype "
            f"{stored.name} in {contents.path}. Restore it as {stored.name}, and cast."
        )


def read_part(contents: Contents, name: str, spec: str) -> Array:
    """A tensor, or the part of it that `spec` writes."""
    return contents.read_slice(name, *slices.parse_spec(spec)) if spec else contents.read(name)


def _merge_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 1, "checkpoint_prefixes")
    c.rank(1, 0, "destination_prefix")
    return []


MERGE = define_op(
    "MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string; delete_old_dirs: "
    "bool = True, allow_missing_files: bool = False) -> ()",
    shape=_merge_shape,
    stateful=True,
    doc="Makes one bundle of several: their data files are renamed, their indexes joined.",
).not_differentiable("it has no outputs")


@host_kernel(MERGE, limit=1 << 62)
def _merge(
    checkpoint_prefixes: Array,
    destination_prefix: Array,
    *,
    delete_old_dirs: bool,
    allow_missing_files: bool,
) -> list[Array]:
    prefixes = [os.fsdecode(prefix) for prefix in checkpoint_prefixes.reshape(-1)]
    target = path_text(destination_prefix)
    merge_bundles(prefixes, target, delete_old_dirs, allow_missing_files)
    return []


def _three_scalars(c: ShapeContext) -> Dims:
    c.rank(0, 0, "basename")
    c.rank(1, 0, "shard")
    c.rank(2, 0, "num_shards")
    return ()


SHARDED_FILENAME = define_op(
    "ShardedFilename(basename: string, shard: int32, num_shards: int32) -> filename: string",
    shape=_three_scalars,
    host_inputs=("shard", "num_shards"),
    doc="The name of one part of a file that is written in several.",
).not_differentiable("names are strings")


@host_kernel(SHARDED_FILENAME, limit=1 << 62)
def _sharded_filename(basename: Array, shard: Array, num_shards: Array) -> Array:
    name = shard_name(path_text(basename), int(shard), int(num_shards))
    return _one(name)


def _two_scalars(c: ShapeContext) -> Dims:
    c.rank(0, 0, "basename")
    c.rank(1, 0, "num_shards")
    return ()


SHARDED_FILESPEC = define_op(
    "ShardedFilespec(basename: string, num_shards: int32) -> filename: string",
    shape=_two_scalars,
    host_inputs=("num_shards",),
    doc="A pattern for the names of all parts of a file that is written in several.",
).not_differentiable("names are strings")


@host_kernel(SHARDED_FILESPEC, limit=1 << 62)
def _sharded_filespec(basename: Array, num_shards: Array) -> Array:
    return _one(f"{path_text(basename)}-?????-of-{int(num_shards):05d}")


def _one(text: str) -> Array:
    result = np.empty((), object)
    result[()] = os.fsencode(text)
    return result
