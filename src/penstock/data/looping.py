"""Functions that hand a state from element to element: scan and reduce; and a single element."""

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.data import restoring
from penstock.data.operations import HOST, NAMED, TYPES, WHY, Mapped, dataset_op, held
from penstock.data.run import Bound, Run
from penstock.data.stages import Array, Description, Element, Stage, State, UnaryStage, elements
from penstock.data.whole import started
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class Scan(Description):
    """What a function makes of a state and of each element, with the state that it gives on.

    Args:
      input: the elements.
      initial: the first state.
      function: of a state and an element; gives the next state and a result.
      types: the dtypes of the results.
      shapes: their shapes.
    """

    kind = "ScanDataset"
    __slots__ = ("function", "initial")

    def __init__(
        self,
        input: Description,
        initial: Sequence[Array],
        function: Mapped,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.initial = tuple(initial)
        self.function = function

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _ScanStage(self.inputs[0].start(run), self, self.function.bind(run))


class _ScanStage(UnaryStage):
    def __init__(self, input: Stage, description: Scan, function: Bound) -> None:
        super().__init__(input)
        self._state = list(description.initial)
        self._types = [t.dtype for t in function.body.outputs[: len(self._state)]]
        self._function = function

    def next(self) -> Element | None:
        found = self.input.next()
        if found is None:
            return None
        made = self._function([*self._state, *found])
        count = len(self._state)
        self._state = list(made[:count])
        return tuple(made[count:])

    def save(self) -> State:
        return {**super().save(), "state": list(self._state)}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._state = restoring.arrays(state["state"], self._types, "ScanDataset")


_STATES = (
    "input_dataset: variant, initial_state: [Tstate], other_arguments: [Targuments]; f: func,"
    " Tstate: list(type) >= 1, Targuments: list(type) >= 0"
)
SCAN = dataset_op(
    f"ScanDataset({_STATES}, {TYPES}, preserve_cardinality: bool = False, use_default_device: bool"
    " = True, metadata: string = '') -> handle: variant",
    "What a function makes of a state and of each element, with the state that it gives on.",
)
SCAN_V0 = dataset_op(
    f"ExperimentalScanDataset({_STATES}, {TYPES}, preserve_cardinality: bool = False) -> handle:"
    " variant",
    "What a function makes of a state and of each element, with the state that it gives on.",
)


@host_kernel(SCAN, limit=HOST)
@host_kernel(SCAN_V0, limit=HOST)
def _scan(
    input_dataset: Array, initial_state: list[Array], other_arguments: list[Array], *, f: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    function = Mapped(f, other_arguments)
    return Scan(held(input_dataset), initial_state, function, output_types, output_shapes)


# ---- operations that run a dataset to its end


def _given(c: ShapeContext) -> list[Dims]:
    return list(c.attr("output_shapes"))


def _define(text: str, doc: str) -> OpDef:
    op = define_op(text, shape=_given, stateful=True, fallible=True, doc=doc)
    op.calls = "func" in {a.element_kind for a in op.attrs.values()}
    return op.not_differentiable(WHY)


REDUCE = _define(
    f"ReduceDataset({_STATES}, {TYPES}, use_inter_op_parallelism: bool = True, metadata: string ="
    " '') -> components: [output_types]",
    "The last state of a function that takes a state and each element of a dataset in turn.",
)
SINGLE = _define(
    f"DatasetToSingleElement(dataset: variant; {NAMED}) -> components: [output_types]",
    "The only element of a dataset.",
)


@host_kernel(REDUCE, limit=HOST, blocks=True)
def _reduce(
    ctx: KernelContext, input_dataset: Array, initial_state: list[Array],
    other_arguments: list[Array], *, f: Any, output_types: Any, output_shapes: Any,
) -> Sequence[Array]:  # fmt: skip
    state: Sequence[Array] = list(initial_state)
    with started(held(input_dataset), ctx) as (stage, run):
        function = Mapped(f, other_arguments).bind(run)
        for found in elements(stage):
            state = function([*state, *found])
            run.check_wanted()
    return list(state)


@host_kernel(SINGLE, limit=HOST, blocks=True)
def _single(
    ctx: KernelContext, dataset: Array, *, output_types: Any, output_shapes: Any
) -> Sequence[Array]:
    with started(held(dataset), ctx) as (stage, _):
        found = stage.next()
        if found is None:
            raise errors.InvalidArgumentError(
                None, None, "Dataset was empty: expected exactly one element, got none."
            )
        if stage.next() is not None:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Dataset had more than one element: expected exactly one. Take the first with"
                " take(1).",
            )
    return list(found)
