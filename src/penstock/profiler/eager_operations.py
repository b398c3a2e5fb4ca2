"""What a profile notes of operations that run eagerly, outside of functions and sessions.

Each is an item of its own, as one of a plan is, named after the line that ran it:
`train.py:41/MatMul`. Runs of a line are one operation of the account, whatever their sizes.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.context import LOCAL_TASK, state
from penstock.core.prepared import PreparedOp
from penstock.core.tensor import EagerTensor
from penstock.runtime.items import describe
from penstock.runtime.program import Node
from penstock.runtime.step import Event
from penstock.runtime.watching import StepWatch
from penstock.types.tensor_spec import TensorSpec
from penstock.util.frames import Frame, user_frame


@dataclass(frozen=True, slots=True)
class SizedRun:
    """A run of an operation as far as its cost follows from it."""

    type: str
    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    attrs: Mapping[str, Any]


class EagerItem:
    """The runs of an operation by one line with inputs and outputs of the same sizes."""

    def __init__(
        self,
        prepared: PreparedOp,
        frame: Frame | None,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
    ) -> None:
        kind = prepared.op.name
        where = "" if frame is None else f"{os.path.basename(frame.file)}:{frame.line}/"
        self.prepared = prepared  # items are found by its id, so it is kept
        self.name = where + kind
        run: Any = SizedRun(kind, inputs, outputs, prepared.attrs)
        node = Node(kind, prepared.op, self.name, prepared.attrs, [], [], (), (), origin=run)
        self.nodes = (node,)


class EagerWatch:
    """Runs the eager operations of all threads, and notes them in a watch of steps. Thread-safe."""

    def __init__(self, steps: StepWatch) -> None:
        self._steps = steps
        self._items: dict[Any, EagerItem] = {}  # `setdefault` is one step

    def run_eager(
        self,
        prepared: PreparedOp,
        inputs: Sequence[EagerTensor],
        run: Callable[[], Sequence[EagerTensor]],
    ) -> Sequence[EagerTensor]:
        """`run()`, which runs the operation, with a note of it unless it fails."""
        start = time.time()
        outputs = run()
        described = tuple([describe(t._array) for t in outputs])
        item = self._item(prepared, inputs, [shape for _, shape, _ in described])
        device = outputs[0].device if outputs else state.device or f"{LOCAL_TASK}/device:CPU:0"
        self._steps.keep(
            [Event(item, device, start, time.time(), threading.get_ident(), described)]
        )
        return outputs

    def _item(
        self, prepared: PreparedOp, inputs: Sequence[EagerTensor], shapes: list[tuple[int, ...]]
    ) -> EagerItem:
        frame = user_frame()
        given = [getattr(t._array, "shape", ()) for t in inputs]
        key = (id(prepared), frame, tuple(given), tuple(shapes))
        found = self._items.get(key)
        if found is None:
            sizes_in = [TensorSpec(s, t._dtype) for s, t in zip(given, inputs, strict=True)]
            sizes_out = [TensorSpec(s, t) for s, t in zip(shapes, prepared.out_dtypes, strict=True)]
            made = EagerItem(prepared, frame, sizes_in, sizes_out)
            found = self._items.setdefault(key, made)
        return found
