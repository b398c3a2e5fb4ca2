"""A value that was read before an update never changes; updates are in place when nobody looks."""

import threading

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
from penstock.core.lazy import jnp
from penstock.core.resources import ResourceHandle, ResourceManager, VariableCell
from penstock.graph.graph import Graph
from penstock.runtime.client import Session
from penstock.runtime.host_path import run_node
from penstock.runtime.program import build
from penstock.runtime.simplify import prepared_op
from penstock.runtime.step import Step
from penstock.types import dtypes as dt

SIZE = 50_000


@pytest.fixture
def session():
    with Graph().as_default() as graph, Session(graph=graph) as session:
        yield session


@pytest.fixture
def handle(session):
    made = variable("w", (SIZE,))
    session.run(assign(made, np.zeros(SIZE, np.float32)))
    return made


def cell(session):
    ((_, found),) = session._direct.resources.items()
    return found


def pointer(array):
    return array.unsafe_buffer_pointer()


def test_an_update_is_in_place_and_compiled_once(session, handle):
    step = assign_add(handle, np.ones(SIZE, np.float32))
    session.run(step)
    where = pointer(cell(session).value)
    for _ in range(5):
        session.run(step)
    assert pointer(cell(session).value) == where
    assert (session.run(read(handle)) == 6).all()
    assert sum(p.compiled_count for p, _ in session._direct._plans.values()) <= 2


def test_a_fetched_value_keeps_its_numbers(session, handle):
    value, step = read(handle), assign_add(handle, np.ones(SIZE, np.float32))
    session.run(step)
    before = session.run(value)
    kept = before.copy()
    for _ in range(3):
        session.run(step)
    assert (before == kept).all()
    before[:] = -1
    assert (session.run(value) == 4).all()


def test_a_numpy_and_a_dlpack_view_of_the_array_keep_their_numbers(session, handle):
    step = assign_add(handle, np.ones(SIZE, np.float32))
    session.run(step)
    held = cell(session)
    view = np.asarray(held.value)
    foreign = np.from_dlpack(held.value)
    for _ in range(3):
        session.run(step)
    assert (view == 1).all()
    assert (foreign == 1).all()


def test_a_leased_array_is_copied_first(session, handle):
    step = assign_add(handle, np.ones(SIZE, np.float32))
    session.run(step)
    held = cell(session)
    with held.lock:
        array, lease = held.value, held.lease()
    session.run(step)
    session.run(step)
    assert (np.asarray(array) == 1).all()
    del lease
    assert held.donatable


def test_a_value_read_in_the_step_before_the_update(session, handle):
    """The host kernel reads; the region that updates runs while the read value is still wanted."""
    hooks["see"] = lambda ctx, x: x
    old = quick(read(handle), "see")
    with old.graph.control_dependencies([old]):
        step = assign_add(handle, np.ones(SIZE, np.float32))
    for i in range(4):
        seen, _ = session.run([old, step])
        assert (seen == i).all()


def test_readers_in_other_threads_see_whole_values(session, handle):
    value, step = read(handle), assign_add(handle, np.ones(SIZE, np.float32))
    total = add(mul(value, np.float32(1)), np.zeros(SIZE, np.float32))
    session.run([step, total])
    stop, problems = threading.Event(), []

    def look(fetch):
        try:
            while not stop.is_set():
                seen = session.run(fetch)
                kept = seen.copy()
                assert (seen == seen[0]).all()
                assert (seen == kept).all()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=look, args=(f,)) for f in (value, total)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        session.run(step)
    stop.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert (session.run(value) == 101).all()


def test_a_failed_step_leaves_the_old_value(session, handle):
    def fail(ctx, x):
        raise errors.AbortedError(None, None, "no")

    hooks["fail"] = fail
    x = placeholder((SIZE,))
    step = assign_add(handle, quick(x, "fail"))
    with pytest.raises(errors.AbortedError):
        session.run(step, {x: np.ones(SIZE)})
    assert (session.run(read(handle)) == 0).all()


def test_two_variables_never_share_a_buffer(session, handle):
    other = variable("copy", (SIZE,))
    grow = assign_add(handle, np.ones(SIZE, np.float32))
    session.run(grow)
    session.run(assign(other, read(handle)))
    session.run(grow)
    assert (session.run(read(other)) == 1).all()
    assert (session.run(read(handle)) == 2).all()


def test_nor_do_they_when_the_host_path_assigns(session):
    small, other = variable("small", (4,)), variable("other", (4,))
    session.run(assign(small, np.zeros(4, np.float32)))
    x = placeholder((4,))
    value = x
    for _ in range(8):
        value = add(value, np.float32(1))
    grow = assign_add(small, value)
    feed = {x: np.zeros(4)}
    for _ in range(3):
        session.run(grow, feed)
    assert not isinstance(session._direct.resources.lookup("", "small").value, np.ndarray)
    session.run(assign(other, read(small)))
    where = pointer(session._direct.resources.lookup("", "small").value)
    for _ in range(3):
        session.run(grow, feed)
    assert pointer(session._direct.resources.lookup("", "small").value) == where
    assert session.run(read(other)).tolist() == [24] * 4
    assert session.run(read(small)).tolist() == [48] * 4


def test_handles_of_one_variable_in_one_region(session):
    first, second = variable("same", (SIZE,)), variable("same", (SIZE,))
    session.run(assign(first, np.ones(SIZE, np.float32)))
    put = assign_add(first, np.ones(SIZE, np.float32))
    with first.graph.control_dependencies([put]):
        again = assign_add(second, mul(read(second), const(2.0)))
    for wanted in (6, 21):
        session.run(again)
        assert (session.run(read(first)) == wanted).all()


def test_an_uninitialized_variable_fails_before_anything_ran(session, handle):
    missing = variable("missing", (SIZE,))
    step = assign_add(handle, np.ones(SIZE, np.float32))
    with step.graph.control_dependencies([step]):
        both = assign_add(handle, read(missing, name="reading"))
    with pytest.raises(errors.FailedPreconditionError, match=r"\{\{node reading\}\}.*missing"):
        session.run(both)
    assert (session.run(read(handle)) == 0).all()


def test_a_step_holds_what_it_reads_again_and_again_once():
    from_host = np.ones(3, np.float32)
    with Graph().as_default():
        handle = variable("v", (3,))
        value = read(handle)
        node = build([value], [], []).nodes[-1]
    resources = ResourceManager()
    cell = VariableCell("v", dt.float32, (3,))
    cell.write(jnp.asarray(from_host), fresh=True)
    step = Step(resources)
    for _ in range(5):
        run_node(node, prepared_op(node), [ResourceHandle("", "v", cell)], step)
    assert len(step.leases) == 1
    assert not cell.donatable
