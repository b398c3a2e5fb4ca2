"""Operations on variables against NumPy: on the host, compiled, in place, in a graph."""

import numpy as np
import pytest
from tests.ops.variables_helper import MODES, Runner, run_op

import penstock as tf
from penstock import errors
from penstock.core.execute import execute

RNG = np.random.default_rng(11)
TABLE = RNG.normal(size=(5, 2)).astype(np.float32)
over_modes = pytest.mark.parametrize("mode", MODES)

UPDATE = {
    "Add": lambda old, new: old + new,
    "Sub": lambda old, new: old - new,
    "Mul": lambda old, new: old * new,
    "Div": lambda old, new: old / new,
    "Min": np.minimum,
    "Max": np.maximum,
    "Update": lambda old, new: new,
}


def scattered(kind, table, positions, rows):
    """Row after row, as the operations define it."""
    table = table.copy()
    for position, row in zip(positions, rows, strict=True):
        table[position] = UPDATE[kind](table[position], row).astype(table.dtype)
    return table


@over_modes
@pytest.mark.parametrize("kind", UPDATE)
@pytest.mark.parametrize(
    "indices",
    [np.int32([3]), np.int64([[3, 0], [3, 1]]), np.int32([]), np.int32(2)],
    ids=["one", "repeated", "none", "scalar"],
)
def test_scatter_updates_rows_in_turn(mode, kind, indices):
    rows = RNG.uniform(1, 3, (*indices.shape, 2)).astype(np.float32)
    got, _ = run_op(
        f"ResourceScatter{kind}",
        {"resource": TABLE},
        {"indices": indices, "updates": rows},
        {},
        mode,
    )
    wanted = scattered(kind, TABLE, indices.reshape(-1), rows.reshape(-1, 2))
    np.testing.assert_allclose(got["resource"], wanted, 1e-6)


@over_modes
def test_scatter_takes_a_scalar_update(mode):
    values = {"indices": np.int32([1, 4]), "updates": np.float32(7)}
    got, _ = run_op("ResourceScatterUpdate", {"resource": TABLE}, values, {}, mode)
    np.testing.assert_array_equal(got["resource"][[1, 4]], np.full((2, 2), 7))
    np.testing.assert_array_equal(got["resource"][[0, 2, 3]], TABLE[[0, 2, 3]])


@over_modes
def test_integer_division_goes_towards_zero(mode):
    values = {"indices": np.int32([0, 1, 0]), "updates": np.int32([-2, 4, 3])}
    got, _ = run_op("ResourceScatterDiv", {"resource": np.int32([17, -7])}, values, {}, mode)
    np.testing.assert_array_equal(got["resource"], [-2, -1])


@over_modes
def test_integer_division_by_zero_is_refused(mode):
    values = {"indices": np.int32([0]), "updates": np.int32([0])}
    with pytest.raises(errors.InvalidArgumentError, match="division by zero"):
        run_op("ResourceScatterDiv", {"resource": np.int32([17, -7])}, values, {}, mode)


@over_modes
@pytest.mark.parametrize("index", [-1, 5])
@pytest.mark.parametrize("op", ["ResourceScatterAdd", "ResourceScatterDiv"])
def test_a_row_out_of_range_is_named(mode, index, op):
    values = {"indices": np.int32([2, index]), "updates": np.ones((2, 2), np.float32)}
    with pytest.raises(
        errors.InvalidArgumentError, match=rf"indices\[1\] = {index} is not in \[0, 5\)"
    ):
        run_op(op, {"resource": TABLE}, values, {}, mode)


@over_modes
@pytest.mark.parametrize("kind", ["Add", "Sub", "Min", "Max", "Update"])
@pytest.mark.parametrize(
    ("positions", "shape"),
    [([[3], [0], [3]], (3, 2)), ([[3, 1], [0, 0]], (2,))],
    ids=["rows", "elements"],
)
def test_scatter_nd(mode, kind, positions, shape):
    updates = RNG.normal(size=shape).astype(np.float32)
    values = {"indices": np.int64(positions), "updates": updates}
    got, _ = run_op(f"ResourceScatterNd{kind}", {"ref": TABLE}, values, {}, mode)
    wanted = scattered(kind, TABLE, [tuple(p) for p in positions], updates)
    np.testing.assert_allclose(got["ref"], wanted, 1e-6)


@over_modes
def test_scatter_nd_of_the_whole_variable(mode):
    values = {"indices": np.zeros((2, 0), np.int32), "updates": np.stack([TABLE, TABLE])}
    got, _ = run_op("ResourceScatterNdAdd", {"ref": TABLE}, values, {}, mode)
    np.testing.assert_allclose(got["ref"], 3 * TABLE, 1e-6)


@over_modes
def test_scatter_nd_can_leave_bad_positions_out(mode):
    values = {"indices": np.int32([[3, 1], [9, 0], [-1, 0]]), "updates": np.float32([1, 2, 3])}
    attrs = {"bad_indices_policy": "IGNORE"}
    got, _ = run_op("ResourceScatterNdUpdate", {"ref": TABLE}, values, attrs, mode)
    np.testing.assert_array_equal(got["ref"], scattered("Update", TABLE, [(3, 1)], [np.float32(1)]))


@over_modes
def test_scatter_nd_names_the_position(mode):
    values = {"indices": np.int32([[3, 1], [1, 2]]), "updates": np.float32([1, 2])}
    with pytest.raises(
        errors.InvalidArgumentError, match=r"indices\[1\] = \[1, 2\] does not index"
    ):
        run_op("ResourceScatterNdAdd", {"ref": TABLE}, values, {}, mode)


@over_modes
@pytest.mark.parametrize("batch_dims", [0, 1, -1])
def test_gather(mode, batch_dims):
    table = RNG.normal(size=(2, 4, 3)).astype(np.float32)
    indices = np.int32([[1, 0], [0, 1]])
    _, (got,) = run_op(
        "ResourceGather",
        {"resource": table},
        {"indices": indices},
        {"batch_dims": batch_dims, "dtype": "float32"},
        mode,
    )
    wanted = (
        table[indices]
        if not batch_dims
        else np.stack([t[i] for t, i in zip(table, indices, strict=True)])
    )
    np.testing.assert_array_equal(got, wanted)


@over_modes
def test_gather_nd_and_shape(mode):
    values = {"indices": np.int32([[4, 1], [0, 0]])}
    _, (got,) = run_op("ResourceGatherNd", {"resource": TABLE}, values, {"dtype": "float32"}, mode)
    np.testing.assert_array_equal(got, TABLE[[4, 0], [1, 0]])
    _, (shape,) = run_op("VariableShape", {"input": TABLE}, {}, {"out_type": "int64"}, mode)
    assert shape.tolist() == [5, 2]
    assert shape.dtype == np.int64


@over_modes
@pytest.mark.parametrize("indices", [[-1], [5]])
def test_gather_checks_its_indices(mode, indices):
    with pytest.raises(errors.InvalidArgumentError, match=rf"= {indices[0]} is not in \[0, 5\)"):
        run_op(
            "ResourceGather",
            {"resource": TABLE},
            {"indices": np.int32(indices)},
            {"dtype": "float32"},
            mode,
        )


SLICES = [
    ((1,), (4,), (1,), (3, 2), {}, np.s_[1:4]),
    ((1,), (4,), (2,), (), {}, np.s_[1:4:2]),
    ((4,), (0,), (-2,), (2, 2), {}, np.s_[4:0:-2]),
    ((2,), (3,), (1,), (2,), {"shrink_axis_mask": 1}, np.s_[2]),
    ((0, 1), (0, 2), (1, 1), (5, 1), {"begin_mask": 1, "end_mask": 1}, np.s_[:, 1:2]),
    ((0, 0), (0, 1), (1, 1), (5,), {"ellipsis_mask": 1, "shrink_axis_mask": 2}, np.s_[..., 0]),
]


@over_modes
@pytest.mark.parametrize(("begin", "end", "strides", "shape", "masks", "index"), SLICES)
def test_slice_assignment(mode, begin, end, strides, shape, masks, index):
    value = RNG.normal(size=shape).astype(np.float32)
    bounds = dict(
        zip(("begin", "end", "strides"), map(np.int32, (begin, end, strides)), strict=True)
    )
    got, _ = run_op(
        "ResourceStridedSliceAssign", {"ref": TABLE}, {**bounds, "value": value}, masks, mode
    )
    wanted = TABLE.copy()
    wanted[index] = value
    np.testing.assert_array_equal(got["ref"], wanted)


@over_modes
@pytest.mark.parametrize(("op", "sign"), [("AssignAddVariableOp", 1), ("AssignSubVariableOp", -1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "complex64"])
def test_assign_add_and_sub_keep_the_dtype(mode, op, sign, dtype):
    old, delta = np.array([3, 2], dtype), np.array([2, 1], dtype)
    got, _ = run_op(op, {"resource": old}, {"value": delta}, {}, mode)
    np.testing.assert_array_equal(got["resource"], old + delta if sign > 0 else old - delta)
    assert got["resource"].dtype == dtype


@pytest.mark.parametrize("size", [7, 300_001])
def test_assign_add_and_sub_write_where_the_array_is(size):
    v = tf.Variable(np.zeros(size, np.float32))
    delta = np.arange(size, dtype=np.float32)
    cell = v.handle._array.resource
    cell.write(np.zeros(size, np.float32))  # which nothing else has
    before = id(cell.value)
    for _ in range(2):
        v.assign_add(delta, read_value=False)
    v.assign_sub(3 * delta, read_value=False)
    assert id(cell.value) == before
    np.testing.assert_array_equal(v.numpy(), -delta)


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16])
def test_short_floats_are_updated(dtype):
    v = tf.Variable(tf.constant([1, 2], dtype))
    v.assign_add(tf.constant([2, 2], dtype))
    v.scatter_sub(tf.IndexedSlices(tf.constant([1], dtype), tf.constant([0])))
    assert v.numpy().astype(np.float32).tolist() == [2, 4]


def test_reading_and_assigning_check_the_dtype():
    v = tf.Variable([1.0])
    with pytest.raises(
        errors.InvalidArgumentError, match=r"wrong dtype\. Expected float32 got int32"
    ):
        tf.raw_ops.AssignVariableOp(resource=v.handle, value=tf.constant([1]))
    with pytest.raises(
        errors.InvalidArgumentError, match=r"wrong dtype\. Expected float32 got int32"
    ):
        tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.int32)


def _table():
    return tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32)


ON_VARIABLES = {
    "AssignVariableOp": {"value": np.float32(1)},
    "AssignAddVariableOp": {"value": np.float32(1)},
    "AssignSubVariableOp": {"value": np.ones(100_000, np.float32)},
    "VariableShape": {},
    "ResourceCountUpTo": {"limit": 3, "T": tf.int32},
    "ResourceGather": {"indices": [1], "dtype": tf.float32},
    "ResourceScatterAdd": {"indices": [0], "updates": [1.0]},
    "ResourceApplyGradientDescent": {"alpha": 1.0, "delta": [1.0]},
}


@pytest.mark.parametrize("op", ON_VARIABLES)
def test_other_resources_are_no_variables(op):
    raw = getattr(tf.raw_ops, op)
    name = {"VariableShape": "input", "ResourceApplyGradientDescent": "var"}.get(op, "resource")

    def run(handle):
        found = raw(**{name: handle}, **ON_VARIABLES[op])
        return found if isinstance(found, tf.Tensor) else None  # or it would not run

    for way in (run, tf.function(run)):
        with pytest.raises(errors.InvalidArgumentError, match=r"expected a variable, got.*Table"):
            way(_table())


def test_other_resources_have_no_value():
    def is_there(handle):
        return tf.raw_ops.VarIsInitializedOp(resource=handle)

    def read(handle):
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    assert not is_there(_table())
    assert not tf.function(is_there)(_table())
    with pytest.raises(errors.FailedPreconditionError, match="Could not find variable"):
        read(_table())
    with pytest.raises(errors.InvalidArgumentError, match="expected a variable"):
        tf.function(read)(_table())  # a step takes all its variables before it reads one


def test_validated_assignment_keeps_the_shape():
    v = tf.Variable([1.0], shape=[None])
    v.assign([1.0, 2.0])
    value = tf.constant([1.0])
    with pytest.raises(
        errors.InvalidArgumentError, match=r"wrong shape. Expected \(2,\) got \(1,\)"
    ):
        tf.raw_ops.AssignVariableOp(resource=v.handle, value=value, validate_shape=True)
    tf.raw_ops.AssignVariableOp(resource=v.handle, value=value)
    assert v.numpy().tolist() == [1.0]


def test_counting_stops_at_the_limit():
    v = tf.Variable(1)
    assert [int(v.count_up_to(3)), int(v.count_up_to(3))] == [1, 2]
    with pytest.raises(errors.OutOfRangeError, match="Reached limit of 3"):
        v.count_up_to(3)
    assert int(v) == 3


def test_destroyed_variables_have_no_value():
    v = tf.Variable([1.0])
    tf.raw_ops.DestroyResourceOp(resource=v.handle)
    assert not bool(v.is_initialized())
    with pytest.raises(errors.FailedPreconditionError, match="Could not find variable"):
        v.read_value()
    with pytest.raises(errors.NotFoundError, match="does not exist"):
        tf.raw_ops.DestroyResourceOp(resource=v.handle, ignore_lookup_error=False)


def test_handles_of_one_name_are_one_variable():
    graph = tf.Graph()
    with graph.as_default():
        attrs = {"dtype": "float32", "shape": [2], "shared_name": "shared"}
        a, b = execute("VarHandleOp", (), attrs, "a"), execute("VarHandleOp", (), attrs, "b")
        other = execute("VarHandleOp", (), {**attrs, "dtype": "int32"}, "c")
        assign = execute("AssignVariableOp", (a, tf.constant([1.0, 2.0])))
        known = execute("VarIsInitializedOp", (b,))
        read = execute("ReadVariableOp", (b,), {"dtype": "float32"})
        wrong = execute("ReadVariableOp", (other,), {"dtype": "int32"})
    run = Runner(graph)
    assert not run([known])[0]
    run((), [assign])
    assert run([known])[0]
    assert run([read])[0].tolist() == [1.0, 2.0]
    with pytest.raises(errors.InvalidArgumentError, match="Give it another shared_name"):
        run([wrong])


def test_handles_without_a_name_are_one_variable():
    graph = tf.Graph()
    with graph.as_default():
        attrs = {"dtype": "float32", "shape": []}
        a, b = execute("VarHandleOp", (), attrs, "a"), execute("VarHandleOp", (), attrs, "b")
        named = execute("VarHandleOp", (), {**attrs, "shared_name": "a"}, "c")
        assign = execute("AssignVariableOp", (a, 1.0))
        read, other = [execute("ReadVariableOp", (h,), {"dtype": "float32"}) for h in (b, named)]
    run = Runner(graph)
    run((), [assign])
    assert run([read]) == [1.0]
    with pytest.raises(errors.FailedPreconditionError, match="initialized"):
        run([other])


def test_one_position_is_written_as_it_is_read():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert tf.tensor_scatter_nd_update(x, [1, 0], 9.0).numpy()[1, 0] == 9.0
    assert tf.scatter_nd([1, 0], x[0, 0], [2, 2]).numpy()[1, 0] == 1.0
    v = tf.Variable(x)
    assert v.scatter_nd_update([1, 0], 9.0).numpy()[1, 0] == 9.0


def test_shapes_are_checked_when_the_graph_is_built():
    with tf.Graph().as_default():
        v = tf.Variable(TABLE)
        with pytest.raises(
            ValueError, match=r"updates.shape \(3,\), indices.shape \(1,\), params.shape \(5, 2\)"
        ):
            tf.raw_ops.ResourceScatterAdd(resource=v.handle, indices=[1], updates=tf.zeros([3]))
        with pytest.raises(ValueError, match=r"variable's shape \(5, 2\), got shape \(5, 3\)"):
            tf.raw_ops.AssignVariableOp(resource=v.handle, value=tf.zeros([5, 3]))
        with pytest.raises(
            ValueError, match=r"Cannot broadcast input shape \(3,\) into final shape \(2,\)"
        ):
            v[0].assign(tf.zeros([3]))
        gathered = tf.raw_ops.ResourceGather(resource=v.handle, indices=[[1, 2]], dtype=tf.float32)
        assert gathered.shape.as_list() == [1, 2, 2]


@pytest.mark.parametrize("later_check", [False, True])
def test_a_failed_region_leaves_scattered_rows_as_they_were(later_check):
    """Two scatters in one region, one fails: the failed one changes nothing."""
    graph = tf.Graph()
    with graph.as_default():
        v, w = (
            tf.Variable(np.zeros((3000, 8), np.float32)),
            tf.Variable(np.zeros((3000, 8), np.float32)),
        )
        bad = tf.compat.v1.placeholder(tf.int32, [2])
        first, second = (w, v) if later_check else (v, w)
        a = first.scatter_add(tf.IndexedSlices(tf.ones([2, 8]), tf.constant([0, 1])))
        with graph.control_dependencies([a.op]):
            b = second.scatter_add(tf.IndexedSlices(tf.ones([2, 8]), bad))
        reads = [v.value(), w.value()]
    run = Runner(graph)
    run((), [v.initializer, w.initializer])
    session = run.session
    plan = session.plan([], [bad], [a.op, b.op])
    session.run(plan, [np.int32([5, 6])])
    before = [r.sum() for r in run(reads)]
    assert before == [16.0, 16.0]
    with pytest.raises(errors.InvalidArgumentError, match="= 3000 is not in"):
        session.run(plan, [np.int32([5, 3000])])
    after = [r.sum() for r in run(reads)]
    assert after[0 if second is v else 1] == 16.0
