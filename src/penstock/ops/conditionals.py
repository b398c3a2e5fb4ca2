"""`tf.cond`, `tf.case` and `tf.switch_case`."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import dispatch
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.core.user_code import converted
from penstock.graph.behavior import control_flow_v2_enabled
from penstock.graph.body import CallBody
from penstock.ops.bodies import (
    BodyGraph,
    as_predicate,
    as_switch_predicate,
    emit,
    note_uses,
    share_captures,
    trace,
)
from penstock.ops.composing import scope
from penstock.ops.control_flow import CASE, IF, STATELESS_CASE, STATELESS_IF
from penstock.types import dtypes as dt
from penstock.util import nest
from penstock.util.frames import user_frame

_numbers = itertools.count()
Branch = Callable[[], Any]


def cond(
    pred: Any,
    true_fn: Branch | None = None,
    false_fn: Branch | None = None,
    name: str | None = None,
) -> Any:
    """What `true_fn()` returns if `pred` is true, else what `false_fn()` returns.

    Args:
      pred: bool of one element; eagerly anything with a truth value.
      true_fn: takes nothing, returns a nest of tensors; an operation in it counts as `pred`.
      false_fn: likewise, of the same structure and dtypes.
      name: the name of the operation in a graph.

    Returns:
      A nest of tensors.

    Raises:
      TypeError: a function is not callable, `pred` is a Python bool (in a graph), or the two
        return different structures or dtypes.
      ValueError: `pred` is None.
      InvalidArgumentError: `pred` is no tensor of one boolean (in a graph); after
        `disable_control_flow_v2` another dtype is a TypeError, and another known rank than 0 a
        ValueError.

    Example:
      >>> import penstock as tf
      >>> float(tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0)))
      1.0
    """
    for label, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"'{label}' must be callable.")
    assert true_fn is not None
    assert false_fn is not None
    if pred is None:
        raise ValueError(f"tf.cond{_at()}: expected 'pred' to be a boolean, got None. Compare it.")
    if state.graph is None:
        return (true_fn if _is_true(pred) else false_fn)()
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    first_kind = not (control_flow_v2_enabled() or state.graph.building_function)
    pred = as_switch_predicate(pred) if first_kind else as_predicate(pred, "tf.cond")
    graphs = branch_graphs(name)
    labels = ("true_fn", "false_fn")
    structure, captured = _trace_branches(graphs, (true_fn, false_fn), labels, "tf.cond", pred)
    return _pack(structure, emit_if(pred, graphs, captured, name))


def branch_graphs(name: str | None = None) -> list[BodyGraph]:
    """Empty graphs for the two branches of a conditional."""
    return [_graph(name or "cond", label) for label in ("true", "false")]


def emit_if(
    pred: Tensor, graphs: Sequence[BodyGraph], captured: Sequence[Tensor], name: str | None = None
) -> Any:
    """Adds the operation that runs one of two traced branches, which share what they capture."""
    bodies = [CallBody(g.name, g) for g in graphs]
    attrs = {
        "Tcond": pred.dtype,
        **_types(captured, bodies[0]),
        "then_branch": bodies[0],
        "else_branch": bodies[1],
    }
    op = IF if any(b.stateful for b in bodies) else STATELESS_IF
    return emit(op, (pred, *captured), (1, len(captured)), attrs, name or "cond")


def cond_v1(
    pred: Any,
    true_fn: Branch | None = None,
    false_fn: Branch | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Branch | None = None,
    fn2: Branch | None = None,
) -> Any:
    """`cond` with its older names; eagerly, a list of one result is that result unless `strict`."""
    true_fn = _renamed(true_fn, fn1, "fn1", "true_fn")
    false_fn = _renamed(false_fn, fn2, "fn2", "false_fn")
    result = cond(pred, true_fn, false_fn, name)
    if state.graph is None and not strict and isinstance(result, (list, tuple)):
        return result[0] if len(result) == 1 else result
    return result


def _renamed(value: Any, old: Any, old_name: str, new_name: str) -> Any:
    if value is not None and old is not None:
        raise TypeError(f"Cannot specify both {new_name} and {old_name}.")
    return value if old is None else old


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Branch | None = None,
    name: str | None = "switch_case",
) -> Any:
    """What the function with number `branch_index` returns.

    Args:
      branch_index: int32[].
      branch_fns: a list of functions, a dict from int to function, or a list of such pairs. An
        operation in what a function returns counts as `branch_index`.
      default: runs for a number that no function has; the last function does otherwise.
      name: the name of the operation in a graph.

    Returns:
      A nest of tensors.

    Raises:
      TypeError: `branch_index` is no integer tensor, a function is not callable, or two functions
        return different structures or dtypes.
      ValueError: there are no functions, their numbers are not 0, 1, ..., or one function returns
        None where another returns a tensor.
      InvalidArgumentError: `branch_index` is no scalar; in a graph a step says so.

    Example:
      >>> import penstock as tf
      >>> int(tf.switch_case(tf.constant(1), [lambda: tf.constant(5), lambda: tf.constant(6)]))
      6
    """
    functions = _numbered(branch_fns, default)
    if not isinstance(branch_index, Tensor):
        raise TypeError(
            f"'branch_index' must be a Tensor, got {type(branch_index)}. Give"
            f" tf.constant({branch_index!r}), or call the function itself."
        )
    # Any: eager tensors convert to int, by a method that the package of operations attaches
    index: Any = branch_index
    if not index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {index.dtype!r}")
    if state.graph is None:
        if index.shape.rank != 0:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"tf.switch_case: 'branch_index' must be a scalar, but it has shape {index.shape}:"
                " expected the number of one function. Take one element.",
            )
        number = int(index)
        return functions[number if 0 <= number < len(functions) else -1]()
    name = name or "switch_case"
    graphs = [_graph(name, f"branch{i}") for i in range(len(functions))]
    labels = [f"branches[{i}]" for i in range(len(functions))]
    structure, captured = _trace_branches(graphs, functions, labels, "tf.switch_case", index)
    bodies = [CallBody(g.name, g) for g in graphs]
    attrs = {**_types(captured, bodies[0]), "branches": tuple(bodies)}
    op = CASE if any(b.stateful for b in bodies) else STATELESS_CASE
    if index.dtype is not dt.int32:
        raise TypeError(
            f"Input 'branch_index' of '{op.name}' Op has type {index.dtype.name} that does not "
            f"match expected type of int32{_at()}. Cast it to int32."
        )
    with scope(name, "switch_case"):
        node = emit(op, (index, *captured), (1, len(captured)), attrs, "indexed_case")
    return _pack(structure, node)


def _numbered(branch_fns: Any, default: Branch | None) -> list[Branch]:
    """The functions by number, with the default at the end."""
    if isinstance(branch_fns, dict):
        branch_fns = list(branch_fns.items())
    if branch_fns is not None and not isinstance(branch_fns, (list, tuple)):
        raise TypeError(
            f"'branch_fns' must be a list, tuple, or dict. Received: {type(branch_fns)}"
        )
    if not branch_fns:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    if all(callable(f) for f in branch_fns):
        branch_fns = list(enumerate(branch_fns))
    for pair in branch_fns:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], int):
            raise TypeError(
                f"Each entry in 'branch_fns' must be a tuple of int and function. Received {pair}."
            )
        if not callable(pair[1]):
            raise TypeError(f"fn for branch {pair[0]} must be callable.")
    ordered = sorted(branch_fns, key=lambda pair: pair[0])
    keys = [k for k, _ in ordered]
    if keys != list(range(len(keys))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found "
            f"{{{','.join(map(str, keys))}}}"
        )
    functions = [f for _, f in ordered]
    return functions if default is None else [*functions, default]


def case(
    pred_fn_pairs: Any,
    default: Branch | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function beside the first true predicate returns.

    Args:
      pred_fn_pairs: a list of (bool[], function), or a dict of such.
      default: runs when no predicate is true; without it that is an error.
      exclusive: whether more than one true predicate is an error.
      strict: accepted; results keep their structure either way.
      name: the name of the operations in a graph.

    Returns:
      A nest of tensors.

    Raises:
      TypeError: the pairs are none, a predicate is no tensor, or a function is not callable.
      InvalidArgumentError: when it runs, no predicate is true and there is no default, or two are
        and `exclusive` is set.
    """
    pairs = _pairs(pred_fn_pairs)
    if default is not None and not callable(default):
        raise TypeError(
            f"case: the argument `default` must be callable, got {default!r}. Pass a function, such"
            " as `lambda: value`."
        )
    if state.graph is None:
        true = [f for p, f in pairs if _is_true(p, "tf.case")]
        if exclusive and len(true) > 1:
            raise _refused(
                pairs, "more than one condition is true", "at most one", "exclusive=False"
            )
        chosen = true[0] if true else default
        if chosen is None:
            text = "None of conditions evaluated as True"
            raise _refused(pairs, text, "one", "a default")
        return chosen()
    with scope(name, "case"):
        return _case(pairs, default, exclusive)


def _case(pairs: list[tuple[Any, Branch]], default: Branch | None, exclusive: bool) -> Any:
    """The conditionals of a case, one in the other, after its checks."""
    checks = []
    if exclusive or default is None:
        many = execute("Pack", ([p for p, _ in pairs],), {"axis": 0})
    if exclusive:
        count = execute("Sum", (execute("Cast", (many,), {"DstT": dt.int32}), 0))
        ok = execute("LessEqual", (count, 1))
        text = "Input error: more than one condition is true, which exclusive=True forbids:"
        checks.append(execute("Assert", (ok, [text, many])))
    if default is None:
        text = "Input error: None of conditions evaluated as True:"
        checks.append(execute("Assert", (execute("Any", (many, 0)), [text, many])))
        pairs, default = pairs[:-1], pairs[-1][1]
    run = default
    for predicate, function in reversed(pairs):
        run = functools.partial(cond, predicate, function, run)
    with state.graph.control_dependencies(checks):
        result = run()
        if pairs:
            return result
        return nest.map_structure(  # the only function runs after the check
            lambda v: execute("Identity", (v,)), result, expand_composites=True
        )


def case_v1(
    pred_fn_pairs: Any,
    default: Branch | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """`case`; eagerly, a list of one result is that result unless `strict`."""
    result = case(pred_fn_pairs, default, exclusive, strict, name)
    if state.graph is None and not strict and isinstance(result, (list, tuple)):
        return result[0] if len(result) == 1 else result
    return result


def _pairs(pred_fn_pairs: Any) -> list[tuple[Any, Branch]]:
    if isinstance(pred_fn_pairs, dict):
        pred_fn_pairs = list(pred_fn_pairs.items())
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise TypeError(
            f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pred_fn_pairs)}"
        )
    if not pred_fn_pairs:
        raise ValueError("'pred_fn_pairs' must hold at least one pair, got none")
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        predicate, function = pair
        predicate = predicate.deref() if hasattr(predicate, "deref") else predicate
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype is not dt.bool_:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.dtype!r}")
        if not callable(function):
            raise TypeError(f"fn for pred {predicate!r} must be callable.")
    return [(p.deref() if hasattr(p, "deref") else p, f) for p, f in pred_fn_pairs]


def _refused(
    pairs: Sequence[tuple[Any, Branch]], what: str, expected: str, instead: str
) -> Exception:
    got = ", ".join(str(bool(p)) for p, _ in pairs)
    return errors.InvalidArgumentError(
        None,
        None,
        f"tf.case{_at()}: Input error: {what}: expected {expected} to be true, got {got}. Give "
        f"{instead}.",
    )


# ---- common steps ----------------------------------------------------------------------------


def _is_true(pred: Any, what: str = "tf.cond") -> bool:
    """The truth of an eager predicate: that of its one element, if it is no number or string."""
    if isinstance(pred, (bool, np.bool_, int, float, str)):
        return bool(pred)
    try:
        tensor = convert_to_tensor(pred)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{what}{_at()}: expected 'pred' to be a boolean: {problem}") from problem
    if tensor.shape.num_elements() != 1:
        raise ValueError(
            f"{what}{_at()}: expected 'pred' to be one boolean, got shape {tensor.shape}. Use"
            " tf.reduce_any or tf.reduce_all."
        )
    return bool(tensor)


def _at() -> str:
    where = user_frame()
    return f" at {where}" if where else ""


def _graph(name: str, part: str) -> BodyGraph:
    return BodyGraph(f"{name.replace('/', '_')}_{part}_{next(_numbers)}")


def _types(captured: Sequence[Tensor], body: CallBody) -> dict[str, Any]:
    return {"Tin": tuple(t.dtype for t in captured), "Tout": body.output_dtypes}


def _trace_branches(
    graphs: Sequence[BodyGraph],
    functions: Sequence[Branch],
    labels: Sequence[str],
    what: str,
    selector: Tensor,
) -> tuple[Any, list[Tensor]]:
    """Traces the branches; what they return in common, and what they capture.

    In the place of an operation that a branch returns comes `selector`, which chose the branch.
    """
    branches = [functools.partial(_values, converted(f)) for f in functions]
    results = [trace(g, f, selector) for g, f in zip(graphs, branches, strict=True)]
    for i in range(1, len(results)):
        _check_same(results[0], results[i], (labels[0], labels[i]), what)
    captured = share_captures(graphs)
    note_uses(graphs)
    return results[0], captured


def _values(branch: Branch) -> Any:
    """What a branch returns, with numbers as what a mode of promotion makes of them."""
    return nest.map_structure(_value, branch())


def _value(found: Any) -> Any:
    number = type(found) in (int, float, complex)
    return dispatch.promoted(convert_to_tensor, found) if number else found


def _check_same(a: Any, b: Any, labels: Sequence[str], what: str) -> None:
    """Refuses branches of different structures or dtypes."""
    problem: str | None = None
    kind: type[Exception] = TypeError
    try:
        nest.assert_same_structure(a, b, expand_composites=True)
        pairs = zip(
            nest.flatten(a, expand_composites=True),
            nest.flatten(b, expand_composites=True),
            strict=True,
        )
        for x, y in pairs:
            if (x is None) != (y is None):
                kind = ValueError
                problem = "one returns None where the other returns a tensor"
            elif x is not None and x.dtype is not y.dtype:
                problem = f"dtypes {x.dtype.name} and {y.dtype.name} differ"
    except (TypeError, ValueError) as error:
        problem = str(error)
    if problem is not None:
        raise kind(
            f"{labels[0]} and {labels[1]} arguments to {what}{_at()} must have the same number, "
            f"type, and overall structure of return values.\n\n{labels[0]} output: {a}\n"
            f"{labels[1]} output: {b}\n\nError details:\n{problem}\n\nReturn the same structure "
            "and dtypes from both; tf.cast and tf.zeros can fill in."
        )


def _named(output: Tensor) -> Any:
    if output.dtype in (dt.resource, dt.variant):
        return output
    return execute("Identity", (output,))


def _pack(structure: Any, node: Any) -> Any:
    """The outputs of the operation in the structure that the branches returned.

    They are called NAME/Identity, NAME/Identity_1, ... as in TensorFlow; these run nothing.
    """
    with state.graph.name_scope(f"{node.name}/"):
        outputs = iter([_named(output) for output in node._outputs])
    flat = [
        None if leaf is None else next(outputs)
        for leaf in nest.flatten(structure, expand_composites=True)
    ]
    if structure is None:
        return None
    return nest.pack_sequence_as(structure, flat, expand_composites=True)


__all__ = ["branch_graphs", "case", "case_v1", "cond", "cond_v1", "emit_if", "switch_case"]
