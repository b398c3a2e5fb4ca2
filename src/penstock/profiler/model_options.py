"""The options of a report, checked and with regular expressions compiled."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from penstock import errors
from penstock.profiler.model_facts import Numbers

# what `select` may name -> (what the header calls it, what the report says of it)
COLUMNS = {
    "bytes": ("requested bytes", "The memory requested for the operation's results."),
    "peak_bytes": ("peak bytes", "The most memory that the operation holds at one time."),
    "residual_bytes": ("residual bytes", "The memory that is still held when it has ended."),
    "output_bytes": ("output bytes", "The memory of the operation's results."),
    "micros": ("total execution time", "Time on accelerators and on the CPU."),
    "accelerator_micros": ("accelerator execution time", "Time on accelerators."),
    "cpu_micros": ("cpu execution time", "Time from start to end on the CPU."),
    "params": ("# parameters", "Number of elements of variables and placeholders."),
    "float_ops": ("# float_ops", "Number of floating-point operations of one run."),
    "occurrence": ("op count (run|defined)", "How often it ran, and how often it is there."),
    "tensor_value": ("tensor value", "Not shown."),
    "device": ("assigned devices", "Where it ran."),
    "op_types": ("op types", "Its type, and what else it counts as."),
    "input_shapes": ("input shapes", "The shapes of its inputs; -1 for unknown."),
}
ORDERS = ("name", "bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros",
          "accelerator_micros", "cpu_micros", "params", "float_ops", "occurrence")  # fmt: skip
OUTPUTS = ("stdout", "none", "file", "timeline", "pprof")
_MINIMA = ("bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros",
           "accelerator_micros", "cpu_micros", "params", "float_ops", "occurrence")  # fmt: skip
_REGEXES = ("account_type", "start_name", "trim_name", "show_name", "hide_name")


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What a report shows; see `tf.compat.v1.profiler.ProfileOptionBuilder`."""

    max_depth: int
    minima: Mapping[str, int]
    step: int
    order_by: str
    regexes: Mapping[str, tuple[re.Pattern[str], ...]]
    displayed_only: bool
    select: tuple[str, ...]
    output: str
    file: str

    def matches(self, which: str, text: str) -> bool:
        """Whether one of the expressions of a kind is that of the whole text."""
        return any(each.fullmatch(text) for each in self.regexes[which])

    def accounts(self, kinds: list[str]) -> bool:
        """Whether an operation of these kinds is counted."""
        return any(self.matches("account_type", kind) for kind in kinds)

    def enough(self, own: Numbers, total: Numbers, count: int) -> bool:
        """Whether something is large enough to be shown.

        Args:
          own: its numbers.
          total: with what is below it: bytes and times are asked of these.
          count: how often it is there.
        """
        found = {name: getattr(total, name) for name in _MINIMA[:7]}
        found |= {"params": own.params, "float_ops": own.float_ops, "occurrence": count}
        return all(found[name] >= least for name, least in self.minima.items())

    def lines(self) -> list[str]:
        """The options as a report begins with them."""
        given = [("max_depth", self.max_depth)]
        given += [(f"min_{name}", least) for name, least in self.minima.items()]
        shown: list[tuple[str, Any]] = [*given, ("step", self.step), ("order_by", self.order_by)]
        for name in _REGEXES:
            shown.append((f"{name}_regexes", ",".join(r.pattern for r in self.regexes[name])))
        shown.append(("account_displayed_op_only", "true" if self.displayed_only else "false"))
        shown += [("select", ",".join(sorted(self.select))), ("output", f"{self.output}:")]
        return [f"-{name:<26} {value}".rstrip() for name, value in shown]


def read_options(given: Mapping[str, Any]) -> Options:
    """Options from a dictionary, as `ProfileOptionBuilder.build` makes it.

    Raises:
      TypeError: it is no dictionary.
      InvalidArgumentError: a name, a column, an order or an expression is not known.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            "tf.compat.v1.profiler: expected options as a dictionary, got "
            f"{type(given).__name__}. Build them with ProfileOptionBuilder."
        )
    known = {"max_depth", "step", "order_by", "account_displayed_op_only", "select", "output"}
    known |= {f"min_{name}" for name in _MINIMA} | {f"{name}_regexes" for name in _REGEXES}
    for name in given:
        _check("option", name, sorted(known))
    select = tuple(dict.fromkeys(given.get("select", ("micros",))))
    for name in select:
        _check("column in select", name, list(COLUMNS))
    order_by = given.get("order_by", "name")
    _check("order_by", order_by, ORDERS)
    output, _, rest = given.get("output", "stdout").partition(":")
    _check("output", output, OUTPUTS)
    if output in ("file", "timeline", "pprof") and not rest.startswith("outfile="):
        raise _refusal("output", f"{output}:outfile=PATH", given["output"])
    return Options(
        given.get("max_depth", 10000),
        {name: given.get(f"min_{name}", 0) for name in _MINIMA},
        given.get("step", -1),
        order_by,
        {name: _compiled(given, name) for name in _REGEXES},
        bool(given.get("account_displayed_op_only", False)),
        select,
        output,
        rest.removeprefix("outfile="),
    )


def _compiled(given: Mapping[str, Any], name: str) -> tuple[re.Pattern[str], ...]:
    everything = [] if name in ("trim_name", "hide_name") else [".*"]
    found = []
    for text in given.get(f"{name}_regexes", everything):
        try:
            found.append(re.compile(text))
        except re.error as problem:
            raise _refusal(
                f"{name}_regexes", "regular expressions", f"{text!r} ({problem})"
            ) from None
    return tuple(found)


def _check(what: str, name: Any, known: Any) -> None:
    if name not in known:
        raise _refusal(what, f"one of {', '.join(known)}", repr(name))


def _refusal(what: str, expected: str, got: str) -> errors.OpError:
    text = errors.located(
        f"tf.compat.v1.profiler, {what}", expected, got, "Build options with ProfileOptionBuilder."
    )
    return errors.InvalidArgumentError(None, None, text)
