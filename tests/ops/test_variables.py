"""`tf.Variable`, eagerly, in graphs and in functions; and that a value once read never changes."""

import copy
import gc
import pickle
import threading

import numpy as np
import pytest
from tests.ops.variables_helper import Runner

import penstock as tf
from penstock import errors
from penstock.core.resources import VariableCell

BIG = 40_000  # elements: beyond the host kernels' limit, so that updates are compiled and in place


def slices(values, indices):
    return tf.IndexedSlices(tf.constant(values), tf.constant(indices))


# Making.


def test_a_variable_describes_itself():
    v = tf.Variable([1.0, 2.0, 3.0], name="v")
    assert (
        repr(v)
        == "<tf.Variable 'v:0' shape=(3,) dtype=float32, numpy=array([1., 2., 3.], dtype=float32)>"
    )
    assert str(v) == repr(v)
    assert (v.name, v.dtype, v.shape.as_list(), v.trainable) == ("v:0", tf.float32, [3], True)
    assert v.synchronization is tf.VariableSynchronization.AUTO
    assert v.aggregation == tf.VariableAggregation.NONE
    assert v.initializer is None
    assert v.constraint is None
    assert repr(tf.Variable(1.5)) == "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.5>"
    assert repr(tf.Variable("a")) == "<tf.Variable 'Variable:0' shape=() dtype=string, numpy=b'a'>"


@pytest.mark.parametrize(
    ("make", "dtype", "shape"),
    [
        (lambda: tf.Variable(lambda: [1.0, 2.0], dtype=tf.float64), tf.float64, [2]),
        (lambda: tf.Variable([1.0, 2.0], shape=[None]), tf.float32, [None]),
        (lambda: tf.Variable([1, 2], dtype=tf.float32), tf.float32, [2]),
        (lambda: tf.Variable(np.array([1.0])), tf.float64, [1]),
        (lambda: tf.Variable(["a", "b"]), tf.string, [2]),
        (lambda: tf.Variable(tf.Variable(True)), tf.bool, []),
    ],
)
def test_dtype_and_shape_follow_from_the_arguments(make, dtype, shape):
    v = make()
    assert (v.dtype, v.shape.as_list()) == (dtype, shape)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.Variable(), "initial_value"),
        (lambda: tf.Variable([1.0, 2.0], shape=[3]), r"\(\(2,\)\) is not compatible .* \(\[3\]\)"),
        (lambda: tf.Variable(tf.constant([1]), dtype=tf.float32), "requested dtype float32"),
        (lambda: tf.Variable(1.0, constraint=3), "must be None or a callable"),
        (lambda: tf.Variable(1.0, synchronization=7), "Invalid variable synchronization mode: 7"),
        (lambda: tf.Variable(1.0, aggregation=7), "Invalid variable aggregation mode: 7"),
        (lambda: tf.Variable(1.0, variable_def=object()), "mutually exclusive"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_names_follow_the_scopes():
    with tf.name_scope("a"):
        assert tf.Variable(1.0, name="v").name == "a/v:0"
        assert tf.Variable(1.0, name="v").name == "a/v:0"
    assert tf.Variable(1.0, name="b/c").name == "b/c:0"


def test_creators_run_innermost_first():
    calls = []

    def creator(label):
        def create(next_creator, **kwargs):
            calls.append((label, kwargs["name"]))
            return next_creator(**{**kwargs, "name": kwargs["name"] + label})

        return create

    with tf.variable_creator_scope(creator("x")), tf.variable_creator_scope(creator("y")):
        assert tf.Variable(1.0, name="v").name == "vyx:0"
    assert calls == [("y", "v"), ("x", "vy")]
    assert tf.Variable(1.0, name="v").name == "v:0"


# Reading.


def test_operators_work_on_the_value():
    v = tf.Variable([1.0, -2.0])
    for got, wanted in [
        (v + 1, [2, -1]),
        (1 + v, [2, -1]),
        (3 - v, [2, 5]),
        (v * v, [1, 4]),
        (v / 2, [0.5, -1]),
        (2 / v, [2, -1]),
        (v**2, [1, 4]),
        (-v, [-1, 2]),
        (abs(v), [1, 2]),
        (v % 3, [1, 1]),
        (v // 2, [0, -1]),
        (np.float32([1, 1]) + v, [2, -1]),
    ]:
        assert got.numpy().tolist() == wanted
    assert (v > 0).numpy().tolist() == [True, False]
    assert (v == [1.0, 2.0]).numpy().tolist() == [True, False]
    assert (v != [1.0, 2.0]).numpy().tolist() == [False, True]
    assert (tf.Variable([[2.0]]) @ [[3.0]]).numpy().tolist() == [[6.0]]
    with pytest.raises(RuntimeError, match="assign_add"):
        v += 1


def test_python_conversions():
    v = tf.Variable([3.0, 4.0])
    assert [float(x) for x in v] == [3.0, 4.0]
    assert (int(tf.Variable(3)), float(tf.Variable(2.5)), bool(tf.Variable(0))) == (3, 2.5, False)
    assert np.asarray(v).tolist() == [3.0, 4.0]
    assert np.asarray(v, np.int64).dtype == np.int64
    assert tf.convert_to_tensor(v).dtype is tf.float32
    with pytest.raises(ValueError, match="Incompatible type conversion requested to type float64"):
        tf.convert_to_tensor(v, tf.float64)


FILTER = tf.Variable(tf.ones([1, 1, 1, 1]))


@pytest.mark.parametrize(
    "call",
    [
        lambda v: tf.matmul([[1, 2]], v),
        lambda v: tf.add(tf.constant([1]), v),
        lambda v: tf.concat([tf.constant([[1, 2]]), v], 0),
        lambda v: tf.raw_ops.MatMul(a=tf.constant([[1, 2]]), b=v),
        lambda v: tf.reduce_all(v),
        lambda v: tf.nn.conv2d(tf.ones([1, 2, 2, 1], tf.float64), FILTER, 1, "SAME"),
    ],
)
def test_operands_of_another_dtype(call):
    v = tf.Variable([[1.0, 2.0]])
    with pytest.raises(errors.InvalidArgumentError, match="float"):
        call(v)
    with pytest.raises(TypeError, match="float"):
        tf.function(lambda: call(v))()


def test_sparse_reads():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert v.sparse_read([1, 1]).numpy().tolist() == [[3.0, 4.0]] * 2
    assert v.gather_nd([[1, 0]]).numpy().tolist() == [3.0]
    assert tf.gather(v, [0]).numpy().tolist() == [[1.0, 2.0]]
    with pytest.raises(errors.InvalidArgumentError, match=r"= 2 is not in \[0, 2\)"):
        tf.gather(v, [2])


def test_equality_makes_variables_unhashable_and_ref_does_not():
    v = tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"use variable.ref\(\) as the key"):
        hash(v)
    assert {v.ref(): 1}[v.ref()] == 1
    assert v.ref().deref() is v


def test_copies_are_independent():
    v = tf.Variable([1.0, 2.0], name="v", trainable=False, shape=[None])
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert (other.name, other.trainable) == ("v:0", False)
        other.assign_add([1.0, 1.0])
        assert v.numpy().tolist() == [1.0, 2.0]
    assert copy.copy(v) is v
    copied = copy.deepcopy(v)
    assert copied.shape.as_list() == [None]
    assert copied.assign([1.0, 2.0, 3.0]).numpy().tolist() == [1.0, 2.0, 3.0]


def test_names_are_text():
    for make in (tf.Variable, tf.compat.v1.Variable):
        with pytest.raises(ValueError, match="name_scope must be a string, got 3"):
            make(1, name=3)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="must be a string"):
        tf.Variable(1, name=3)
    assert tf.Variable(1, name=0).name == ":0"


def test_set_shape_narrows():
    v = tf.Variable([1.0, 2.0], shape=[None])
    v.set_shape([2])
    assert v.shape.as_list() == [2]
    with pytest.raises(ValueError, match="not compatible"):
        v.set_shape([3])


# Updating.


def test_assignments_give_the_variable_after_them():
    v = tf.Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]).numpy().tolist() == [3.0, 4.0]
    assert v.assign_add([1.0, 1.0]).numpy().tolist() == [4.0, 5.0]
    assert v.assign_sub([1.0, 1.0]).assign_add([2.0, 2.0]).numpy().tolist() == [5.0, 6.0]
    assert v.assign([0.0, 0.0], read_value=False) is None
    assert repr(v.assign([1.0, 1.0])).startswith("<tf.Variable 'UnreadVariable' shape=(2,)")


@pytest.mark.parametrize(
    ("update", "error", "message"),
    [
        (
            lambda v: v.assign([1.0]),
            ValueError,
            r"shape \(2,\), and the assigned value shape \(1,\)",
        ),
        (lambda v: v.assign(["a", "b"]), TypeError, "Cannot convert"),
        (lambda v: v.assign(tf.constant([1, 2])), ValueError, "requested dtype float32"),
        (lambda v: v.assign_add([1.0]), errors.InvalidArgumentError, r"\(2,\), got shape \(1,\)"),
        (lambda v: v.assign_add(1.0), errors.InvalidArgumentError, r"\(2,\), got shape \(\)"),
        (lambda v: v.scatter_add(3), TypeError, "must be a `tf.IndexedSlices`"),
        (lambda v: v.scatter_add(slices([1.0], [2])), errors.InvalidArgumentError, "= 2 is not in"),
        (lambda v: v[0].assign([1.0, 2.0]), errors.InvalidArgumentError, r"into final shape \(\)"),
    ],
)
def test_updates_that_do_not_fit_change_nothing(update, error, message):
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(error, match=message):
        update(v)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_scatters():
    v = tf.Variable([2.0, 3.0, 4.0])
    twice = slices([1.0, 2.0], [0, 0])
    results = {
        n: getattr(v, f"scatter_{n}")(twice).numpy().tolist()[0]
        for n in ("add", "sub", "mul", "div", "min", "max", "update")
    }
    assert results == {"add": 5, "sub": 2, "mul": 4, "div": 2, "min": 1, "max": 2, "update": 2}
    assert v.scatter_nd_add([[0], [2]], [10.0, 20.0]).numpy().tolist() == [12, 3, 24]
    assert v.scatter_nd_sub([[0]], [10.0]).numpy().tolist() == [2, 3, 24]
    assert v.scatter_nd_max([[0]], [5.0]).numpy().tolist() == [5, 3, 24]
    assert v.scatter_nd_min([[0]], [1.0]).numpy().tolist() == [1, 3, 24]
    assert v.scatter_nd_update([[1]], [7.0]).numpy().tolist() == [1, 7, 24]
    m = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert m.batch_scatter_update(slices([[9.0], [8.0]], [[0], [1]])).numpy().tolist() == [
        [9, 2],
        [3, 8],
    ]


def test_slices_can_be_assigned_to():
    v = tf.Variable(np.zeros((3, 4), np.float32))
    v[1, 2].assign(5.0)
    v[:, 0].assign([1.0, 2.0, 3.0])
    v[tf.constant(2), 1:3].assign(7.0)
    assert v.numpy().tolist() == [[1, 0, 0, 0], [2, 0, 5, 0], [3, 7, 7, 0]]
    assert v[1:].numpy().tolist() == [[2, 0, 5, 0], [3, 7, 7, 0]]
    assert not hasattr(tf.constant(1.0), "assign")
    with pytest.raises(AttributeError, match="assign"):
        (v[0] + 1).assign(1.0)


def test_a_variable_without_a_known_shape_takes_any():
    v = tf.Variable([1.0], shape=tf.TensorShape(None))
    assert v.assign([[1.0, 2.0]]).numpy().tolist() == [[1.0, 2.0]]
    assert "shape=<unknown>" in repr(v)


# Gradients.


def test_tapes_watch_trainable_variables():
    v, frozen = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0], trainable=False)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * frozen) + tf.reduce_sum(v.gather_nd([[1], [1]]))
    assert [x is v for x in tape.watched_variables()] == [True]
    dv, df = tape.gradient(y, [v, frozen])
    assert tf.convert_to_tensor(dv).numpy().tolist() == [3.0, 6.0]
    assert df is None


@pytest.mark.parametrize("batch_dims", [0, 1])
def test_the_gradient_of_a_gather(batch_dims):
    v = tf.Variable(np.arange(12, dtype=np.float32).reshape(2, 3, 2))
    with tf.GradientTape() as tape:
        rows = (
            tf.gather(v, [[0, 2], [1, 1]], batch_dims=batch_dims, axis=batch_dims)
            if batch_dims
            else tf.gather(v, [1, 1])
        )
        y = tf.reduce_sum(rows * rows)
    grad = tape.gradient(y, v)
    assert isinstance(grad, tf.IndexedSlices) == (batch_dims == 0)
    value, wanted = v.numpy(), np.zeros((2, 3, 2), np.float32)
    for index in [(0, 0), (0, 2), (1, 1), (1, 1)] if batch_dims else [1, 1]:
        wanted[index] += 2 * value[index]
    np.testing.assert_allclose(tf.convert_to_tensor(grad).numpy(), wanted)


# Graphs and functions.


def test_a_graph_has_operations_for_a_variable():
    graph = tf.Graph()
    with graph.as_default():
        v = tf.Variable([1.0, 2.0], name="v")
        assert [o.name for o in graph.get_operations()] == [
            "v/Initializer/initial_value",
            "v",
            "v/IsInitialized/VarIsInitializedOp",
            "v/Assign",
            "v/Read/ReadVariableOp",
        ]
        assert v.op.get_attr("shared_name") == b"v"
        assert v.initializer is graph.get_operation_by_name("v/Assign")
        assert v.initial_value.name == "v/Initializer/initial_value:0"
        assert (
            graph.get_collection("variables") == graph.get_collection("trainable_variables") == [v]
        )
        assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32>"
        updated = v.assign_add([1.0, 1.0])
        doubled = updated * 2.0
        scattered = v.scatter_add(slices([10.0], [1])).value()
        sliced = v[:1].assign([0.0]).value()
        with pytest.raises(NotImplementedError, match="eager"):
            v.numpy()
        with pytest.raises(NotImplementedError, match="deepcopy"):
            copy.deepcopy(v)
        for kind in (int, float, complex):
            with pytest.raises(AttributeError, match=rf"{kind.__name__}\(variable\): expected"):
                kind(v)
        assert {v: 1}[v] == 1
        read = v.value()
    run = Runner(graph)
    with pytest.raises(errors.FailedPreconditionError, match="Could not find variable v"):
        run([read])
    run((), [v.initializer])
    assert run([doubled])[0].tolist() == [4.0, 6.0]
    assert run([scattered])[0].tolist() == [2.0, 13.0]
    assert run([sliced])[0].tolist() == [0.0, 13.0]
    assert run([read])[0].tolist() == [0.0, 13.0]


def test_a_variable_comes_back_from_its_message():
    graph = tf.Graph()
    with graph.as_default():
        v = tf.Variable([1.0, 2.0], name="v", trainable=False)
        v._set_save_slice_info(tf.Variable.SaveSliceInfo("whole", [4], [2], [2]))
        again = tf.Variable.from_proto(v.to_proto())
        assert again.handle is v.handle
        assert (again.trainable, again.shape.as_list(), again.dtype) == (False, [2], tf.float32)
        assert again._get_save_slice_info().spec == "4 2,2"
        assert v.to_proto(export_scope="other") is None


def test_functions_read_and_update_variables():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        v.assign_add(x)
        before = v.value()
        v.scatter_sub(slices([100.0], [0]))
        return before, v * 1.0

    before, after = step(tf.constant([1.0, 1.0]))
    assert before.numpy().tolist() == [2.0, 3.0]
    assert after.numpy().tolist() == [-98.0, 3.0]
    step(tf.constant([1.0, 1.0]))
    assert v.numpy().tolist() == [-197.0, 4.0]


# A value that was read never changes.


def update_in_place(v):
    v.assign_add(tf.ones([BIG]))


def updates():
    yield "assign_add", lambda v: v.assign_add(tf.ones([BIG]))
    yield "scatter", lambda v: v.scatter_add(slices(np.ones(3, np.float32), [0, 1, BIG - 1]))
    yield "slice", lambda v: v[:3].assign(v[:3] + 1.0)
    function = tf.function(lambda v_: v_.assign_add(tf.ones([BIG])).value())
    yield "function", function


def pushed(value):
    empty = tf.raw_ops.EmptyTensorList(
        element_shape=[BIG], max_num_elements=-1, element_dtype=tf.float32
    )
    return tf.raw_ops.TensorListPushBack(input_handle=empty, tensor=value)


def first(items):
    return tf.raw_ops.TensorListGetItem(
        input_handle=items, index=0, element_shape=[BIG], element_dtype=tf.float32
    ).numpy()


def optional_value(optional):
    return optional.get_value().numpy()


def captured(value):
    return tf.function(lambda: value * 1.0)


READERS = {
    "tensor": (lambda v: v.value(), lambda t: t.numpy()),
    "numpy view of a tensor": (lambda v: v.value().numpy(), lambda a: a),
    "numpy": (lambda v: v.numpy(), lambda a: a),
    "dlpack": (lambda v: np.from_dlpack(v.value()), lambda a: a),
    "identity": (lambda v: tf.identity(v), lambda t: t.numpy()),
    "copy": (lambda v: copy.copy(v.value()), lambda t: t.numpy()),
    "list": (lambda v: pushed(v.value()), first),
    "list of a function": (tf.function(lambda v: pushed(v.read_value())), first),
    "optional": (lambda v: tf.experimental.Optional.from_value(v.value()), optional_value),
    "tensor array": (
        lambda v: tf.TensorArray(tf.float32, 1, clear_after_read=False).write(0, v.value()),
        lambda a: a.read(0).numpy(),
    ),
    "capture": (lambda v: captured(v.value()), lambda f: f().numpy()),
    "python function": (
        lambda v: tf.py_function(lambda x: x, [v], tf.float32),
        lambda t: t.numpy(),
    ),
    "result of a function": (
        tf.function(lambda v: {"a": tf.identity(v)}),
        lambda r: r["a"].numpy(),
    ),
    "another variable": (lambda v: tf.Variable(v), lambda w: w.numpy()),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("kind", "update"), list(updates()), ids=[k for k, _ in updates()])
def test_a_value_read_before_an_update_stays(kind, update, reader):
    read, look = READERS[reader]
    v = tf.Variable(np.zeros(BIG, np.float32))
    update(v)  # from now on the variable owns its buffer and gives it away
    held = read(v)
    before = look(held).copy()
    for _ in range(3):
        update(v)
    np.testing.assert_array_equal(look(held), before)
    assert v.numpy()[0] != before[0]


def test_two_variables_never_share_a_buffer():
    a, b = tf.Variable(np.zeros(BIG, np.float32)), tf.Variable(np.zeros(BIG, np.float32))
    update_in_place(a)
    b.assign(a)
    update_in_place(a)
    update_in_place(b)
    update_in_place(b)
    assert (a.numpy()[0], b.numpy()[0]) == (2.0, 3.0)


def test_an_assigned_tensor_is_not_updated_with_the_variable():
    v, value = tf.Variable(np.zeros(BIG, np.float32)), tf.zeros([BIG]) + 5.0
    v.assign(value)
    update_in_place(v)
    update_in_place(v)
    assert value.numpy()[0] == 5.0
    assert v.numpy()[0] == 7.0


def test_updates_are_in_place_when_nobody_holds_the_value():
    v = tf.Variable(np.zeros(BIG, np.float32))
    add = tf.raw_ops.AssignAddVariableOp

    @tf.function(jit_compile=True)
    def update():
        add(resource=v.handle, value=tf.ones([BIG]))

    update()
    held = v.value()
    assert not v._cell.donatable
    del held
    gc.collect()
    assert v._cell.donatable
    where = v._cell.value.unsafe_buffer_pointer()
    update()
    assert v._cell.value.unsafe_buffer_pointer() == where


def test_updates_on_the_host_are_in_place_when_nobody_holds_the_value():
    v = tf.Variable(np.zeros(BIG, np.float32))
    update_in_place(v)
    where = v._cell.value.ctypes.data
    update_in_place(v)
    assert v._cell.value.ctypes.data == where
    held = v.value()
    update_in_place(v)
    assert v._cell.value.ctypes.data != where
    assert (held.numpy()[0], v.numpy()[0]) == (2.0, 3.0)


def test_a_failed_update_leaves_the_value():
    v = tf.Variable(np.zeros(BIG, np.float32))
    update_in_place(v)
    held = v.value()
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="is not in"):
            v.scatter_add(slices([1.0, 1.0], [0, BIG]))
        del held
        held = v.value()
    assert v.numpy().tolist() == [1.0] * BIG
    update_in_place(v)
    assert held.numpy()[0] == 1.0


def test_readers_in_other_threads_see_whole_values():
    """Every value a thread reads is one that some update left: all elements are equal."""
    v = tf.Variable(np.zeros(BIG, np.float32))
    stop, problems = threading.Event(), []

    def read():
        try:
            while not stop.is_set():
                value = v.value()
                first = value.numpy().copy()
                if not (first == first[0]).all() or not np.array_equal(first, value.numpy()):
                    problems.append((first[0], first[-1]))
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(60):
        update_in_place(v)
    stop.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert v.numpy()[0] == 60.0


def test_updates_from_many_threads_all_count():
    v = tf.Variable(np.zeros(BIG, np.float32))

    def add():
        for _ in range(20):
            update_in_place(v)

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy()[0] == 60.0


def test_a_variable_dies_with_its_last_user():
    gc.collect()
    before = sum(isinstance(o, VariableCell) for o in gc.get_objects())
    v = tf.Variable(np.zeros(BIG, np.float32))
    v.assign_add(tf.ones([BIG]))
    del v
    gc.collect()
    assert sum(isinstance(o, VariableCell) for o in gc.get_objects()) == before


def test_a_string_is_assigned_to_an_element():
    v = tf.Variable(["a", "b"])
    v[0].assign("c")
    assert v.numpy().tolist() == [b"c", b"b"]
    assert [type(element) for element in v.numpy()] == [bytes, bytes]


def test_modes_may_be_given_by_number():
    v = tf.Variable(1.0, aggregation=1, synchronization=2)
    assert v.aggregation is tf.VariableAggregation.SUM
    assert v.synchronization is tf.VariableSynchronization.ON_WRITE
    for wrong in ({"aggregation": 9}, {"synchronization": "x"}):
        with pytest.raises(ValueError, match="Pass one of"):
            tf.Variable(1.0, **wrong)


def test_the_logic_of_bools_and_a_variable_of_numbers():
    for logic in (lambda x, y: x & y, lambda x, y: x ^ y, lambda x, y: x | y):
        with pytest.raises(errors.InvalidArgumentError):
            logic(tf.constant([True]), tf.Variable([1]))


def test_a_variable_is_not_compared_with_a_reference():
    v = tf.Variable([1.0, 2.0])
    for other in (v, 3):
        with pytest.raises(TypeError, match="unwrapped"):
            v.ref() == other  # noqa: B015
    assert v.ref() == v.ref()


@pytest.mark.parametrize("shape", [[2], [None], None])
def test_a_stack_of_one_tensor_or_variable_is_itself(shape):
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(shape))
    function = tf.function(
        lambda x: (tf.stack(x), tf.stack(v)), [tf.TensorSpec(tf.TensorShape(shape), tf.float32)]
    )
    made = function.get_concrete_function()
    assert [output.shape.rank for output in made.outputs] == [None if shape is None else 1] * 2
    assert [x.numpy().tolist() for x in function(tf.constant([3.0, 4.0]))] == [[3, 4], [1, 2]]


def test_a_product_with_a_ragged_matrix():
    rows = tf.ragged.constant([[1.0], [2.0]])
    dense = tf.ones([2, 2])
    products = (dense @ rows, tf.Variable(dense) @ rows, tf.function(lambda: dense @ rows)())
    assert [product.numpy().tolist() for product in products] == [[[3], [3]]] * 3


def test_creators_are_told_the_modes_of_a_variable():
    told = {}

    def creator(make, **options):
        told.update(options)
        return make(**options)

    with tf.variable_creator_scope(creator):
        tf.Variable(1.0)
    assert told["aggregation"] is tf.VariableAggregation.NONE
    assert told["experimental_enable_variable_lifting"] is None
