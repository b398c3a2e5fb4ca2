"""Times single calls with one library: `run.py` starts a worker for each library and asks in turn.

    python -m benchmarks.ops.worker tensorflow      # or penstock

reads one JSON job a line, {"op", "args", "n", "form", "gradient", "seconds"}, and answers each with
one line: {"us": median, "cpu": of processor time, "first": of the first call} or {"error": ...}.
Forms: `eager`, `function` (tf.function) and `jit` (with jit_compile). With `gradient` the call runs
under a tape and its floating inputs' gradients are taken of its floating outputs, whose own
gradients are random numbers. These and inputs that are arrays are parameters of the function;
Python values are written in it.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.ops.values import Made, Values, arguments

_names = itertools.count()  # in TensorFlow, eager handles without a name are one
SAMPLE = 200e-6  # seconds; shorter calls are timed several at once


class Library:
    """A library with TensorFlow's interface, and how a call is made ready with it."""

    def __init__(self, name: str) -> None:
        self.tf = importlib.import_module(name)
        self._resources: list[Any] = []  # of the job's call

    def prepare(self, job: dict[str, Any]) -> Callable[[], Any]:
        """A function without parameters that makes the job's call."""
        given = arguments(job["args"], job["op"], job["n"])
        self._resources = []
        fixed: dict[str, Any] = {}
        tensors: list[Any] = []
        places: dict[str, Any] = {}
        for name, value in given.items():
            places[name] = self._place(value, tensors)
        operation = getattr(self.tf.raw_ops, job["op"])
        fixed.update(places)

        def call(*inputs: Any) -> Any:
            results = _flat(operation(**{k: _filled(v, inputs) for k, v in fixed.items()}))
            return [r for r in results if hasattr(r, "dtype")]  # not an Operation of a function

        timed = call
        if job["gradient"]:
            timed = self._with_gradient(call, len(tensors))
            tensors += self._incoming(call(*tensors))
        if job["form"] != "eager":
            timed = self.tf.function(timed, jit_compile=True if job["form"] == "jit" else None)
        return lambda: timed(*tensors)

    def _place(self, value: Any, tensors: list[Any]) -> Any:
        """The value in the call: a slot for a tensor, which becomes a parameter, or itself."""
        if isinstance(value, list):
            return [self._place(item, tensors) for item in value]
        if isinstance(value, Made):
            value = getattr(self, f"_{value.kind}")(value)
            if value.dtype.name in ("resource", "variant"):
                self._resources.append(value)
                return value
            tensors.append(value)
            return _Slot(len(tensors) - 1)
        if isinstance(value, (np.ndarray, bytes)):
            tensors.append(self.tf.constant(value))
            return _Slot(len(tensors) - 1)
        return value

    def _with_gradient(self, call: Callable[..., Any], count: int) -> Callable[..., Any]:
        """A function of `count` inputs and of the gradients of what the call gives for them.

        Were these ones, as in the gradient of a sum, a linear operation's gradient would be a
        constant, and TensorFlow's optimizer would leave nothing of it to measure.
        """

        def run(*given: Any) -> Any:
            inputs, incoming = given[:count], list(given[count:])
            floats = [t for t in inputs if _is_continuous(t)]
            with self.tf.GradientTape() as tape:
                tape.watch(floats)
                outputs = [t for t in _flat(call(*inputs)) if _is_continuous(t)]
            found = tape.gradient(outputs, floats, output_gradients=incoming)
            gradients = [g for g in found if g is not None]
            if not gradients:
                raise NoGradient
            return gradients

        return run

    def _incoming(self, results: list[Any]) -> list[Any]:
        """Random gradients of a call's floating results, the same in each program."""
        values = Values(0, np.random.default_rng(0))
        tensors = []
        for result in results:
            if _is_continuous(result):
                make = values.cx if result.dtype.is_complex else values.f
                array = make(*result.shape.as_list()).astype(result.dtype.as_numpy_dtype)
                tensors.append(self.tf.constant(array))
        return tensors

    def _of(self, made: Made) -> Any:
        given = {k: self._made(v) for k, v in made.given.items()}
        return _flat(getattr(self.tf.raw_ops, made.operation)(**given))[made.output]

    def _made(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._made(item) for item in value]
        return getattr(self, f"_{value.kind}")(value) if isinstance(value, Made) else value

    def _var(self, made: Made) -> Any:
        raw, value = self.tf.raw_ops, self.tf.constant(made.given)
        handle = raw.VarHandleOp(
            dtype=value.dtype, shape=value.shape, shared_name=f"v{next(_names)}"
        )
        raw.AssignVariableOp(resource=handle, value=value)
        return handle

    def _table(self, made: Made) -> Any:
        raw, (keys, values) = self.tf.raw_ops, map(self.tf.constant, made.given)
        handle = raw.AnonymousMutableHashTable(key_dtype=keys.dtype, value_dtype=values.dtype)
        raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=values)
        return handle

    def time(self, job: dict[str, Any]) -> dict[str, float]:
        """Microseconds of the job's call, wall and processor, in the median of the samples."""
        call = self.prepare(job)
        start = time.perf_counter()
        self._finish(call())
        first = time.perf_counter() - start
        for _ in range(3):  # functions and sizes that come back are compiled at the second call
            once = self._sample(call, 1)
            if first > job["seconds"]:
                break
        repeats = max(1, int(SAMPLE / once[0]))
        end = time.perf_counter() + job["seconds"]
        samples = [self._sample(call, repeats)]
        while time.perf_counter() < end or (len(samples) < 3 and first < job["seconds"]):
            samples.append(self._sample(call, repeats))
        wall, processor = np.median(samples, 0) * 1e6
        return {"us": round(wall, 3), "cpu": round(processor, 3), "first": round(first * 1e6)}

    def _sample(self, call: Callable[[], Any], repeats: int) -> tuple[float, float]:
        start, processor = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            result = call()
        self._finish(result)
        end, busy = time.perf_counter(), time.process_time()
        return (end - start) / repeats, (busy - processor) / repeats

    def _finish(self, result: Any) -> None:
        """Until results and variables are there: JAX's calls may return before."""
        _wait(result)
        for handle in self._resources:
            cell = getattr(getattr(handle, "_array", None), "resource", None)
            _block(getattr(cell, "value", None))


class NoGradient(Exception):
    """No input of the call has a gradient."""


class _Slot(int):
    """The position of a parameter."""


def _is_continuous(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def _filled(value: Any, inputs: tuple[Any, ...]) -> Any:
    if isinstance(value, list):
        return [_filled(item, inputs) for item in value]
    return inputs[value] if isinstance(value, _Slot) else value


def _flat(values: Any) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, (list, tuple)):
        return [item for value in values for item in _flat(value)]
    return [values]


def _wait(result: Any) -> None:
    """Until the result is there."""
    for tensor in _flat(result):
        _block(getattr(tensor, "_array", None))


def _block(array: Any) -> None:
    """Until an array is there, if it is one of JAX's."""
    if hasattr(array, "block_until_ready"):
        array.block_until_ready()


def main(name: str) -> None:
    """Answer jobs until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    library = Library(name)
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = library.time(json.loads(line))
        except Exception as problem:  # which figure is missing, and why
            text = str(problem).strip().split("\n")[0][:160]
            answer = {"error": f"{type(problem).__name__}: {text}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
