"""`operator[...]`: part of a stack of linear operators.

Parameters broadcast: an axis of the stack may be missing in a parameter, or have size 1. A slice of
the stack is taken of each parameter as if it were there. Where the rank of a stack is not known,
neither is which axes a parameter lacks; so only an operator with one parameter can be sliced then.
"""

from typing import Any

from penstock import errors
from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.spec import holds_tensors
from penstock.types.dims import Dims

FULL = slice(None)


def batch_slice(operator: Any, slices: Any) -> Any:
    """The operator of a part of the stack.

    Args:
      operator: an operator with a stack of known rank, or with one parameter.
      slices: what stands in brackets: integers, slices, scalar tensors, tf.newaxis, an ellipsis.

    Raises:
      InvalidArgumentError, ValueError: there are more indices than axes (ValueError in a graph).
    """
    dims = operator.batch_shape.dims_tuple
    return operator._sliced(_entries(operator, slices, None if dims is None else len(dims)), dims)


def _entries(operator: Any, slices: Any, rank: int | None) -> list[Any]:
    """One entry for each axis of the stack, and None for each new axis.

    An ellipsis stands for the axes that are not known to be there.
    """
    given = list(slices) if isinstance(slices, tuple) else [slices]
    used = sum(s is not None and s is not Ellipsis for s in given)
    if rank is not None and used > rank:
        text = (
            f"{operator.name}[...]: slice index {rank} of dimension 0 out of bounds: expected at "
            f"most {rank} indices for the stack {operator.batch_shape}, got {used}. The matrices "
            "themselves cannot be sliced; use to_dense()."
        )
        in_graph = state.graph is not None
        raise ValueError(text) if in_graph else errors.InvalidArgumentError(None, None, text)
    if not any(s is Ellipsis for s in given):
        given.append(Ellipsis)
    if rank is None:
        return given
    found: list[Any] = []
    for entry in given:
        found.extend([FULL] * (rank - used) if entry is Ellipsis else [entry])
    return found


def sliced_parameters(operator: Any, entries: list[Any], dims: Dims) -> dict[str, Any]:
    """The parameters of an operator for a part of its stack.

    Args:
      operator: the operator.
      entries: as `_entries` makes them.
      dims: the static shape of the stack that they are for.
    """
    if dims is None and len(_parts(operator)) != 1:
        raise ValueError(
            f"{operator.name}[...]: expected a stack of known rank, got shape {operator.shape} of "
            "several parameters. Set their shapes with tf.ensure_shape."
        )
    inner = operator._experimental_parameter_ndims_to_matrix_ndims
    found = {}
    for name, value in operator._spec_parameters().items():
        if holds_tensors(value):
            if name not in inner and not _holds_operators(value):
                raise NotImplementedError(
                    f"{type(operator).__name__}[...]: expected the number of axes of {name!r} that "
                    "belong to one matrix, got none. Add it to "
                    "_experimental_parameter_ndims_to_matrix_ndims."
                )
            value = _sliced(value, inner.get(name, 0), entries, dims)
        found[name] = value
    return found


def _parts(operator: Any) -> list[Any]:
    """The tensors and operators that an operator is made of."""
    found: list[Any] = []
    for value in operator._spec_parameters().values():
        if holds_tensors(value):
            found.extend(value if isinstance(value, (list, tuple)) else [value])
    return found


def _holds_operators(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_holds_operators(item) for item in value)
    return isinstance(value, CompositeTensor)


def _sliced(value: Any, inner: Any, entries: list[Any], dims: Dims) -> Any:
    if isinstance(value, (list, tuple)):
        counts = inner if isinstance(inner, (list, tuple)) else [inner] * len(value)
        pairs = zip(value, counts, strict=True)
        return [_sliced(item, count, entries, dims) for item, count in pairs]
    if isinstance(value, CompositeTensor):
        own = value.batch_shape.dims_tuple  # type: ignore[attr-defined]  # an operator
        return value._sliced(fitting(entries, own, dims), own)  # type: ignore[attr-defined]
    own = v.batch_dims(value, inner)
    return value[(*fitting(entries, own, dims), *[FULL] * inner)]


def fitting(entries: list[Any], own: Dims, dims: Dims) -> list[Any]:
    """The entries for a value with the axes `own` that broadcast to `dims`."""
    if dims is None:
        return entries
    if own is None:
        raise ValueError("operator[...]: expected parameters of known rank. Use tf.ensure_shape.")
    found: list[Any] = []
    skip, axis = len(dims) - len(own), 0
    for entry in entries:
        if entry is None:
            found.append(None)
            continue
        if axis >= skip:
            alone = own[axis - skip] == 1 and dims[axis] != 1
            found.append((FULL if isinstance(entry, slice) else 0) if alone else entry)
        axis += 1
    return found
