"""Topological order: predecessors first, nothing moved without need, cycles named."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.util.toposort import CycleError, topological_sort


@st.composite
def graphs(draw):
    """Edges of an acyclic graph over shuffled names, and the names in order."""
    size = draw(st.integers(0, 12))
    order = draw(st.permutations(range(size)))
    before = {n: [] for n in order}
    for position, node in enumerate(order):
        if position:
            before[node] = draw(st.lists(st.sampled_from(order[:position]), max_size=3))
    return before, order


@given(graphs(), st.randoms())
def test_every_node_comes_once_and_after_its_predecessors(graph, random):
    before, order = graph
    start = list(order)
    random.shuffle(start)
    result = topological_sort(start, before.__getitem__)
    assert sorted(result) == sorted(order)
    place = {node: i for i, node in enumerate(result)}
    assert all(place[p] < place[n] for n in order for p in before[n])


@given(graphs())
def test_an_ordered_input_comes_back_unchanged(graph):
    before, order = graph
    assert topological_sort(order, before.__getitem__) == list(order)


def test_nodes_that_were_not_given_are_included():
    assert topological_sort(["c"], lambda n: {"c": "b", "b": "a"}.get(n, "")) == ["a", "b", "c"]


@given(graphs(), st.data())
def test_a_cycle_is_found_and_is_one(graph, data):
    before, order = graph
    if not order:
        return
    first, last = order[0], data.draw(st.sampled_from(order))
    chain = list(order[: order.index(last) + 1])
    for one, two in itertools.pairwise(chain):
        before[two] = [*before[two], one]
    before[first] = [last]
    with pytest.raises(CycleError, match="expected a graph without cycles") as caught:
        topological_sort(order, before.__getitem__)
    cycle = caught.value.cycle
    assert all(q in before[p] for p, q in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def test_a_cycle_is_written_with_names():
    edges = {"a": "b", "b": "c", "c": "a"}
    with pytest.raises(CycleError, match=r"3 node\(s\): <a> <- <b> <- <c> <- <a>"):
        topological_sort("a", edges.__getitem__, name=lambda n: f"<{n}>")


def test_a_long_chain_needs_no_recursion():
    assert topological_sort([50_000], lambda n: [n - 1] if n else [])[0] == 0
