"""How the operations that make datasets are defined, and their kernels.

    RANGE = dataset_op("RangeDataset(start: int64, ...; ...) -> handle: variant", "...")

    @dataset_kernel(RANGE)
    def _range(start, ...) -> Description: ...

A kernel's result is the description that the variant holds. Functions are attributes with the
values that they captured beside them: `Mapped(body, captured)` is both.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.data.run import Bound, Run, run_one_by_one
from penstock.data.stages import Description
from penstock.data.vectorize import rows_of_body
from penstock.graph.body import CallBody

HOST = 1 << 62  # datasets are host values, whatever their size
TYPES = "output_types: list(type) >= 1, output_shapes: list(shape) >= 1"
NAMED = f"{TYPES}, metadata: string = ''"
WHY = "what a dataset gives is no function of numbers"


def dataset_op(text: str, doc: str, *, stateful: bool = False) -> OpDef:
    """Defines an operation that makes a dataset.

    Args:
      text: its interface; see `define_op`.
      doc: one paragraph.
      stateful: whether it makes something new each time.
    """
    op = define_op(text, shape=shapes.scalar, stateful=stateful, fallible=True, doc=doc)
    op.calls = "func" in {a.element_kind for a in op.attrs.values()}
    return op.not_differentiable(WHY)


def dataset_kernel(op: OpDef) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: registers what makes the description."""
    return host_kernel(op, limit=HOST)


def held(value: Any) -> Description:
    """The description in a variant.

    Raises:
      InvalidArgumentError: it holds something else.
    """
    found = value.item() if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(found, Description):
        raise errors.InvalidArgumentError(
            None,
            None,
            "The given value is not a dataset: expected a variant that an operation like"
            f" RangeDataset made, got {found!r}.",
        )
    return found


def number(value: Any) -> int:
    """A scalar input as a Python integer.

    Raises:
      InvalidArgumentError: it is no scalar.
    """
    return int(_scalar(value, None))


def _scalar(value: Any, dtype: Any) -> Any:
    found = np.asarray(value, dtype)
    if found.ndim:
        raise errors.InvalidArgumentError(
            None, None, f"expected a scalar, got {value!r} of shape {list(found.shape)}."
        )
    return found[()]


def attr_text(value: Any) -> str:
    """An attribute that is text, which imported graphs have as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def text_of(value: Any) -> str:
    """A scalar string input.

    Raises:
      InvalidArgumentError: it is no scalar.
    """
    found: Any = _scalar(value, object)
    return found.decode() if isinstance(found, bytes) else str(found)


def texts_of(value: Any) -> list[bytes]:
    """A string input of any shape as a list."""
    return [
        v if isinstance(v, bytes) else str(v).encode()
        for v in np.asarray(value, object).reshape(-1).tolist()
    ]


class Mapped:
    """A function of elements with its captured values. Immutable."""

    __slots__ = ("_rows", "body", "captured")

    def __init__(self, body: CallBody, captured: Sequence[Any]) -> None:
        self.body = body
        self.captured = tuple(captured)
        self._rows: Any = False  # not looked for yet

    def of_rows(self, mapped: int) -> "Mapped | None":
        """The function for many elements of `mapped` components at once, where there is one."""
        if self._rows is False:
            body = rows_of_body(self.body, mapped)
            if body is not None and any(
                t.dtype.is_floating or t.dtype.is_complex
                for op in body.graph.get_operations()
                for t in op.outputs
            ):
                run_one_by_one(body)
            self._rows = None if body is None else Mapped(body, self.captured)
        return self._rows  # type: ignore[no-any-return]

    def bind(self, run: Run) -> Bound:
        """The function in a run."""
        return Bound(self.body, self.captured, run)


FAMILIES = (
    "base",
    "batching",
    "caching",
    "choosing",
    "combining",
    "counting",
    "csv_records",
    "describing",
    "example_rows",
    "filtering",
    "fingerprints",
    "generator",
    "grouping",
    "imported",
    "iterating",
    "listing",
    "loading",
    "looping",
    "mapping",
    "multi_device",
    "nesting",
    "old_iterators",
    "options_dataset",
    "origins",
    "padding",
    "parallel_forms",
    "passing",
    "prefetching",
    "random_access",
    "random_numbers",
    "reading",
    "rebatching",
    "saving",
    "selecting",
    "sharding",
    "shuffling",
    "snapshots",
    "sources",
    "sql_rows",
    "tables",
    "unbatching",
    "windowing",
    "writing",
)


def load_all() -> None:
    """Imports every module with operations on datasets and iterators."""
    for family in FAMILIES:
        importlib.import_module(f"penstock.data.{family}")
