"""Variables of the first kind: references, what reads them, and what changes them."""

import numpy as np
import pytest

import penstock as tf
from penstock import ops
from penstock.core.op_def import lookup
from penstock.runtime.program import build

v1 = tf.compat.v1
raw = tf.raw_ops
ops.load_all()

from penstock.ops.state_references import RULE_OPS  # noqa: E402  once all are registered

SCATTERS = ("ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMin",
            "ScatterMax")  # fmt: skip
ND = ("ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMin", "ScatterNdMax")


def reference(value, name="v", kind=raw.VariableV2):
    """A variable and the operation that gives it `value`."""
    value = np.asarray(value)
    made = kind(shape=value.shape, dtype=tf.as_dtype(value.dtype), name=name)
    return made, raw.Assign(ref=made, value=value, name=f"{name}/start")


@pytest.fixture
def session():
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as made:
        yield made


@pytest.mark.parametrize("kind", [raw.VariableV2, raw.Variable], ids=["VariableV2", "Variable"])
def test_a_reader_gets_the_value_of_its_time(session, kind):
    v, start = reference(np.float32([1, 2]), kind=kind)
    assert v.dtype is tf.dtypes.as_dtype("float32_ref")
    with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        session.run(v)
    assert not session.run(raw.IsVariableInitialized(ref=v))
    session.run(start)
    assert session.run(raw.IsVariableInitialized(ref=v))
    added = raw.AssignAdd(ref=v, value=[10.0, 10.0])
    with tf.control_dependencies([added]):
        after = tf.identity(v)
    assert session.run([after, added * 2.0])[0].tolist() == [11, 12]
    assert session.run(raw.AssignSub(ref=v, value=[1.0, 1.0]) + v).tolist() == [20, 22]
    assert session.run(v).tolist() == [10, 11]


def test_what_was_read_stays(session):
    v, start = reference(np.zeros(5000, np.float32))
    session.run(start)
    before = session.run(v)
    session.run(raw.AssignAdd(ref=v, value=np.ones(5000, np.float32)))
    assert before.sum() == 0
    assert session.run(v).sum() == 5000


@pytest.mark.parametrize("name", [*SCATTERS, *ND])
def test_parts_change_as_with_resources(session, name):
    start = np.float32([[4, -2], [3, 8], [1, 5]])
    nd = name in ND
    indices, updates = ([[0, 1], [2, 0]], [-3.0, 4.0]) if nd else ([0, 2], [[2.0, 3.0], [4.0, 5.0]])
    v, assign = reference(start)
    session.run(assign)
    changed = getattr(raw, name)(ref=v, indices=indices, updates=updates)
    handle = raw.VarHandleOp(dtype=tf.float32, shape=[3, 2], shared_name="other")
    session.run(raw.AssignVariableOp(resource=handle, value=start))
    arguments = {"ref" if nd else "resource": handle, "indices": indices, "updates": updates}
    session.run(getattr(raw, f"Resource{name}")(**arguments))
    expected = session.run(raw.ReadVariableOp(resource=handle, dtype=tf.float32))
    assert session.run(changed).tolist() == expected.tolist() != start.tolist()


@pytest.mark.parametrize("name", sorted(RULE_OPS))
def test_update_rules_do_what_those_of_resources_do(session, name):
    definition = RULE_OPS[name]
    rng = np.random.default_rng(7)
    mine, other, starts = {}, {}, []
    for arg in definition.inputs:
        if arg.is_ref:
            value = rng.uniform(0.5, 1.5, [4, 3]).astype(np.float32)
            mine[arg.name], start = reference(value, arg.name)
            other[arg.name] = raw.VarHandleOp(
                dtype=tf.float32, shape=[4, 3], shared_name=f"{arg.name}/resource"
            )
            starts += [start, raw.AssignVariableOp(resource=other[arg.name], value=value)]
        elif arg.name == "indices":
            mine["indices"] = other["indices"] = [2, 0]
        elif arg.name in ("grad", "delta"):
            rows = 2 if name.startswith("Sparse") else 4
            grad = rng.normal(size=[rows, 3]).astype(np.float32)
            mine[arg.name] = other[arg.name] = grad
        else:  # a power of the learning rate is at most 0
            value = -0.3 if arg.name == "lr_power" else 0.3
            mine[arg.name] = other[arg.name] = np.float32(value)
    session.run(starts)
    updated = getattr(raw, name)(**mine)
    session.run(getattr(raw, f"Resource{name}")(**other))
    session.run(updated.op)
    for arg in definition.inputs:
        if arg.is_ref:
            read = raw.ReadVariableOp(resource=other[arg.name], dtype=tf.float32)
            np.testing.assert_allclose(*session.run([mine[arg.name], read]), 1e-6)


def test_shapes_are_checked_or_free(session):
    v, start = reference(np.float32([1, 2]))
    session.run(start)
    with pytest.raises(ValueError, match=r"\(2,\).*\(5,\)"):
        raw.Assign(ref=v, value=np.zeros(5, np.float32))
    with pytest.raises(ValueError, match="shape"):
        raw.ScatterAdd(ref=v, indices=[0], updates=np.zeros([1, 5], np.float32))
    unknown = v1.placeholder(tf.float32, [None])
    checked = raw.Assign(ref=v, value=unknown)
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        session.run(checked, {unknown: [1.0, 2.0, 3.0]})
    assert session.run(v).tolist() == [1, 2]
    free = v1.assign(v, unknown, validate_shape=False)
    assert free.shape.as_list() == [None]
    assert session.run(free, {unknown: [1.0, 2.0, 3.0]}).tolist() == [1, 2, 3]
    assert session.run(v + 1.0).tolist() == [2, 3, 4]


def test_a_variable_of_today_takes_any_shape_too(session):
    v = v1.Variable([1.0, 2.0], use_resource=False)
    grown = v1.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    session.run(v1.global_variables_initializer())
    assert session.run(grown).tolist() == [1, 2, 3]
    assert session.run(v.read_value()).tolist() == [1, 2, 3]


def test_functions_of_the_first_generation_take_references(session):
    v, start = reference(np.int32([1, 2]))
    count, zero = reference(np.int32(0), "count")
    session.run([start, zero])
    assert session.run(v1.assign_add(v, [1, 1])).tolist() == [2, 3]
    assert session.run(v1.assign_sub(v, [2, 2])).tolist() == [0, 1]
    assert session.run(v1.scatter_update(v, [0], [9])).tolist() == [9, 1]
    up = v1.count_up_to(count, 2)
    assert [session.run(up), session.run(up)] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="limit of 2"):
        session.run(raw.CountUpTo(ref=count, limit=2))


def test_references_take_ways_of_control_flow(session):
    v, start_v = reference(np.float32([1, 2]))
    w, start_w = reference(np.float32([5, 6]), "w")
    p = v1.placeholder(tf.bool, [])
    session.run([start_v, start_w])
    route = raw.RefSwitch(data=v, pred=p)
    up = raw.AssignAdd(ref=route.output_true, value=[1.0, 1.0])
    merged = raw.RefMerge(inputs=[raw.RefIdentity(input=route.output_false), up])
    assert session.run(merged.output, {p: False}).tolist() == [1, 2]
    assert session.run(merged.output, {p: True}).tolist() == [2, 3]
    index = v1.placeholder(tf.int32, [])
    chosen = raw.Assign(ref=raw.RefSelect(index=index, inputs=[v, w]), value=[0.0, 0.0])
    session.run(chosen, {index: 1})
    assert session.run([v, w])[1].tolist() == [0, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"range \[0, 2\) but got 2"):
        session.run(chosen, {index: 2})


def test_a_reference_goes_round_a_loop(session):
    v, start = reference(np.float32([1, 2]))
    session.run(start)
    held = raw.RefEnter(data=v, frame_name="f")
    again = raw.RefMerge(inputs=[held, held]).output
    with tf.control_dependencies([tf.identity(again)]):
        axes, bound = tf.constant([0]), tf.constant(40.0)
    total = raw.Sum(input=again, axis=axes)
    route = raw.RefSwitch(data=again, pred=raw.LoopCond(input=total < bound))
    grown = raw.AssignAdd(ref=route.output_true, value=tf.identity(route.output_true))
    again.op._update_input(1, raw.RefNextIteration(data=grown))
    assert session.run(raw.RefExit(data=route.output_false)).tolist() == [16, 32]
    assert session.run(v).tolist() == [16, 32]


def test_temporary_variables_live_for_a_step(session):
    made = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t")
    filled = raw.Assign(ref=made, value=[1.0, 2.0])
    added = raw.AssignAdd(ref=filled, value=[1.0, 1.0])
    value = raw.DestroyTemporaryVariable(ref=added, var_name="t")
    assert session.run(value).tolist() == session.run(value).tolist() == [2, 3]
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(raw.DestroyTemporaryVariable(ref=made, var_name="t"))


def test_what_is_no_variable_is_refused(session):
    with pytest.raises(TypeError, match="'Assign' Op requires that input 'ref' be a mutable"):
        raw.Assign(ref=tf.zeros([2]), value=tf.zeros([2]))
    v, _ = reference(np.float32([1, 2]))
    changed = raw.AssignAdd(ref=v, value=[1.0, 1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a variable"):
        session.run(changed, {v: [1.0, 1.0]})
    assert session.run(v + 1.0, {v: [1.0, 1.0]}).tolist() == [2, 2]


def test_eager_calls_are_refused():
    with pytest.raises(RuntimeError, match=r"does not support eager execution.*output_ref"):
        raw.Assign(ref=1.0, value=1.0)
    with pytest.raises(RuntimeError, match=r"does not support eager execution.*'ref' is a ref"):
        raw.VariableV2(shape=[], dtype=tf.float32)


def test_a_graph_with_references_is_written_as_it_came(session):
    _, start = reference(np.float32([1, 2]))
    written = session.graph.as_graph_def()
    other = tf.Graph()
    with other.as_default():
        tf.graph_util.import_graph_def(written, name="")
    assert other.as_graph_def() == written
    other.verify()
    assert lookup(start.op.type).name == "Assign"


def test_gradients_reach_a_variable(session):
    v, start = reference(np.float32([1, 2]))
    (grad,) = tf.gradients(tf.reduce_sum(tf.square(tf.identity(v))), [v])
    session.run(start)
    assert session.run(grad).tolist() == [2, 4]


def test_shapes_are_open_where_references_are_asked_for(session):
    fed = v1.placeholder(tf.float32, [None])
    for made, dims in (
        (v1.Variable([1.0, 2.0], validate_shape=False, use_resource=True), [2]),
        (v1.Variable(fed, validate_shape=False, use_resource=True), [None]),
        (tf.Variable([1.0, 2.0], validate_shape=False), [2]),
    ):
        assert made.shape.as_list() == dims
    free = v1.Variable([1.0, 2.0], validate_shape=False, use_resource=False)
    assert free.shape.rank is None
    session.run(free.initializer)
    assert session.run(free.assign([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0, 3.0]


def added(v):
    """A scope whose operations run after 1 was added to the variable."""
    return tf.control_dependencies([raw.AssignAdd(ref=v, value=1.0)])


def after(v, read):
    """What a program of the first generation reads of `v` once it was changed, in several ways."""
    with added(v):
        yield tf.identity(read)
    with added(v):
        late = tf.constant(2.0)
    yield read * late / 2.0  # ordered by the other input
    with added(v):
        kept = tf.identity(tf.identity(read))
    yield kept
    with added(v):
        yield tf.identity(kept)
    with added(v):
        yield v + 0.0
    with added(v):
        late = tf.constant(0.0)
    yield v + late


def test_a_value_read_before_an_update_is_the_variable_to_what_runs_after_it(session):
    v, start = reference(np.float32(0))
    found = []
    for value in after(v, tf.identity(v, name="read")):
        session.run(start)
        found.append(float(session.run(value)))
    assert found == [1, 1, 1, 2, 1, 1]


def test_a_value_that_is_used_before_an_update_stays(session):
    v, start = reference(np.float32(5))
    session.run(start)
    before = tf.identity(v) * 1.0
    with tf.control_dependencies([before]):
        update = raw.AssignAdd(ref=v, value=1.0)
    with tf.control_dependencies([update]):
        late = before * 1.0
    assert [float(x) for x in session.run([before, update, late])] == [5, 6, 5]


def test_a_value_of_another_variable_is_read_once(session):
    v, start = reference(np.float32(0))
    other, other_start = reference(np.float32(3), name="other")
    session.run([start, other_start])
    read = tf.identity(other)
    with added(v):
        value = read * 1.0
    program = build([value], [], [])
    assert [node.type for node in program.nodes].count("ReadVariableOp") == 1
    assert float(session.run(value)) == 3


def test_a_branch_reads_what_it_changed(session):
    v, start = reference(np.float32(0))
    session.run(start)
    taken = v1.placeholder(tf.bool, [])
    read = tf.identity(v)
    inside = raw.RefSwitch(data=v, pred=taken).output_true
    passed = raw.Switch(data=read, pred=taken)
    with added(inside):
        changed = tf.identity(passed.output_true)
    value = raw.Merge(inputs=[passed.output_false - 10.0, changed]).output
    assert [float(session.run(value, {taken: t})) for t in (True, False, True)] == [1, -9, 2]


def test_a_loop_reads_what_it_changed(session):
    v, start = reference(np.float32(0))
    session.run(start)
    read = tf.identity(v)

    def frame(enter, data):
        return enter(data=data, frame_name="rounds", is_constant=True)

    variable, memory = frame(raw.RefEnter, v), frame(raw.Enter, read)
    total = raw.Enter(data=tf.constant(0.0), frame_name="rounds")
    merged = raw.Merge(inputs=[total, total]).output
    with tf.control_dependencies([merged]):
        limit = tf.constant(6.0)
    going = raw.LoopCond(input=merged < limit)
    switched = raw.Switch(data=merged, pred=going)
    inside = tf.identity(switched.output_true)
    with tf.control_dependencies([inside]):
        update = raw.AssignAdd(ref=variable, value=1.0)
    with tf.control_dependencies([update]):
        following = raw.NextIteration(data=inside + memory)
    merged.op._update_input(1, following)
    assert float(session.run(raw.Exit(data=switched.output_false))) == 6  # 1 + 2 + 3
    assert float(session.run(v)) == 3
