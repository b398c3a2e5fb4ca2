"""Sources of batches in graph mode: tensors, dense and sparse, as queues hold them.

A queue holds dense components; a sparse one goes through it as three strings, and the strings of a
batch become one sparse tensor of one more dimension.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.ops.sparse_messages import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)

Elements = list[Tensor]


@dataclass(frozen=True, slots=True)
class Source:
    """What one source gives.

    Attributes:
      tensors: its components; those that are sparse as strings.
      sparse: for each component the dtype and the rank of a batch, None where it is dense.
      build: gives a list of components the structure that they had.
    """

    tensors: Elements
    sparse: list[tuple[Any, int | None] | None]
    build: Callable[[list[Any]], Any]

    def restore(self, found: list[Any]) -> Any:
        """Batches in the structure that the tensors had, sparse ones as they were."""
        pairs = zip(found, self.sparse, strict=True)
        return self.build(
            [t if s is None else deserialize_many_sparse(t, s[0], s[1]) for t, s in pairs]
        )


def source_of(tensors: Any, many: bool) -> Source:
    """A tensor, or a list or dictionary of them; `many`: along the first dimension.

    Raises:
      ValueError: there is none.
    """
    if isinstance(tensors, dict):
        keys = sorted(tensors)
        values = [tensors[k] for k in keys]
        return _converted(values, many, lambda found: dict(zip(keys, found, strict=True)))
    if isinstance(tensors, list | tuple):
        one = len(tensors) == 1
        return _converted(list(tensors), many, lambda found: found[0] if one else found)
    return _converted([tensors], many, lambda found: found[0])


def _converted(values: list[Any], many: bool, build: Callable[[list[Any]], Any]) -> Source:
    if not values:
        raise ValueError("Expected at least one tensor to batch: got none.")
    flat: Elements = []
    sparse: list[tuple[Any, int | None] | None] = []
    for value in values:
        if not isinstance(value, SparseTensor):
            flat.append(convert_to_tensor(value))
            sparse.append(None)
            continue
        rank = value.shape.rank
        flat.append(serialize_many_sparse(value) if many else serialize_sparse(value))
        sparse.append((value.dtype, None if rank is None else rank + 1 - int(many)))
    return Source(flat, sparse, build)


def same_kinds(sources: list[Source]) -> None:
    """Raises ValueError when a component is sparse in one source and not in another."""
    kinds = [[s is not None for s in source.sparse] for source in sources]
    if any(other != kinds[0] for other in kinds):
        raise ValueError(
            "Inconsistent SparseTensors list: expected every source to have them in the same"
            f" places, got {kinds} (True where a component is sparse). Convert some of them."
        )
