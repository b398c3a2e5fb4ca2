"""`get_variable` and its scopes, collections, partitions; modules."""

import numpy as np
import pytest
from tests.ops.variables_helper import Runner

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture
def graph():
    made = tf.Graph()
    with made.as_default():
        yield made


def test_variables_are_shared_by_name(graph):
    with v1.variable_scope("s"):
        first = v1.get_variable("v", [2])
        with pytest.raises(ValueError, match="Variable s/v already exists, disallowed"):
            v1.get_variable("v", [2])
    with v1.variable_scope("s", reuse=True):
        assert v1.get_variable("v") is first
        with pytest.raises(ValueError, match=r"specified shape \(3,\) and found shape \(2,\)"):
            v1.get_variable("v", [3])
        with pytest.raises(ValueError, match="specified dtype float64 and found dtype float32"):
            v1.get_variable("v", [2], tf.float64)
        with pytest.raises(ValueError, match="Variable s/w does not exist"):
            v1.get_variable("w", [2])
        with v1.variable_scope("inner") as inner:
            assert inner.reuse is True
    with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
        assert v1.get_variable("v", [2]) is first
        assert v1.get_variable("new", [2]).name == "s/new:0"


def test_names_of_scopes_and_operations(graph):
    def name():
        return tf.zeros([1], name="z").name.partition("/z")[0]

    with v1.variable_scope("s") as scope, v1.variable_scope("t"):
        assert v1.get_variable("v", [1]).name == "s/t/v:0"
        assert name() == "s/t"
    with v1.variable_scope("s"), v1.variable_scope("t"):
        assert v1.get_variable("w", [1]).name == "s/t/w:0"
        assert name() == "s_1/t"
    with v1.variable_scope(scope):
        assert v1.get_variable("x", [1]).name == "s/x:0"
        assert scope.original_name_scope == "s/"
    with v1.variable_scope(scope, auxiliary_name_scope=False):
        assert tf.zeros([1], name="outside").name == "outside:0"
    names = []
    for _ in range(2):
        with v1.variable_scope(None, default_name="d"):
            names.append(v1.get_variable("v", [1]).name)
    assert names == ["d/v:0", "d_1/v:0"]
    with v1.variable_op_scope([], None, "d") as third:
        assert third.name == "d_2"


@pytest.mark.parametrize(
    ("enter", "error", "message"),
    [
        (lambda: v1.variable_scope(None), TypeError, "name_or_scope is required"),
        (lambda: v1.variable_scope(3).__enter__(), TypeError, "must be a string or VariableScope"),
        (lambda: v1.variable_scope("x", reuse=3), ValueError, "must be True or False or None"),
        (
            lambda: v1.variable_scope(None, "d", reuse=True).__enter__(),
            ValueError,
            "cannot be used without a name_or_scope",
        ),
        (lambda: v1.get_variable("v"), ValueError, "`shape` argument must be specified"),
        (
            lambda: v1.get_variable("v", [2], initializer=tf.constant([1.0, 2.0])),
            ValueError,
            "If initializer is a constant, do not specify shape",
        ),
        (
            lambda: v1.get_variable("v", initializer=v1.zeros_initializer()),
            ValueError,
            "initializer passed is not valid",
        ),
        (
            lambda: v1.get_variable("v", dtype=tf.int32, initializer=1.5),
            ValueError,
            "explicit dtype .*int32.* don't match",
        ),
        (
            lambda: v1.get_variable("v", [1], collections="x"),
            ValueError,
            "must be a list, tuple, or set",
        ),
    ],
)
def test_bad_arguments(graph, enter, error, message):
    with pytest.raises(error, match=message):
        enter()
    assert not graph.get_collection("variables")


def test_scopes_give_defaults(graph):
    ones = v1.ones_initializer()
    regularizer = lambda v: tf.reduce_sum(v)  # noqa: E731
    with v1.variable_scope("s", initializer=ones, dtype=tf.float64, regularizer=regularizer):
        v = v1.get_variable("v", [2])
        with v1.variable_scope("t", initializer=v1.zeros_initializer()):
            w = v1.get_variable("w", [2], tf.float32, regularizer=v1.no_regularizer)
    i = v1.get_variable("i", [2], tf.int32)
    (loss,) = graph.get_collection("regularization_losses")
    values = [v.value(), w.value(), i.value(), loss]
    run = Runner(graph.as_graph_element(loss).graph)
    assert (v.dtype, w.dtype) == (tf.float64, tf.float32)
    run((), [x.initializer for x in (v, w, i)])
    assert [np.asarray(x).tolist() for x in run(values)] == [[1, 1], [0, 0], [0, 0], 2.0]


def test_custom_getters_nest(graph):
    calls = []

    def getter(label):
        def get(next_getter, name, *args, **kwargs):
            calls.append((label, name))
            return next_getter(f"{name}_{label}", *args, **kwargs)

        return get

    with v1.variable_scope("s", custom_getter=getter("a")):
        with v1.variable_scope("t", custom_getter=getter("b")):
            assert v1.get_variable("v", [1]).name == "s/t/v_b_a:0"
    assert calls == [("b", "s/t/v"), ("a", "s/t/v_b")]


def test_collections_and_initialization(graph):
    v = v1.get_variable("v", initializer=[1.0, 2.0])
    local = v1.get_local_variable("local", [2], initializer=v1.ones_initializer())
    frozen = v1.get_variable("frozen", [1], trainable=False, collections=["variables", "mine"])
    assert v1.global_variables() == [v, frozen]
    assert v1.trainable_variables() == [v]
    assert v1.local_variables() == [local]
    assert graph.get_collection("mine") == [frozen]
    assert v1.global_variables(scope="fro") == [frozen]
    report = v1.report_uninitialized_variables()
    init, local_init = v1.global_variables_initializer(), v1.local_variables_initializer()
    ranks = v1.assert_variables_initialized()
    run = Runner(graph)
    assert run([report])[0].tolist() == [b"v", b"frozen", b"local"]
    with pytest.raises(tf.errors.FailedPreconditionError, match="Could not find variable"):
        run([ranks])
    run((), [init])
    assert run([report])[0].tolist() == [b"local"]
    run((), [local_init])
    assert run([report])[0].tolist() == []
    assert run([ranks])[0].tolist() == [1, 1, 1]


def test_partitioned_variables(graph):
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    with v1.variable_scope("s", partitioner=v1.fixed_size_partitioner(3)):
        whole = v1.get_variable("p", initializer=tf.constant(rows))
        assert v1.get_variable("scalar", [], tf.int32).name == "s/scalar:0"
    assert [p.name for p in whole] == ["s/p/part_0:0", "s/p/part_1:0", "s/p/part_2:0"]
    specs = [p._get_save_slice_info().spec for p in whole]
    assert specs == ["10 2 0,4:0,2", "10 2 4,3:0,2", "10 2 7,3:0,2"]
    assert (whole.name, whole.shape.as_list(), len(whole)) == ("s/p", [10, 2], 3)
    read, doubled = tf.convert_to_tensor(whole), whole.assign(tf.constant(2 * rows))
    assert read.name == "s/p:0"
    with v1.variable_scope("s", reuse=True):
        assert v1.get_variable("p") is whole
        with pytest.raises(ValueError, match=r"partitions \[2, 1\] and found partitions \[3, 1\]"):
            v1.get_variable("p", [10, 2], partitioner=v1.fixed_size_partitioner(2))
    run = Runner(graph)
    run((), [p.initializer for p in whole])
    np.testing.assert_array_equal(run([read])[0], rows)
    run((), [d.op for d in doubled])
    np.testing.assert_array_equal(run([read])[0], 2 * rows)


@pytest.mark.parametrize(
    ("partitioner", "wanted"),
    [
        (
            v1.min_max_variable_partitioner(max_partitions=4, min_slice_size=64),
            [[4, 1], [1, 1], [1], [4]],
        ),
        (v1.variable_axis_size_partitioner(64), [[25, 1], [1, 1], [1], [63]]),
        (v1.variable_axis_size_partitioner(64, max_shards=3), [[3, 1], [1, 1], [1], [3]]),
    ],
)
def test_partitioners(partitioner, wanted):
    shapes = ([100, 4], [2, 2], [8], [1000])
    assert [partitioner(shape=tf.TensorShape(s), dtype=tf.float32) for s in shapes] == wanted
    with pytest.raises(ValueError, match="Cannot partition variable along axis 0"):
        partitioner(shape=tf.TensorShape([]), dtype=tf.float32)


def test_eager_mode_makes_a_new_variable_each_time():
    with v1.variable_scope("s"):
        first, second = v1.get_variable("v", [2]), v1.get_variable("v", [2])
    assert first is not second
    assert first.name == second.name == "s/v:0"
    assert v1.global_variables_initializer() is None


def test_functions_that_update_variables():
    v = tf.Variable([1.0, 2.0, 3.0])
    assert v1.assign(v, [3.0, 2.0, 1.0]).numpy().tolist() == [3, 2, 1]
    assert v1.assign_add(v, [1.0] * 3).numpy().tolist() == [4, 3, 2]
    assert v1.assign_sub(v, [1.0] * 3).numpy().tolist() == [3, 2, 1]
    assert v1.scatter_update(v, [0], [9.0]).numpy().tolist() == [9, 2, 1]
    assert v1.scatter_add(v, [0, 0], [1.0, 1.0]).numpy().tolist() == [11, 2, 1]
    assert v1.scatter_nd_sub(v, [[0]], [10.0]).numpy().tolist() == [1, 2, 1]
    assert int(v1.count_up_to(tf.Variable(4), 5)) == 4
    assert bool(v1.is_variable_initialized(v))


class Layer(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.w = tf.Variable([[1.0]], name="w")
        self.fixed = tf.Variable([1.0], name="fixed", trainable=False)

    @tf.Module.with_name_scope
    def make(self):
        return tf.Variable(1.0, name="made").name


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Layer(), Layer("second")]
        self.table = {"x": Layer("third"), "again": self.layers[0]}
        self.own = tf.Variable(1.0, name="own")


def test_modules_list_what_they_hold_once():
    net = Net()
    assert net.name == "net"
    names = ["own:0", "fixed:0", "w:0", "fixed:0", "w:0", "fixed:0", "w:0"]
    assert [v.name for v in net.variables] == names
    assert [v.name for v in net.trainable_variables] == ["own:0"] + ["w:0"] * 3
    assert len(net.non_trainable_variables) == 3
    assert [m.name for m in net.submodules] == ["layer", "second", "third"]
    assert net.layers[0].make() == "layer/made:0"
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module(name="not valid")


def test_modules_are_trackable():
    net = Net()
    children = net._trackable_children()
    assert set(children) == {"layers", "table", "own"}
    assert children["layers"]._trackable_children() == dict(zip("01", net.layers, strict=True))
    assert net._trackable_children()["layers"] is children["layers"]
    net.own = None
    assert "own" not in net._trackable_children()


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_callable_initializer_gives_the_shape_that_was_asked_for(graph, use_resource):
    open_value = v1.placeholder_with_default([1.0, 2.0], [None])
    with pytest.raises(ValueError, match=r"\(3,\)|\[3\]"):
        v1.get_variable(
            "w", [2], initializer=lambda *_, **__: tf.ones([3]), use_resource=use_resource
        )
    v = v1.get_variable(
        "v",
        [2],
        initializer=lambda *_, **__: open_value,
        validate_shape=False,
        use_resource=use_resource,
    )
    assert v.shape == [2]


def test_a_reference_variable_takes_a_value_that_nobody_validates(graph):
    options = {"validate_shape": False, "use_resource": False}
    v = v1.get_variable("v", [2], initializer=lambda *_, **__: tf.ones([3]), **options)
    run = Runner(graph)
    run((), [v.initializer])
    assert run([v.value()])[0].tolist() == [1, 1, 1]


def test_creators_are_told_the_shape_and_the_kind_of_a_variable(graph):
    told = []

    def creator(make, **options):
        told.append((options["shape"], options["use_resource"]))
        return make(**options)

    with v1.variable_creator_scope(creator):
        v1.get_variable("v", [2])
        v1.get_variable("w", initializer=1.0, use_resource=False)
    assert told == [([2], True), (None, False)]


def test_a_partitioner_does_not_cut_what_is_whole(graph):
    with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
        v1.get_variable("v", [4])
        with pytest.raises(ValueError, match="expected one without parts"):
            v1.get_variable("v", [4], partitioner=v1.fixed_size_partitioner(2))


def test_a_custom_getter_takes_its_arguments_by_name_in_any_order(graph):
    def twice(name, getter, **options):
        return getter(name, **options) * 2.0

    ones = v1.ones_initializer()
    made = [v1.get_variable("v", [2], initializer=ones, custom_getter=twice)]
    with v1.variable_scope("s", custom_getter=twice):
        made.append(v1.get_variable("v", [2], initializer=ones))
    run = Runner(graph)
    run((), [v1.global_variables_initializer()])
    assert [value.tolist() for value in run(made)] == [[2, 2], [2, 2]]
