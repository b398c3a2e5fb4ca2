"""Advice from a profile: what takes the time, and what could be better."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock import errors, proto
from penstock.profiler.model_facts import Facts, Numbers
from penstock.profiler.model_options import Options, read_options
from penstock.profiler.model_text import time_text
from penstock.profiler.model_tree import Item, Source, code_tree, scope_tree, type_rows

_TOP = 3
_LOW = 0.5  # the part of a step below which an accelerator is said to wait


def advice(source: Source, wanted: Mapping[str, Any]) -> Any:
    """An AdviceProto with what each of the wanted checkers finds.

    Raises:
      InvalidArgumentError: there is no such checker.
    """
    message = proto.tfprof_output_pb2.AdviceProto()
    for name in wanted or CHECKERS:
        checker = CHECKERS.get(name)
        if checker is None:
            text = errors.located(
                "tf.compat.v1.profiler.advise", f"checkers among {', '.join(CHECKERS)}", repr(name),
                "Leave the others out, or pass {} for all.",
            )  # fmt: skip
            raise errors.InvalidArgumentError(None, None, text)
        message.checkers[name].reports.extend(checker(source))
    return message


def text_of(message: Any) -> str:
    """Advice as text."""
    lines = []
    for name in sorted(message.checkers):
        lines += ["", f"{name}:", *message.checkers[name].reports]
    return "\n".join(lines) + "\n"


def _options() -> Options:
    return read_options({"order_by": "micros", "select": ["micros"], "min_micros": 1})


def _expensive(source: Source) -> list[str]:
    """The types, scopes and lines that take most of the time."""
    rows = type_rows(source, _options())
    if not rows:
        return []
    whole = max(rows[0].total.micros, 1)
    types = [
        f"top {i} operation type: {row.name}, {_times(row.own)} "
        f"({100 * row.own.micros / whole:.2f}%)"
        for i, row in enumerate(rows[:_TOP], 1)
    ]
    scopes = [
        f"top {i} graph node: {item.name}, {_times(item.total)}"
        for i, item in enumerate(_most(scope_tree(source, _options())), 1)
    ]
    lines = [f"{item.name}, {_times(item.total)}" for item in _most(code_tree(source, _options()))]
    return ["\n".join(part) for part in (types, scopes, lines) if part]


def _most(root: Item) -> list[Item]:
    found = sorted(root.children, key=lambda item: (-item.total.micros, item.name))
    return [item for item in found[:_TOP] if item.total.micros]


def _times(numbers: Numbers) -> str:
    return (
        f"cpu: {time_text(numbers.cpu_micros)}, accelerator: "
        f"{time_text(numbers.accelerator_micros)}, total: {time_text(numbers.micros)}"
    )


def _accelerators(source: Source) -> list[str]:
    """Accelerators that work for less than half of the time that operations take."""
    busy: dict[str, int] = {}
    whole = 0
    for each in source.facts.values():
        found = each.numbers(-1, source.steps)
        whole += found.micros
        if found.accelerator_micros:
            device = each.devices[0]
            busy[device] = busy.get(device, 0) + found.accelerator_micros
    return [
        f"device: {device} low utilization: {time / whole:.2f}. Feed it faster, or move operations "
        "that run on the CPU to it."
        for device, time in sorted(busy.items())
        if whole and time / whole < _LOW
    ]


def _operations(source: Source) -> list[str]:
    """Operations in a form that has a faster one."""
    on_gpu = [f for f in source.facts.values() if any("GPU" in d.upper() for d in f.devices)]
    reports = []
    last = [f.name for f in on_gpu if f.channels_last]
    if last:
        reports.append(
            f"{len(last)} operations on a GPU with data_format NHWC, as {last[0]}. NCHW may be "
            "faster there."
        )
    plain = [name for name in source.facts if _is_plain_norm(source.facts, name)]
    if plain:
        reports.append(
            f"{len(plain)} batch normalizations of separate operations, as {plain[0]}. "
            "tf.nn.fused_batch_norm is one."
        )
    return reports


def _is_plain_norm(facts: Mapping[str, Facts], name: str) -> bool:
    """Whether an operation ends what tf.nn.batch_normalization makes."""
    scope, _, last = name.rpartition("/")
    return last == "add_1" and scope.endswith("batchnorm") and f"{scope}/Rsqrt" in facts


CHECKERS: dict[str, Callable[[Source], list[str]]] = {
    "AcceleratorUtilizationChecker": _accelerators,
    "ExpensiveOperationChecker": _expensive,
    "OperationChecker": _operations,
}
