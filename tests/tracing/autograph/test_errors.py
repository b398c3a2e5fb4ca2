"""What goes wrong in converted code: class, wording, and the line of the user's source."""

import inspect
import re
import traceback

import pytest

import penstock as tf


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def undefined_in_else(x):
    if x > 0:
        y = x
    return y


def undefined_in_main(x):
    if x > 0:
        pass
    else:
        y = x
    return y


def other_dtype(x):
    if x > 0:
        y = 1
    else:
        y = 2.5
    return y


def none_in_else(x):
    y = None
    if x > 0:
        y = 1
    return y


def other_structure(x):
    if x > 0:
        y = (x, x)
    else:
        y = x
    return y


def no_return_in_else(x):  # noqa: RET503
    if x > 0:
        return x


def a_vector_as_condition(x):
    if tf.stack([x, x]) > 0:
        x = x + 1
    return x


def a_number_as_condition(x):
    if x:
        x = x + 1
    return x


def python_objects(x):
    y = object()
    if x > 0:
        y = object()
    return str(y)


def new_attribute(x):
    class Box:
        pass

    box = Box()
    if x > 2:
        box.value = x
    return x


def while_shape(x):
    y = tf.constant([1])
    while x > 0:
        y = tf.concat([y, y], 0)
        x -= 1
    return y


def while_dtype(x):
    y = x
    while x > 0:
        y = tf.cast(y, tf.float32)
        x -= 1
    return y


def while_none(x):
    y = x
    while x > 0:
        y = None
        x -= 1
    return y


def while_structure(x):
    y = x
    while x > 0:
        y = (x, x)
        x -= 1
    return y


def while_with_none_inside(x):
    y = (None, x)
    while x > 0:
        y = (x, y[1])
        x -= 1
    return y


def while_of_numbers(x):
    while x:
        x -= 1
    return x


def python_loop_turns(x):
    i = 0
    while i < 3:
        i = i + x
    return i


def python_loop_breaks(x):
    s = 0
    for _ in range(3):
        if x > 2:
            break
        s += 1
    return s


def scalar_iterated(x):
    for e in x:
        x = e
    return x


def read_before_assignment(x):
    if x > 0:
        y = 1
        del y
    return y


def loop_return_not_everywhere(x):  # noqa: RET503
    for i in tf.range(x):
        if i == 1:
            return i


CASES = [
    (undefined_in_else, ValueError, "'y' must also be initialized in the else branch", "if x > 0"),
    (undefined_in_main, ValueError, "'y' must also be initialized in the main branch", "if x > 0"),
    (other_dtype, TypeError, "'y' has dtype int32 in the main branch, but dtype float32", "if x"),
    (none_in_else, ValueError, "'y' is None at the end of the else branch", "if x > 0"),
    (other_structure, TypeError, "'y' must have the same nested structure in the main and", "if x"),
    (no_return_in_else, ValueError, "the else branch must also have a return", "if x > 0"),
    (a_vector_as_condition, ValueError, "condition of if statement expected to be `tf.bool`", "if"),
    (a_number_as_condition, ValueError, "to use as boolean Tensor, use `tf.cast`", "if x:"),
    (python_objects, TypeError, "'y' is a value of type object", "if x > 0"),
    (new_attribute, ValueError, "'box.value' must also be initialized in the else", "if x > 2"),
    (while_shape, ValueError, r"'y' has shape \(1,\) before the loop, but shape \(2,\)", "while x"),
    (while_dtype, TypeError, "'y' has dtype int32 before the loop, but dtype float32", "while x"),
    (while_none, ValueError, "'y' is None at the end of the iteration", "while x"),
    (while_structure, TypeError, "'y' does not have the same nested structure after", "while x"),
    (while_with_none_inside, ValueError, "None values not supported", "while x"),
    (while_of_numbers, ValueError, "condition of while loop expected to be `tf.bool`", "while x"),
    (python_loop_turns, NotImplementedError, "started as non-Tensor, then changed", "while i"),
    (python_loop_breaks, NotImplementedError, "break and return statements which", "for _ in"),
    (scalar_iterated, ValueError, "len requires a non-scalar tensor", "for e in"),
    (read_before_assignment, UnboundLocalError, "'y' is used before assignment", "return y"),
    (loop_return_not_everywhere, ValueError, "must also have a return statement", "for i in"),
]


@pytest.mark.parametrize(("function", "error", "words", "line"), CASES)
def test_error(function, error, words, line):
    with pytest.raises(error, match=words) as caught:
        tf.function(function)(tf.constant(3))
    assert f"test_errors.py:{line_of(function, line)}" in str(caught.value)
    assert re.search(r"expected .*", str(caught.value))


def test_a_loop_that_must_run():
    @tf.function
    def last(x):
        for e in x:
            y = e * 2
        return y

    assert int(last(tf.constant([1, 2]))) == 4
    for empty in (tf.zeros([0], tf.int32), tf.zeros([0])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="loop must iterate at least once"):
            last(empty)
    vague = last.get_concrete_function(tf.TensorSpec([None], tf.int32))
    assert int(vague(tf.constant([3]))) == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="to initialize y"):
        vague(tf.zeros([0], tf.int32))


def failing(x):
    if x > 0:
        for _ in tf.range(3):
            x = inner(x)
    return x


def inner(x):
    while x < 10:
        if x == 5:
            raise KeyError("in the middle")
        x += 1
    return x


def test_tracebacks_show_the_users_frames(monkeypatch):
    with pytest.raises(KeyError, match="in the middle") as caught:
        tf.function(failing)(tf.constant(3))
    frames = traceback.extract_tb(caught.value.__traceback__)
    shown = [(f.name, f.lineno) for f in frames if f.filename == __file__][1:]
    wanted = [
        (failing, "if x > 0"),
        (failing, "for _ in"),
        (failing, "x = inner(x)"),
        (inner, "while x"),
        (inner, "if x == 5"),
        (inner, "raise"),
    ]
    assert shown == [(f.__name__, line_of(f, text)) for f, text in wanted]
    assert frames[-1].line == 'raise KeyError("in the middle")'
    assert all("autograph" not in f.filename or f.filename == __file__ for f in frames)

    monkeypatch.setenv("PENSTOCK_FULL_TRACEBACKS", "1")
    with pytest.raises(KeyError) as caught:
        tf.function(failing)(tf.constant(3))
    assert any("converted_call" in f.name for f in traceback.extract_tb(caught.value.__traceback__))


def test_operations_remember_the_users_lines():
    def made(x):
        if x > 0:
            x = tf.add(x, 1, name="here")
        return x

    graph = tf.function(made).get_concrete_function(tf.constant(1)).graph
    (conditional,) = [op for op in graph.get_operations() if "If" in op.type]
    assert conditional.location == f"{__file__}:{line_of(made, 'if x > 0')}"
    inside = conditional.attrs["then_branch"].graph.get_operation_by_name("here")
    assert inside.location == f"{__file__}:{line_of(made, 'tf.add')}"


def test_errors_when_the_graph_runs_name_the_line():
    @tf.function
    def checked(x):
        if x > 0:
            assert x < 5, "too big"
        return x

    assert int(checked(tf.constant(3))) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="too big") as caught:
        checked(tf.constant(7))
    assert f"test_errors.py:{line_of(checked.python_function, 'assert')}" in str(caught.value)


def test_our_own_functions_are_not_converted(caplog):
    names = ("exp", "sin", "cos", "math.erf", "math.lgamma", "math.special.spence", "nn.relu")
    for name in names:  # all public functions have one wrapper's code: still they are different
        function = tf
        for part in name.split("."):
            function = getattr(function, part)
        value = tf.constant(0.5)
        assert tf.function(function)(value).numpy() == pytest.approx(function(value).numpy(), 1e-6)
    assert caplog.text == ""


def test_a_function_without_source_runs_as_it_is(caplog):
    names = {}
    exec(compile("def f(x):\n  return -x if x > 0 else x\n", "<nowhere>", "exec"), names)
    traced = tf.function(names["f"])
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        traced(tf.constant(1))
    assert "AutoGraph could not transform" in caplog.text
    assert int(tf.function(names["f"])(1)) == -1  # over Python values it works


@pytest.mark.parametrize(
    "name",
    [
        *("for_else", "match_statement", "generator"),
        *("walrus_in_while", "walrus_in_and", "walrus_in_choice", "walrus_in_chain"),
    ],
)
def test_what_is_not_converted(name, caplog):
    def for_else(x):
        for _ in [1]:
            pass
        else:
            x = x + 1
        return x

    def match_statement(x, kind=1):
        match kind:
            case 1:
                x = x + 1
        return x

    def generator(x):
        def numbers():
            yield x + 1

        return next(numbers())

    def walrus_in_while(x, n=0):
        while (n := n + 1) < 1:
            pass
        return x + n

    def walrus_in_and(x):
        if (n := 1) and (m := n):
            x = x + m
        return x

    def walrus_in_choice(x):
        return (y := x) + 1 if x is not None else y

    def walrus_in_chain(x):
        if 0 < (n := 1) < 2:
            x = x + n
        return x

    assert int(tf.function(locals()[name])(tf.constant(1))) == 2
    assert "could not transform" in caplog.text
    assert caplog.text.count("could not transform") == 1


@pytest.mark.parametrize("shape", [[1], [None], None])
def test_a_tensor_of_one_boolean_is_a_condition(shape):
    @tf.function(input_signature=[tf.TensorSpec(shape, tf.bool)])
    def f(x):
        rounds = 0
        while x:
            x = not x
            rounds += 1
        y = 10 if x else 20
        if not x and not x:
            y += 1
        return y + rounds

    assert int(f(tf.constant([True]))) == 22
    assert int(f(tf.constant([False]))) == 21


@pytest.mark.parametrize("choose", [lambda x: x and x, lambda x: x or x, lambda x: 1 if x else 2])
def test_expressions_refuse_numbers_as_conditional_operations_do(choose):
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected one boolean, got int32"):
        tf.function(choose)(tf.constant(3))


def test_without_autograph_a_tensor_is_no_bool():
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="Python `bool`"):
        tf.function(undefined_in_else, autograph=False)(tf.constant(1))


def test_a_nested_conditional_expression_names_its_condition():
    def function(x):
        return (1.0 if x < 1 else x) if x > 0 else x

    with pytest.raises(TypeError, match="'x < 1' has dtype float32 in the main branch"):
        tf.function(function)(tf.constant(1))
