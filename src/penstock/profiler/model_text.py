"""Reports as text: the options, what the columns mean, and the table."""

from typing import Any

from penstock.profiler.model_facts import Facts, Numbers
from penstock.profiler.model_options import COLUMNS, Options
from penstock.profiler.model_tree import Item, Source

_VIEWS = {
    "scope": "Operations by the scopes of their names.",
    "graph": "Operations by what needs them.",
    "code": "Operations by the lines of the program that made them.",
    "op": "Operations by type.",
}
_TIMES = ("micros", "accelerator_micros", "cpu_micros")
_NUMBERS = ("bytes", "peak_bytes", "residual_bytes", "output_bytes", *_TIMES, "params", "float_ops")
_NAME_WIDTH, _CELL_WIDTH = 25, 30


def count_text(value: int) -> str:
    """A count: 999, 1.02k, 2.50m, 3.00b.

    Example:
      >>> count_text(34560)
      '34.56k'
    """
    return _scaled(value, [(10**9, "b"), (10**6, "m"), (10**3, "k")], "")


def bytes_text(value: int) -> str:
    """A size, by thousands.

    Example:
      >>> bytes_text(1896)
      '1.90KB'
    """
    return _scaled(value, [(10**9, "GB"), (10**6, "MB"), (10**3, "KB")], "B")


def time_text(micros: int) -> str:
    """A time.

    Example:
      >>> time_text(58753)
      '58.75ms'
    """
    minute = 60 * 10**6
    units = [(60 * minute, "hour"), (minute, "min"), (10**6, "sec"), (10**3, "ms")]
    return _scaled(micros, units, "us")


def _scaled(value: int, units: list[tuple[int, str]], plain: str) -> str:
    for least, unit in units:
        if value >= least:
            return f"{value / least:.2f}{unit}"
    return f"{value}{plain}"


def columns(options: Options) -> list[str]:
    """The columns of a report, in order; times are shown together."""
    found = []
    for name in COLUMNS:
        if name in options.select or (name in _TIMES and "micros" in options.select):
            found.append(name)
    return [name for name in found if name != "tensor_value"]


def report(view: str, shown: Any, source: Source, options: Options) -> str:
    """A report.

    Args:
      view: "scope", "graph", "code" or "op".
      shown: the tree that is shown, or for "op" the rows.
      source: what it was made of.
      options: a checked Options.
    """
    names = columns(options)
    headers = [COLUMNS[name][0] for name in names]
    if view == "op":
        headers = [h.replace("op count", "op occurrence") for h in headers]
    lines = ["", "=========================Options============================="]
    lines += [*options.lines(), "", "==================Model Analysis Report======================"]
    lines += ["", "Doc:", f"{view}: {_VIEWS[view]}"]
    lines += [f"{COLUMNS[name][0]}: {COLUMNS[name][1]}" for name in names]
    lines += ["", "Profile:", " | ".join(["node name", *headers])]
    if view == "op":
        lines += _rows(shown, names, source, options)
    else:
        lines += _tree(shown, names)
    lines += ["", "======================End of Report=========================="]
    return "\n".join(lines) + "\n"


def _tree(root: Item, names: list[str]) -> list[str]:
    lines, waiting = [], [(root, 0)]
    while waiting:
        item, depth = waiting.pop()
        is_bare = depth == 0 or not item.accounted
        cells = [_cell(item, name, is_bare) for name in names]
        lines.append(f"{'  ' * depth}{item.name} ({', '.join(cells)})")
        waiting += [(child, depth + 1) for child in reversed(item.children)]
    return lines


def _cell(item: Item, name: str, is_bare: bool) -> str:
    if name not in _NUMBERS and name != "occurrence":
        return _words(item.members, item.kinds, name)
    if name == "occurrence":
        runs, definitions = ("--", "--") if is_bare else (item.own.runs, item.own.definitions)
        return f"{runs}/{item.total.runs}|{definitions}/{item.total.definitions}"
    own, total = "--" if is_bare else _value(item.own, name), _value(item.total, name)
    shape = item.members[0].shape if name == "params" and len(item.members) == 1 else None
    unit = {"params": " params", "float_ops": " flops"}.get(name, "")
    before = "" if shape is None or is_bare else f"{_dims(shape)}, "
    return f"{before}{own}/{total}{unit}"


def _value(numbers: Numbers, name: str) -> str:
    value = getattr(numbers, name)
    if name in _TIMES:
        return time_text(value)
    return bytes_text(value) if name.endswith("bytes") else count_text(value)


def _dims(shape: tuple[int, ...] | None) -> str:
    return "?" if shape is None else "x".join(map(str, shape)) or "1"


def _words(members: list[Facts], kinds: list[str], name: str) -> str:
    if name == "op_types":
        return "|".join(kinds)
    if name == "device":
        return "|".join(dict.fromkeys(d for each in members for d in each.devices))
    shapes = members[0].input_shapes if len(members) == 1 else []
    return "|".join(f"{i}:{_dims(shape)}" for i, shape in enumerate(shapes))


def _rows(rows: list[Item], names: list[str], source: Source, options: Options) -> list[str]:
    whole = rows[0].total if rows else Numbers()
    lines = []
    for item in rows:
        cells = [_row_cell(item, name, whole) for name in names if name != "input_shapes"]
        lines.append(f"{item.name:<{_NAME_WIDTH}}{', '.join(cells)}")
        if "input_shapes" in names:
            lines += ["", *_input_types(item, source, options), ""]
    return lines


def _row_cell(item: Item, name: str, whole: Numbers) -> str:
    if name == "occurrence":
        return f"{item.own.runs}|{item.own.definitions}".rjust(10)
    if name not in _NUMBERS:
        return _words(item.members, item.kinds, name)
    most = max(getattr(whole, name), 1)
    shares = [100 * getattr(each, name) / most for each in (item.total, item.own)]
    unit = f" {name}" if name in ("params", "float_ops") else ""
    text = f"{_value(item.own, name)}{unit} ({shares[0]:.2f}%, {shares[1]:.2f}%)"
    return text.rjust(_CELL_WIDTH)


def _input_types(item: Item, source: Source, options: Options) -> list[str]:
    """For each combination of inputs' shapes: how often it ran and is there, and for how long."""
    found: dict[str, Numbers] = {}
    for each in item.members:
        text = ",\t".join(f"{i}:{_dims(shape)}" for i, shape in enumerate(each.input_shapes))
        found.setdefault(text, Numbers()).add(each.numbers(options.step, source.steps))
    ordered = sorted(found.items(), key=lambda pair: (-pair[1].micros, pair[0]))
    return [
        f"input_type: {text}\t(run*{n.runs}|defined*{n.definitions})\t"
        f"exec_time: {time_text(n.micros)}"
        for text, n in ordered
    ]
