"""Methods that make a dataset of what is at hand: tensors, their rows, numbers."""

from typing import TYPE_CHECKING, Any

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.data.base import DatasetBase, dataset_class
from penstock.data.origins import remember
from penstock.data.sources import RANGE, TENSOR, TENSOR_SLICE
from penstock.data.structure import Structure, normalized, spec_of, to_batched_components, unbatched
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset


def made(op: Any, inputs: Any, spec: Any, attrs: Any = None, name: str | None = None) -> Any:
    """The dataset that an operation makes without others."""
    structure = spec if isinstance(spec, Structure) else Structure(spec)
    given = structure.attrs if attrs is None else attrs
    variant = execute(op, inputs, given, name)
    remember(variant, op, inputs, given)
    dataset = dataset_class()(variant, structure)
    dataset._made_by = op.name
    return dataset


class SourceMethods(DatasetBase):
    """Methods of `Dataset` that need no other dataset."""

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> "Dataset":
        """A dataset of one element.

        Args:
          tensors: the element, a structure of tensors.
          name: the operation's name in a graph.

        Example:
          >>> import penstock as tf
          >>> [x.numpy().tolist() for x in tf.data.Dataset.from_tensors([1, 2, 3])]
          [[1, 2, 3]]
        """
        element = normalized(tensors)
        structure = Structure(spec_of(element))
        attrs = {"output_shapes": structure.shapes}
        return made(TENSOR, (structure.flatten(element),), structure, attrs, name)  # type: ignore[no-any-return]

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> "Dataset":
        """A dataset of the rows of tensors.

        Args:
          tensors: a structure of tensors, [N, ...] each.
          name: the operation's name in a graph.

        Returns:
          A dataset of N elements of the same structure.

        Raises:
          ValueError: a tensor is a scalar, there is none, or they have other numbers of rows.

        Example:
          >>> import penstock as tf
          >>> pairs = tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
          >>> [(int(n), s.numpy()) for n, s in pairs]
          [(1, b'a'), (2, b'b')]
        """
        element = normalized(tensors)
        spec = spec_of(element)
        leaves, values = nest.flatten(spec), nest.flatten(element)
        if not leaves:
            raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
        rows = [p for s, v in zip(leaves, values, strict=True) for p in to_batched_components(s, v)]
        counts = {r.dims[0] for r in rows if r.dims and r.dims[0] is not None}
        if len(counts) > 1:
            raise ValueError(
                "from_tensor_slices: expected tensors with as many rows as each other, got"
                f" {[str(r.shape) for r in rows]}: Dimensions {sorted(counts)} are not compatible."
            )
        structure = Structure(unbatched(spec))
        attrs = {"output_shapes": structure.shapes}
        return made(TENSOR_SLICE, (rows,), structure, attrs, name)  # type: ignore[no-any-return]

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> "Dataset":
        """A dataset of numbers: `range(stop)`, `range(start, stop)` or `range(start, stop, step)`.

        Args:
          *args: int64 scalars, as for Python's `range`.
          **kwargs: `output_type`, the dtype of the numbers (int64 by default), and `name`, the
            operation's name in a graph.

        Raises:
          ValueError: there are no arguments, or more than three.
          InvalidArgumentError: the step is 0, or `output_type` is no dtype of real numbers.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.range(1, 7, 2)]
          [1, 3, 5]
        """
        output_type = as_dtype(kwargs.pop("output_type", dt.int64))
        name = kwargs.pop("name", None)
        if not 1 <= len(args) <= 3:
            raise ValueError(
                "Invalid `args`. The length of `args` should be between 1 and 3 but is"
                f" {len(args)}."
            )
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        limits = [convert_to_tensor(n, dt.int64) for n in (start, stop, step)]
        spec = TensorSpec((), output_type)
        return made(RANGE, limits, spec, None, name)  # type: ignore[no-any-return]
