"""Partial runs: one step that is fed and fetched in several calls.

`begin` takes all fetches and feeds; each `advance` gives some feeds and asks for some fetches. What
a call computes is kept for the later ones, so every operation runs once in the step. A call runs a
plan of just the nodes it needs that have not run; such plans are kept by what was done before and
what is asked for.
"""

import itertools
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.runtime.feeds import Feeds
from penstock.runtime.fetches import Fetches
from penstock.runtime.plan import Plan, make_plan
from penstock.runtime.program import FEED, Node, Program, Ref, build, sort
from penstock.runtime.session import DirectSession
from penstock.runtime.step import Step

_UNNAMED = "You must feed a value for it: name it in partial_run_setup"
SUB_PLANS = 256  # plans of parts of steps kept per session


@dataclass(slots=True)
class _Partial:
    """A step under way: what it may be given and asked, and what it has computed."""

    program: Program
    key: Any
    feeds: dict[int, Node]  # id(tensor) -> its Feed node
    wanted: dict[int, Ref]  # id(tensor) -> where its value is
    step: Step
    targets: list[Node]
    keep: Any  # the tensors, so that their ids stay theirs
    done: set[int] = field(default_factory=set)  # ids of nodes that have run
    values: dict[tuple[int, int], Any] = field(
        default_factory=dict
    )  # (id of node, output) -> array
    fetched: set[int] = field(default_factory=set)
    lock: Any = field(default_factory=threading.Lock)  # guards: done, values, fetched


class PartialRuns:
    """The partial runs of a session. Thread-safe; the calls of one step run one after the other."""

    def __init__(self, session: DirectSession) -> None:
        self._session = session
        self._lock = threading.Lock()  # guards: _open, _plans
        self._open: dict[str, _Partial] = {}
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._numbers = itertools.count()

    def begin(self, fetches: Fetches, feeds: Feeds) -> str:
        """Starts a step; returns its handle."""
        if not fetches.tensors and not fetches.targets:
            raise errors.InvalidArgumentError(
                None, None, "Must specify at least one target to fetch or execute."
            )
        graph = self._session.graph
        program = build(fetches.tensors, feeds.tensors, fetches.targets, feeds_complete=False)
        if program.flow:
            raise errors.UnimplementedError(
                None,
                None,
                "partial_run expected a graph without Switch, Merge, Enter and Exit, got one that "
                "has them among what is to be computed. Run it as a whole with Session.run.",
            )
        key = (
            tuple(map(id, fetches.tensors)),
            tuple(map(id, feeds.tensors)),
            tuple(map(id, fetches.targets)),
            graph.edits,
        )
        partial = _Partial(
            program,
            key,
            {id(t): n for t, n in zip(feeds.tensors, program.feeds, strict=True)},
            {id(t): r for t, r in zip(fetches.tensors, program.fetches, strict=True)},
            Step(self._session.resources, self._session.state),
            program.targets,
            (fetches, feeds),
        )
        names = [",".join(t.name for t in tensors) for tensors in (feeds.tensors, fetches.tensors)]
        targets = ",".join(op.name for op in fetches.targets)
        handle = f"{names[0]}->{names[1]}/{targets}/{next(self._numbers)}"
        with self._lock:
            self._open[handle] = partial
        return handle

    def advance(
        self, handle: str, fetches: Fetches, feeds: Feeds, arrays: dict[int, Any]
    ) -> list[Any]:
        """Feeds `arrays` (by id of tensor) and computes the fetches."""
        if fetches.targets:
            raise RuntimeError(
                "partial_run() requires empty `target_list`. Received: "
                f"target_list={fetches.targets} (non-empty). Name "
                "operations in partial_run_setup: they run when what they need is there."
            )
        partial = self._open.get(handle)
        if partial is None:
            raise errors.InvalidArgumentError(
                None, None, "Must run 'setup' before performing partial runs!"
            )
        with partial.lock:
            _check(partial, fetches.tensors, feeds.tensors)
            refs = [partial.wanted.get(id(t)) or (partial.feeds[id(t)], 0) for t in fetches.tensors]
            given = {(id(partial.feeds[t]), 0): _kept(array) for t, array in arrays.items()}
            self._check_fed(partial, fetches.tensors, refs, given)
            partial.values.update(given)
            try:
                self._compute(partial, refs)
            except BaseException:  # part of it may have run: it can neither go on nor start again
                with self._lock:
                    self._open.pop(handle, None)
                raise
            partial.fetched.update(id(t) for t in fetches.tensors if id(t) in partial.wanted)
            if len(partial.fetched) == len(partial.wanted) and all(
                (id(n), 0) in partial.values for n in partial.feeds.values()
            ):
                self._finish(handle, partial)
            return [partial.values[id(n), i] for n, i in refs]

    def _finish(self, handle: str, partial: _Partial) -> None:
        with self._lock:
            self._open.pop(handle, None)
        self._compute(partial, [])

    def _check_fed(
        self,
        partial: _Partial,
        tensors: Sequence[SymbolicTensor],
        refs: Sequence[Ref],
        given: Mapping[tuple[int, int], Any],
    ) -> None:
        """What is refused here has fed nothing: the handle stays as it was."""
        known = partial.values.keys() | given.keys()
        named = {id(n) for n in partial.feeds.values()}
        for tensor, ref in zip(tensors, refs, strict=True):
            for node in _needed(partial, [ref[0]]):
                if node.type == FEED and (id(node), 0) not in known:
                    raise errors.InvalidArgumentError(
                        None,
                        None,
                        f"Fetch {tensor.name} can't be computed from the feeds that "
                        "have been fed so far: expected a value "
                        f"for {node.name} too. "
                        f"{'Feed it in this call' if id(node) in named else _UNNAMED}.",
                    )

    def _compute(self, partial: _Partial, refs: Sequence[Ref]) -> None:
        """Runs what `refs` and the targets that can run need and has not run."""
        ready = [
            t
            for t in partial.targets
            if all((id(n), 0) in partial.values for n in _needed(partial, [t]) if n.type == FEED)
        ]
        nodes = [n for n in _needed(partial, [n for n, _ in refs] + ready) if n.type != FEED]
        if not nodes:
            return
        taken, given = _boundary(partial, nodes)
        key = (partial.key, frozenset(n.id for n in nodes), tuple((n.id, i) for n, i in taken))
        with self._lock:
            plan = self._plans.get(key)
        if plan is None:
            plan = make_plan(
                _extract(nodes, taken, given),
                self._session.resources,
                optimize=self._session.options.optimize,
            )
            plan.state = self._session.state
            with self._lock:
                self._plans[key] = plan
                if len(self._plans) > SUB_PLANS:
                    self._plans.popitem(last=False)
        results = self._session.run_step(
            plan, [partial.values[id(n), i] for n, i in taken], partial.step
        )
        partial.values.update({(id(n), i): v for (n, i), v in zip(given, results, strict=True)})
        partial.done.update(id(n) for n in nodes)


def _kept(value: Any) -> Any:
    """A value as the step keeps it: whoever fed an array may write to it before the next call."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _check(
    partial: _Partial, fetches: Sequence[SymbolicTensor], feeds: Sequence[SymbolicTensor]
) -> None:
    for tensor in feeds:
        node = partial.feeds.get(id(tensor))
        if node is None:
            raise errors.InvalidArgumentError(
                None, None, f"The feed {tensor.name} was not specified in partial_run_setup."
            )
        if (id(node), 0) in partial.values:
            raise errors.InvalidArgumentError(
                None, None, f"The feed {tensor.name} has already been fed."
            )
    fed_now = set(map(id, feeds))
    for tensor in fetches:
        if id(tensor) not in partial.wanted:
            if id(tensor) in fed_now:
                continue  # it is what was just given
            raise errors.InvalidArgumentError(
                None, None, f"The fetch {tensor.name} was not specified in partial_run_setup."
            )
        if id(tensor) in partial.fetched:
            raise errors.InvalidArgumentError(
                None, None, f"The fetch {tensor.name} has already been fetched."
            )


def _needed(partial: _Partial, roots: Sequence[Node]) -> list[Node]:
    """Nodes that `roots` need and that have not run, in the order of the program."""
    seen: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen and id(node) not in partial.done:
            seen[id(node)] = node
            stack.extend([s for s, _ in node.inputs] + node.control)
    return sorted(seen.values(), key=lambda n: n.id)


def _boundary(partial: _Partial, nodes: Sequence[Node]) -> tuple[list[Ref], list[Ref]]:
    """Values that `nodes` take from what is done or fed.

    And values of theirs that are fetched or needed later.
    """
    inside = {id(n) for n in nodes}
    taken: dict[tuple[int, int], Ref] = {}
    given: dict[tuple[int, int], Ref] = {}
    for node in partial.program.nodes:
        for source, index in node.inputs:
            key = (id(source), index)
            if id(node) in inside and id(source) not in inside:
                taken[key] = (source, index)
            elif id(source) in inside and id(node) not in inside:
                given[key] = (source, index)
    for node, index in partial.wanted.values():
        if id(node) in inside:
            given[id(node), index] = (node, index)
    return list(taken.values()), list(given.values())


def _extract(nodes: Sequence[Node], taken: Sequence[Ref], given: Sequence[Ref]) -> Program:
    """A program of copies of `nodes` that is fed `taken` and gives `given`.

    Passes change nodes in place.
    """
    refs: dict[tuple[int, int], Ref] = {}
    feeds = []
    for source, index in taken:
        made = Node(
            FEED,
            None,
            f"{source.name}:{index}",
            {},
            [],
            [],
            [source.dtypes[index]],
            [source.shapes[index]],
        )
        feeds.append(made)
        refs[id(source), index] = (made, 0)
    copies: dict[int, Node] = {}
    for node in nodes:
        inputs = [refs[id(s), i] for s, i in node.inputs]
        control = [copies[id(c)] for c in node.control if id(c) in copies]
        copies[id(node)] = copy = node.copy(inputs, control)
        refs.update({(id(node), i): (copy, i) for i in range(len(node.dtypes))})
    return sort(feeds, [refs[id(n), i] for n, i in given], list(copies.values()))
