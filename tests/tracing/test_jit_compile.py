"""jit_compile=True: one compiled region, or an error that names what stands in the way."""

import numpy as np
import pytest

import penstock as tf
from penstock.tracing.concrete import plan_of


def _plan(function, *args):
    return plan_of(function.get_concrete_function(*args).body)


def test_the_whole_function_is_one_compiled_region() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function(jit_compile=True)
    def f(x):
        v.assign_add(x)
        return x * 2.0 + v

    x = tf.constant([1.0, 1.0])
    np.testing.assert_array_equal(f(x).numpy(), [4.0, 5.0])
    np.testing.assert_array_equal(v.numpy(), [2.0, 3.0])
    assert [item.kind for item in _plan(f, x).items] == ["region"]
    assert _plan(f, x).compiled_count == 1


def test_every_size_is_compiled() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)], jit_compile=True)
    def f(x):
        return tf.reduce_sum(x)

    assert [float(f(tf.ones([n]))) for n in (1, 2, 3)] == [1.0, 2.0, 3.0]
    assert _plan(f).compiled_count == 3


@pytest.mark.parametrize("choice", [False, None])
def test_otherwise_nothing_is_refused(choice) -> None:
    @tf.function(jit_compile=choice)
    def f(x):
        return tf.strings.format("{}", x)

    assert f(tf.constant(3)).numpy() == b"3"


def _refused(call):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    text = str(caught.value)
    assert "Detected unsupported operations" in text
    assert "test_jit_compile.py:" in text
    assert "leave jit_compile out" in text
    return text


def test_operations_that_cannot_be_compiled_are_all_named() -> None:
    @tf.function(jit_compile=True)
    def f(x):
        (y,) = tf.numpy_function(lambda a: a, [x], [tf.float32])
        return tf.strings.format("{}", y)

    text = _refused(lambda: f(tf.constant(1.0)))
    assert "PyFunc" in text
    assert "StringFormat" in text
    assert "in compiled regions" in text


def test_operations_in_branches_are_named() -> None:
    @tf.function(jit_compile=True)
    def f(x):
        def loud():
            tf.print(x)
            return x

        return tf.cond(x > 0.0, loud, lambda: -x)

    assert "PrintV2" in _refused(lambda: f(tf.constant(1.0)))


def test_operations_in_branches_of_branches_are_named_with_the_reason() -> None:
    @tf.function(jit_compile=True)
    def f(x):
        def inner():
            return tf.cond(x[1] < 0.0, lambda: tf.numpy_function(abs, [x], tf.float32), lambda: x)

        return tf.cond(x[0] > 0.0, inner, lambda: x)

    text = _refused(lambda: f(tf.constant([1.0, 2.0])))
    assert "PyFunc {{node PyFunc}} defined at" in text
    assert "(there is no kernel for it in compiled regions)" in text


def test_a_size_that_only_the_values_say_is_refused_by_name() -> None:
    @tf.function(jit_compile=True)
    def f(x):
        return tf.zeros(tf.cast(tf.reduce_sum(x), tf.int32)[None])

    assert "Fill" in _refused(lambda: f(tf.constant([1.0, 2.0])))


def test_a_call_inside_another_function_keeps_the_promise() -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def inner(x):
        v.assign_add(x)
        return v * 2.0

    @tf.function
    def outer(x):
        first = inner(x)
        second = inner(x)
        tf.numpy_function(lambda a: a, [second], tf.float32)
        return first, second

    assert [float(r) for r in outer(tf.constant(1.0))] == [2.0, 4.0]
    assert float(v) == 2.0

    @tf.function(jit_compile=True)
    def bad(x):
        return tf.numpy_function(lambda a: a, [x], tf.float32)

    @tf.function
    def calls_bad(x):
        return bad(x)

    _refused(lambda: calls_bad(tf.constant(1.0)))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(tf.function(lambda x: x * 3.0, jit_compile=True)(2.0)) == 6.0
        _refused(lambda: session.run(bad(tf.constant(1.0))))


def test_a_compiled_function_in_a_compiled_one_is_part_of_its_region() -> None:
    inner = tf.function(lambda x: x * 2.0, jit_compile=True)

    @tf.function(jit_compile=True)
    def outer(x):
        return tf.while_loop(lambda a: a < 10.0, lambda a: (inner(a),), (x,))[0]

    x = tf.constant(1.0)
    assert float(outer(x)) == 16.0
    assert [item.kind for item in _plan(outer, x).items] == ["region"]


def test_gradients_are_compiled_as_a_whole_too() -> None:
    f = tf.function(lambda x: tf.tanh(x) * x, jit_compile=True)
    plain = tf.function(lambda x: tf.tanh(x) * x)
    x = tf.constant([0.5, 1.5])

    def slopes(function):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            first = inner.gradient(y, x)
        return [first, outer.gradient(first, x)]

    for got, wanted in zip(slopes(f), slopes(plain), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5)
    body = f.get_concrete_function(x).body
    made = [view for view in body.backward.values() if hasattr(view, "must_compile")]
    made += [kept.body for kept in body.backward.values() if hasattr(kept, "body")]
    assert made
    assert all(view.must_compile for view in made)


def test_assertions_are_checked_inside() -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x):
        tf.debugging.assert_positive(x, message="no luck")
        v.assign(x)
        return x

    assert float(f(tf.constant(2.0))) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="no luck"):
        f(tf.constant(-1.0))
    assert float(v) == 2.0


def test_assertions_are_checked_in_branches_and_rounds() -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x, count):
        for i in tf.range(count):
            tf.debugging.Assert(i < 5, [i])
            if x > 0.0:
                tf.debugging.assert_less(x, 3.0, message="too much")
                v.assign_add(x)
        return v + 0.0

    assert float(f(tf.constant(1.0), 3)) == 3.0
    for x, count, problem in [(4.0, 2, "too much"), (1.0, 6, r"failed: \[5\]")]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=problem):
            f(tf.constant(x), count)
        assert float(v) == 3.0


@pytest.mark.parametrize("compiled", [True, None])
def test_assertions_about_numbers_in_rounds_that_are_compiled(compiled) -> None:
    @tf.function(jit_compile=compiled)
    def f(x):
        return tf.while_loop(lambda i, y: i < 8, checked, [0, x])[1]

    def checked(i, y):
        with tf.control_dependencies([tf.debugging.Assert(y < 5.0, [y])]):
            return i + 1, y + 1.0

    assert float(f(tf.constant(-3.0))) == 5.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"failed: \[5\]"):
        f(tf.constant(0.0))


def test_one_variable_given_twice_is_refused() -> None:
    v = tf.Variable(1.0)

    @tf.function(jit_compile=True)
    def f(one):
        v.assign(2.0)
        return tf.raw_ops.ReadVariableOp(resource=one, dtype=tf.float32)

    with pytest.raises(tf.errors.InvalidArgumentError, match="one twice"):
        f(v.handle)


def test_what_the_compiler_makes() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function(jit_compile=True)
    def f(x):
        return v.assign_add(x) * 2.0

    ir = f.experimental_get_compiler_ir(tf.TensorSpec([2], tf.float32))
    assert "HloModule" in ir()
    assert "f32[2]" in ir(stage="hlo")
    assert "stablehlo.add" in ir(stage="stablehlo")
    assert "is_scheduled=true" in ir(stage="optimized_hlo")
    assert isinstance(ir(stage="hlo_serialized"), bytes)
    assert isinstance(ir(stage="optimized_hlo_serialized"), bytes)
    assert "metadata" not in ir(stage="hlo_no_metadata")
    assert ir(stage="stablehlo_serialized").startswith(b"ML\xefR")
    assert ir(stage="optimized_hlo_dot").startswith("digraph")
    assert ir(stage="optimized_hlo_proto_serialized")[:1] == b"\n"  # its one field
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"Invalid stage selected.*'optimized_hlo'.*got 'x'"):
        ir(stage="x")


def test_values_that_are_needed_are_constants_of_the_compiler_ir() -> None:
    total = tf.function(lambda x, axis: tf.reduce_sum(x, axis), jit_compile=True)
    x = tf.constant([[1.0, 2.0]])
    assert "->f32[2]{0}}" in total.experimental_get_compiler_ir(x, tf.constant(0))()
    assert "->f32[1]{0}}" in total.experimental_get_compiler_ir(x, tf.constant(1))()
    with pytest.raises(tf.errors.InvalidArgumentError, match="the value of input"):
        total.experimental_get_compiler_ir(x, tf.TensorSpec([], tf.int32))()


def test_what_has_no_compiler_ir() -> None:
    x = tf.constant([1.0])
    with pytest.raises(ValueError, match="jit_compile=True"):
        tf.function(lambda x: x + 1.0).experimental_get_compiler_ir(x)
    f = tf.function(lambda x: x + 1.0, jit_compile=True)
    with pytest.raises(ValueError, match="static input shape"):
        f.experimental_get_compiler_ir(tf.TensorSpec([None], tf.float32))()
    nothing = tf.function(lambda x: None, jit_compile=True)
    with pytest.raises(ValueError, match="nothing to compile"):
        nothing.experimental_get_compiler_ir(x)()


@pytest.mark.parametrize(
    ("given", "kept"), [(True, "autoclustering"), ("autoclustering", "autoclustering"), (3, "")]
)
def test_the_setting_is_kept(given, kept) -> None:
    tf.config.optimizer.set_jit(given)
    assert tf.config.optimizer.get_jit() == kept
    tf.config.optimizer.set_jit(False)
    assert tf.config.optimizer.get_jit() == ""


def test_sizes_may_come_from_integer_arguments():
    @tf.function(jit_compile=True)
    def ranged(start, count):
        return tf.range(count) + start

    assert ranged(tf.constant(1), tf.constant(3)).numpy().tolist() == [1, 2, 3]
    assert ranged(tf.constant(5), tf.constant(2)).numpy().tolist() == [5, 6]
    assert ranged.experimental_get_tracing_count() == 1
    region = ranged.get_concrete_function(tf.constant(1), tf.constant(3)).body.plan.region
    compiled = region.compiled_count
    ranged(tf.constant(9), tf.constant(2))
    assert region.compiled_count == compiled  # another start is no other size


def test_a_size_that_depends_on_other_values_is_refused():
    @tf.function(jit_compile=True)
    def filled(x):
        return tf.zeros([tf.cast(tf.reduce_sum(x), tf.int32)])

    with pytest.raises(tf.errors.InvalidArgumentError, match="value of input 'dims' is needed"):
        filled(tf.ones([3]))


def test_slices_that_do_not_fit_say_where() -> None:
    f = tf.function(lambda x, begin: tf.slice(x, begin, [1, 2]), jit_compile=True)
    x = tf.reshape(tf.range(6), [2, 3])
    assert f(x, tf.constant([1, 1])).numpy().tolist() == [[4, 5]]
    for begin, text in [
        ([2, 0], r"Expected size\[0\] in \[0, 0\], but got 1"),
        ([0, 4], r"Expected begin\[1\] in \[0, 3\], but got 4"),
        ([0, -1], r"Expected begin\[1\] in \[0, 3\], but got -1"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            f(x, tf.constant(begin))


def test_the_initialization_function():
    class Counter:
        v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(3.0)
            return self.v + x

    counter = Counter()
    initialize = counter.__call__.get_initialization_function(tf.constant(1.0))
    assert initialize() is None
    assert float(counter.v) == 3.0
    with pytest.raises(RuntimeError, match="after the function has been used"):
        counter.__call__.get_initialization_function(tf.constant(1.0))


def _along(x):
    """A product along rows without a first value, one with it, and rows squared."""
    products = tf.scan(lambda a, b: a * b, x)
    sums = tf.scan(lambda a, b: a + b * b, x, initializer=tf.ones([], x.dtype))
    return tf.reduce_sum(products**2) + tf.reduce_sum(sums * tf.map_fn(tf.sin, x))


def _with_derivatives(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = _along(x)
        first = inner.gradient(y, x)
        total = tf.reduce_sum(first * first)
    return y, first, outer.gradient(total, x)


def test_scans_are_compiled_with_both_derivatives() -> None:
    def total(v):
        products, sums = np.cumprod(v), 1.0 + np.cumsum(v * v)
        return (products**2).sum() + (sums * np.sin(v)).sum()

    def slope(v, function, h=1e-5):
        steps = np.eye(len(v)) * h
        return np.array([(function(v + s) - function(v - s)) / (2 * h) for s in steps])

    x = np.array([1.0, -0.5, 2.0])
    compiled = tf.function(_with_derivatives, jit_compile=True)
    y, first, second = (t.numpy() for t in compiled(tf.constant(x)))
    np.testing.assert_allclose(y, total(x), rtol=1e-12)
    np.testing.assert_allclose(first, slope(x, total), rtol=1e-7)
    squared = slope(x, lambda v: (slope(v, total, 1e-4) ** 2).sum(), 1e-3)
    np.testing.assert_allclose(second, squared, rtol=1e-4)


def test_a_derivative_keeps_no_list_that_it_has_no_use_for() -> None:
    concrete = tf.function(_with_derivatives).get_concrete_function(tf.TensorSpec([3], tf.float64))
    made = [op for op in concrete.graph.get_operations() if op.type == "EmptyTensorList"]
    assert made == []


def _kinds(function, *args):
    return [item.kind for item in _plan(function, *args).items]


def test_what_makes_sizes_of_values_runs_between_compiled_parts() -> None:
    @tf.function(jit_compile=True)
    def f(x):
        y = tf.sin(x) * 2.0 + 1.0
        kept = tf.boolean_mask(y, y > 1.0)
        return tf.reduce_sum(tf.exp(kept) * 3.0), tf.where(y > 1.0)[:, 0]

    x = tf.constant([0.5, -0.5, 1.0, -1.0])
    for given in (x, -x, x[:1], tf.zeros([3])):
        y = np.sin(given.numpy()) * 2 + 1
        total, places = f(given)
        np.testing.assert_allclose(total, (np.exp(y[y > 1]) * 3).sum(), rtol=1e-5)
        np.testing.assert_array_equal(places, np.flatnonzero(y > 1))
    kinds = _kinds(f, x)
    assert "host" in kinds
    assert kinds.count("region") > 1


def test_such_operations_in_every_form() -> None:
    values = tf.constant([3, 1, 3, 2, 1])
    boxes = tf.constant([[0.0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3]])

    @tf.function(jit_compile=True)
    def f(values, boxes, scores):
        first, second = tf.dynamic_partition(values, values % 2, 2)
        return (
            tf.unique(values),
            tf.raw_ops.ListDiff(x=values, y=values[1:2]),
            first,
            second,
            tf.image.non_max_suppression(boxes, scores, 3),
        )

    unique, different, even, odd, kept = f(values, boxes, tf.constant([0.9, 0.8, 0.7]))
    assert unique.y.numpy().tolist() == [3, 1, 2]
    assert unique.idx.numpy().tolist() == [0, 1, 0, 2, 1]
    assert different.out.numpy().tolist() == [3, 3, 2]
    assert (even.numpy().tolist(), odd.numpy().tolist()) == ([2], [3, 1, 3, 1])
    assert kept.numpy().tolist() == [0, 2]


def test_they_may_be_in_loops_and_branches_and_have_gradients() -> None:
    variable = tf.Variable([1.0, -2.0, 3.0])

    @tf.function(jit_compile=True)
    def f(x):
        with tf.GradientTape() as tape:
            y = x * variable
            total = tf.reduce_sum(tf.boolean_mask(y, y > 0.0) ** 2)
        sums = tf.map_fn(lambda r: tf.reduce_sum(tf.boolean_mask(x, x > r)), x)
        chosen = tf.cond(total > 0.0, lambda: tf.where(x > 0.0), lambda: tf.where(x < 0.0))
        variable.assign_add(tf.ones([3]))
        return tape.gradient(total, variable), sums, chosen

    gradient, sums, chosen = f(tf.constant([1.0, 2.0, 3.0]))
    assert gradient.numpy().tolist() == [2.0, 0.0, 54.0]
    assert sums.numpy().tolist() == [5.0, 3.0, 0.0]
    assert chosen.numpy().tolist() == [[0], [1], [2]]
    assert variable.numpy().tolist() == [2.0, -1.0, 4.0]


def test_only_what_else_is_in_the_way_is_named() -> None:
    @tf.function(jit_compile=True)
    def f(x):
        tf.print(tf.boolean_mask(x, x > 0.0))
        return tf.where(x > 0.0)

    text = _refused(lambda: f(tf.constant([1.0])))
    assert "PrintV2" in text
    assert "Where" not in text


def test_texts_are_refused_with_their_line_beside_them_too() -> None:
    @tf.function(jit_compile=True)
    def alone(x):
        return tf.cond(x > 0.0, lambda: tf.constant("a"), lambda: tf.constant("b"))

    @tf.function(jit_compile=True)
    def beside(x):
        return tf.where(x[None] > 0.0), tf.while_loop(lambda s: x < 0.0, lambda s: [s], ["a"])

    for f in (alone, beside):
        assert "hold no values of dtype string" in _refused(lambda f=f: f(tf.constant(1.0)))


def test_parts_have_no_single_view_of_the_compiler() -> None:
    @tf.function(jit_compile=True)
    def f(x):
        return tf.where(x > 0.0)

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in parts, around Where"):
        f.experimental_get_compiler_ir(tf.constant([1.0]))()
