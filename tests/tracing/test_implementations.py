"""Calls of functions that implement one thing for several devices."""

import pytest

import penstock as tf


def _pair(api, preferred="CPU", plain_preferred=None):
    """A function that adds 1, and one for a device that adds 100 in its place."""
    given = {"api_implements": api}
    other = {"api_preferred_device": plain_preferred} if plain_preferred else {}
    plain = tf.function(lambda x: x + 1.0, autograph=False, experimental_attributes=given | other)
    special = {**given, "api_preferred_device": preferred}
    fast = tf.function(lambda x: x + 100.0, autograph=False, experimental_attributes=special)
    return plain, fast


@pytest.mark.parametrize(
    ("preferred", "expected"), [("CPU", 100.0), ("GPU", 1.0), ("cpu", 1.0)], ids=str
)
@pytest.mark.parametrize("how", ["registered", "called"])
def test_a_call_runs_the_function_for_its_device(preferred, expected, how) -> None:
    plain, fast = _pair("add", preferred)

    @tf.function
    def program(x):
        result = plain(x)
        if how == "called":
            fast(x)
        else:
            fast.get_concrete_function(x).add_to_graph()
        return result

    assert program(tf.constant(0.0)).numpy() == expected


def test_a_function_that_nothing_else_implements_is_itself() -> None:
    plain, _ = _pair("add")
    assert tf.function(lambda x: plain(x))(tf.constant(0.0)).numpy() == 1.0


def test_functions_of_other_dtypes_or_names_are_no_stand_in() -> None:
    plain, _ = _pair("add")
    _, other_name = _pair("subtract")
    _, fast = _pair("add")

    @tf.function
    def program(x):
        other_name(x)
        fast(tf.constant(0.0, tf.float64))
        return plain(x)

    assert program(tf.constant(0.0)).numpy() == 1.0


def test_a_call_on_another_device_keeps_its_own() -> None:
    plain, fast = _pair("add", "CPU", plain_preferred="GPU")

    @tf.function
    def program(x):
        fast(x)
        with tf.device("GPU:0"):
            there = plain(x)
        return there, plain(x)

    tf.config.set_soft_device_placement(True)
    assert [y.numpy() for y in program(tf.constant(0.0))] == [1.0, 100.0]


def test_an_inner_function_finds_those_of_the_graph_around_it() -> None:
    plain, fast = _pair("add")

    @tf.function
    def program(x):
        fast(x)
        return tf.function(lambda y: 2.0 * plain(y))(x)

    assert program(tf.constant(0.0)).numpy() == 200.0


def test_what_is_compiled_whole_stays_what_it_names() -> None:
    plain, fast = _pair("add")

    @tf.function(jit_compile=True)
    def program(x):
        fast(x)
        return plain(x)

    assert program(tf.constant(0.0)).numpy() == 1.0


def test_a_graph_def_keeps_what_functions_implement() -> None:
    plain, fast = _pair("add")
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        plain(x)
        fast.get_concrete_function(x).add_to_graph()
    message = graph.as_graph_def()
    held = [{k: v.s for k, v in f.attr.items()} for f in message.library.function]
    assert {"api_implements": b"add", "api_preferred_device": b"CPU"} in held
    with tf.Graph().as_default() as again, tf.compat.v1.Session() as session:
        tf.import_graph_def(message, name="")
        call = next(o for o in again.get_operations() if o.type == "PartitionedCall")
        assert session.run(call.outputs[0], {"x:0": 0.0}) == 100.0


def _scaled(api):
    """A function that doubles x, and one for CPUs that triples it."""
    plain = tf.function(lambda x: 2.0 * x, experimental_attributes={"api_implements": api})
    special = {"api_implements": api, "api_preferred_device": "CPU"}
    fast = tf.function(lambda x: 3.0 * x, experimental_attributes=special)

    def either(x):
        result = plain(x)
        fast.get_concrete_function(x).add_to_graph()
        return result

    return either


def test_a_gradient_is_that_of_the_function_that_runs() -> None:
    either = _scaled("scale")
    x = tf.constant(1.0)

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = either(x)
        return y, tape.gradient(y, x)

    assert [v.numpy() for v in inside(x)] == [3.0, 3.0]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda v: either(v) ** 2)(x)
    assert [y.numpy(), tape.gradient(y, x).numpy()] == [9.0, 18.0]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = tf.compat.v1.placeholder(tf.float32, [])
        y = either(fed)
        (slope,) = tf.gradients(y, fed)
        assert session.run([y, slope], {fed: 1.0}) == [3.0, 3.0]


def test_a_derivative_that_is_taken_first_is_that_of_the_function_that_runs() -> None:
    either = _scaled("scale")

    @tf.function
    def forward(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = either(x)
        return y, accumulator.jvp(y)

    value, slope = forward(tf.constant(1.0))
    assert value.numpy() == slope.numpy()


@pytest.mark.parametrize("how", ["loop", "branch", "rows"])
def test_calls_in_loops_and_branches_run_the_function_for_their_device(how) -> None:
    either = _scaled("scale")
    ways = {
        "loop": lambda x: tf.while_loop(
            lambda i, _: i < 2, lambda i, v: (i + 1, either(v)), [0, x]
        )[1],
        "branch": lambda x: tf.cond(x > 0.0, lambda: 3.0 * either(x), lambda: x),
        "rows": lambda x: 3.0 * tf.map_fn(either, x[tf.newaxis])[0],
    }
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(ways[how])(x)
    assert [y.numpy(), tape.gradient(y, x).numpy()] == [9.0, 9.0]


def test_what_is_vectorised_stays_what_it_names() -> None:
    assert tf.vectorized_map(_scaled("scale"), tf.ones([2])).numpy().tolist() == [2.0, 2.0]
