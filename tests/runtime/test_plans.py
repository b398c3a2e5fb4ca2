"""Plans as text, passes, regions that form again, sizes that vary, placement."""

import os
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest
from tests.runtime.toys import (
    add,
    assign,
    assign_add,
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

from penstock import errors, proto
from penstock.core.execute import execute
from penstock.core.resources import ResourceManager
from penstock.graph.graph import Graph
from penstock.runtime.client import Session
from penstock.runtime.placer import Candidate, has_kernel, place
from penstock.runtime.plan import make_plan
from penstock.runtime.program import build
from penstock.runtime.races import find_races
from penstock.runtime.simplify import fold_constants, forward_identities, merge_equal, simplify
from penstock.runtime.step import Step
from penstock.types import dtypes as dt


@pytest.fixture
def session():
    with Graph().as_default() as graph, Session(graph=graph) as session:
        yield session


def lines(text):
    return textwrap.dedent(text).strip()


# ---- passes -------------------------------------------------------------------------------------


def test_the_program_as_text_and_what_each_pass_does(session):
    x = placeholder((2,), name="x")
    two, three = const(2.0, name="two"), const(3.0, name="three")
    six = mul(two, three, "six")
    left, right = mul(x, six, "left"), mul(x, six, "right")
    total = add(left, right, "total")
    program = build([total], [x], [])
    assert len(program.nodes) == 9
    program = forward_identities(program)
    assert "Identity" not in str(program)
    program = fold_constants(program)
    assert lines(str(program)) == lines("""
        x:0 = _Feed() -> float32(2,)
        six/folded = Const() -> float32()
        left = Mul(x:0:0, six/folded:0) -> float32(2,)
        right = Mul(x:0:0, six/folded:0) -> float32(2,)
        total = AddV2(left:0, right:0) -> float32(2,)
        fetch total:0
        """)
    assert lines(str(merge_equal(program))) == lines("""
        x:0 = _Feed() -> float32(2,)
        six/folded = Const() -> float32()
        left = Mul(x:0:0, six/folded:0) -> float32(2,)
        total = AddV2(left:0, left:0) -> float32(2,)
        fetch total:0
        """)


def test_stateful_operations_and_those_that_wait_are_left_alone(session):
    hooks["echo"] = lambda ctx, x: x
    c = const(1.0)
    first, second = quick(c, "echo", "first"), quick(c, "echo", "second")
    with c.graph.control_dependencies([first]):
        late = mul(c, c, "late")
    text = str(simplify(build([first, second, late], [], [])))
    assert "first = ToyQuick" in text
    assert "second = ToyQuick" in text
    assert "late = Mul(" in text


def test_an_error_of_a_folded_operation_comes_when_it_runs(session):
    with pytest.raises(ValueError, match="expected"):
        execute("Reshape", (np.zeros(3, np.float32), np.array([2], np.int32)))
    shape = identity(placeholder((1,), dt.int32), "shape")
    bad = execute("Reshape", (const(np.zeros(3)), shape), None, "bad")
    with pytest.raises(errors.InvalidArgumentError, match=r"\{\{node bad\}\}"):
        session.run(bad, {shape: [2]})


def test_verify_names_a_broken_node(session):
    program = build([add(const(1.0), const(2.0), "sum")], [], [])
    program.verify()
    program.nodes.reverse()
    with pytest.raises(errors.InternalError, match=r"sum = AddV2.*is not an earlier output"):
        program.verify()


def test_a_cycle_is_refused(session):
    a = add(const(1.0), const(2.0), "a")
    b = add(a, a, "b")
    a.op._update_input(0, b)
    with pytest.raises(errors.InvalidArgumentError, match="cycle"):
        session.run(b)


# ---- plans --------------------------------------------------------------------------------------


def test_regions_and_host_kernels(session):
    hooks["echo"] = lambda ctx, x: x
    x = placeholder((2,), name="x")
    before = mul(add(x, np.float32(1), "plus"), np.float32(2), "times")
    middle = quick(before, "echo", "middle")
    after = add(middle, before, "after")
    plan = make_plan(build([after], [x], []), ResourceManager())
    assert lines(str(plan)) == lines("""
        region plus/y, plus, times/y, times
        host middle
        region after
        """)


def test_regions_share_axes_and_known_shapes(session):
    """What needs a constant or a known shape compiles, on both sides of a kernel on the host."""
    hooks["echo"] = lambda ctx, x: x
    x = placeholder((2, 3), name="x")
    axis, column = const([1], np.int32, "axis"), const([2, 1], np.int32, "column")
    squares = mul(x, x, "squares")
    total = execute("Sum", (squares, axis), None, "total")
    shape = execute("Shape", (squares,), None, "shape")
    middle = execute("Reshape", (quick(total, "echo", "middle"), column))
    again = execute("Reshape", (mul(squares, middle), shape))
    ending = execute("Sum", (again, axis), None, "ending")
    plan = make_plan(build([total, ending], [x], []), ResourceManager())
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    for _ in range(3):
        results = plan.run([given], Step(ResourceManager()))
    assert [r.tolist() for r in map(np.asarray, results)] == [[5.0, 50.0], [25.0, 2500.0]]
    assert [line.split()[0] for line in str(plan).splitlines()] == ["region", "host", "region"]
    assert not plan._on_host


def test_what_only_its_known_shape_is_asked_of_runs(session):
    """It has effects and makes checks, and what takes the shape comes after it."""
    ran = []
    hooks["noted"] = lambda ctx, x: ran.append("source") or x
    hooks["after"] = lambda ctx, x: ran.append("after") or x
    x = placeholder((2, 3), name="x")
    size = execute("Size", (quick(x, "noted", "source"),), None, "size")
    checked = execute("CheckNumerics", (x,), {"message": "m"}, "checked")
    shape = execute("Shape", (checked,), None, "shape")
    with size.op.graph.control_dependencies([square := mul(size, size)]):
        after = quick(const(1.0), "after")
    given = np.ones((2, 3), np.float32)
    for _ in range(3):
        assert [r.tolist() for r in session.run([square, after, shape], {x: given})] == [
            36,
            1.0,
            [2, 3],
        ]
    assert ran == ["source", "after"] * 3
    with pytest.raises(errors.InvalidArgumentError, match="m"):
        session.run(shape, {x: given * np.float32(np.nan)})


def test_a_chain_through_a_no_op_keeps_its_order(session):
    handle = variable("v")
    put = assign(handle, np.float32(1))
    with put.graph.control_dependencies([put]):
        barrier = no_op("barrier")
    with put.graph.control_dependencies([barrier]):
        late = identity(read(handle))
    hooks["echo"] = lambda ctx, x: x
    with put.graph.control_dependencies([late]):
        end = quick(const(5.0), "echo")
    assert session.run([late, end]) == [1, 5]


def _updates_joined(count, x):
    """Variables updated, a NoOp that waits for all, and updates that wait for it."""
    graph = x.graph
    handles = [variable(f"v{i}", (64,)) for i in range(count)]
    first = [assign(h, x, f"put{i}") for i, h in enumerate(handles)]
    with graph.control_dependencies(first):
        barrier = no_op("barrier")
    with graph.control_dependencies([barrier]):
        second = [assign_add(h, x, f"add{i}") for i, h in enumerate(handles)]
    with graph.control_dependencies(second):
        barrier = no_op("more")
    with graph.control_dependencies([barrier]):
        return [read(h, name=f"read{i}") for i, h in enumerate(handles)]


@pytest.mark.parametrize("count", [1, 40])
def test_a_no_op_does_not_cut_a_region(session, count):
    x = placeholder((64,), name="x")
    values = _updates_joined(count, x)
    plan = make_plan(build(values, [x], []), ResourceManager())
    assert [item.kind for item in plan.items] == ["region"]
    edges = sum(len(n.control) for n in plan.program.nodes)
    assert edges < 6 * count + 3, "no edge for each pair"
    for value in session.run(values, {x: np.full(64, 3.0)}):
        assert value.tolist() == [6.0] * 64


def test_a_no_op_between_a_region_and_a_host_kernel_cuts(session):
    seen = []
    hooks["note"] = lambda ctx, x: seen.append(x.tolist()) or x
    x = placeholder((64,), name="x")
    (value,) = _updates_joined(1, x)
    noted = quick(value, "note", "noted")
    with x.graph.control_dependencies([noted, value]):
        barrier = no_op("last")
    with x.graph.control_dependencies([barrier]):
        late = assign_add(variable("late", (64,)), x, "late_add")
    with x.graph.control_dependencies([late]):
        end = mul(x, x, "end")
    plan = make_plan(build([end], [x], []), ResourceManager())
    assert lines(str(plan)) == lines("""
        region put0, add0, read0
        host noted
        region late_add, end
        """)
    waits = [set(w) for w in plan._executor._waits]
    assert waits == [set(), {0}, {0, 1}]


def test_an_operation_that_needs_a_value_leaves_its_region_and_nothing_runs_twice(session):
    """Reshape's shape comes from a compiled operation: known only when the step runs."""
    handle = variable("count")
    session.run(assign(handle, np.float32(0)))
    counted = assign_add(handle, np.float32(1))
    x = placeholder((6,), name="x")
    sizes = placeholder((2,), dt.int32, name="sizes")
    with x.graph.control_dependencies([counted]):
        scaled = mul(x, np.float32(2))
    y = execute("Reshape", (scaled, add(sizes, np.array([1, 1], np.int32))), None, "y")
    y = add(mul(y, np.float32(3)), np.float32(1))
    for i, (rows, columns) in enumerate([(1, 4), (1, 4), (2, 3), (1, 4)]):
        out = session.run(y, {x: np.arange(6), sizes: [rows, columns - 2]})
        assert out.shape == (rows + 1, columns - 1)
        assert out.reshape(-1).tolist() == [n * 6 + 1 for n in range(6)]
        assert session.run(read(handle)) == i + 1


def test_sizes_that_never_come_back_compile_nothing_and_those_that_do_compile_once(session):
    x = placeholder((None, 100))
    y = x
    for _ in range(8):
        y = mul(add(y, np.float32(1)), np.float32(0.5))
    wanted = lambda batch: session.run(y, {x: np.zeros((batch, 100), np.float32)}).shape  # noqa: E731
    for batch in range(50, 90):
        assert wanted(batch) == (batch, 100)
    (plan,) = [p for p, _ in session._direct._plans.values()]
    assert plan.compiled_count == 0
    for _ in range(4):
        assert wanted(64) == (64, 100)
    assert plan.compiled_count == 1


def test_sizes_that_are_refused_leave_right_ones_compiled(session):
    x, y = placeholder((None, None)), placeholder((None, None))
    z = add(execute("MatMul", (mul(execute("Tanh", (x,)), np.float32(2)), y)), np.float32(1))
    right, wrong = np.ones((200, 200), np.float32), np.ones((201, 200), np.float32)
    for _ in range(6):
        session.run(z, {x: right, y: right})
    (plan,) = [p for p, _ in session._direct._plans.values()]
    items = str(plan)
    for _ in range(8):
        with pytest.raises(errors.InvalidArgumentError):
            session.run(z, {x: right, y: wrong})
    session.run(z, {x: right, y: right})
    assert str(plan) == items


def test_what_operations_only_hand_on_is_neither_compiled_nor_copied(session):
    x = placeholder((300, 100))
    turned = execute("Reshape", (execute("StopGradient", (x,)), [100, 300]))
    parts = execute("Split", (0, turned), {"num_split": 2})
    value = np.arange(30_000, dtype=np.float32).reshape(300, 100)
    for _ in range(3):
        found = session.run(parts, {x: value})
        assert np.array_equal(np.concatenate(found), value.reshape(100, 300))
    (plan,) = [p for p, _ in session._direct._plans.values()]
    assert plan.compiled_count == 0
    session.run(add(parts[0], np.float32(1)), {x: value})
    assert sum(p.compiled_count for p, _ in session._direct._plans.values()) == 1


def test_operations_alone_run_on_the_host_where_that_takes_less_time(session):
    x, open_ = placeholder((300, 100)), placeholder((None, 100))
    value = np.random.default_rng(1).random((300, 100), np.float32)
    axis = np.int32(0)
    sums, angles = execute("Cumsum", (x, axis)), execute("Asin", (x,))
    more = execute("Asin", (mul(x, np.float32(0.5)),))
    for _ in range(2):
        assert np.allclose(session.run(sums, {x: value}), np.cumsum(value, 0), 1e-5)
        assert np.allclose(session.run(angles, {x: value}), np.arcsin(value), 1e-5)
    assert sum(p.compiled_count for p, _ in session._direct._plans.values()) == 0
    assert np.allclose(session.run(more, {x: value}), np.arcsin(value / 2), 1e-5)
    assert sum(p.compiled_count for p, _ in session._direct._plans.values()) == 1
    for _ in range(3):
        found = session.run(execute("Cumsum", (open_, axis)), {open_: value})
        assert np.allclose(found, np.cumsum(value, 0), 1e-5)


def test_large_work_that_xla_does_slowly_leaves_its_region(session):
    """Cumulative logarithms of sums: between two regions where they are large, else in one."""
    for count, items in ((1 << 16, 3), (100, 1)):
        x = placeholder((count,), name="x")
        sums = execute("CumulativeLogsumexp", (mul(x, np.float32(2)), np.int32(0)))
        y = mul(add(sums, np.float32(1)), np.float32(3))
        value = np.linspace(-1, 1, count).astype(np.float32)
        wanted = 3 * (np.logaddexp.accumulate(2.0 * value) + 1)
        for _ in range(2):
            assert np.allclose(session.run(y, {x: value}), wanted, 1e-3)
        plan = [p for p, _ in session._direct._plans.values()][-1]
        assert len(plan.items) == items


def test_runs_with_and_without_simplification_agree(session):
    config = proto.config_pb2.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.inter_op_parallelism_threads = 1
    x = placeholder((3,))
    y = add(mul(const(2.0), const(3.0)), x)
    with Session(graph=x.graph, config=config) as plain:
        feeds = {x: np.arange(3)}
        assert plain.run(y, feeds).tolist() == session.run(y, feeds).tolist()
        (plan,) = [p for p, _ in plain._direct._plans.values()]
    assert "Mul" in str(plan)


def test_a_missing_kernel_lists_those_there_are(session):
    handle = execute("Placeholder", (), {"dtype": dt.string, "shape": ()}, "s")
    with pytest.raises((TypeError, errors.InvalidArgumentError)):
        session.run(add(handle, handle), {handle: "a"})


def test_a_failed_check_in_a_region_changes_no_variable(session):
    handle, x = variable("v", (3,)), placeholder((3,), name="x")
    session.run(assign(handle, np.zeros(3, np.float32)))
    y = x
    for _ in range(8):
        y = add(y, np.float32(1))
    put = assign_add(handle, execute("ToyChecked", (y,)))
    for _ in range(3):
        session.run(put, {x: np.zeros(3)})
    text = r"\{\{node ToyChecked\}\}.*below 100, got 108"
    with pytest.raises(errors.InvalidArgumentError, match=text) as caught:
        session.run(put, {x: [0, 100, 0]})
    assert caught.value.op.type == "ToyChecked"
    assert session.run(read(handle)).tolist() == [24, 24, 24]
    session.run(put, {x: np.zeros(3)})
    assert session.run(read(handle)).tolist() == [32, 32, 32]


def test_a_training_step_holds_no_second_copy_of_its_variables(session):
    size = 200_000
    handles = [variable(f"v{i}", (size,)) for i in range(4)]
    session.run([assign(h, np.zeros(size, np.float32)) for h in handles])
    x = placeholder((size,))
    steps = [assign_add(h, mul(x, np.float32(0.1))) for h in handles]
    feed = np.ones(size, np.float32)
    for _ in range(4):
        session.run(steps, {x: feed})
    before = {a.unsafe_buffer_pointer() for a in jax.live_arrays() if a.size == size}
    session.run(steps, {x: feed})
    after = [a.unsafe_buffer_pointer() for a in jax.live_arrays() if a.size == size]
    assert set(after) <= before
    assert len(after) == 4


# ---- placement ----------------------------------------------------------------------------------


def nodes_of(*fetches):
    return build(list(fetches), [], []).nodes


CPU = Candidate("/job:localhost/replica:0/task:0/device:CPU:0", "CPU")
GPU = Candidate("/job:localhost/replica:0/task:0/device:GPU:0", "GPU")


def test_requests_are_honoured_and_the_first_device_serves_the_rest(session):
    graph = session.graph
    with graph.device("/cpu:0"):
        a = const(1.0, name="a")
    b = add(a, a, "b")
    nodes = nodes_of(b)
    placed = place(nodes, [GPU, CPU], has_kernel, soft_placement=False)
    assert {n.name: placed[id(n)][-5:] for n in nodes}["b"] == "GPU:0"
    assert {n.name: placed[id(n)][-5:] for n in nodes}["a"] == "CPU:0"


def test_colocated_operations_and_variables_share_a_device(session):
    graph = session.graph
    with graph.device("/cpu:0"):
        handle = variable("v")
    value = read(handle, name="value")
    with graph.colocate_with(value.op):
        c = mul(const(1.0), value, "c")
    nodes = nodes_of(c)
    placed = place(nodes, [GPU, CPU], has_kernel, soft_placement=False)
    where = {n.name: placed[id(n)] for n in nodes}
    assert where["value"] == where["v"] == where["c"] == CPU.name


def test_a_device_that_is_not_there(session):
    graph = session.graph
    with graph.device("/gpu:3"):
        c = add(const(1.0), const(2.0), "far")
    config = proto.config_pb2.ConfigProto(allow_soft_placement=False)
    with (
        Session(graph=graph, config=config) as strict,
        pytest.raises(errors.InvalidArgumentError) as caught,
    ):
        strict.run(c)
    text = str(caught.value)
    assert "Cannot assign a device for operation" in text
    assert "available devices are [ /job:localhost/replica:0/task:0/device:CPU:0 ]" in text
    assert "toys.py" in text
    soft = proto.config_pb2.ConfigProto(allow_soft_placement=True)
    with Session(graph=graph, config=soft) as lenient:
        assert lenient.run(c) == 3


def test_contradicting_requests_in_one_group(session):
    graph = session.graph
    with graph.device("/cpu:0"):
        handle = variable("v")
    value = read(handle)
    value.op._set_device("/device:GPU:0")
    nodes = nodes_of(value)
    with pytest.raises(errors.InvalidArgumentError, match="Cannot colocate nodes"):
        place(nodes, [GPU, CPU], has_kernel, soft_placement=False)
    placed = place(nodes, [GPU, CPU], has_kernel, soft_placement=True)
    assert len(set(placed.values())) == 1


def test_placement_is_logged_when_asked_for(session, caplog):
    config = proto.config_pb2.ConfigProto(log_device_placement=True)
    c = add(const(1.0), placeholder((), name="x"), "sum")
    with Session(graph=session.graph, config=config) as loud, caplog.at_level("INFO", "penstock"):
        loud.run(c, {"x:0": 1})
    assert "sum: (AddV2): /job:localhost/replica:0/task:0/device:CPU:0" in caplog.text


# ---- races -------------------------------------------------------------------------------------


def test_unordered_accesses_of_one_variable_are_found(session):
    handle, other = variable("v"), variable("w")
    put, late = assign(handle, np.float32(1)), assign(other, np.float32(1))
    free = read(handle, name="free")
    with session.graph.control_dependencies([put]):
        ordered = read(handle, name="ordered")
    program = build([free, ordered], [], [put, late])
    (race,) = find_races(program)
    assert {race.first.name, race.second.name} == {"free", put.name}
    assert race.second.name == put.name
    assert "toys.py" in str(race)
    assert "control_dependencies" in str(race)
    assert find_races(build([free, read(handle)], [], [late])) == []


def test_races_are_reported_before_the_first_step(session, monkeypatch, caplog):
    monkeypatch.setenv("PENSTOCK_CHECK_RACES", "1")
    handle = variable("v")
    put = assign(handle, np.float32(1))
    session.run(put)
    assert "race on" not in caplog.text
    session.run([read(handle), put])
    assert "race on 'v'" in caplog.text


def test_the_reference_executor_serves_a_session(session, monkeypatch):
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    handle, x = variable("v"), placeholder((), name="x")
    session.run(assign(handle, np.float32(1)))
    grown = assign_add(handle, x)
    for total in (3, 5):
        session.run(grown, {x: 2})
        assert session.run(add(read(handle), const(0.0))) == total
    assert all(type(p).__name__ == "ReferencePlan" for p, _ in session._direct._plans.values())


# ---- processes ----------------------------------------------------------------------------------

FORKING = """
import os, sys, warnings
sys.path[:0] = {path!r}
warnings.simplefilter("ignore")
import numpy as np
from tests.runtime.toys import add, mul, placeholder
from penstock.graph.graph import Graph
from penstock.runtime.client import Session

with Graph().as_default() as graph, Session(graph=graph) as session:
    x = placeholder((20000,))
    y = add(mul(x, x), x)
    array = np.ones(20000, np.float32)
    assert session.run(y, {{x: array}})[0] == 2
    child = os.fork()
    if not child:
        try:
            session.run(y, {{x: array}})
            os._exit(1)
        except RuntimeError as problem:
            os._exit(0 if "forked" in str(problem) and "spawn" in str(problem) else 2)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status))
"""

READING = """
import os, sys, warnings
sys.path[:] = {path!r}
warnings.simplefilter("ignore")
import numpy as np
import penstock as tf

variable = tf.Variable(tf.zeros([300000]))

@tf.function
def step():
    variable.assign_add(tf.tanh(variable) + 1.0)
    return variable + 1.0

step(), step()
result = step()
found = []
for read in (variable.numpy, result.numpy, lambda: np.asarray(result), lambda: repr(variable)):
    child = os.fork()
    if not child:
        try:
            read()
            os._exit(1)
        except RuntimeError as problem:
            os._exit(0 if "forked" in str(problem) and "spawn" in str(problem) else 2)
    found.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(*found)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(("program", "codes"), [(FORKING, "0"), (READING, "0 0 0 0")])
def test_a_forked_child_gets_a_clear_error_instead_of_a_hang(program, codes):
    done = subprocess.run(
        [sys.executable, "-c", program.format(path=sys.path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout.strip() == codes, done.stderr
