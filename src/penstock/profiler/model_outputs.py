"""Where a report goes: the terminal, a file, a Chrome trace, a file for pprof."""

import gzip
import json
import sys
from typing import Any

from penstock import errors
from penstock.core import files
from penstock.core.bundle.coding import varint
from penstock.profiler.model_options import COLUMNS, Options
from penstock.profiler.model_tree import Item
from penstock.runtime.timeline import Timeline


def emit(
    text: str, view: str, root: Item | None, options: Options, step_stats: dict[int, Any]
) -> None:
    """Puts a report where the options say.

    Args:
      text: the report.
      view: "scope", "graph", "code" or "op".
      root: the tree that is shown; None for "op".
      options: a checked Options.
      step_stats: the StepStats of each step.

    Raises:
      InvalidArgumentError: the output cannot show this view.
      NotFoundError: the folder of a file is not there.
    """
    if options.output == "stdout":
        sys.stdout.write(text)
    elif options.output == "file":
        write(options.file, text.encode())
    elif options.output == "timeline":
        path = f"{options.file}_{options.step}"
        write(path, _timeline(root, view, options, step_stats).encode())
        sys.stdout.write(f"Timeline file is written to {path}. Open it in chrome://tracing.\n")
    elif options.output == "pprof":
        write(options.file, _pprof(root, view, options))
        sys.stdout.write(f"Profile is written to {options.file}. Show it with pprof.\n")


def write(path: str, data: bytes) -> None:
    """Writes a file.

    Raises:
      NotFoundError: its folder is not there.
    """
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as problem:
        raise files.translated(problem, path) from problem


def _timeline(root: Item | None, view: str, options: Options, step_stats: dict[int, Any]) -> str:
    """The traced step; without one, or for other views, the tree as bars of total time."""
    if root is None:
        raise _refusal("timeline", "scope, graph or code", view)
    step = options.step if options.step >= 0 else max(step_stats, default=-1)
    if view == "graph" and step in step_stats:
        return Timeline(step_stats[step]).generate_chrome_trace_format()
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": view}}
    ]
    waiting = [(root, 0, 0)]
    while waiting:
        item, depth, start = waiting.pop()
        events.append({
            "name": item.name, "cat": "Op", "ph": "X", "pid": 0, "tid": depth, "ts": start,
            "dur": item.total.micros, "args": {"name": item.name, "op": "|".join(item.kinds)},
        })  # fmt: skip
        for child in item.children:
            waiting.append((child, depth + 1, start))
            start += child.total.micros
    return json.dumps({"traceEvents": events})


def _refusal(output: str, expected: str, view: str) -> errors.OpError:
    text = errors.located(
        f"tf.compat.v1.profiler, output '{output}'", f"the view {expected}", f"'{view}'",
        "Choose another output, or another view.",
    )  # fmt: skip
    return errors.InvalidArgumentError(None, None, text)


# ---- pprof: its Profile message, whose fields have these numbers ---------------------------------

_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING = 1, 2, 4, 5, 6


class _Texts(dict[str, int]):
    """Texts by number."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def _pprof(root: Item | None, view: str, options: Options) -> bytes:
    if root is None or view != "code":
        raise _refusal("pprof", "code", view)
    name = options.select[0] if options.select else ""
    if len(options.select) != 1 or not hasattr(root.own, name):
        text = errors.located(
            "tf.compat.v1.profiler, output 'pprof'", "one column of numbers",
            f"{', '.join(options.select)}", "Select one, as select=['micros'].",
        )  # fmt: skip
        raise errors.InvalidArgumentError(None, None, text)
    texts = _Texts({"": 0})
    unit = "microseconds" if "micros" in name else "bytes" if "bytes" in name else "count"
    body = bytearray()
    body += _field(_SAMPLE_TYPE, _numbers({1: texts[COLUMNS[name][0]], 2: texts[unit]}))
    waiting: list[tuple[Item, tuple[int, ...]]] = [(child, ()) for child in root.children]
    count = 0
    while waiting:
        item, path = waiting.pop()
        count += 1
        path = (count, *path)  # the innermost line first
        file, line, function = _line(item.name)
        body += _field(_FUNCTION, _numbers({1: count, 2: texts[function], 4: texts[file]}))
        place = _numbers({1: count}) + _field(4, _numbers({1: count, 2: line}))
        body += _field(_LOCATION, place)
        value = getattr(item.own, name)
        if value:
            packed = b"".join(map(varint, path))
            body += _field(_SAMPLE, _field(1, packed) + _field(2, varint(value)))
        waiting += [(child, path) for child in item.children]
    for text in texts:
        body += _field(_STRING, text.encode())
    return gzip.compress(bytes(body), mtime=0)


def _line(name: str) -> tuple[str, int, str]:
    file, _, rest = name.partition(":")
    line, _, function = rest.partition(":")
    return file, int(line) if line.isdigit() else 0, function or name


def _numbers(fields: dict[int, int]) -> bytes:
    return b"".join(varint(key << 3) + varint(value) for key, value in fields.items())


def _field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data
