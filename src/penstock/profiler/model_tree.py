"""Trees of what a graph's operations count: by scope, by what needs what, by type, by line.

A tree is made of all operations first, each `Item` with its own numbers and with the sum of what is
below it. `prune` makes the tree that is shown: what is not shown gives its children to its parent.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.profiler.model_facts import ROOT, SCOPE, Facts, Numbers
from penstock.profiler.model_options import Options

_NAME_LENGTH = 20  # of a function in a line's name


@dataclasses.dataclass(slots=True)
class Item:
    """One line of a report.

    Attributes:
      name: what it is called.
      kinds: what it counts as.
      own: its numbers.
      total: its own, and those below.
      accounted: whether its own numbers count.
      holds: whether those of something below count, or its own.
      children: what is below.
      members: the operations that it stands for: one, or those of a type or line.
    """

    name: str
    kinds: list[str]
    own: Numbers = dataclasses.field(default_factory=Numbers)
    total: Numbers = dataclasses.field(default_factory=Numbers)
    accounted: bool = False
    holds: bool = False
    children: "list[Item]" = dataclasses.field(default_factory=list)
    members: list[Facts] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """What trees are made of: operations by name, and the steps that were added."""

    facts: Mapping[str, Facts]
    steps: list[int]

    def item(self, name: str, options: Options) -> Item:
        """The item of an operation, or of a scope."""
        found = self.facts.get(name)
        if found is None:
            scope = Item(name, [SCOPE], Numbers(definitions=1))
            scope.accounted = options.accounts(scope.kinds)
            return scope
        numbers = found.numbers(options.step, self.steps)
        return Item(
            name, found.kinds, numbers, accounted=options.accounts(found.kinds), members=[found]
        )


def scope_tree(source: Source, options: Options) -> Item:
    """Operations below the scopes that their names say."""
    root = Item(ROOT, [SCOPE], Numbers(definitions=1))
    items = {"": root}
    for name in source.facts:
        path = ""
        for part in name.split("/"):
            parent, path = items[path], f"{path}/{part}" if path else part
            if path not in items:
                items[path] = source.item(path, options)
                parent.children.append(items[path])
    return _totalled(root)


def graph_tree(source: Source, options: Options) -> Item:
    """Operations below those that need them, each once; at the top those that nothing needs."""
    facts = source.facts
    needed = {name for each in facts.values() for name in each.inputs}
    items: dict[str, Item] = {}
    root = Item(ROOT, ["_TFGraphParent"], Numbers(definitions=1))
    for start in sorted(name for name in facts if name not in needed) + sorted(facts):
        waiting = [(root, start)]
        while waiting:  # depth first, so that a chain of operations is a chain here
            parent, name = waiting.pop()
            if name in items or name not in facts:
                continue
            items[name] = source.item(name, options)
            parent.children.append(items[name])
            waiting += [(items[name], each) for each in sorted(set(facts[name].inputs))[::-1]]
    return _totalled(root)


def code_tree(source: Source, options: Options) -> Item:
    """Operations below the lines of the program that made them, outermost first."""
    root = Item(ROOT, [SCOPE], Numbers(definitions=1))
    items: dict[tuple[str, ...], Item] = {(): root}
    for each in source.facts.values():
        if not options.accounts(each.kinds):
            continue
        path: tuple[str, ...] = ()
        for name in _lines(each):
            parent, path = items[path], (*path, name)
            if path not in items:
                items[path] = Item(name, [SCOPE], accounted=True)
                parent.children.append(items[path])
        items[path].own.add(each.numbers(options.step, source.steps))
        items[path].members.append(each)
    return _totalled(root)


def _lines(found: Facts) -> list[str]:
    lines = []
    for frame in found.frames:
        function = frame.function
        if len(function) > _NAME_LENGTH:
            function = f"{function[: _NAME_LENGTH - 4]}..."
        lines.append(f"{os.path.basename(frame.file)}:{frame.line}:{function}")
    return [f"{line} (gradient)" for line in lines] if found.is_gradient else lines


def type_rows(source: Source, options: Options) -> list[Item]:
    """An item for each type of operation, in order; totals are of it and of those after it."""
    rows: dict[str, Item] = {}
    for each in source.facts.values():
        if options.accounts(each.kinds):
            row = rows.setdefault(each.kind, Item(each.kind, [], accounted=True))
            row.kinds += [kind for kind in each.kinds if kind not in row.kinds]
            row.own.add(each.numbers(options.step, source.steps))
            row.members.append(each)
    kept = _chained(_ordered(rows.values(), options, lambda item: item.own))
    kept = [
        item for item in kept
        if _is_named(item, options) and options.enough(item.own, item.total, len(item.members))
    ]  # fmt: skip
    return _chained(kept) if options.displayed_only else kept


def _chained(rows: list[Item]) -> list[Item]:
    total = Numbers()
    for item in reversed(rows):
        total = dataclasses.replace(total)
        total.add(item.own)
        item.total = total
    return rows


def _totalled(root: Item) -> Item:
    """Sums up; without recursion, for graphs are deep."""
    order, waiting = [], [root]
    while waiting:
        item = waiting.pop()
        order.append(item)
        waiting += item.children
    for item in reversed(order):
        item.total = _sum(item, item.children)
        item.holds = item.accounted or any(child.holds for child in item.children)
    return root


def _sum(item: Item, children: Iterable[Item]) -> Numbers:
    total = dataclasses.replace(item.own) if item.accounted else Numbers(definitions=1)
    for child in children:
        total.add(child.total)
    return total


def prune(root: Item, options: Options, displayed_only: bool) -> Item:
    """The part of a tree that is shown, in order.

    Args:
      root: the whole.
      options: what is shown.
      displayed_only: whether totals are of what is shown.
    """
    starts = _starts(root, options)
    kept: dict[int, list[Item]] = {}  # id of an item -> what it gives to its parent
    waiting: list[tuple[Item, int, bool]] = [(each, 2, False) for each in starts]
    while waiting:
        item, depth, is_done = waiting.pop()
        below = [] if options.matches("trim_name", item.name) else item.children
        if not is_done and depth < options.max_depth:
            waiting.append((item, depth, True))
            waiting += [(child, depth + 1, False) for child in below]
            continue
        found = [] if not is_done else [shown for child in below for shown in kept[id(child)]]
        kept[id(item)] = _shown(item, depth, found, options, displayed_only)
    top = [shown for each in starts for shown in kept[id(each)]]
    total = _sum(root, top) if displayed_only else root.total
    top = _ordered(top, options, lambda item: item.total)
    return dataclasses.replace(root, children=top, total=total)


def _starts(root: Item, options: Options) -> list[Item]:
    """The outermost items whose names match the expressions to start from."""
    found, waiting = [], root.children[::-1]
    while waiting:
        item = waiting.pop()
        if options.matches("start_name", item.name):
            found.append(item)
        else:
            waiting += item.children[::-1]
    return found


def _shown(
    item: Item, depth: int, below: list[Item], options: Options, displayed_only: bool
) -> list[Item]:
    is_shown = (
        depth <= options.max_depth
        and item.holds
        and _is_named(item, options)
        and options.enough(item.own, item.total, item.own.runs)
    )
    if not is_shown:
        return below
    total = _sum(item, below) if displayed_only else item.total
    ordered = _ordered(below, options, lambda each: each.total)
    return [dataclasses.replace(item, children=ordered, total=total)]


def _is_named(item: Item, options: Options) -> bool:
    shown = options.matches("show_name", item.name)
    return shown and not options.matches("hide_name", item.name)


def _ordered(
    items: Iterable[Item], options: Options, numbers: Callable[[Item], Numbers]
) -> list[Item]:
    key = options.order_by
    named = sorted(items, key=lambda item: item.name)
    if key == "name":
        return named
    if key == "occurrence":
        return sorted(named, key=lambda item: -len(item.members))
    return sorted(named, key=lambda item: -getattr(numbers(item), key))


VIEWS: dict[str, Any] = {"scope": scope_tree, "graph": graph_tree, "code": code_tree}
