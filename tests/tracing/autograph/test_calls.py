"""What calls convert and what they leave alone; methods, classes, decorators, side effects."""

import functools
import gc
import io
import types

import numpy as np
import pytest

import penstock as tf
from penstock.tracing.autograph.calls import converter
from penstock.tracing.autograph.loops import register_for

Feature = tf.autograph.experimental.Feature


def absolute(x):
    if x > 0:
        return x
    return -x


def check(function, *arguments, equal):
    assert int(tf.function(function)(*map(tf.constant, arguments))) == equal


class Base:
    scale = 3

    def __init__(self):
        self.total = tf.Variable(1)

    def helper(self, x):
        return x

    @staticmethod
    def size(x):
        if x > 0:
            return x
        return -x

    @classmethod
    def scaled(cls, x):
        return cls.size(x) * cls.scale if x > 1 else x

    @property
    def doubled(self):
        return self.total * 2

    @tf.function
    def call(self, x):
        if x > 0:
            self.total.assign_add(x)
        return self.helper(self.size(x)) + self.scaled(x) + self.doubled


class Derived(Base):
    def helper(self, x):
        if x > 0:
            return super().helper(x) * 2
        return x

    @tf.function
    def call(self, x):
        return super().call(x)

    def __call__(self, x):
        if x > 10:
            return x
        return self.helper(x)


def test_methods_of_all_kinds():
    base, derived = Base(), Derived()
    assert int(base.call(tf.constant(3))) == 3 + 9 + 8
    assert int(derived.call(tf.constant(3))) == 6 + 9 + 8
    assert int(derived.call(tf.constant(-3))) == 6 - 3 + 8


def test_callable_objects_and_partials():
    derived = Derived()
    check(derived, 4, equal=8)
    check(lambda x: derived(x), 11, equal=11)

    def chosen(a, b, *, times):
        if a > b:
            return a * times
        return b * times

    check(functools.partial(chosen, times=3), 1, 2, equal=6)
    check(lambda x: functools.partial(chosen, 5)(x, times=2), 1, equal=10)


def test_decorated_functions_and_lambdas():
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)

        return wrapper

    decorated = decorate(absolute)
    check(decorated, -2, equal=2)
    check(lambda x: decorated(x), -2, equal=2)
    check(lambda x: [(lambda y: y if y > 0 else -y)(x), 1][0], -3, equal=3)


def test_variables_as_conditions():
    on, count = tf.Variable(True), tf.Variable(0)

    @tf.function
    def chosen():
        return tf.constant(1) if on else tf.constant(2)

    @tf.function
    def counted():
        while count < 5:
            count.assign_add(2)
        return count.read_value()

    assert int(chosen()) == 1
    on.assign(False)
    assert int(chosen()) == 2
    assert int(counted()) == 6


def test_effects_only_of_the_branch_taken():
    v = tf.Variable(0)

    @tf.function
    def f(x):
        if x > 0:
            v.assign_add(1)
        else:
            v.assign_sub(10)

    for x in (1, 1, -1):
        f(tf.constant(x))
    assert int(v) == -8


def test_python_effects_happen_while_tracing():
    seen = []

    @tf.function
    def f(x):
        seen.append("start")
        if x > 0:
            seen.append("main")
        else:
            seen.append("else")
        for _ in tf.range(3):
            seen.append("round")
        return x

    f(tf.constant(1))
    f(tf.constant(-1))
    assert seen == ["start", "main", "else", "round"]


def test_a_python_condition_is_evaluated_once_each_round():
    queue = [0, 1, 2, 3]

    @tf.function
    def f(x):
        while queue.pop():
            x = x + 1
        return x

    assert int(f(tf.constant(0))) == 3
    assert queue == []


def test_do_not_convert():
    plain = tf.autograph.experimental.do_not_convert(absolute)
    assert plain.__name__ == "absolute"
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: plain(x))(tf.constant(1))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(plain)(tf.constant(1))

    inner = tf.function(absolute)

    @tf.autograph.experimental.do_not_convert()
    def calls_a_function(x):
        return inner(x)

    check(lambda x: calls_a_function(x), -2, equal=2)


def test_constructors_are_not_converted():
    class Made:
        def __init__(self, x):
            self.x = x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: Made(x).x)(tf.constant(1))


def test_locals_globals_and_eval():
    def f(x):
        y = x + 1
        assert "y" in locals()
        assert globals()["absolute"] is absolute
        y = eval("y * 2")
        return y if x > 0 else x

    check(f, 3, equal=8)


def test_optional_features(capfd):
    @tf.function(experimental_autograph_options=Feature.ALL)
    def noisy(x):
        print("x is", x)
        return x == 3

    @tf.function
    def quiet(x):
        print("traced")
        return x == 3

    assert bool(noisy(tf.constant(3)))
    assert not bool(noisy(tf.constant(4)))
    printed = capfd.readouterr()
    assert printed.out + printed.err == "x is 3\nx is 4\n"
    quiet(tf.constant(3))
    quiet(tf.constant(4))
    assert capfd.readouterr().out == "traced\n"
    assert len(Feature.all()) == 7
    assert set(Feature.all_but(Feature.LISTS)) == {*Feature.all()} - {Feature.LISTS, Feature.ALL}
    with pytest.raises(TypeError, match=r"expected tf\.autograph.experimental.Feature values"):
        tf.function(absolute, experimental_autograph_options="LISTS")(tf.constant(1))


def test_to_graph_and_to_code():
    converted = tf.autograph.to_graph(absolute)
    assert int(converted(tf.constant(-3))) == 3
    assert int(tf.function(converted, autograph=False)(tf.constant(-3))) == 3
    code = tf.autograph.to_code(absolute)
    assert "if_stmt" in code
    compile(code, "<code>", "exec")
    for convert in (tf.autograph.to_graph, tf.autograph.to_code):
        with pytest.raises(Exception, match="that exposes a __code__ object"):
            convert(tf.function(absolute))
    v1 = tf.compat.v1.autograph
    assert v1.to_code(absolute, indentation="  ") == code
    assert int(v1.to_graph(absolute, arg_values=None)(tf.constant(-1))) == 1


def test_set_loop_options_must_come_first(caplog):
    def late(x):
        while x < 9:
            x += 1
            tf.autograph.experimental.set_loop_options(maximum_iterations=2)
        return x

    def first(n):
        x = tf.constant(0)
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(maximum_iterations=3)
            x += i
        return x

    check(first, 9, equal=3)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(late)(tf.constant(1))
    assert "must be the first statement in the loop block" in caplog.text


def test_verbosity_and_trace(caplog, capsys):
    tf.autograph.set_verbosity(1, alsologtostdout=True)
    try:
        check(lambda x: absolute(x), -1, equal=1)
    finally:
        tf.autograph.set_verbosity(0)
    assert "Converted call" in capsys.readouterr().out
    tf.autograph.trace("seen", 1)
    assert capsys.readouterr().out == "seen 1\n"


def test_functions_for_higher_order_functions():
    internal = tf.__internal__.autograph

    def apply(function, x):
        return internal.tf_convert(function, internal.control_status_ctx())(x)

    check(lambda x: apply(absolute, x), -4, equal=4)
    np.testing.assert_array_equal(apply(absolute, tf.constant(-4)).numpy(), 4)
    left_alone = tf.autograph.experimental.do_not_convert(lambda x: apply(absolute, x))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(left_alone)(tf.constant(1))


def handed_to_map_fn(x):
    return tf.map_fn(absolute, x)


def test_map_fn_converts_where_its_caller_is_converted():
    x = tf.constant([1, -2])
    for function in (handed_to_map_fn, lambda x: tf.map_fn(absolute, x)):
        np.testing.assert_array_equal(tf.function(function)(x), [1, 2])
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
            tf.function(function, autograph=False)(x)
    np.testing.assert_array_equal(handed_to_map_fn(x), [1, 2])


def test_loops_over_kinds_of_their_own():
    class Numbers:
        def __init__(self, tensor):
            self.tensor = tensor

    def loop(numbers, extra_test, body, get_state, set_state, symbol_names, opts):
        for element in tf.unstack(numbers.tensor):
            body(element)

    register_for(Numbers, loop)

    def total(x):
        s = 0
        for e in Numbers(x):
            s += e
        return s

    assert int(tf.function(total)(tf.constant([1, 2, 3]))) == 6


def test_code_is_converted_once_and_dropped_with_its_function():
    made = converter()._made

    def make(k):
        def f(x):
            return x + k if x > 0 else x - k

        return f

    tf.function(make(1))(tf.constant(1))
    before = len(made)
    assert [int(tf.function(make(k))(tf.constant(1))) for k in (1, 2, 3)] == [2, 3, 4]
    assert len(made) == before

    source = "def f(x):\n  return x if x > 0 else -x\n"
    for _ in range(3):
        names = {}
        exec(compile(source, "<gone>", "exec"), names)
        tf.function(names["f"])(1)
        names.clear()
        gc.collect()
    assert len(made) == before


def test_a_method_named_like_a_builtin_that_it_uses():
    class Kernel:
        def slice(self, x, part):
            return x[part] if isinstance(part, slice) else x

    kernel = Kernel()
    traced = tf.function(lambda x: kernel.slice(x, slice(1, None)))
    assert traced(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0]


def test_print_of_tensors_is_pythons_when_the_graph_runs(capsys):
    """What is printed is TensorFlow's, asked by running it."""
    written = io.StringIO()

    @tf.function(experimental_autograph_options=Feature.BUILTIN_FUNCTIONS)
    def f(n, name):
        print("n", n, name, 3, sep="|", end="$\n")
        print([n], "while tracing")
        print("to a file", n, file=written)
        for i in tf.range(n):
            print("round", i)
        return n

    f(tf.constant(2), tf.constant("abc"))
    first, second = capsys.readouterr().out, f(tf.constant(1), tf.constant("d"))
    assert first.splitlines()[0].endswith("while tracing")
    assert first.splitlines()[1:] == ["n|2|abc|3$", "round 0", "round 1"]
    assert capsys.readouterr().out.splitlines() == ["n|1|d|3$", "round 0"]
    assert written.getvalue() == "to a file 2\nto a file 1\n"
    assert int(second) == 1


def test_print_of_tensors_refuses_other_arguments():
    @tf.function(experimental_autograph_options=Feature.ALL)
    def f(x):
        print(x, colour="red")

    with pytest.raises(ValueError, match=r"invalid keyword arguments.*got colour"):
        f(tf.constant(1))


@pytest.mark.parametrize("package", ["tensorflow_probability.mcmc", "tf_keras.layers"])
def test_libraries_that_are_written_for_graphs_are_not_converted(package):
    function = types.FunctionType(absolute.__code__, {"__name__": package})
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: function(x))(tf.constant(-2.0))
    mine = types.FunctionType(absolute.__code__, {"__name__": "mine"})
    assert float(tf.function(lambda x: mine(x))(tf.constant(-2.0))) == 2.0


def test_sorted_of_a_tensor_is_a_tensor():
    rows = tf.constant([[2, 1], [0, 1], [1, 2]])

    @tf.function
    def in_order(x, rows, falls):
        plain, reverse = sorted(x), sorted(x, reverse=True)
        chosen = sorted(x, reverse=falls)
        keyed = sorted(rows, key=lambda row: tf.reduce_sum(row))
        back = sorted(rows, key=lambda row: tf.reduce_sum(row), reverse=True)
        return plain, reverse, chosen, keyed, back, sorted([3, 1], key=lambda v: -v)

    found = in_order(tf.constant([3, 1, 2, 1]), rows, tf.constant(True))
    expected = [
        [1, 1, 2, 3],
        [3, 2, 1, 1],
        [3, 2, 1, 1],
        [[0, 1], [2, 1], [1, 2]],
        [[2, 1], [1, 2], [0, 1]],  # equal ones stay in order, as Python's do
        [3, 1],
    ]
    assert [np.asarray(v).tolist() for v in found] == expected


def test_sorted_compares_one_value_for_each_element():
    @tf.function
    def in_order(x):
        return sorted(x)

    with pytest.raises(ValueError, match=r"only supports only 1D tensors.*got int32\(2, 2\)"):
        in_order(tf.constant([[1, 2], [0, 1]]))


def test_len_of_a_tensor_array_is_its_size():
    @tf.function
    def f(n):
        array = tf.TensorArray(tf.int32, 2, dynamic_size=True)
        for i in tf.range(n):
            array = array.write(i, i)
        return len(array), len(array.stack())

    assert [int(v) for v in f(5)] == [5, 5]
    assert [int(v) for v in f(1)] == [2, 2]
