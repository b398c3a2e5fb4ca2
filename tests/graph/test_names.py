"""Names of operations that public functions add to a graph, as TensorFlow 2.21 gives them."""

import pytest

import penstock as tf

v1 = tf.compat.v1


def added(build):
    """The operations that `build(variable, placeholder)` adds to a graph."""
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("v", [2, 2])
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        before = len(graph.get_operations())
        result = build(v, x)
        return result, [op.name for op in graph.get_operations()[before:]]


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (lambda v, x: tf.matmul(x, v), ["MatMul/ReadVariableOp", "MatMul"]),
        (lambda v, x: tf.matmul(v, v, name="q"), ["q/ReadVariableOp", "q/ReadVariableOp_1", "q"]),
        (lambda v, x: tf.reduce_sum(v), ["Const", "Sum/ReadVariableOp", "Sum"]),
        (lambda v, x: tf.reduce_mean(x), ["Const", "Mean"]),
        (lambda v, x: tf.reduce_mean(x, 0), ["Mean/reduction_indices", "Mean"]),
        (
            lambda v, x: tf.transpose(v),
            ["transpose/ReadVariableOp", "transpose/perm", "transpose"],
        ),
        (lambda v, x: tf.cast(v, tf.int32), ["Cast/ReadVariableOp", "Cast"]),
        (lambda v, x: tf.gather(v, [1], name="rows"), ["rows/indices", "rows"]),
        (
            lambda v, x: tf.nn.embedding_lookup(v, [1]),
            ["embedding_lookup/ids", "embedding_lookup", "embedding_lookup/Identity"],
        ),
        (
            lambda v, x: tf.nn.embedding_lookup(x, [1], name="e"),
            ["e/ids", "e/axis", "e", "e/Identity"],
        ),
    ],
)
def test_variables_are_read_in_the_scope_of_the_operation(build, names):
    result, found = added(build)
    assert found == names
    assert result.op.name == names[-1]


def test_the_gradient_of_a_sum_over_known_axes_is_short():
    _, found = added(lambda v, x: tf.gradients(tf.reduce_sum(x), x))
    assert found[-3:] == [
        "gradients/Sum_grad/Reshape",
        "gradients/Sum_grad/Shape",
        "gradients/Sum_grad/BroadcastTo",
    ]


def test_gradients_are_named_after_their_operations_scopes_and_all():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 3])
        with tf.name_scope("layer"):
            y = tf.matmul(x, tf.ones([3, 4]))
        with tf.name_scope("outer"):
            (grad,) = tf.gradients(y, x)
        assert grad.op.name == "outer/gradients/layer/MatMul_grad/MatMul"
        graph.get_operation_by_name("outer/gradients/grad_ys_0")
        (second,) = tf.gradients(tf.square(grad), y, grad_ys=[tf.ones([1, 2, 3])]) or [None]
        assert second is None


def test_sums_that_leave_unknown_sizes_have_their_gradient():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3, None])
        for axis in ([1], [0, 1], [-2, 2], [0, 1, 2], []):
            weights = tf.reduce_sum(x, axis)
            (grad,) = tf.gradients(tf.reduce_sum(tf.square(weights)), x)
            fed = [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]
            total = session.run(
                tf.broadcast_to(tf.reduce_sum(x, axis, keepdims=True), tf.shape(x)), {x: fed}
            )
            assert session.run(grad, {x: fed}).tolist() == (2 * total).tolist()


def test_tensors_of_a_plain_graph_are_equal_to_themselves_alone():
    with tf.Graph().as_default():
        a, b = tf.constant(1), tf.constant(1)
    for scope in (a.graph.as_default(), tf.Graph().as_default()):
        with scope:
            assert a == a
            assert a != b
    assert a == a  # eagerly too
    assert (a == b) is False
    assert a is not None


@pytest.mark.parametrize(("shape", "sizes"), [([2, 3], [2, 3]), ([None, 3], [-1, 3])])
def test_the_shape_of_a_sparse_placeholder_need_not_be_fed(shape, sizes):
    with tf.Graph().as_default(), v1.Session() as session:
        sparse = v1.sparse_placeholder(tf.float32, shape)
        assert sparse.shape.as_list() == shape
        assert sparse.dense_shape.op.type == "PlaceholderWithDefault"
        assert session.run(sparse.dense_shape).tolist() == sizes
        fed = v1.SparseTensorValue([[0, 1]], [2.0], [4, 3])
        assert session.run(sparse, {sparse: fed}).dense_shape.tolist() == [4, 3]


def test_a_scope_without_a_name_is_the_outermost_one():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), tf.name_scope("outer"):
        for arguments in ((None,), ("",), (None, ""), ("", "default")):
            with v1.name_scope(*arguments) as scope:
                assert (scope, tf.constant(1, name="x").name.partition("_")[0][0]) == ("", "x")
        with v1.name_scope(None, "default") as scope:
            assert scope == "outer/default/"
        with pytest.raises(TypeError, match="must be a string"), v1.name_scope(3):
            pass
    with tf.name_scope("outer"), v1.name_scope(None) as scope:
        assert (scope, tf.Variable(1.0, name="v").name) == ("", "v:0")


def test_names_in_a_graph_may_be_bytes():
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        assert tf.constant(1, name=b"x").name == "x:0"
        assert v1.Variable(1.0, name=b"v").name == "v:0"
        assert v1.get_variable(b"w", [1]).name == "w:0"
        with v1.name_scope(b"a") as scope, graph.name_scope(b"b"):
            assert (scope, tf.add(1, 2, name=b"y").name) == ("a/", "a/b/y:0")
        with pytest.raises(ValueError, match="not a valid node name"):
            tf.no_op(name=b"a b")
    with pytest.raises(ValueError, match="must be a string"):
        tf.Variable(1.0, name=b"v")


def test_a_name_of_nothing_but_a_slash_is_refused():
    with tf.Graph().as_default() as graph:
        for make in (
            tf.no_op,
            lambda name: tf.constant(1.0, name=name),
            lambda name: v1.placeholder(tf.int32, name=name),
        ):
            with pytest.raises(ValueError, match="not a valid node name"):
                make(name="/")
        assert graph.get_operations() == []
