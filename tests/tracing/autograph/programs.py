"""Functions with control flow over tensors, each with arguments to call it with."""

import collections

import penstock as tf

CASES = []  # (function, tuple of arguments)


def case(*arguments):
    """Registers a function with tuples of arguments."""

    def register(function):
        CASES.extend((function, given) for given in arguments)
        return function

    return register


ANY = ((-3,), (0,), (2,), (7,))


@case(*ANY)
def if_else(x):
    if x > 0:
        y = x * 2
    else:
        y = -x
    return y


@case(*ANY)
def if_without_else(x):
    y = x
    if x > 1:
        y = y + 10
        x = x * 2
    return x, y


@case(*ANY)
def elif_chain(x):
    if x < 0:
        y = 1
    elif x == 0:
        y = 2
    elif x < 5:
        y = 3
    else:
        y = 4
    return y


@case(*ANY)
def both_return(x):
    if x > 0:
        return x
    else:
        return -x


@case(*ANY)
def early_return(x):
    if x > 5:
        return x * 100
    x = x + 1
    if x > 2:
        return x * 10
    return x


@case(*ANY)
def nested_if(x):
    y = 0
    if x > 0:
        if x > 5:
            y = 2
        else:
            y = 1
    else:
        if not x < 0:
            y = 3
    return y


@case(*ANY)
def conditional_expression(x):
    return (x if x > 1 else x * x) + (1 if x == 0 else 2)


@case(*ANY)
def nested_conditional_expression(x):
    first = (x if x > 3 else x - 1) if x > 0 else (x * x if -2 < x < 0 else 7)
    return first + (1 if (x > 1 if x < 4 else x == 7) else 2), [x if x > i else -x for i in (0, 2)]


@case(*ANY)
def logic(x):
    return x > 1 and x < 5, x < 0 or x > 5, not x > 0, (x > 1 and not x > 3) or x == 7


@case(*ANY)
def comparison_chain(x):
    return 1 < x < 5, -5 <= x < x + 1 <= 8


@case(*ANY)
def walrus(x):
    if (y := x + 1) > 2:
        return y
    return -y


@case(*ANY)
def structures(x):
    pair = (x, {"a": x})
    if x > 0:
        pair = (x + 1, {"a": x - 1})
    return pair


Point = collections.namedtuple("Point", ["x", "y"])


@case(*ANY)
def named_tuples(x):
    point = Point(x, x)
    for _ in tf.range(3):
        point = Point(point.y, point.x + 1)
    return point


@case(*ANY)
def while_loop(x):
    steps = 0
    while x < 40:
        x = x * 2 + 5
        steps += 1
    return x, steps


@case(*ANY)
def while_with_break_and_continue(x):
    total = 0
    while x < 20:
        x += 1
        if x % 3 == 0:
            continue
        if total > 30:
            break
        total += x
    return total, x


@case((0,), (1,), (6,))
def for_range(n):
    s = 0
    for i in tf.range(n):
        s = s + i * i
    return s


@case((0,), (1,), (6,))
def for_python_range_of_a_tensor(n):
    s = 0
    for i in range(1, n, 2):
        s += i
    for i in range(n, 0, -1):
        s = s * 2 + i
    return s


@case((2, 11, 3), (11, 2, -4), (3, 3, 1))
def for_range_with_a_step_that_is_a_tensor(start, stop, step):
    s = 0
    for i in tf.range(start, stop, step):
        s = s * 3 + i
    return s


@case(([1, 2, 3],), ([[1, 2], [3, 4]],))
def for_rows(x):
    s = tf.zeros_like(x[0])
    for row in x:
        s = s * 10 + row
    return s


@case(([1, 2, 3, 4],))
def for_with_break(x):
    s = 0
    for e in x:
        if e == 3:
            break
        s += e
    return s


@case((5, [3, 1, 4, 1, 5]), (9, [3, 1, 4, 1, 5]))
def return_from_a_loop(wanted, x):
    i = 0
    for e in x:
        if e == wanted:
            return i
        i += 1  # noqa: SIM113
    return -1


@case((4,), (9,))
def return_from_nested_loops(n):
    for i in tf.range(n):
        for j in tf.range(i):
            if i * j > 20:
                return i * 100 + j
    return -1


@case(([2, 7, 1],))
def value_from_the_loop(x):
    for e in x:
        last = e * 2
    return last, e


@case((3,), (4,))
def nested_loops(n):
    s = 0
    for i in tf.range(n):
        for j in tf.range(i):
            if (i + j) % 2 == 0:
                s += i * j
            else:
                s -= 1
        k = i
        while k > 0:
            s += k
            k -= 2
    return s


@case((3,))
def python_loop_over_tensors(n):
    s = 0
    for i in [1, 2, 3]:
        if n > i:
            s += i
    for a, b in zip([1, 2], (3, 4), strict=True):
        s += a * b * n
    return s


@case((3,), (-3,))
def calls(x):
    def local(a):
        if a > 0:
            return a + 1
        return a - 1

    twice = lambda a: a * 2 if a > 0 else a  # noqa: E731
    return outer_function(x) + local(x) + twice(x)


def outer_function(x, *rest, scale=3, **options):
    """Is converted too."""
    if x > 1:
        return x * scale
    return x


@case((3,), (-3,))
def stars(x):
    return outer_function(*(x, 1), **{"scale": 5, "other": 2})  # noqa: PIE804


@case((5,))
def recursion_over_python_values(x):
    return power(x, 4)


def power(x, n):
    if n == 0:
        return 1
    if x > 100:
        return x
    return x * power(x, n - 1)


@case((6,))
def builtins(n):
    x = tf.range(n)
    return len(x), int(n), float(n), abs(-n), max(1, 2), sum([n, n])


@case((0,), (7,))
def attributes_and_items(x):
    class Box:
        value = tf.constant(1)

    box = Box()
    table = {"k": tf.constant(1)}
    if x > 2:
        box.value = x
    while x > 0:
        table["k"] = table["k"] + x
        x -= 1
    return box.value, table["k"], x


@case((3,), (0,))
def try_and_with(x):
    try:
        with tf.name_scope("scope"):
            if x > 2:
                x = x + 1
    finally:
        x = x * 2
    return x


@case((4,))
def shape_invariants(n):
    v = tf.constant([1])
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(v, tf.TensorShape([None]))], parallel_iterations=2
        )
        v = tf.concat([v, [i]], 0)
    return v


@case((4,), (0,))
def exceptions_with_names(n):
    total = 0
    for i in tf.range(n):
        try:
            if total == 0:
                total += i
            {}["key"]
        except (KeyError, ValueError) as problem:
            total += len(str(problem))
        except TypeError as other:
            raise RuntimeError("no") from other
        finally:
            total += 100
    return total


@case((27,), (1,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case((2.0,), (30.0,))
def newton(x):
    y = x
    while tf.abs(y * y - x) > 1e-3:
        y = (y + x / y) / 2.0
    return y


@case((5,), (0,))
def tensor_array(n):
    kept = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])
    for i in tf.range(n):
        if i % 2 == 0:
            kept = kept.write(kept.size(), i * 10)
    return kept.stack()
