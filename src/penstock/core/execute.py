"""The one way an operation runs: `execute(op, inputs, attrs)`.

In an eager context the kernel runs now; in a graph context an Operation is added. Either way the
recorders (tapes, accumulators) of the thread are shown what happened. Inputs may be Python values:
they are converted to the dtypes that the tensors beside them require.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core import attributes, convert
from penstock.core.context import at_home, state
from penstock.core.eager import run_eager
from penstock.core.op_def import ArgDef, OpDef, lookup
from penstock.core.prepared import PREPARED
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor
from penstock.types.dtypes import DType, as_dtype, float32, float64, int32

NO_ATTRS: dict[str, Any] = {}
_Make = Callable[[Any, DType], EagerTensor | None]


def execute(
    op: OpDef | str,
    inputs: Sequence[Any] = (),
    attrs: dict[str, Any] | None = None,
    name: str | None = None,
) -> Any:
    """Runs an operation, or adds it to the current graph.

    Args:
      op: the definition, or its name.
      inputs: one entry for each input of the definition; a list for a list input. Anything that
        converts to a tensor.
      attrs: attributes that do not follow from the inputs; None values stand for the default.
      name: the name of the operation in a graph.

    Returns:
      The output; a list for a list output; a list of these for several outputs. For none: the
      Operation in a graph, else None.

    Raises:
      TypeError, ValueError: inputs of wrong dtype or attributes that do not fit (in a graph).
      OpError: a subclass, when the operation fails (eager).
    """
    if op.__class__ is str:
        op = lookup(op)
    attrs = NO_ATTRS if attrs is None else attrs
    graph = state.graph
    if graph is not None and graph.home_of(inputs) is not graph:
        with at_home(*inputs):
            return execute(op, inputs, attrs, name)
    if graph is not None and not all(map(is_symbolic, inputs)):
        wanted = name or op.name  # type: ignore[union-attr]
        with graph.name_scope(wanted) as scope:  # constants made of inputs are named in it
            flat, counts = convert_inputs(op, inputs, attrs)  # type: ignore[arg-type]
            return execute_flat(op, flat, counts, attrs, scope)  # type: ignore[arg-type]
    flat, counts = convert_inputs(op, inputs, attrs)  # type: ignore[arg-type]
    return execute_flat(op, flat, counts, attrs, name)  # type: ignore[arg-type]


def is_symbolic(value: Any) -> bool:
    """Whether an input needs no conversion in a graph: a symbolic tensor, or a list of them."""
    if value.__class__ is list or value.__class__ is tuple:
        return all(item.__class__ is SymbolicTensor for item in value)
    return value.__class__ is SymbolicTensor


def execute_flat(
    op: OpDef,
    flat: tuple[Any, ...],
    counts: Sequence[int] | None,
    attrs: dict[str, Any],
    name: str | None,
) -> Any:
    """`execute` for flat tensors. `counts`: tensors per input, None when no input is a list."""
    current = state
    graph = current.graph
    outputs: Sequence[Any]
    if graph is None:
        outputs, full = run_eager(op, flat, counts, attrs)
    else:
        node = graph.add_operation(op, flat, counts, attrs, name)
        outputs, full = node.outputs, node.attrs
        if not outputs:
            if current.recorders:
                record(op, flat, full, ())
            if current.observer is not None:
                current.observer.observe(op, flat, (), node)
            counted = len(op.outputs) == 1 and op.outputs[0].number_attr is not None
            return [] if counted else node
    if current.recorders:
        record(op, flat, full, tuple(outputs))
    if current.observer is not None:
        outputs = current.observer.observe(op, flat, outputs, node if graph is not None else None)
    if len(outputs) == 1 and not op.outputs[0].is_list:
        return outputs[0]
    if not op.outputs:
        return None
    return attributes.group_outputs(op, full, outputs)


def record(
    op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], outputs: tuple[Any, ...]
) -> None:
    """Shows an operation to the recorders of the thread, innermost first."""
    for recorder in reversed(state.recorders):
        recorder.record(op, inputs, attrs, outputs)


def convert_inputs(
    op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[int, ...] | None]:
    """Flat input tensors, and the number of tensors of each argument (None when all are single)."""
    graph = state.graph
    if graph is None:
        for value in inputs:
            if value.__class__ is not EagerTensor:
                break
        else:
            return tuple(inputs), None
        if op.single_inputs:
            numbers = _with_numbers(op, inputs, attrs)
            if numbers is not None:
                return numbers, None
        elif not attrs and len(inputs) == len(op.inputs):
            found = _ready_lists(op, inputs)
            if found is not None:
                return found
    if len(inputs) != len(op.inputs):
        raise TypeError(
            f"{op.name}: expected {len(op.inputs)} inputs ({', '.join(a.name for a in op.inputs)}),"
            f" got {len(inputs)}."
        )
    known = _known_types(op, inputs, attrs)
    flat: list[Any] = []
    counts: list[int] = []
    listed = False
    for arg, value in zip(op.inputs, inputs, strict=True):
        if arg.number_attr is None and arg.type_list_attr is None:
            ready = (
                graph is None
                and value.__class__ is EagerTensor
                and value._dtype is (arg.dtype or known.get(arg.type_attr))  # type: ignore[arg-type]
            )
            flat.append(value if ready else _convert(op, arg, value, known, inputs))
            counts.append(1)
            continue
        listed = True
        items = _list_items(op, arg, value)
        types = attrs.get(arg.type_list_attr) if arg.type_list_attr else None
        for i, item in enumerate(items):
            wanted = types[i] if types is not None and i < len(types) else None
            flat.append(_convert(op, arg, item, known, inputs, wanted, f"{arg.name}_{i}"))
        counts.append(len(items))
    return tuple(flat), tuple(counts) if listed else None


def _ready_lists(
    op: OpDef, inputs: Sequence[Any]
) -> tuple[tuple[EagerTensor, ...], tuple[int, ...]] | None:
    """`convert_inputs` where nothing is converted: eager tensors, and lists of them that fit."""
    flat: list[EagerTensor] = []
    counts: list[int] = []
    for arg, value in zip(op.inputs, inputs, strict=True):
        if not arg.is_list and value.__class__ is EagerTensor:
            flat.append(value)
            counts.append(1)
            continue
        if not arg.is_list or value.__class__ is not list or not value:
            return None
        dtype = getattr(value[0], "_dtype", None) if arg.type_list_attr is None else None
        for item in value:
            if item.__class__ is not EagerTensor or dtype not in (None, item._dtype):
                return None
        flat += value
        counts.append(len(value))
    return tuple(flat), tuple(counts)


def _with_numbers(
    op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[EagerTensor, ...] | None:
    """`convert_inputs` where Python's numbers stand beside eager tensors; None where it is not so.

    Tensors, fixed dtypes, or defaults say what the numbers become.
    """
    if attrs and not op.type_attrs.isdisjoint(attrs):
        return None
    key = tuple([v._dtype.index if v.__class__ is EagerTensor else v.__class__ for v in inputs])
    try:
        numbers = op.numbers[key]
    except (KeyError, TypeError):  # a class may have no hash
        if any(kind.__class__ is not int and kind not in (int, float) for kind in key):
            return None
        if len(op.numbers) >= PREPARED:
            op.numbers.clear()
        numbers = op.numbers[key] = _numbers(op, inputs)
    if numbers is None:
        return None
    flat = list(inputs)
    for place, dtype, make in numbers:
        found = make(inputs[place], dtype)
        if found is None:
            return None
        flat[place] = found
    return tuple(flat)


_FRACTIONS = (float32, float64)


def _numbers(op: OpDef, inputs: Sequence[Any]) -> list[tuple[int, DType, _Make]] | None:
    """The place, dtype and conversion of each number; None where more is to be looked at."""
    singles = op.single_inputs
    if len(singles) != len(inputs):
        return None
    dtypes: dict[str, DType] = {}
    for (kind, _, _), value in zip(singles, inputs, strict=True):
        if value.__class__ is EagerTensor and kind.__class__ is str:
            dtypes.setdefault(kind, value._dtype)
    found: list[tuple[int, DType, _Make]] = []
    for place, ((kind, default, known), value) in enumerate(zip(singles, inputs, strict=True)):
        dtype = dtypes.get(kind) if kind.__class__ is str else kind
        if value.__class__ is EagerTensor:
            if value._dtype is not dtype:
                return None
            continue
        whole = value.__class__ is int
        if dtype is None and (whole or default in _FRACTIONS) and default is not None:
            dtype = dtypes[kind] = default
        if dtype is None:
            return None
        make = convert.plain_number if op.outputs else convert.kept_number
        found.append((place, dtype, convert.short_integers if whole and known else make))
    return found


def _list_items(op: OpDef, arg: ArgDef, value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    raise TypeError(f"Expected list for '{arg.name}' argument to '{op.name}' Op, not {value!r}.")


def _known_types(op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]) -> dict[str, DType]:
    """Type attributes that are given, or follow from inputs that are tensors already."""
    known: dict[str, DType] = {}
    for arg, value in zip(op.inputs, inputs, strict=True):
        name = arg.type_attr
        if name is None or name in known:
            continue
        if value.__class__ is EagerTensor and name not in attrs:
            known[name] = value._dtype
            continue
        if attrs.get(name) is not None:
            known[name] = as_dtype(attrs[name]).base_dtype
            continue
        for item in value if arg.is_list and isinstance(value, (list, tuple)) else (value,):
            dtype = (
                getattr(item, "dtype", None)
                if isinstance(item, Tensor) or hasattr(item, "handle")
                else None
            )
            if isinstance(dtype, DType):
                known[name] = dtype.base_dtype
                break
    return known


def _convert(
    op: OpDef,
    arg: ArgDef,
    value: Any,
    known: dict[str, DType],
    inputs: Sequence[Any],
    wanted: DType | None = None,
    name: str | None = None,
) -> Any:
    dtype = arg.dtype or wanted or (known.get(arg.type_attr) if arg.type_attr else None)
    if value.__class__ in _WHOLE and arg.name in op.host_inputs:
        found = convert.short_integers(value, dtype or _default_dtype(op, arg) or int32)
        if found is not None:
            if arg.type_attr is not None:
                known[arg.type_attr] = found._dtype
            return found
    name = arg.name if name is None else name
    if isinstance(value, Tensor) or (dtype is not None and hasattr(value, "handle")):
        # The name is for the read of a variable, and for what stands for a captured eager tensor.
        own = None if value.__class__ is SymbolicTensor else name
        tensor = convert.convert_to_tensor(value, name=own)
        if dtype is not None and tensor.dtype.base_dtype is not dtype:
            raise _wrong_dtype(op, arg, tensor, dtype, _place(op, inputs, arg, value), inputs)
    elif dtype is not None:
        tensor = _convert_to(op, arg, value, dtype, name)
    else:
        hint = _default_dtype(op, arg)
        if hint is not None and _keeps_own(op, arg, value, inputs):
            hint = None
        tensor = convert.convert_to_tensor(value, dtype_hint=hint, name=name)
        if hint is not None and isinstance(value, float) and _all_plain(op, inputs):
            _check_default(op, arg, tensor, hint)
        if arg.type_attr is not None and tensor.dtype.is_compatible_with(tensor.dtype.base_dtype):
            known[arg.type_attr] = tensor.dtype.base_dtype
    return tensor


_WHOLE = (int, list, tuple)


def _default_dtype(op: OpDef, arg: ArgDef) -> DType | None:
    """The dtype that an argument has where no other input or attribute says."""
    default = op.attrs[arg.type_attr].default if arg.type_attr else None
    return default if isinstance(default, DType) else None


def _keeps_own(op: OpDef, arg: ArgDef, value: Any, inputs: Sequence[Any]) -> bool:
    """Whether a value without a tensor keeps its own dtype, rather than the attribute's default.

    TensorFlow's rule, found by asking it: the own dtype wins where the attribute allows it, in a
    graph, and eagerly when some input is no tensor, array or number (a list, a scalar of NumPy, a
    text). An eager operation of nothing but tensors, arrays and numbers casts to the default.
    """
    allowed = op.attrs[arg.type_attr or ""].allowed
    if allowed is None:
        return False
    if state.graph is None:
        if _all_plain(op, inputs):
            return False
    elif arg.is_list:
        return False
    try:
        return convert.own_dtype(value) in allowed
    except (TypeError, ValueError):
        return False


def _all_plain(op: OpDef, inputs: Sequence[Any]) -> bool:
    """Whether all inputs are tensors, variables, arrays and Python numbers (or lists of them)."""
    for arg, value in zip(op.inputs, inputs, strict=True):
        items = value if arg.is_list and isinstance(value, (list, tuple)) else (value,)
        for item in items:
            if not isinstance(item, _PLAIN) and not hasattr(item, "handle"):
                return False
    return True


_PLAIN = (Tensor, np.ndarray, int, float)


def _check_default(op: OpDef, arg: ArgDef, tensor: Tensor, default: DType) -> None:
    """Refuses a Python float for an integer default, eagerly even where floats are allowed."""
    allowed = op.attrs[arg.type_attr or ""].allowed
    if allowed is None or tensor.dtype is default:
        return
    if state.graph is None or tensor.dtype not in allowed:
        raise TypeError(
            f"{op.name}: expected '{arg.name}' to convert to {default.name}, got a value of dtype"
            f" {tensor.dtype.name}. Pass a tensor of one of {', '.join(t.name for t in allowed)}."
        )


def _convert_to(op: OpDef, arg: ArgDef, value: Any, dtype: DType, name: str) -> Any:
    try:
        return convert.convert_to_tensor(value, dtype, name=name)
    except TypeError as problem:
        if state.graph is None:
            raise
        raise TypeError(
            f"Expected {dtype.name} passed to parameter '{arg.name}' of op '{op.name}', got"
            f" {value!r} of type '{type(value).__name__}' instead. Error: {problem}"
        ) from None


def _place(op: OpDef, inputs: Sequence[Any], wanted: ArgDef, value: Any) -> int:
    """Where a value that was given for `wanted` stands among the flat inputs."""
    place = 0
    for arg, given in zip(op.inputs, inputs, strict=True):
        for item in given if arg.is_list else (given,):
            if arg is wanted and item is value:  # it may stand for another argument too
                return place
            place += 1
    return place


def _check_graph(inputs: Sequence[Any]) -> None:
    """Refuses tensors of another graph: told before their dtypes, which say less."""
    graph = state.graph
    for value in inputs if not graph.building_function else ():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, SymbolicTensor):
                graph.as_tensor(item)


def _wrong_dtype(
    op: OpDef, arg: ArgDef, tensor: Tensor, dtype: DType, place: int, inputs: Sequence[Any]
) -> Exception:
    if state.graph is None:
        if arg.type_attr is None and not _all_plain(op, inputs):  # TensorFlow converts one by one
            return convert.wrong_dtype(tensor, dtype)
        problem = TypeError(attributes.wrong_input(op, place, dtype, tensor.dtype))
        return attributes.user_error(op.name, problem, eager=True)
    _check_graph(inputs)
    if arg.is_list and arg.type_attr is not None:
        types = ", ".join(
            getattr(getattr(item, "dtype", None), "name", type(item).__name__)
            for item in inputs[op.inputs.index(arg)]
        )
        return TypeError(
            f"Tensors in list passed to '{arg.name}' of '{op.name}' Op have types [{types}] that"
            " don't all match. Use tf.cast to convert them."
        )
    if arg.type_attr is not None:
        other = next(
            (a.name for a in op.inputs if a.type_attr == arg.type_attr and a is not arg),
            arg.type_attr,
        )
        return TypeError(
            f"Input '{arg.name}' of '{op.name}' Op has type {tensor.dtype.name} that does not match"
            f" type {dtype.name} of argument '{other}'."
        )
    return TypeError(
        f"Input '{arg.name}' of '{op.name}' Op has type {tensor.dtype.name} that does not match"
        f" expected type of {dtype.name}."
    )


convert.execute = execute
