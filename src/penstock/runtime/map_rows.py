"""`MapDefun`: a function called for each row of its arguments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.effects import inside
from penstock.core.kernels import KernelContext, register_kernel
from penstock.runtime.bodies import run_body
from penstock.runtime.control_flow import ON_HOST, with_handles
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray


def _map_rows(
    ctx: KernelContext, arguments: list[Array], captured_inputs: list[Array], *, f: Any,
    output_types: Sequence[DType], output_shapes: Sequence[Dims],
) -> list[Array]:  # fmt: skip
    count = _rows_of(arguments)
    _check_signature(f, len(arguments) + len(captured_inputs), output_types)
    columns: list[list[Array]] = [[] for _ in output_types]
    with inside(ctx.step, ctx.op_name):
        for i in range(count):
            rows = [np.asarray(a)[i] for a in arguments]
            made = run_body(ctx, f, with_handles([*rows, *captured_inputs], (f,)))
            for column, value, dims in zip(columns, made, output_shapes, strict=True):
                _check_shape(np.shape(value), dims)
                column.append(np.asarray(value))
    return [
        _stacked(column, dims, dtype)
        for column, dims, dtype in zip(columns, output_shapes, output_types, strict=True)
    ]


def _invalid(sentence: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, sentence)


def _rows_of(arguments: list[Array]) -> int:
    count: int | None = None
    for i, each in enumerate(arguments):
        shape = np.shape(each)
        if not shape:
            raise _invalid(
                f"All inputs must have rank at least 1. Input {i} has a rank of 0. Pass what each "
                "call takes whole as captured_inputs."
            )
        if count not in (None, shape[0]):
            raise _invalid(
                f"All inputs must have the same dimension 0. Input {i} has leading dimension "
                f"{shape[0]}, while all previous inputs have leading dimension {count}."
            )
        count = shape[0]
    return count or 0


def _check_signature(body: Any, given: int, types: Sequence[DType]) -> None:
    if len(body.inputs) != given:
        raise _invalid(
            f"Mismatch in number of function inputs: {body.name} takes {len(body.inputs)}, got "
            f"{given}."
        )
    found = [t.dtype for t in body.outputs]
    if found != list(types):
        raise _invalid(
            f"Mismatch in function return type and expected output type: {body.name} returns "
            f"{[t.name for t in found]}, expected {[t.name for t in types]}."
        )


def _check_shape(found: tuple[int, ...], dims: Dims) -> None:
    if not d.compatible(found, dims):
        raise _invalid(
            f"Mismatch in function retval shape, {d.text(found)}, and expected output shape, "
            f"{d.text(dims)}. Give what is common to all rows in output_shapes."
        )


def _stacked(column: list[Array], dims: Dims, dtype: DType) -> Array:
    if not column:
        inner = dims if dims is not None and d.is_full(dims) else ()
        return np.zeros((0, *(n for n in inner if n is not None)), dtype.numpy_dtype)
    if len({value.shape for value in column}) > 1:
        raise _invalid(
            f"Expected every row's result to have one shape, got {[v.shape for v in column]}."
        )
    return np.stack(column)


register_kernel("MapDefun", _map_rows, kind="host", limit=ON_HOST, reentrant=True)
