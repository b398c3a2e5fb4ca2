"""Operations on lookup tables: make one, fill it, look up, change, list.

A handle refers to a `LookupTable` (`lookup_state`), shared by container and name, or anonymous.
Operations of TensorFlow 1, which name a table by a string reference, are put in terms of these by
the planner.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.context import state
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.core.shapes import ShapeContext
from penstock.ops.lookup_files import read_table
from penstock.ops.lookup_numbers import mutable_table
from penstock.ops.lookup_state import (
    DenseTable,
    LookupTable,
    StaticTable,
    check_types,
    describe,
    full_shape,
    invalid,
    same_types,
)
from penstock.ops.queue_waiting import make_handle
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_HOST = 1 << 62  # tables live on the host
_WHY = "a table is no function of numbers"
_SHARED = "container: string = '', shared_name: string = '', use_node_name_sharing: bool = False, "
_TYPES = "key_dtype: type, value_dtype: type"
_SHAPE = f"{_TYPES}, value_shape: shape = []"
_DENSE = f"{_SHAPE}, initial_num_buckets: int = 131072, max_load_factor: float = 0.8"
_numbers = itertools.count()


def _define(text: str, doc: str, shape: Any = shapes.scalar, stateful: bool = True) -> OpDef:
    return define_op(text, shape=shape, stateful=stateful, doc=doc).not_differentiable(_WHY)


def _define_maker(name: str, inputs: str, old_inputs: str, attrs: str, doc: str) -> OpDef:
    """The operations that make a table: by a string reference, shared by name, and anonymous."""
    _define(
        f"{name}({old_inputs}; {_SHARED}{attrs}) -> ref table_handle: string",
        f"{doc} The handle is a reference, as in TensorFlow 1.",
    )
    _define(
        f"Anonymous{name}({inputs}; {attrs}) -> table_handle: resource",
        f"{doc} It lives as long as its handle.",
    )
    return _define(
        f"{name}V2({inputs}; {_SHARED}{attrs}) -> table_handle: resource",
        f"{doc} Shared by container and name.",
    )


STATIC = _define_maker("HashTable", "", "", _TYPES, "A table that is filled once.")
MUTABLE = _define_maker("MutableHashTable", "", "", _TYPES, "A table of single values.")
VECTORS = _define_maker(
    "MutableHashTableOfTensors", "", "", _SHAPE, "A table of values of one shape."
)
_KEYS = "empty_key: key_dtype, deleted_key: key_dtype"
DENSE = _define_maker(
    "MutableDenseHashTable", _KEYS, "empty_key: key_dtype", _DENSE,
    "A table with keys that stand for nothing.",
)  # fmt: skip

MAKERS = frozenset(op.name for op in (STATIC, MUTABLE, VECTORS, DENSE))


def _made(ctx: KernelContext, create: Callable[[str], LookupTable]) -> ResourceHandle:
    """The handle of a table with this operation's name and attributes, made when there is none."""
    attrs = ctx.attrs
    key_dtype, value_dtype = attrs["key_dtype"], attrs["value_dtype"]
    check_types(ctx.op_name, key_dtype, value_dtype)
    if "shared_name" not in attrs:
        name = f"anonymous_table_{next(_numbers)}"
        return ResourceHandle("", name, create(name))
    by_name = attrs["use_node_name_sharing"] and ctx.step is not None
    shared = attrs["shared_name"] or (ctx.op_name if by_name else "")
    handle = make_handle(ctx, attrs["container"], shared, LookupTable, create)
    table = handle.resource
    if not same_types(table, key_dtype, value_dtype):
        raise invalid(
            f"Conflicting key/value dtypes {describe((key_dtype, value_dtype))} with"
            f" {describe((table.key_dtype, table.value_dtype))} for table {handle.name}. Give it"
            " another shared_name."
        )
    return handle


def _static(ctx: KernelContext, *, key_dtype: DType, value_dtype: DType) -> ResourceHandle:
    return _made(ctx, lambda name: StaticTable(name, key_dtype, value_dtype))


def _mutable(ctx: KernelContext, *, key_dtype: DType, value_dtype: DType) -> ResourceHandle:
    return _made(ctx, lambda name: mutable_table(name, key_dtype, value_dtype))


def _vectors(
    ctx: KernelContext, *, key_dtype: DType, value_dtype: DType, value_shape: Dims
) -> ResourceHandle:
    shape = full_shape(value_shape, "values")
    if len(shape) > 1:
        raise invalid(f"Default value must be a vector, got shape {list(shape)}. Reshape it.")
    return _made(ctx, lambda name: mutable_table(name, key_dtype, value_dtype, shape))


def _dense(
    ctx: KernelContext,
    empty_key: Array,
    deleted_key: Array | None = None,
    *,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Dims,
    initial_num_buckets: int,
    max_load_factor: float,
) -> ResourceHandle:
    count = initial_num_buckets
    if count < 4 or count & (count - 1):
        raise invalid(f"Number of buckets must be at least 4 and a power of 2, got: {count}.")
    if not 0 < max_load_factor < 1:
        raise invalid(f"max_load_factor must be between 0 and 1, got: {max_load_factor}.")
    shape = full_shape(value_shape, "values")

    def make(name: str) -> DenseTable:
        keys = empty_key, deleted_key
        return DenseTable(name, key_dtype, value_dtype, shape, *keys, count, max_load_factor)

    return _made(ctx, make)


for _op, _kernel in ((STATIC, _static), (MUTABLE, _mutable), (VECTORS, _vectors), (DENSE, _dense)):
    host_kernel(_op, limit=_HOST)(_kernel)
    host_kernel(f"Anonymous{_op.name.removesuffix('V2')}", limit=_HOST)(_kernel)


OLD_DENSE = _define(
    f"PenstockMutableDenseHashTable(empty_key: key_dtype; {_SHARED}{_DENSE}) -> "
    "table_handle: resource",
    "The resource in place of a MutableDenseHashTable's reference: it has no deleted key.",
)


@host_kernel(OLD_DENSE, limit=_HOST)
def _old_dense(
    ctx: KernelContext,
    empty_key: Array,
    *,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Dims,
    initial_num_buckets: int,
    max_load_factor: float,
) -> ResourceHandle:
    return _dense(
        ctx, empty_key, None, key_dtype=key_dtype, value_dtype=value_dtype,
        value_shape=value_shape, initial_num_buckets=initial_num_buckets,
        max_load_factor=max_load_factor,
    )  # fmt: skip


# ---- using one ----------------------------------------------------------------------------------


def table_of(handle: ResourceHandle) -> LookupTable:
    """The table of a handle.

    Raises:
      InvalidArgumentError: it is another resource.
    """
    table = getattr(handle, "resource", None)
    if not isinstance(table, LookupTable):
        raise invalid(
            f"Trying to access a handle's resource using the wrong type: expected a lookup table,"
            f" got {handle!r}. Make one with tf.lookup."
        )
    if table.destroyed:
        raise errors.NotFoundError(
            None,
            None,
            f"Resource {handle.container}/{table.name} does not exist: expected a lookup table, got"
            " one that was destroyed. Make it again.",
        )
    return table


def _typed(
    ctx: KernelContext, handle: ResourceHandle, keys: DType, values: DType | None = None
) -> LookupTable:
    """The table of a handle, whose dtypes must be these."""
    table = table_of(handle)
    if not same_types(table, keys, values):
        got = (keys,) if values is None else (keys, values)
        raise invalid(
            f"Signature mismatch: {ctx.op_name} has {describe(got)}, expected"
            f" {describe((table.key_dtype, table.value_dtype)[: len(got)])} for table"
            f" {table.name}. Cast them."
        )
    return table


_PAIR = "keys: Tin, values: Tout; Tin: type, Tout: type"
_FILE = (
    "filename: string; key_index: int >= -2, value_index: int >= -2, vocab_size: int >= -1 = -1, "
    "delimiter: string = '\\t', offset: int = 0"
)


def _define_use(
    name: str,
    rest: str,
    result: str,
    doc: str,
    shape: Any,
    old: bool = True,
    old_pure: bool = False,
) -> OpDef:
    """An operation on a table, in both forms: of a resource, and of a string reference."""
    if old:
        _define(
            f"{name}(ref table_handle: string{rest}) -> {result}",
            f"{doc} The handle is a reference, as in TensorFlow 1.",
            shape,
            stateful=not old_pure,
        )
    return _define(f"{name}V2(table_handle: resource{rest}) -> {result}", doc, shape)


def _found_shape(c: ShapeContext) -> Dims:
    """A value for each key, where the handle says the shape of a value."""
    value = c.variable_shape(0)
    return None if value is None else d.concat(c.shape(1), value)


FIND = _define_use(
    "LookupTableFind", ", keys: Tin, default_value: Tout; Tin: type, Tout: type", "values: Tout",
    "The values of keys; a default where there are none.", _found_shape, old_pure=True,
)  # fmt: skip
INSERT = _define_use(
    "LookupTableInsert", f", {_PAIR}", "()", "Sets the values of keys.", shapes.no_output
)
REMOVE = _define_use(
    "LookupTableRemove", ", keys: Tin; Tin: type", "()", "Drops keys.", shapes.no_output, old=False
)
SIZE = _define_use("LookupTableSize", "", "size: int64", "The number of keys.", shapes.scalar)
EXPORT = _define_use(
    "LookupTableExport", "; Tkeys: type, Tvalues: type", "keys: Tkeys, values: Tvalues",
    "All keys and values, in no order; the buckets of a dense table.", lambda c: [None, None],
)  # fmt: skip


def _import_shape(c: shapes.ShapeContext) -> list[Dims]:
    keys, values = c.shape(1) or (), c.shape(2) or ()
    known = bool(keys and values) and None not in (keys[0], values[0])
    if state.graph is not None and known and keys[0] != values[0]:
        c.fail(
            "a value for each key",
            f"Dimensions must be equal, but are {keys[0]} and {values[0]}",
        )
    return []


IMPORT = _define_use(
    "LookupTableImport", f", {_PAIR}", "()", "Replaces the content.", _import_shape
)
INITIALIZE = _define_use(
    "InitializeTable", ", keys: Tkey, values: Tval; Tkey: type, Tval: type", "()",
    "Fills a table that is filled once.", shapes.no_output,
)  # fmt: skip
INITIALIZE_FROM_FILE = _define_use(
    "InitializeTableFromTextFile", f", {_FILE}", "()",
    "Fills a table that is filled once from the lines of a file.", shapes.no_output,
)  # fmt: skip


@host_kernel(FIND, limit=_HOST)
def _find(
    ctx: KernelContext, handle: Any, keys: Array, default: Array, *, Tin: DType, Tout: DType
) -> Array:
    return _typed(ctx, handle, Tin, Tout).find(keys, default)


@host_kernel(INSERT, limit=_HOST)
def _insert(
    ctx: KernelContext, handle: Any, keys: Array, values: Array, *, Tin: DType, Tout: DType
) -> None:
    _typed(ctx, handle, Tin, Tout).insert(keys, values)


@host_kernel(REMOVE, limit=_HOST)
def _remove(ctx: KernelContext, handle: Any, keys: Array, *, Tin: DType) -> None:
    _typed(ctx, handle, Tin).remove(keys)


@host_kernel(SIZE, limit=_HOST)
def _size(handle: Any) -> Array:
    return np.asarray(table_of(handle).size, np.int64)


@host_kernel(EXPORT, limit=_HOST)
def _export(
    ctx: KernelContext, handle: Any, *, Tkeys: DType, Tvalues: DType
) -> tuple[Array, Array]:
    return _typed(ctx, handle, Tkeys, Tvalues).export()


@host_kernel(IMPORT, limit=_HOST)
def _import(
    ctx: KernelContext, handle: Any, keys: Array, values: Array, *, Tin: DType, Tout: DType
) -> None:
    table = _typed(ctx, handle, Tin, Tout)
    _not_empty(table, keys)
    table.replace(keys, values)


@host_kernel(INITIALIZE, limit=_HOST)
def _initialize(
    ctx: KernelContext, handle: Any, keys: Array, values: Array, *, Tkey: DType, Tval: DType
) -> None:
    table = _typed(ctx, handle, Tkey, Tval)
    _not_empty(table, keys)
    table.initialize(keys, values)


def _not_empty(table: LookupTable, keys: Array) -> None:
    """Refuses to fill a table for good with nothing."""
    if isinstance(table, StaticTable) and keys.size == 0:
        raise invalid(
            f"Table {table.name}: expected at least one key, got keys of shape"
            f" {list(keys.shape)}: keys and values cannot be empty tensors. Use a MutableHashTable"
            " for content that may be empty."
        )


@host_kernel(INITIALIZE_FROM_FILE, limit=_HOST)
def _initialize_from_file(
    handle: Any,
    filename: Array,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: Any,
    offset: int,
) -> None:
    table = table_of(handle)
    if not isinstance(table, StaticTable):
        table.initialize(np.zeros(0), np.zeros(0))  # which refuses
        return
    if table.initialized:
        return
    keys, values = read_table(
        filename.item(),
        (key_index, table.key_dtype),
        (value_index, table.value_dtype),
        vocab_size,
        delimiter,
        offset,
    )
    table.initialize(keys, values)
