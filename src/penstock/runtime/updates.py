"""Updates of variables in one pass: what a step's optimizer does, as one native call.

`update_together` looks at the variables that a region on CPU assigned while it was traced. Where a
new value is a function, element by element, of the variable, of others of its shape, of arrays of
its shape such as gradients, and of numbers, it is written down (`penstock.core.updates`); all such
variables of the region get their new values in one call, which works in their memory and starts
when the last gradient is there. What was traced for them before is not used then, and XLA drops it.
Other variables keep the values that they were given.

A gradient that is a product of two matrices, and that such updates alone use, need not be in
memory: the call computes it block by block where it updates with it.

Operations that optimizers have (`ResourceApplyAdam`) and those that programs spell out take the
same way: the kernels of the first are run on terms, the others have a rule in RULES.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.kernels import select
from penstock.core.products import Noted, Product
from penstock.core.tensor_list import StackedList
from penstock.core.traced import Collected, TracedRef
from penstock.core.updates import Group, Namespace, Term, Unfit, Written, call, written
from penstock.runtime.program import Node, Ref

LEAST_ELEMENTS = 1 << 14  # in all: a call costs more than it saves for less
LEAST_ARRAYS = 2  # of a group: one array is one loop for XLA too
MOST_DEPTH = 24  # operations before an assignment that are looked at
READ = "ReadVariableOp"
ASSIGNMENTS = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
APPLY = "ResourceApply"  # what the names of optimizers' operations begin with
Key = tuple[int, int]  # of a value: the id of its node, and its number


def _plain(code: str) -> Callable[..., Term]:
    return lambda first, *rest: first.apply(code, *rest)


def _sum(first: Term, *rest: Term) -> Term:
    for each in rest:
        first = first + each
    return first


RULES: dict[str, Callable[..., Term]] = {
    "Abs": _plain("ABSOLUTE"),
    "Add": _plain("ADD"),
    "AddN": _sum,
    "AddV2": _plain("ADD"),
    "Div": _plain("DIVIDE"),
    "Identity": lambda x: x,
    "Maximum": _plain("MAXIMUM"),
    "Minimum": _plain("MINIMUM"),
    "Mul": _plain("MULTIPLY"),
    "Neg": _plain("NEGATIVE"),
    "RealDiv": _plain("DIVIDE"),
    "Sqrt": _plain("SQUARE_ROOT"),
    "Square": lambda x: x * x,
    "Sub": _plain("SUBTRACT"),
}


def update_together(
    region: Any,
    values: dict[Key, Any],
    refs: dict[Key, TracedRef],
    old: dict[Key, Any],
    collected: Collected,
    products: Noted,
) -> None:
    """Gives variables that can be updated together the results of one call.

    Args:
      region: its nodes were traced.
      values: what they gave.
      refs: its variables; those that are updated get new values.
      old: what the variables held before.
      collected: the checks that were made: where one fails no variable changes.
      products: those that the call may compute itself.
    """
    finder = _Finder(region, values, old)
    if not finder.is_worth_it() or not native.available():
        return
    groups = [
        (keys, made)
        for keys, group in finder.groups()
        if len(keys) >= LEAST_ARRAYS and (made := written(group))
    ]
    if not groups or sum(_size(old[key]) for keys, _ in groups for key in keys) < LEAST_ELEMENTS:
        return
    count = len(collected.conditions)
    wanted = collected.all_ok if count else np.True_
    results = iter(call(_with_products(finder, groups, products), wanted))
    for keys, _ in groups:
        for key in keys:
            refs[key].write(next(results), gated_at=count)


def _size(array: Any) -> int:
    return math.prod(array.shape)


def _with_products(
    finder: "_Finder", groups: Sequence[tuple[list[Key], Written]], products: Noted
) -> list[Written]:
    """The groups' programs; gradients that only they use are computed where they are wanted.

    What the products are of stays in memory until then. It may take no more than the gradients
    would, so those that save most for what they hold come first. Nothing that the call itself
    changes may be among it: a block's update would be seen by the blocks after it.
    """
    made = [each for _, each in groups]
    changed = {id(array) for each in made for array in each.arrays[: each.count]}
    found = [
        (place, number, product)
        for place, (keys, each) in enumerate(groups)
        if (number := _own_product(finder, keys, each, products)) is not None
        for product in [products[id(each.arrays[number])][1]]
        if changed.isdisjoint((id(product.a), id(product.b)))
    ]
    found.sort(key=lambda entry: _held(entry[2], {}) / math.prod(entry[2].shape))
    held: dict[int, Any] = {}
    saved = 0
    for place, number, product in found:
        saved += math.prod(product.shape)
        if sum(map(_size, held.values())) + _held(product, held) > saved:
            break
        held.update({id(each): each for each in (product.a, product.b)})
        made[place] = replace(made[place], product=(number, product))
    return made


def _held(product: Product, held: dict[int, Any]) -> int:
    """Elements that a product is of, and that are not held anyway."""
    operands = {id(each): each for each in (product.a, product.b)}
    return sum(_size(each) for key, each in operands.items() if key not in held)


def _own_product(finder: "_Finder", keys: list[Key], group: Written, products: Noted) -> int | None:
    """The number of an array that is a product, and that nothing but this group uses."""
    for number, array in enumerate(group.arrays[group.count :], group.count):
        noted = products.get(id(array))
        if noted is not None and noted[1].is_plain and finder.is_only_for(array, set(keys)):
            return number
    return None


class _Ref:
    """A variable while the kernel of an update runs on terms."""

    def __init__(self, value: Term) -> None:
        self.value = value

    def read(self) -> Term:
        return self.value

    def write(self, value: Term) -> None:
        self.value = value


class _Context:
    """What such a kernel asks of its surroundings: checks were made when it was traced."""

    def __init__(self, attrs: dict[str, Any]) -> None:
        self.attrs = attrs

    def check(self, *arguments: Any) -> None:
        """Does nothing."""


class _Finder:
    """What a region does to its variables.

    Attributes:
      updates: operations that assign to variables, by id, with the variables.
      apart: variables that stay with XLA.
    """

    def __init__(self, region: Any, values: dict[Key, Any], old: dict[Key, Any]) -> None:
        self.nodes: list[Node] = region.nodes
        self.values = values
        self.old = old
        self.apart = {key for key, value in old.items() if not _is_floats(value)}
        self.updates: dict[int, list[Key]] = {}
        self.changed: set[Key] = set()
        self.late: dict[Key, Key] = {}  # reads of new values, and of which variable
        self.users: dict[Key, list[Node]] = {}
        self.outputs = {(id(node), i) for node, i in region.outputs}
        self.inside: dict[int, int] = {}  # nodes that are part of updates, and how deep
        self.terms: dict[Key, Term] = {}
        self.states: dict[Key, Term] = {}
        for node in self.nodes:
            self._note(node)

    def is_worth_it(self) -> bool:
        """Whether enough elements may be updated."""
        keys = self.changed - self.apart
        return sum(_size(self.old[key]) for key in keys) >= LEAST_ELEMENTS

    def _note(self, node: Node) -> None:
        """Sorts an operation: it updates, reads, or does what the library cannot."""
        for source, index in node.inputs:
            self.users.setdefault((id(source), index), []).append(node)
        keys = [key for key in _keys(node) if key in self.old]
        if not keys:
            return
        if node.type in ASSIGNMENTS or node.type.startswith(APPLY):
            self.updates[id(node)] = keys
            self.changed.update(keys)
            if len(set(keys)) != len(keys):
                self.apart.update(keys)
            return
        if node.type == READ:
            if keys[0] in self.changed:
                self.late[id(node), 0] = keys[0]
        else:
            self.apart.update(self.changed.intersection(keys), _written_by(node))

    def groups(self) -> Iterator[tuple[list[Key], Group]]:
        """Variables that are updated, in groups that do not see each other."""
        while not self._settled():
            pass
        owners: dict[int, Key] = {id(self.old[key]): key for key in self.states}
        groups: dict[Key, list[Key]] = {key: [key] for key in self.states}
        for key, state in self.states.items():
            for other in _arrays(state):
                mine, theirs = groups[key], groups.get(owners.get(id(other), key), groups[key])
                if mine is not theirs:
                    mine += theirs
                    groups.update(dict.fromkeys(theirs, mine))
        for keys in {id(keys): keys for keys in groups.values()}.values():
            arrays = [self.old[key] for key in keys]
            yield keys, Group(arrays, [self.states[key] for key in keys])

    def _settled(self) -> bool:
        """Writes the updates down; False when a variable turned out to stay with XLA."""
        before = len(self.apart)
        for keys in self.updates.values():
            if self.apart.intersection(keys):
                self.apart.update(keys)
        self._find_inside()
        for key, variable in self.late.items():
            if variable not in self.apart and not self._is_used_inside(key, self.old[variable]):
                self.apart.add(variable)
        if len(self.apart) != before:
            return False
        self.terms, self.states = {}, {}
        return all(self._follow(node) for node in self.nodes)

    def _find_inside(self) -> None:
        """Finds the operations that only updates use."""
        self.inside = {}
        for node in reversed(self.nodes):
            key = (id(node), 0)
            if node.type in RULES and key in self.values:
                value = self.values[key]
                if _is_floats(value) and self._fit(node, value.shape):
                    depth = self._depth(key, value)
                    if depth is not None and depth <= MOST_DEPTH:
                        self.inside[id(node)] = depth

    def _fit(self, node: Node, shape: tuple[int, ...]) -> bool:
        """Whether operands have the result's shape, or one element."""
        given = [self.values.get((id(source), index)) for source, index in node.inputs]
        return all(
            v is not None and v.dtype == np.float32 and (v.shape == shape or _size(v) == 1)
            for v in given
        )

    def _is_used_inside(self, key: Key, variable: Any) -> bool:
        return self._depth(key, variable) is not None

    def _depth(self, key: Key, value: Any) -> int | None:
        """How many operations lie between a value and an update; None where others use it too."""
        users = self.users.get(key, [])
        if key in self.outputs or not users:
            return None
        depths = [self._depth_of_user(user, value.shape) for user in users]
        return None if None in depths else 1 + max(d for d in depths if d is not None)

    def _depth_of_user(self, user: Node, shape: tuple[int, ...]) -> int | None:
        keys = self.updates.get(id(user))
        if keys is None:
            same = id(user) in self.inside and self.values[id(user), 0].shape == shape
            return self.inside[id(user)] if same else None
        return None if self.apart.intersection(keys) or self.old[keys[0]].shape != shape else 0

    def is_only_for(self, array: Any, variables: set[Key]) -> bool:
        """Whether nothing but updates of these variables uses an array."""
        waiting = [key for key, value in self.values.items() if value is array]
        while waiting:
            key = waiting.pop()
            if key in self.outputs:
                return False
            for user in self.users.get(key, []):
                keys = self.updates.get(id(user))
                if keys is None and id(user) in self.inside:
                    waiting.append((id(user), 0))
                elif keys is None or not variables.issuperset(keys):
                    return False
        return True

    def _follow(self, node: Node) -> bool:
        """Follows the variables' values through an operation; False where one cannot be."""
        keys = _keys(node)
        if node.type == READ and keys[0] in self.old:
            if keys[0] not in self.apart:
                self.terms[id(node), 0] = self._state(keys[0])
        elif id(node) in self.updates and keys[0] not in self.apart:
            try:
                self._update(node)
            except Unfit:
                self.apart.update(self.updates[id(node)])
                return False
        return True

    def _state(self, key: Key) -> Term:
        value = self.old[key]
        return self.states.get(key) or Term("ARRAY", value.shape, (), value)

    def _update(self, node: Node) -> None:
        """Runs the kernel of an update on terms."""
        kernel = select(node.type, "compiled", "CPU", node.attrs)
        if kernel is None or not kernel.wants_namespace or kernel.when is not None:
            raise Unfit
        keys = self.updates[id(node)]
        shape = self.old[keys[0]].shape
        refs = {key: _Ref(self._state(key)) for key in keys}
        inputs = [
            refs[id(source), index]
            if (id(source), index) in refs
            else self._given((source, index), shape)
            for source, index in node.inputs
        ]
        head = (_Context(node.attrs),) if kernel.wants_context else ()
        wanted = {name: node.attrs[name] for name in kernel.attr_names}
        kernel.function(*head, Namespace(), *inputs, **wanted)
        for key, ref in refs.items():
            if not isinstance(ref.value, Term):
                raise Unfit
            if ref.value.of:
                self.states[key] = ref.value
            elif ref.value.detail is not self.old[key]:
                raise Unfit  # XLA does not copy what is assigned as it is
            elif key in self.states:
                raise Unfit  # the old value is assigned again, after a new one

    def _given(self, ref: Ref, shape: tuple[int, ...]) -> Any:
        """A value that an update takes: a term, or a number."""
        value = self.values[id(ref[0]), ref[1]]
        if value.shape == shape and _is_floats(value):
            return self._term(ref, shape)
        return value

    def _term(self, ref: Ref, shape: tuple[int, ...]) -> Any:
        """The term of a value of the variable's shape; other values as they are."""
        key = (id(ref[0]), ref[1])
        value = self.values[key]
        if value.shape != shape:
            return value
        if key not in self.terms:
            node = ref[0]
            if id(node) in self.inside:
                operands = [self._term(each, shape) for each in node.inputs]
                self.terms[key] = _applied(node, operands, shape)
            else:
                self.terms[key] = Term("ARRAY", shape, (), value)
        return self.terms[key]


def _applied(node: Node, operands: list[Any], shape: tuple[int, ...]) -> Term:
    first = operands[0]
    if not isinstance(first, Term):  # a number
        (term, *_) = [each for each in operands if isinstance(each, Term)]
        first = term.operand(first)
    return RULES[node.type](first, *operands[1:])


def _arrays(term: Term) -> Iterator[Any]:
    """The arrays that a term is made of."""
    seen: set[int] = set()
    waiting = [term]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            waiting += each.of
            if each.code == "ARRAY":
                yield each.detail


def _is_floats(value: Any) -> bool:
    """Whether a value is an array of the dtype that the library takes; lists are added, too."""
    if value is None or isinstance(value, StackedList):
        return False
    return bool(value.dtype == np.float32) and _size(value) > 1


def _keys(node: Node) -> list[Key]:
    return [(id(source), index) for source, index in node.inputs]


def _written_by(node: Node) -> list[Key]:
    """The variables that an operation writes."""
    if node.op is None:
        return []
    counts = node.counts or (1,) * len(node.op.inputs)
    effects = node.op.effects_at(counts, node.attrs)
    return [key for i, key in enumerate(_keys(node)) if "w" in effects.get(i, "")]


__all__ = ["RULES", "update_together"]
