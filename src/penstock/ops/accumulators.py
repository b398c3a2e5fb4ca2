"""`tf.compat.v1.ConditionalAccumulator` and its sparse form, as objects.

They name an accumulator (`accumulator_state`) by its handle; their methods are the operations of
`accumulator_ops`. Training with synchronous replicas adds up gradients in them.
"""

import weakref
from typing import Any

import numpy as np

from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef, lookup
from penstock.core.resources import eager_resources
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor
from penstock.ops import accumulator_ops as a
from penstock.ops.math_cast import cast
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape


class ConditionalAccumulatorBase:
    """The base class of accumulators of gradients.

    Args:
      dtype: the dtype of the gradients.
      shape: their shape, as far as it is known, or None.
      accumulator_ref: the handle: resource[], or a string reference.
    """

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        if isinstance(accumulator_ref, EagerTensor):
            handle: Any = accumulator_ref._array
            self._name: str = handle.name
            weakref.finalize(self, eager_resources.delete, handle.container, handle.name)
        else:
            assert isinstance(accumulator_ref, SymbolicTensor)
            self._name = accumulator_ref.op.name.rpartition("/")[2]

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the accumulator."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Any:
        """How many gradients are in it: int32[]."""
        return self._run(a.COUNT, [], f"{self._name}_NumAccumulated" if name is None else name)

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Any:
        """Sets its step: gradients of earlier ones are stale.

        Args:
          new_global_step: int64[].
          name: the name in a graph.

        Returns:
          The operation in a graph, else None.
        """
        step = cast(convert_to_tensor(new_global_step), dt.int64)
        return self._run(a.SET_STEP, [step], name)

    def _run(self, op: OpDef, inputs: list[Any], name: str | None, attrs: Any = None) -> Any:
        handle = self._accumulator_ref
        if handle.dtype.base_dtype is dt.string:  # a reference of TensorFlow 1
            op = lookup(op.name.removeprefix("Resource").removeprefix("Penstock"))
        return execute(op, (handle, *inputs), attrs, name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients until enough are there to be taken.

    Args:
      dtype: the dtype of the gradients.
      shape: their shape, as far as it is known, or None.
      shared_name: the name under which sessions share it, or None.
      name: the name in a graph.
      reduction_type: "MEAN" or "SUM".

    Raises:
      ValueError, InvalidArgumentError: `reduction_type` is neither.

    Example:
      >>> gradients = tf.compat.v1.ConditionalAccumulator(tf.float32, shape=[2])
      >>> gradients.apply_grad([1.0, 2.0])
      >>> gradients.apply_grad([3.0, 4.0])
      >>> gradients.take_grad(2).numpy().tolist()
      [2.0, 3.0]
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = execute(a.DENSE, (), _attrs(dtype, shape, shared_name, reduction_type), name)
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Any:
        """Adds a gradient, unless it is stale.

        Args:
          grad: a tensor of the accumulator's dtype and shape.
          local_step: int64[], the step that it belongs to.
          name: the name in a graph.

        Returns:
          The operation in a graph, else None.

        Raises:
          ValueError: the gradient cannot have the accumulator's shape.
        """
        grad = convert_to_tensor(grad, self._dtype)
        if not grad.shape.is_compatible_with(self._shape):
            raise ValueError(
                f"Shapes {grad.shape} and {self._shape} are incompatible: the second is that of "
                f"accumulator '{self._name}'. Give gradients of that shape."
            )
        step = cast(convert_to_tensor(local_step), dt.int64)
        return self._run(a.APPLY, [step, grad], name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """The mean (or sum) of the gradients; waits until there are enough when it runs.

        The accumulator is empty then, and its step grows by one.

        Args:
          num_required: int32[], how many gradients to wait for.
          name: the name in a graph.

        Returns:
          A tensor of the accumulator's dtype and shape.

        Raises:
          InvalidArgumentError: `num_required` is below one.
        """
        found = self._run(a.TAKE, [num_required], name, {"dtype": self._dtype})
        if isinstance(found, SymbolicTensor):
            found.set_shape(self._shape)
        return found


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients that have rows for some indices, until enough are there to be taken.

    A mean is that of each row over the gradients that had it. Graphs only.

    Args:
      dtype: the dtype of the gradients.
      shape: their dense shape, as far as it is known, or None.
      shared_name: the name under which sessions share it, or None.
      name: the name in a graph.
      reduction_type: "MEAN" or "SUM".

    Raises:
      RuntimeError: operations run at once.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        attrs = _attrs(dtype, shape, shared_name, reduction_type)
        handle = execute("SparseConditionalAccumulator", (), attrs, name)
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Any:
        """Adds a gradient, unless it is stale.

        Args:
          grad: the gradient.
          local_step: int64[], the step that it belongs to.
          name: the name in a graph.

        Returns:
          The operation.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Any:
        """Adds the rows of a gradient, unless it is stale.

        Args:
          grad_indices: int64[n], which rows.
          grad_values: [n, ...] of the accumulator's dtype, the rows.
          grad_shape: int64[rank], the dense shape, or None.
          local_step: int64[], the step that it belongs to.
          name: the name in a graph.

        Returns:
          The operation.

        Raises:
          InvalidArgumentError: the rows or the shape do not fit (when it runs).
        """
        step = cast(convert_to_tensor(local_step), dt.int64)
        known = grad_shape is not None
        shape = cast(convert_to_tensor(grad_shape if known else np.zeros(0, np.int64)), dt.int64)
        indices = cast(convert_to_tensor(grad_indices), dt.int64)
        values = convert_to_tensor(grad_values, self._dtype)
        attrs = {"has_known_shape": known}
        return self._run(a.SPARSE_APPLY, [step, indices, values, shape], name, attrs)

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """The rows' means (or sums); waits until there are enough gradients when it runs.

        Args:
          num_required: int32[], how many gradients to wait for.
          name: the name in a graph.

        Returns:
          Indices int64[n], rows [n, ...], and the dense shape int64[rank].

        Raises:
          InvalidArgumentError: `num_required` is below one.
        """
        return self._run(a.SPARSE_TAKE, [num_required], name, {"dtype": self._dtype})

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """What `take_grad` gives, as IndexedSlices."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)


def _attrs(dtype: Any, shape: Any, shared_name: str | None, reduction_type: str) -> dict[str, Any]:
    return {
        "dtype": as_dtype(dtype),
        "shape": TensorShape(shape),
        "shared_name": None if state.graph is None else shared_name,
        "reduction_type": reduction_type,
    }
