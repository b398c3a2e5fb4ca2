"""`Session.run`: fetches, feeds, results, errors, life."""

import collections
import sys
import threading
import time

import numpy as np
import pytest
from tests.runtime.toys import (
    add,
    assign,
    call,
    const,
    hooks,
    identity,
    mul,
    no_op,
    placeholder,
    quick,
    read,
    variable,
)

from penstock import errors
from penstock.graph.graph import Graph
from penstock.runtime.client import InteractiveSession, Session, get_default_session
from penstock.runtime.step import Step
from penstock.types import dtypes as dt

X = np.ones((2, 3), np.float32)


@pytest.fixture
def graph():
    with Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph):
    with Session(graph=graph) as session:
        yield session


# ---- fetches ------------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "a b")


def test_every_structure_comes_back_in_its_form(session):
    c, op, text = const(3, np.int32), no_op(), identity(np.array(b"hey", object))
    assert session.run([]) == []
    assert session.run({}) == {}
    assert session.run(()) == ()
    assert session.run(op) is None
    assert session.run([c, op, c, c.name]) == [3, None, 3, 3]
    assert session.run(Pair(c, {"k": (c, op)})) == Pair(3, {"k": (3, None)})
    got = session.run(collections.OrderedDict([("b", c), ("a", text)]))
    assert type(got) is collections.OrderedDict
    assert list(got.items()) == [("b", 3), ("a", b"hey")]
    got = session.run(collections.defaultdict(list, {1: c, "x": c}))
    assert got == {1: 3, "x": 3}
    assert got["new"] == []


def test_values_are_numpy_scalars_bytes_and_arrays_of_the_callers_own(session):
    value = session.run(const(3, np.int32))
    assert type(value) is np.int32
    assert session.run(identity(np.array(b"hey", object))) == b"hey"
    words = session.run(identity(np.array([b"a", b"bc"], object)))
    assert words.dtype == object
    assert words.tolist() == [b"a", b"bc"]
    c = const([1.0, 2.0])
    first = session.run(c)
    first[0] = 9
    assert session.run(c).tolist() == [1, 2]


def test_a_fed_array_that_is_fetched_is_a_copy(session):
    x = placeholder((2, 3))
    got = session.run(x, {x: X.astype(np.float64)})
    assert got.dtype == np.float32
    array = X.copy()
    got = session.run(x, {x: array})
    got[0, 0] = 7
    assert array[0, 0] == 1


@pytest.mark.parametrize(
    ("fetch", "error", "text"),
    [
        (None, TypeError, "None.*Cannot be None"),
        ([None], TypeError, "Cannot be None"),
        (
            3,
            TypeError,
            'has invalid type "int" must be a string or Tensor. .Can not convert a int',
        ),
        (
            "nope",
            ValueError,
            "cannot be interpreted as a Tensor. .*refers to an Operation not in the graph",
        ),
        (
            "nope:0",
            ValueError,
            "refers to a Tensor which does not exist. The operation, 'nope', does not exist",
        ),
        ("c:4", ValueError, "exists but only has 1 outputs"),
        ("c:x", ValueError, "not a valid one"),
    ],
)
def test_what_is_no_fetch(session, fetch, error, text):
    const(1, name="c")
    with pytest.raises(error, match=text):
        session.run(fetch)


def test_a_tensor_of_another_graph_is_refused(session):
    with Graph().as_default():
        other = placeholder((), name="other")
    mine = const(1)
    with pytest.raises(
        ValueError, match=r"cannot be interpreted as a Tensor. .*is not an element of this graph"
    ):
        session.run(other)
    with pytest.raises(
        TypeError,
        match=r"Cannot interpret feed_dict key as Tensor: .*is not an element of this graph",
    ):
        session.run(mine, {other: 1})


def test_unfeedable_and_unfetchable(session, graph):
    x = placeholder((2, 3))
    y, z = identity(x), identity(x, "z")
    graph.prevent_feeding(y)
    graph.prevent_fetching(z.op)
    with pytest.raises(ValueError, match=f"Tensor {y.name} may not be fed"):
        session.run(y, {y: X})
    for fetch in (z, z.op, [z]):
        with pytest.raises(
            errors.InaccessibleTensorError, match="Operation z has been marked as not fetchable"
        ):
            session.run(fetch, {x: X})


# ---- feeds --------------------------------------------------------------------------------------


def test_feeds_by_tensor_name_and_tuple_and_of_intermediate_values(session):
    x, y = placeholder((), name="x"), placeholder((), name="y")
    total = add(x, y)
    twice = mul(total, np.float32(2))
    assert session.run(twice, {x: 1, "y:0": 2}) == 6
    assert session.run(twice, {(x, y): (1, 2)}) == 6
    assert session.run(twice, {total: 10}) == 20
    assert session.run([x, total], {x: 1, y: 1, total: 5}) == [1, 5]
    assert session.run(twice, {x: 5, y: 2, "x:0": 1}) == 6


def test_text_feeds(session):
    s = placeholder(None, dt.string)
    echo = identity(s)
    assert session.run(echo, {s: "hello"}) == b"hello"
    assert session.run(echo, {s: ["hello", b"x"]}).tolist() == [b"hello", b"x"]
    assert session.run(echo, {s: np.array(["a", "b"])}).tolist() == [b"a", b"b"]
    with pytest.raises(TypeError, match="Type of feed value 3"):
        session.run(echo, {s: 3})


def test_what_is_no_feed(session):
    x, small = placeholder((2, 3), name="x"), placeholder((), dt.int8, name="small")
    y, z = identity(x), identity(small)
    with pytest.raises(
        ValueError,
        match=r"Cannot feed value of shape \(3, 2\) for Tensor x:0, which has shape \(2, 3\)",
    ):
        session.run(y, {x: np.ones((3, 2))})
    with pytest.raises(ValueError, match="could not convert string to float"):
        session.run(y, {x: "abc"})
    with pytest.raises(ValueError, match="inhomogeneous"):
        session.run(y, {x: [[1, 2], [3]]})
    with pytest.raises(
        TypeError, match=r"Type of feed value 1000 .*Try explicitly setting the type"
    ):
        session.run(z, {small: 1000})
    assert session.run(z, {small: 127}) == 127
    assert session.run(z, {small: 3.7}) == 3
    with pytest.raises(TypeError, match=r"cannot be a tf.Tensor object"):
        session.run(y, {x: y})
    with pytest.raises(
        TypeError,
        match="Cannot interpret feed_dict key as Tensor: Can not convert a int into a Tensor",
    ):
        session.run(y, {3: 1})
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: The name 'x'"):
        session.run(y, {"x": X})
    with pytest.raises(TypeError, match="must be a dictionary"):
        session.run(y, [x, X])


def test_integers_must_fit_the_tensor(session):
    for dtype, good, bad in (
        (dt.int64, -(2**63), 2**63),
        (dt.uint8, 255, -1),
        (dt.bool_, 1, 2),
    ):
        x = placeholder((), dtype)
        assert session.run(x, {x: good}) == good
        with pytest.raises(TypeError, match="Type of feed value"):
            session.run(x, {x: bad})


def test_integers_for_other_dtypes(session):
    for dtype in (dt.float32, dt.complex64, dt.bfloat16):
        x = placeholder((), dtype)
        assert session.run(x, {x: 3}) == 3


def test_an_operation_whose_output_is_fed_does_not_run(session):
    missing = placeholder((), name="missing")
    y = add(missing, missing, "y")
    assert session.run([y.op, mul(y, np.float32(2))], {y: 4}) == [None, 8]


def test_a_shape_that_was_claimed_wrongly_is_no_obstacle(session):
    """`set_shape` may lie: the step goes by the sizes that come."""
    x = placeholder((None, 300), name="x")
    y = add(mul(identity(x), np.float32(2)), np.float32(1))
    y.set_shape((5, 300))
    z = y
    for _ in range(8):
        z = mul(add(z, np.float32(1)), np.float32(0.5))
    for rows in (5, 3, 3, 3):
        assert session.run(z, {x: np.ones((rows, 300))}).shape == (rows, 300)


def test_the_shape_check_holds_on_later_runs_too(session):
    x = placeholder((None, 3))
    y = identity(x)
    for rows in (2, 5):
        assert session.run(y, {x: np.zeros((rows, 3))}).shape == (rows, 3)
    with pytest.raises(ValueError, match="which has shape"):
        session.run(y, {x: np.zeros((2, 4))})


def test_a_missing_feed_names_the_placeholder_and_its_line(session):
    x = placeholder((2, 3), name="x")
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"You must feed a value for placeholder tensor 'x'.*toys.py",
    ) as caught:
        session.run(identity(x))
    assert caught.value.op is x.op


def test_a_fed_array_may_be_changed_after_the_step(session):
    handle, x = variable("v", (3,)), placeholder((3,))
    put = assign(handle, x)
    array = np.ones(3, np.float32)
    session.run(put, {x: array})
    array[:] = 5
    assert session.run(read(handle)).tolist() == [1, 1, 1]


def test_a_fetched_array_that_a_variable_took_is_a_copy(session):
    handle, x = variable("v", (3,)), placeholder((3,))
    y = add(x, np.float32(1))
    got, _ = session.run([y, assign(handle, y)], {x: np.zeros(3)})
    got[:] = 9
    assert session.run(read(handle)).tolist() == [1, 1, 1]


def test_two_tensors_of_one_value_are_two_arrays(session):
    x = placeholder((3,))
    y = add(x, np.float32(1))
    first, second = session.run([y, identity(y)], {x: np.zeros(3)})
    first[:] = 9
    assert second.tolist() == [1, 1, 1]


# ---- errors of a step ---------------------------------------------------------------------------


def test_an_error_of_a_step_carries_its_operation(session):
    handle = variable("v")
    value = read(handle, name="reading")
    with pytest.raises(
        errors.FailedPreconditionError,
        match=r"{{node reading}}.*toys.py.*Could not find variable v",
    ) as caught:
        session.run(add(value, np.float32(1)))
    assert caught.value.op is value.op


def test_the_first_error_wins_and_the_session_stays_usable(session):
    def fail(ctx, x):
        raise errors.OutOfRangeError(None, None, "no more")

    hooks["fail"] = fail
    bad, good = quick(const(1.0), "fail", "bad"), const(2.0)
    for _ in range(2):
        with pytest.raises(errors.OutOfRangeError, match=r"{{node bad}}.*no more") as caught:
            session.run([good, bad])
        assert caught.value.op is bad.op
        assert session.run(good) == 2


# ---- caching ------------------------------------------------------------------------------------


def test_a_second_run_of_the_same_fetches_makes_and_compiles_nothing(session):
    x = placeholder((None, 64))
    handle = variable("w", (64, 64))
    session.run(assign(handle, np.ones((64, 64), np.float32)))
    y = x
    for _ in range(8):
        y = add(mul(y, np.float32(0.5)), read(handle))
    batch = np.ones((64, 64), np.float32)
    for _ in range(3):
        session.run([y, {"y": y}], {x: batch})
    plans = [plan for plan, _ in session._direct._plans.values()]
    before = [p.compiled_count for p in plans]
    assert sum(before) > 0
    for _ in range(5):
        session.run([y, {"y": y}], {x: batch})
    after = [plan for plan, _ in session._direct._plans.values()]
    assert after == plans
    assert [p.compiled_count for p in plans] == before


def test_changing_an_operation_makes_a_new_plan(session):
    a, b = const(1.0), const(5.0)
    y = add(a, a)
    assert session.run(y) == 2
    y.op._update_input(1, b)
    assert session.run(y) == 6


def test_a_list_that_changed_is_another_fetch(session):
    a, b = const(1.0), const(2.0)
    fetches = [[a], b]
    assert session.run(fetches) == [[1], 2]
    fetches[0][0] = b
    assert session.run(fetches) == [[2], 2]


# ---- callables ----------------------------------------------------------------------------------


def test_callables(session):
    x, s = placeholder((2, 3), name="x"), placeholder(None, dt.string)
    y = add(x, x)
    run = session.make_callable({"y": y, "op": y.op}, ["x:0"])
    assert run(X.tolist())["y"].tolist() == (2 * X).tolist()
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        run(np.ones((3, 3)))
    with pytest.raises(errors.InvalidArgumentError, match=r"expected 1 arguments.* got 0"):
        run()
    with pytest.raises(ValueError, match=r"expected 1 arguments.* got 2"):
        run(X, X)
    assert session.make_callable(identity(s), [s])("x") == b"x"
    assert session.make_callable(no_op())() is None
    with pytest.raises(TypeError, match="`feed_list` must be a list or tuple"):
        session.make_callable(y, x)


# ---- life ---------------------------------------------------------------------------------------


def test_a_closed_session_refuses(graph):
    c = const(1.0)
    with Session(graph=graph) as session:
        assert session.run(c) == 1
        run = session.make_callable(c)
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(c)
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        run()
    for refused in (session.list_devices, lambda: session.make_callable(c)):
        with pytest.raises(errors.CancelledError, match="Session has been closed"):
            refused()
    session.close()


def test_default_sessions_nest(graph):
    assert get_default_session() is None
    outer, inner = Session(graph=graph), Session(graph=graph)
    with outer.as_default():
        with inner.as_default():
            assert get_default_session() is inner
        assert get_default_session() is outer
    assert get_default_session() is None
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)


def test_eval_and_run_find_the_default_session(graph):
    c, op = const(2.0), no_op()
    with pytest.raises(
        ValueError, match="Cannot evaluate tensor using `eval\\(\\)`: No default session"
    ):
        c.eval()
    with pytest.raises(
        ValueError, match="Cannot execute operation using `run\\(\\)`: No default session"
    ):
        op.run()
    with Session(graph=graph) as session:
        assert c.eval() == 2
        assert c.eval(session=session) == 2
        assert op.run() is None
    with Graph().as_default():
        other = const(1.0)
    with pytest.raises(
        ValueError, match="the tensor's graph is different from the session's graph"
    ):
        other.eval(session=session)
    with Session(graph=graph), pytest.raises(ValueError, match="Cannot use the default session"):
        other.op.run()


def test_an_interactive_session_is_the_default_until_closed():
    session = InteractiveSession(graph=Graph())
    try:
        assert get_default_session() is session
        c = const(4.0)
        assert c.graph is session.graph
        assert c.eval() == 4
        with pytest.warns(UserWarning, match="An interactive session is already active"):
            InteractiveSession(graph=Graph()).close()
    finally:
        session.close()
        session.close()
    assert get_default_session() is None


def test_reset_clears_variables_and_closes_sessions(graph):
    handle = variable("v")
    session = Session(graph=graph)
    session.run(assign(handle, np.float32(1)))
    ended = Session(graph=graph)
    ended.close()
    Session.reset("")
    with pytest.raises(errors.CancelledError, match="closed"):
        session.run(read(handle))
    with pytest.raises(RuntimeError, match="closed"):
        ended.run(read(handle))
    assert session._direct.resources.items() == []


def test_wrong_constructor_arguments():
    with pytest.raises(TypeError, match=r'must be a tf.Graph, but got "int"'):
        Session(graph=3)
    with pytest.raises(TypeError, match=r'must be a tf.ConfigProto, but got "int"'):
        Session(config=3)
    with pytest.raises(errors.NotFoundError, match="No session factory registered"):
        Session("foo")
    with pytest.raises(RuntimeError, match="The Session graph is empty"):
        Session(graph=Graph()).run("x")


def test_each_session_has_its_own_variables(graph):
    handle = variable("v")
    put, value = assign(handle, np.float32(1)), read(handle)
    first, second = Session(graph=graph), Session(graph=graph)
    first.run(put)
    assert first.run(value) == 1
    with pytest.raises(errors.FailedPreconditionError):
        second.run(value)


# ---- ending a step early ------------------------------------------------------------------------


def waiter(started):
    condition = threading.Condition()

    def wait(ctx, x):
        started.set()
        with condition:
            ctx.step.wait(condition, lambda: False, ctx.op_name)

    return wait


def test_a_timeout_wakes_what_waits(session):
    from penstock import proto

    hooks["wait"] = waiter(threading.Event())
    blocked = call(const(1.0), "wait", "blocked")
    start = time.monotonic()
    with pytest.raises(errors.DeadlineExceededError, match="Timed out waiting"):
        session.run(blocked, options=proto.config_pb2.RunOptions(timeout_in_ms=100))
    assert 0.1 <= time.monotonic() - start < 5
    assert session.run(const(1.0)) == 1


def test_closing_a_session_cancels_its_steps(graph):
    started = threading.Event()
    hooks["wait"] = waiter(started)
    blocked = call(const(1.0), "wait", "blocked")
    session, caught = Session(graph=graph), []

    def run():
        try:
            session.run(blocked)
        except errors.CancelledError as problem:
            caught.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    started.wait(5)
    session.close()
    thread.join(5)
    assert [c.op for c in caught] == [blocked.op]


def test_leases_of_several_threads_are_all_kept():
    step = Step(None)
    leases = [object() for _ in range(400)]

    def hold(first):
        for lease in leases[first::4]:
            step.hold(lease)
            step.hold(lease)  # of a loop, say

    threads = [threading.Thread(target=hold, args=(i,)) for i in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert sorted(map(id, step.leases)) == sorted(map(id, leases))
