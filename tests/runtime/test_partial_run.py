"""One step in several calls."""

import numpy as np
import pytest
from tests.runtime.toys import (
    add,
    assign,
    assign_add,
    const,
    hooks,
    mul,
    placeholder,
    quick,
    read,
    variable,
)

from penstock import errors
from penstock.graph.graph import Graph
from penstock.runtime.client import Session


@pytest.fixture
def session():
    with Graph().as_default() as graph, Session(graph=graph) as session:
        yield session


@pytest.fixture
def parts(session):
    a, b, c = (placeholder((), name=n) for n in "abc")
    first = add(a, b, "first")
    second = mul(first, c, "second")
    return a, b, c, first, second


def refused(session, handle, fetches, feeds, text):
    with pytest.raises(errors.InvalidArgumentError, match=text):
        session.partial_run(handle, fetches, feeds)


def test_a_step_in_two_calls(session, parts):
    a, b, c, first, second = parts
    handle = session.partial_run_setup({"q": first, "r": [second]}, [a, b, c])
    assert session.partial_run(handle, {"z": first}, {a: 1, b: 2}) == {"z": 3}
    refused(session, handle, first, None, "The fetch first:0 has already been fetched")
    assert session.partial_run(handle, second, {c: 5}) == 15
    refused(session, handle, second, {c: 5}, "Must run 'setup' before performing partial runs")


def test_feeds_may_come_alone_and_fetches_later(session, parts):
    a, b, c, first, second = parts
    handle = session.partial_run_setup([first, second], [a, b, c])
    assert session.partial_run(handle, [], {a: 1}) == []
    assert session.partial_run(handle, second, {b: 1, "c:0": 4}) == 8
    assert session.partial_run(handle, first) == 2


def test_what_is_refused(session, parts):
    a, b, c, first, second = parts
    handle = session.partial_run_setup([first, second], [a, b, c])
    refused(
        session,
        handle,
        second,
        {a: 1, b: 2},
        "Fetch second:0 can't be computed from the feeds that have been fed so far",
    )
    assert session.partial_run(handle, first, {a: 3, b: 2}) == 5  # what was refused fed nothing
    handle = session.partial_run_setup([first, second], [a, b, c])
    x = placeholder((), name="x")
    refused(session, handle, first, {x: 1}, "The feed x:0 was not specified in partial_run_setup")
    handle = session.partial_run_setup([first, second], [a, b, c])
    session.partial_run(handle, first, {a: 1, b: 2})
    refused(session, handle, second, {a: 1, c: 2}, "The feed a:0 has already been fed")
    handle = session.partial_run_setup([first], [a, b])
    refused(
        session,
        handle,
        second,
        {a: 1, b: 2},
        "The fetch second:0 was not specified in partial_run_setup",
    )
    refused(session, "xx", first, {a: 1}, "Must run 'setup'")
    with pytest.raises(RuntimeError, match="requires empty `target_list`"):
        session.partial_run(handle, first.op, {a: 1, b: 2})
    for fetches in ([], {}):
        with pytest.raises(errors.InvalidArgumentError, match="Must specify at least one target"):
            session.partial_run_setup(fetches, [a])


def test_a_placeholder_that_setup_does_not_name_is_refused_when_it_is_needed(session, parts):
    a, b, c, first, second = parts
    handle = session.partial_run_setup([first, second], [a, b])
    assert session.partial_run(handle, first, {a: 1, b: 2}) == 3
    refused(session, handle, second, None, "value for c:0 too. You must feed .* partial_run_setup")
    refused(session, handle, second, {c: 5}, "The feed c:0 was not specified in partial_run_setup")


def test_every_operation_runs_once_and_keeps_its_value(session):
    calls = []

    def count(ctx, x):
        calls.append(1)
        return x + len(calls)

    hooks["count"] = count
    a, b = placeholder((), name="a"), placeholder((), name="b")
    counted = quick(a, "count", "counted")
    first, second = mul(counted, const(10.0)), add(counted, b)
    for done in (1, 2):
        handle = session.partial_run_setup([first, second], [a, b])
        assert session.partial_run(handle, first, {a: 0}) == 10 * done
        assert session.partial_run(handle, second, {b: 100}) == 100 + done
    assert len(calls) == 2


def test_targets_run_once_when_what_they_need_is_there(session):
    handle = variable("v")
    session.run(assign(handle, np.float32(0)))
    a, b = placeholder((), name="a"), placeholder((), name="b")
    put = assign_add(handle, a)
    partial = session.partial_run_setup([put, mul(a, b, "m"), mul(a, a, "s")], [a, b])
    assert session.partial_run(partial, "s:0", {a: 3}) == 9
    assert session.run(read(handle)) == 3
    assert session.partial_run(partial, "m:0", {b: 2}) == 6
    assert session.run(read(handle)) == 3


def test_two_steps_under_way_do_not_mix(session, parts):
    a, b, c, first, second = parts
    one, two = (session.partial_run_setup([first, second], [a, b, c]) for _ in range(2))
    assert one != two
    session.partial_run(one, first, {a: 1, b: 1})
    session.partial_run(two, first, {a: 5, b: 5})
    assert session.partial_run(one, second, {c: 1}) == 2
    assert session.partial_run(two, second, {c: 1}) == 10


def test_a_step_that_failed_is_over(session):
    a = placeholder((), name="a")
    calls = []

    def fail(ctx, x):
        calls.append(1)
        raise errors.DataLossError(None, None, "lost")

    hooks["fail"] = fail
    failing = quick(a, "fail")
    handle = session.partial_run_setup([failing], [a])
    with pytest.raises(errors.DataLossError, match="lost"):
        session.partial_run(handle, failing, {a: 1.0})
    refused(session, handle, failing, {}, "setup")
    assert len(calls) == 1


def test_what_was_fed_and_what_was_fetched_may_be_written_to(session):
    a, c = placeholder((3,), name="a"), placeholder((3,), name="c")
    first = add(a, a, "first")
    second = mul(first, a, "second")
    third = add(second, c, "third")
    handle = session.partial_run_setup([first, second, third], [a, c])
    fed = np.float32([1, 2, 3])
    got = session.partial_run(handle, first, {a: fed})
    fed[:] = got[:] = 100
    got = session.partial_run(handle, second)
    assert got.tolist() == [2, 8, 18]
    got[:] = 100
    assert session.partial_run(handle, third, {c: fed}).tolist() == [102, 108, 118]


def test_what_is_fed_in_a_call_may_be_fetched_in_it(session, parts):
    a, b, c, first, second = parts
    handle = session.partial_run_setup([first, second], [a, b, c])
    assert session.partial_run(handle, a, {a: 1.0}) == 1.0
    refused(session, handle, [a], {}, "a:0 was not specified in partial_run_setup")
    assert session.partial_run(handle, [b, first], {b: 2.0}) == [2.0, 3.0]
    assert session.partial_run(handle, second, {c: 5.0}) == 15.0
