"""Datasets that change how others run, not what they give: options, and the like of old graphs.

A `Settings` has the elements of its input, and says something about how they are made: options, or
only the name of a rewrite, which changes nothing here. It makes no stage of its own.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.kernels import host_kernel
from penstock.data import options as opt
from penstock.data.operations import HOST, NAMED, TYPES, dataset_op, held, number
from penstock.data.options import NO_OPTIONS, Options, RunOptions
from penstock.data.run import Run
from penstock.data.stages import Array, Description, Stage


class Settings(Description):
    """The elements of a dataset, with something to say about how they are made.

    Args:
      input: the dataset.
      kind: the name of the operation.
      options: what it says.
      data: the same, as a serialized message.
    """

    __slots__ = ("data", "name", "options")

    def __init__(self, input: Description, name: str, options: Options, data: bytes = b"") -> None:
        super().__init__((input,), input.types, input.shapes)
        self.name = name
        self.options = options
        self.data = data

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """The state of the input."""
        return self.inputs[0].start(run)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def merged_options(description: Description) -> Options | None:
    """What a dataset and those that it is made of say, merged in order; None for nothing."""
    found: Options | None = None
    for each in description.inputs:
        inner = merged_options(each)
        if inner is not None:
            found = inner if found is None else found.merge(inner)
    if not isinstance(description, Settings):
        return found
    return description.options if found is None else found.merge(description.options)


def options_of(description: Description) -> RunOptions:
    """The options of a dataset: those of itself and of what it is made of."""
    found = merged_options(description)
    return NO_OPTIONS if found is None else opt.run_options(found)


OPTIONS = dataset_op(
    f"OptionsDataset(input_dataset: variant; serialized_options: string, {NAMED}) -> handle:"
    " variant",
    "The elements of a dataset, made as options say.",
)


@host_kernel(OPTIONS, limit=HOST)
def _options(
    input_dataset: Array, *, serialized_options: Any, output_types: Any, output_shapes: Any
) -> Description:
    data = serialized_options
    data = data if isinstance(data, bytes) else str(data).encode("latin-1")
    return Settings(held(input_dataset), "OptionsDataset", opt.parsed(data), data)


def _threads(count: Array) -> Options:
    made = Options()
    made.threading.private_threadpool_size = number(count)
    return made


def _intra_op(count: Array) -> Options:
    made = Options()
    made.threading.max_intra_op_parallelism = number(count)
    return made


def _plain(*_: Array) -> Options:
    return Options()


def _model(*, cpu_budget: int = 0, **_: Any) -> Options:
    made = Options()
    if cpu_budget:
        made.autotune.cpu_budget = cpu_budget
    return made


_SAME = "The elements of a dataset."
# text of inputs, attributes, doc, what it says
_WRAPPERS: dict[str, tuple[str, str, str, Callable[..., Options]]] = {
    "PrivateThreadPoolDataset": (
        ", num_threads: int64",
        "",
        "The elements of a dataset, made by threads of its own.",
        _threads,
    ),
    "MaxIntraOpParallelismDataset": (
        ", max_intra_op_parallelism: int64",
        "",
        "The elements of a dataset, made by operations with so many threads.",
        _intra_op,
    ),
    "NonSerializableDataset": ("", "", f"{_SAME} It is not to be written to a graph.", _plain),
    "RewriteDataset": (", rewrite_name: string", "", f"{_SAME} Names a rewrite.", _plain),
    "OptimizeDataset": (
        ", optimizations: string",
        ", optimization_configs: list(string) = []",
        f"{_SAME} Names rewrites.",
        _plain,
    ),
    "OptimizeDatasetV2": (
        ", optimizations_enabled: string, optimizations_disabled: string, optimizations_default:"
        " string",
        ", optimization_configs: list(string) = []",
        f"{_SAME} Names rewrites.",
        _plain,
    ),
    "AssertNextDataset": (
        ", transformations: string",
        "",
        f"{_SAME} Names operations that a rewrite should leave behind it; they are not looked for.",
        _plain,
    ),
    "AssertPrevDataset": (
        ", transformations: string",
        "",
        f"{_SAME} Names operations that a rewrite should leave before it; they are not looked for.",
        _plain,
    ),
    "LatencyStatsDataset": (", tag: string", "", f"{_SAME} Old graphs measured there.", _plain),
    "BytesProducedStatsDataset": (
        ", tag: string",
        "",
        f"{_SAME} Old graphs measured there.",
        _plain,
    ),
}
_EXPERIMENTAL = (
    "PrivateThreadPoolDataset",
    "MaxIntraOpParallelismDataset",
    "NonSerializableDataset",
    "AssertNextDataset",
    "LatencyStatsDataset",
    "BytesProducedStatsDataset",
)


def _define(name: str, kind: str) -> None:
    inputs, attrs, doc, says = _WRAPPERS[kind]
    text = f"{name}(input_dataset: variant{inputs}; {TYPES}{attrs}) -> handle: variant"
    op = dataset_op(text, doc)

    def kernel(input_dataset: Array, *rest: Array, output_types: Any, output_shapes: Any) -> Any:
        return Settings(held(input_dataset), name, says(*rest))

    host_kernel(op, limit=HOST)(kernel)


for _name in _WRAPPERS:
    _define(_name, _name)
for _name in _EXPERIMENTAL:
    _define(f"Experimental{_name}", _name)

MODEL = dataset_op(
    f"ModelDataset(input_dataset: variant; algorithm: int = 0, cpu_budget: int = 0, ram_budget: int"
    f" = 0, {TYPES}) -> handle: variant",
    f"{_SAME} Stages of it are tuned.",
)
FINALIZE = dataset_op(
    f"FinalizeDataset(input_dataset: variant; has_captured_ref: bool = False, {TYPES}) -> handle:"
    " variant",
    f"{_SAME} Options are applied from here on.",
)


@host_kernel(MODEL, limit=HOST)
def _model_dataset(
    input_dataset: Array, *, cpu_budget: int, output_types: Any, output_shapes: Any
) -> Description:
    return Settings(held(input_dataset), "ModelDataset", _model(cpu_budget=cpu_budget))


@host_kernel(FINALIZE, limit=HOST)
def _finalize(input_dataset: Array, *, output_types: Any, output_shapes: Any) -> Description:
    return Settings(held(input_dataset), "FinalizeDataset", Options())
