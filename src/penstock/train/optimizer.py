"""`Optimizer`: gradients of a loss, and their application to variables.

`minimize` is `compute_gradients` followed by `apply_gradients`. In a graph both add operations; in
eager mode (and inside functions) the loss is a function and the updates run at once. A subclass
defines `_resource_apply_dense(grad, var)` and `_resource_apply_sparse(grad, var, indices)`, makes
its slots in `_create_slots` and its numbers in `_prepare`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.autodiff.gradients import gradients
from penstock.autodiff.tape import GradientTape
from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.core.trackable import Trackable
from penstock.graph.behavior import (
    colocate_with,
    control_dependencies,
    executing_eagerly_outside_functions,
    init_scope,
    name_scope_v1,
)
from penstock.ops.array_basics import shape
from penstock.ops.grouping import group, tuple_
from penstock.ops.variables_v1 import GraphKeys, VariableV1, trainable_variables
from penstock.train import slots as slot_creator
from penstock.types import dtypes as dt
from penstock.util import nest

GradsAndVars = Sequence[tuple[Any, Any]]


class Optimizer(Trackable):
    """The base class of optimizers.

    Args:
      use_locking: accepted for compatibility: updates of one variable always exclude each other.
      name: the name of the operations and slots that are made.
      use_own_namescope_for_non_slot_vars: whether variables that belong to no other one are named
        after the optimizer.

    Raises:
      ValueError: `name` is empty.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(
        self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False
    ) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._use_own_namescope_for_non_slot_vars = use_own_namescope_for_non_slot_vars
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[Any, Any] = {}

    def get_name(self) -> str:
        """The optimizer's name."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Updates variables so that a loss becomes smaller.

        Args:
          loss: a tensor; in eager mode a function without arguments that returns one.
          global_step: a variable that grows by one after the update.
          var_list: the variables; the trainable ones of the graph, or those the loss reads.
          gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH.
          aggregation_method: one of AggregationMethod.
          colocate_gradients_with_ops: places each gradient with its operation.
          name: the name of the update.
          grad_loss: the gradient that the loss begins with.

        Returns:
          The operation that updates; None in eager mode.

        Raises:
          ValueError: no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if not any(g is not None for g, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in pairs]} and loss "
                f"{loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Gradients of a loss; arguments as for `minimize`.

        Returns:
          Pairs (gradient, variable); a gradient is a tensor, IndexedSlices or None.

        Raises:
          ValueError: there is no variable, or the loss is not of a floating dtype.
          RuntimeError: a tensor is passed in eager mode.
        """
        if callable(loss):
            return self._gradients_of_call(loss, var_list, grad_loss)
        if state.graph is None:
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                "execution is enabled."
            )
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        variables = _variables(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        found = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            found = tuple_(found)
        pairs = list(zip(found, variables, strict=True))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None])
        return pairs

    def _gradients_of_call(
        self, loss: Callable[[], Any], var_list: Any, grad_loss: Any
    ) -> list[tuple[Any, Any]]:
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = loss()
        variables = tape.watched_variables() if var_list is None else nest.flatten(var_list)
        with control_dependencies([value]):
            found = tape.gradient(value, list(variables), grad_loss)
        return list(zip(found, variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: GradsAndVars,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Updates variables with their gradients.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them; those without gradient are left
            out.
          global_step: a variable that grows by one after the update.
          name: the name of the update.
          skip_gradients_aggregation: accepted for compatibility.

        Returns:
          The operation that updates; None in eager mode.

        Raises:
          TypeError: a gradient is neither tensor nor IndexedSlices.
          ValueError: no variable has a gradient.
        """
        pairs = [(_as_gradient(g), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        wanted = [v for g, v in pairs if g is not None]
        if not wanted:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        for var in wanted:
            if isinstance(var, Tensor):
                raise NotImplementedError(f"Trying to update a Tensor {var}")
        with init_scope():
            self._create_slots(wanted)
        with name_scope_v1(name, self._name) as scope:
            self._prepare()
            updates = [self._update(g, v) for g, v in pairs if g is not None]
            if global_step is None:
                applied = self._finish(updates, scope)
            else:
                applied = self._finish_with_step(updates, global_step, scope)
        if state.graph is None:
            return None
        applied = getattr(applied, "op", applied)  # of a tensor or variable that `_finish` gave
        collection = state.graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if applied not in collection:
            collection.append(applied)
        return applied

    def _update(self, grad: Any, var: Any) -> Any:
        """The update of one variable."""
        label = f"update_{slot_creator.primary_name(var)}" if state.graph is not None else "update"
        with name_scope_v1(label), colocate_with(var):
            if isinstance(grad, IndexedSlices):
                if var.constraint is not None:
                    raise RuntimeError("Cannot use a constraint function on a sparse variable.")
                return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
            update = self._resource_apply_dense(grad, var)
            if var.constraint is None:
                return update
            with control_dependencies([update] if update is not None else []):
                return var.assign(var.constraint(var))

    def _finish_with_step(self, updates: list[Any], global_step: Any, scope: str) -> Any:
        finished = self._finish(updates, "update")
        with control_dependencies([finished] if finished is not None else []):
            with colocate_with(global_step):
                one = convert_to_tensor(1, global_step.dtype.base_dtype)
                handle = global_step.handle
                return execute("AssignAddVariableOp", (handle, one), None, scope or None)

    def _assert_valid_dtypes(self, tensors: Sequence[Any]) -> None:
        """Refuses tensors of dtypes that the optimizer cannot handle."""
        allowed = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in allowed:
                raise ValueError(
                    f"Invalid type {tensor.dtype!r} for {tensor.name}, expected: {list(allowed)}."
                )

    # What subclasses define.

    def _valid_dtypes(self) -> Sequence[Any]:
        """The dtypes of losses and variables."""
        return (dt.float32, dt.float64, dt.float16, dt.bfloat16)

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots of these variables; called before every update."""

    def _prepare(self) -> None:
        """Makes tensors of the optimizer's numbers; called before every update."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """The update of a reference variable, which this system does not make."""
        raise NotImplementedError(_missing(self, "_apply_dense"))

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """The update of a variable.

        Args:
          grad: a tensor of the variable's dtype and shape.
          handle: the variable.

        Returns:
          The operation that updates.
        """
        raise NotImplementedError(_missing(self, "_resource_apply_dense"))

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        """The update of rows that may be named twice: their gradients are added up first.

        Args:
          grad: [N, ...], one row of gradient for each index.
          handle: the variable.
          indices: an integer vector of N entries.
        """
        summed, unique = deduplicate(grad, indices)
        return self._resource_apply_sparse(summed, handle, unique)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """The update of rows, each named once.

        Arguments as for `_resource_apply_sparse_duplicate_indices`.
        """
        raise NotImplementedError(_missing(self, "_resource_apply_sparse"))

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        """The sparse update of a reference variable, which this system does not make."""
        summed, unique = deduplicate(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(summed, unique, grad.dense_shape), var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        """The sparse update of a reference variable, which this system does not make."""
        raise NotImplementedError(_missing(self, "_apply_sparse"))

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """The operation that stands for all updates."""
        return grouped(update_ops, name_scope)

    # Slots.

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """The slot of a variable; made with a first value when there is none."""
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """The slot of a variable; made with an initializer when there is none."""
        make = slot_creator.create_slot_with_initializer
        return self._slot(var, slot_name, lambda: make(var, initializer, shape, dtype, op_name))

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """The slot of a variable; made of zeros when there is none."""
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _slot(self, var: Any, slot_name: str, make: Callable[[], Any]) -> Any:
        named = self._slot_dict(slot_name)
        key = _var_key(var)
        if key not in named:
            named[key] = make()
            self._slot_added(var, slot_name, named[key])
        return named[key]

    def _make_restored_slot(self, var: Any, value: Any, slot_name: str, op_name: str) -> Any:
        """The slot of a variable, made with the value that a checkpoint has; the eager way."""
        return self._get_or_make_slot(var, value, slot_name, op_name)

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of a variable, None when there is none.

        Args:
          var: a variable that was updated before.
          name: one of `get_slot_names`.
        """
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self) -> list[str]:
        """The names of the slots that were made."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The variables that belong to the optimizer itself, by name."""
        everything = [*self._non_slot_dict.values()]
        for named in self._slots.values():
            everything.extend(named.values())
        if not executing_eagerly_outside_functions():
            graph = state.graph
            everything = [v for v in everything if v._in_graph_mode and v.graph is graph]
        return sorted(everything, key=lambda v: v.name)

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable of the optimizer itself, made at the first call in a graph."""
        key = (name, _graph_of(colocate_with))
        found = self._non_slot_dict.get(key)
        if found is None:
            scope = self._name if self._use_own_namescope_for_non_slot_vars else None
            with name_scope_v1(scope), _together(colocate_with):
                found = VariableV1(initial_value, name=name, trainable=False)
            self._non_slot_dict[key] = found
            self._child_added(name, found)
        return found

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        graph = state.graph
        own = {name: v for (name, g), v in self._non_slot_dict.items() if g is None or g is graph}
        return {**super()._trackable_children(save_type, **kwargs), **dict(sorted(own.items()))}

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        """A variable of the optimizer itself, None when there is none."""
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> list[Any]:
        return list(self._non_slot_dict.values())

    def _call_if_callable(self, param: Any) -> Any:
        """A number, or what the function given in its place returns now."""
        return param() if callable(param) else param


def _missing(optimizer: Optimizer, method: str) -> str:
    return (
        f"{type(optimizer).__name__}: expected a method {method}, which this kind of update needs. "
        "Define _resource_apply_dense and, for sparse gradients, _resource_apply_sparse."
    )


def _together(var: Any) -> Any:
    return colocate_with(var)


def _graph_of(var: Any) -> Any:
    return var.graph if getattr(var, "_in_graph_mode", False) else None


def _var_key(var: Any) -> Any:
    return (var.graph, var.op.name) if getattr(var, "_in_graph_mode", False) else var._unique_id


def _variables(var_list: Any) -> list[Any]:
    if var_list is None:
        graph = state.graph
        extra = graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        inside = list(graph.trainable_variables) if graph.building_function else []
        return [*trainable_variables(), *extra, *inside]
    return nest.flatten(var_list)


def _as_gradient(grad: Any) -> Any:
    if grad is None or isinstance(grad, IndexedSlices):
        return grad
    try:
        return convert_to_tensor(grad)
    except (TypeError, ValueError):
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from None


def deduplicate(values: Any, indices: Any) -> tuple[Any, Any]:
    """Rows of `values` summed where `indices` repeat, and each index once.

    Args:
      values: [N, ...].
      indices: an integer vector of N entries.

    Returns:
      The sums [M, ...] and the M different indices, in the order in which they first come.
    """
    unique, positions = execute("Unique", (indices,), {"out_idx": dt.int32})
    count = shape(unique)[0]
    return execute("UnsortedSegmentSum", (values, positions, count)), unique


def grouped(operations: list[Any], name: str) -> Any:
    """An operation that waits for others; None in eager mode, where they ran already."""
    if state.graph is None:
        return None
    return group(*(op for op in operations if op is not None), name=name or None)
