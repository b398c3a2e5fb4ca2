"""Runs a golden case on a library with TensorFlow's interface, which is an argument.

The recorder runs it on TensorFlow, the tests on Penstock: what a case means is written down once.
`run(tf, case)` gives the outcome in the form of `codec`: outputs and gradients, or the class of the
error, with the class of the error of building the same calls in a graph.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from tools.golden import codec, texts
from tools.golden.codec import Case, Json

LARGEST_OUTPUT = 4096  # elements; what is larger is not worth keeping
_OPAQUE = ("resource", "variant")


class TooLarge(Exception):
    """An output is too large to keep."""


def run(tf: Any, case: Case) -> dict[str, Any]:
    """What became of the case's calls.

    Returns:
      "out" and, for eager cases with floating inputs and outputs, "grad"; or "err" with, for eager
      cases, "build": the class of the error of adding the calls to a graph, None if there is none.
    """
    runner = _run_in_session if case.get("mode") == "session" else _run_eagerly
    try:
        return _run_line(tf, case["text"]) if "text" in case else runner(tf, case)
    except Exception as problem:  # the class is the outcome
        outcome: dict[str, Any] = {"err": class_name(problem)}
        if case.get("mode") != "session":
            outcome["build"] = _build(tf, case)
        return outcome


def class_name(problem: BaseException) -> str:
    """The class of an error, as both libraries call it."""
    return type(problem).__name__


def weights(shape: tuple[int, ...], kind: np.dtype[Any]) -> Any:
    """What the gradient of an output of this shape starts from: exact in every floating dtype."""
    count = int(np.prod(shape, dtype=np.int64))
    line = (np.arange(count) * 5 % 7 - 2.5) / 4
    return (line + 0.25j * (line > 0) if kind.kind == "c" else line).astype(kind).reshape(shape)


# ---- eager


def _run_eagerly(tf: Any, case: Case) -> dict[str, Any]:
    made = _Arguments(tf)
    with tf.GradientTape(persistent=False) as tape:
        results, watched = _calls(tf, case, made, tape)
    tensors = [t for result in results for t in result]
    variables = [tf.raw_ops.ReadVariableOp(resource=h, dtype=d) for h, d in made.variables]
    kept = [t for t in tensors if t.dtype.name not in _OPAQUE]
    outcome: dict[str, Any] = {"out": [_encoded(t) for t in (*kept, *variables)]}
    targets = [t for t in kept if t.dtype.is_floating or t.dtype.is_complex]
    if watched and targets and len(case["steps"]) == 1:
        outcome["grad"] = _gradient(tf, tape, targets, watched)
    return outcome


def _calls(tf: Any, case: Case, made: _Arguments, tape: Any) -> tuple[list[list[Any]], list[Any]]:
    """The flat outputs of each step, and the inputs that can have a gradient."""
    results: list[list[Any]] = []
    watched: list[Any] = []
    for op, arguments in case["steps"]:
        given = {name: made.value(value, results) for name, value in arguments.items()}
        if tape is not None:
            tensors = [t for t in _flat(list(given.values())) if _differentiable(t)]
            tape.watch(tensors)
            watched += tensors
        results.append(_flat([getattr(tf.raw_ops, op)(**given)]))
    return results, watched


def _differentiable(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return hasattr(value, "numpy") and (dtype.is_floating or dtype.is_complex)


def _flat(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += _flat(value)
        elif value is not None and hasattr(value, "dtype"):
            found.append(value)
    return found


def _gradient(tf: Any, tape: Any, targets: list[Any], watched: list[Any]) -> Json:
    starts = [
        tf.constant(weights(tuple(t.shape), codec.storage(t.dtype.name)), t.dtype) for t in targets
    ]
    try:
        gradients = tape.gradient(targets, watched, output_gradients=starts)
        return [None if g is None else _encoded(tf.convert_to_tensor(g)) for g in gradients]
    except Exception as problem:  # the class is the outcome
        return class_name(problem)


def _encoded(tensor: Any) -> Json:
    dtype = tensor.dtype.name
    if dtype in codec.QUANTIZED:
        return codec.encode(dtype, np.asarray(tensor.numpy()).view(codec.storage(dtype)))
    array = np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
    if array.size > LARGEST_OUTPUT:
        raise TooLarge(f"{array.size} elements")
    return codec.encode(dtype, array)


def _build(tf: Any, case: Case) -> str | None:
    try:
        with tf.Graph().as_default():
            if "text" in case:
                texts.evaluate(tf, case["text"])
            else:
                _calls(tf, case, _Arguments(tf), None)
    except Exception as problem:  # the class is the outcome
        return class_name(problem)
    return None


# ---- lines of Python


def _run_line(tf: Any, line: str) -> dict[str, Any]:
    parts = tf.nest.flatten(texts.evaluate(tf, line), expand_composites=True)
    return {"out": [made for part in parts if (made := _encoded_part(tf, part)) is not None]}


def _encoded_part(tf: Any, part: Any) -> Json:
    """A tensor, an array, or what is plainly equal when its text is; None for other objects."""
    if isinstance(part, (tf.Tensor, np.ndarray, np.generic)):
        name = part.dtype.name
        return _encoded(part) if name in codec.DTYPES else None
    if part is None or isinstance(part, (bool, int, float, str, bytes, tf.TensorShape, tf.DType)):
        return [codec.PLAIN, [], repr(part)]
    return None


# ---- in a session


def _run_in_session(tf: Any, case: Case) -> dict[str, Any]:
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        made = _Arguments(tf)
        results: list[list[Any]] = []
        before: list[Any] = []
        for op, arguments in case["steps"]:
            given = {name: made.value(value, results) for name, value in arguments.items()}
            with graph.control_dependencies([*made.initial, *before]):
                result = getattr(tf.raw_ops, op)(**given)
            results.append(_flat([result]))
            before = [*before, *(results[-1] or [result])]
        with graph.control_dependencies(before):
            after = [tf.identity(v) for v in made.references]
            done = tf.no_op()
        kept = [
            t
            for r in results
            for t in r
            if t.dtype.name not in _OPAQUE and not t.dtype._is_ref_dtype
        ]
        arrays = session.run([kept + after, done])[0]
    return {
        "out": [
            codec.encode(t.dtype.base_dtype.name, a)
            for t, a in zip(kept + after, arrays, strict=True)
        ]
    }


# ---- arguments

_names = itertools.count()


def _unshared() -> str:
    """A name that no other resource has: in TensorFlow, eager handles without one are one."""
    return f"golden_{next(_names)}"


class _Arguments:
    """Makes arguments of their JSON form, and the variables and lists that they need."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.variables: list[tuple[Any, Any]] = []  # handles and dtypes
        self.references: list[Any] = []
        self.initial: list[Any] = []  # what must run before the first step

    def value(self, item: Json, results: list[list[Any]]) -> Any:
        """The value that an argument's JSON form stands for."""
        ((kind, content),) = item.items()
        return getattr(self, f"_{kind}")(content, results)

    def _t(self, content: Json, results: Any) -> Any:
        array = codec.decode(content)
        if content[0] in codec.QUANTIZED:
            return self.tf.bitcast(self.tf.constant(array), self.tf.as_dtype(content[0]))
        return self.tf.constant(array, self.tf.as_dtype(content[0]))

    def _l(self, content: Json, results: Any) -> Any:
        return [self.value(item, results) for item in content]

    def _a(self, content: Json, results: Any) -> Any:
        return content

    def _d(self, content: str, results: Any) -> Any:
        return self.tf.as_dtype(content)

    def _s(self, content: Json, results: Any) -> Any:
        return self.tf.TensorShape(content)

    def _b(self, content: str, results: Any) -> Any:
        return content.encode("latin-1")

    def _from(self, content: Json, results: list[list[Any]]) -> Any:
        step, output = content
        return results[step][output]

    def _var(self, content: Json, results: Any) -> Any:
        raw, value = self.tf.raw_ops, self._t(content, results)
        handle = raw.VarHandleOp(dtype=value.dtype, shape=content[1], shared_name=_unshared())
        raw.AssignVariableOp(resource=handle, value=value)
        self.variables.append((handle, value.dtype))
        return handle

    def _ref(self, content: Json, results: Any) -> Any:
        raw, value = self.tf.raw_ops, self._t(content, results)
        made = raw.VariableV2(shape=content[1], dtype=value.dtype)
        self.initial.append(raw.Assign(ref=made, value=value).op)
        self.references.append(made)
        return made

    def _list(self, content: Json, results: Any) -> Any:
        raw, tf = self.tf.raw_ops, self.tf
        dtype = tf.as_dtype(content["dtype"])
        made = raw.TensorListReserve(
            element_shape=tf.constant(content["shape"], tf.int32),
            num_elements=len(content["items"]),
            element_dtype=dtype,
        )
        for i, item in enumerate(content["items"]):
            if item is not None:
                made = raw.TensorListSetItem(
                    input_handle=made, index=i, item=self._t(item, results)
                )
        return made
