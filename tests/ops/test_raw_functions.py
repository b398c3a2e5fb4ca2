"""Raw operations that take functions: concrete functions, in every mode; what is refused.

Results and classes of errors were seen in TensorFlow 2.21, except where the comment says otherwise.
"""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
raw = tf.raw_ops
F = tf.float32
INVALID, MISSING = tf.errors.InvalidArgumentError, tf.errors.NotFoundError


def concrete(function, *specs):
    return tf.function(function).get_concrete_function(*[tf.TensorSpec(s, t) for s, t in specs])


SCALAR = ([], F)


@pytest.fixture(scope="module")
def made():
    return {
        "double": concrete(lambda x: x * 2.0, SCALAR),
        "more": concrete(lambda x: x + 1.0, SCALAR),
        "below": concrete(lambda x: x < 100.0, SCALAR),
        "both": concrete(lambda x, y: (x * y, x + tf.sin(y)), SCALAR, ([3], F)),
        "round": concrete(lambda i, x: x * 2.0 + tf.cast(i, F), ([], tf.int32), SCALAR),
    }


CALLS = {
    "If": (lambda m, x: raw.If(cond=x > 0, input=[x], Tout=[F], then_branch=m["double"],
                               else_branch=m["more"]), 6.0, 2.0),
    "StatelessIf": (lambda m, x: raw.StatelessIf(cond=x < 0, input=[x], Tout=[F],
                                                 then_branch=m["double"],
                                                 else_branch=m["more"]), 4.0, 1.0),
    "Case": (lambda m, x: raw.Case(branch_index=7, input=[x], Tout=[F],
                                   branches=[m["double"], m["more"]]), 4.0, 1.0),
    "StatelessCase": (lambda m, x: raw.StatelessCase(branch_index=0, input=[x], Tout=[F],
                                                     branches=[m["double"], m["more"]]), 6.0, 2.0),
    "While": (lambda m, x: raw.While(input=[x], cond=m["below"], body=m["double"]), 192.0, 64.0),
    "StatelessWhile": (lambda m, x: raw.StatelessWhile(input=[x], cond=m["below"],
                                                       body=m["double"]), 192.0, 64.0),
    "PartitionedCall": (lambda m, x: raw.PartitionedCall(args=[x], Tout=[F], f=m["double"]),
                        6.0, 2.0),
    "StatefulPartitionedCall": (
        lambda m, x: raw.StatefulPartitionedCall(args=[x], Tout=[F], f=m["double"]), 6.0, 2.0),
    "RemoteCall": (lambda m, x: raw.RemoteCall(target="/cpu:0", args=[x], Tout=[F],
                                               f=m["double"]), 6.0, None),
    "For": (lambda m, x: raw.For(start=3, limit=0, delta=-1, input=[x], body=m["round"]),
            41.0, None),
    "SymbolicGradient": (lambda m, x: raw.SymbolicGradient(input=[x, x], Tout=[F], f=m["double"]),
                         6.0, None),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_concrete_function_is_taken_in_every_mode(made, name):
    call, value, derivative = CALLS[name]
    assert float(call(made, tf.constant(3.0))[0]) == value
    assert float(tf.function(lambda x: call(made, x))(tf.constant(3.0))[0]) == value
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(F, [], name="x")
        y = tf.identity(call(made, x)[0], name="y")
        assert session.run(y, {x: 3.0}) == value
        if derivative is None:
            with pytest.raises(LookupError):
                tf.gradients(y, x)
        else:
            assert session.run(tf.gradients(y, x), {x: 3.0}) == [derivative]
        saved = graph.as_graph_def()
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(saved, name="")
        assert session.run("y:0", {"x:0": 3.0}) == value


def test_loops_that_share_a_body_have_gradients_each(made):
    def run(x):
        (y,) = raw.StatelessWhile(input=[x], cond=made["below"], body=made["double"])
        (z,) = raw.StatelessWhile(input=[x * 40.0], cond=made["below"], body=made["double"])
        return y, z

    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(F, [], name="x")
        y, z = run(x)
        assert session.run(tf.gradients([y, z], x), {x: 3.0}) == [64.0 + 40.0]
        assert session.run([y, z], {x: 3.0}) == [192.0, 120.0]
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(F, [], name="x")
        [tf.identity(t, name=n) for t, n in zip(run(x), "yz", strict=True)]
    with tf.Graph().as_default(), v1.Session() as session:
        x, y, z = tf.import_graph_def(graph.as_graph_def(), return_elements=["x:0", "y:0", "z:0"])
        assert session.run(tf.gradients([y, z], x), {x: 3.0}) == [64.0 + 40.0]
    assert len(made["double"].inputs) == 1


@pytest.mark.parametrize(
    ("start", "limit", "delta", "value"),
    [(0, 3, 2, 14.0), (1, 2, 5, 7.0), (2, 2, 1, 3.0), (0, 0, 0, 3.0), (0, 3, 1, 28.0)],
)
def test_rounds_of_for(made, start, limit, delta, value):
    assert float(raw.For(start=start, limit=limit, delta=delta, input=[3.0],
                         body=made["round"])[0]) == value  # fmt: skip


@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 3, 0), (3, 0, 1), (0, 3, -1)])
def test_for_refuses_a_step_that_does_not_lead_there(made, start, limit, delta):
    with pytest.raises(INVALID, match=f"leads from {start} to {limit}, got {delta}"):
        raw.For(start=start, limit=limit, delta=delta, input=[3.0], body=made["round"])


def test_for_writes_variables_and_random_rounds_differ():
    v = tf.Variable(1.0)

    def body(i, x, handle):
        raw.AssignAddVariableOp(resource=handle, value=x)
        return x + 1.0, handle

    f = concrete(body, ([], tf.int32), SCALAR, ([], tf.resource))
    x, _ = raw.For(start=0, limit=3, delta=1, input=[1.0, v.handle], body=f)
    assert (float(x), float(v)) == (4.0, 7.0)
    f = concrete(lambda i, x: x + tf.random.uniform([1000]), ([], tf.int32), ([1000], F))
    (total,) = raw.For(start=0, limit=2, delta=1, input=[tf.zeros([1000])], body=f)
    assert len(set(total.numpy().tolist())) > 900
    first = raw.For(start=0, limit=1, delta=1, input=[tf.zeros([1000])], body=f)[0]
    assert abs(np.corrcoef(first, total)[0, 1]) < 0.9


def test_symbolic_gradients_of_several_outputs(made):
    y = tf.constant([1.0, 2.0, 3.0])
    dx, dy = raw.SymbolicGradient(input=[3.0, y, y, y], Tout=[F, F], f=made["both"])
    np.testing.assert_allclose(dx, 20.0)
    np.testing.assert_allclose(dy, 3.0 * y + y * tf.cos(y), 1e-6)


def test_symbolic_gradients_are_zeros_where_none_flows():  # TensorFlow differentiates integers
    f = concrete(lambda x, i: x * tf.cast(i, F), SCALAR, ([], tf.int32))
    dx, di = raw.SymbolicGradient(input=[3.0, 2, 1.0], Tout=[F, tf.int32], f=f)
    assert (float(dx), int(di)) == (2.0, 0)


def test_captured_values_are_inputs():
    v = tf.Variable(2.0)
    f = concrete(lambda x: x * v, SCALAR)
    assert raw.StatefulPartitionedCall(args=[3.0, *f.captured_inputs], Tout=[F], f=f)[0] == 6.0
    with pytest.raises(INVALID, match=r"\(float32\) -> \(float32\), got .*see captured_inputs"):
        raw.StatefulPartitionedCall(args=[3.0], Tout=[F], f=f)


@pytest.mark.parametrize("target", ["", "/device:CPU:0", "CPU:0", "/job:localhost/cpu:0"])
def test_targets_of_remote_calls(made, target):
    assert raw.RemoteCall(target=target, args=[3.0], Tout=[F], f=made["double"])[0] == 6.0


@pytest.mark.parametrize(
    ("target", "error"),
    [("/device:CPU:9", tf.errors.InternalError), ("/job:no/cpu:0", tf.errors.InternalError),
     ("garbage", INVALID)],
)  # fmt: skip
def test_unknown_targets_are_refused(made, target, error):
    with pytest.raises(error, match=f"as target, got '{target}'"):
        raw.RemoteCall(target=target, args=[3.0], Tout=[F], f=made["double"])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: raw.PartitionedCall(args=[3.0], Tout=[F], f="no"), MISSING,
         "'no' was not found"),
        (lambda m: raw.For(start=0, limit=1, delta=1, input=[3.0], body=m["double"]), INVALID,
         r"\(int32, float32\) -> \(float32\), got"),
        (lambda m: raw.For(start=[0], limit=1, delta=1, input=[3.0], body=m["round"]), INVALID,
         "rank 0"),
        (lambda m: raw.While(input=[3.0], cond=m["both"], body=m["double"]), INVALID,
         "expected a function"),
        (lambda m: raw.PartitionedCall(args=[3], Tout=[F], f=m["double"]), INVALID, "int32"),
        # NotFoundError, InternalError and InvalidArgumentError in TensorFlow; TypeError in graphs
        (lambda m: raw.PartitionedCall(args=[3.0], Tout=[F], f=tf.function(lambda x: x)), TypeError,
         "its get_concrete_function"),
        (lambda m: raw.PartitionedCall(args=[3.0], Tout=[F], f=lambda x: x), TypeError,
         "a concrete function"),
    ],
)  # fmt: skip
def test_what_is_no_function_or_does_not_fit_is_refused(made, call, error, words):
    with pytest.raises(error, match=words):
        call(made)
