"""Races on variables, references, tables and queues: generated programs, and the switch.

A generated program has an operation on each line, ordered by control dependencies at random. Which
pairs race follows from the text alone: two accesses of one resource, at least one writing, neither
waiting for the other.
"""

import random
import re

import pytest

import penstock as tf
from penstock.runtime import races

v1 = tf.compat.v1
checks = tf.debugging.experimental
FILE = "/generated/program.py"
ACCESSES = {  # of each kind of resource: an expression, and whether it writes
    "variable": [
        ("{r}.read_value()", False),
        ("{r}.assign_add(1.0, read_value=False)", True),
        ("{r}.assign(2.0, read_value=False)", True),
    ],
    "reference": [("v1.assign_add({r}, 1.0).op", True), ("v1.assign({r}, 2.0).op", True)],
    "table": [("{r}.lookup(ONE)", False), ("{r}.size()", False), ("{r}.insert(ONE, ONE)", True)],
    "queue": [("{r}.enqueue(1.0)", True), ("{r}.dequeue()", True), ("{r}.size()", False)],
}


@pytest.fixture(autouse=True)
def as_the_environment_says():
    yield
    checks.set_race_checks(None)


def resource(kind, name):
    if kind == "table":
        return tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, 0, name=name)
    if kind == "queue":
        return tf.queue.FIFOQueue(9, tf.float32, shapes=[[]], shared_name=name)
    zero = v1.zeros_initializer()
    return v1.get_variable(name, [], initializer=zero, use_resource=kind == "variable")


def generate(rng, ordered):
    """Source lines, the resources' kinds, and the pairs of lines that race."""
    kinds = {f"r{i}": rng.choice(sorted(ACCESSES)) for i in range(rng.randint(1, 3))}
    lines, touched, before = [], [], []
    for n in range(rng.randint(3, 9)):
        name = rng.choice(sorted(kinds))
        text, writes = rng.choice(ACCESSES[kinds[name]])
        waits = {k for k in range(n) if rng.random() < 0.25}
        if ordered:
            waits |= {k for k in range(n) if touched[k][0] == name and (writes or touched[k][1])}
        controls = ", ".join(f"o{k}" for k in sorted(waits))
        lines.append(f"with tf.control_dependencies([{controls}]): o{n} = {text.format(r=name)}")
        touched.append((name, writes))
        before.append(waits.union(*(before[k] for k in waits)))
    pairs = {
        (i + 1, j + 1)
        for j in range(len(lines))
        for i in range(j)
        if touched[i][0] == touched[j][0]
        and (touched[i][1] or touched[j][1])
        and i not in before[j]
    }
    return lines, kinds, pairs


def reported(lines, kinds):
    """The pairs of lines that a session names when it refuses to run a program."""
    with tf.Graph().as_default(), v1.Session() as session:
        scope = {"tf": tf, "v1": v1, "ONE": tf.constant([1], tf.int64)}
        scope |= {name: resource(kind, name) for name, kind in kinds.items()}
        exec(compile("\n".join(lines), FILE, "exec"), scope)
        made = [scope[f"o{n}"] for n in range(len(lines))]
        tensors = [x for x in made if isinstance(x, tf.Tensor)]
        checks.set_race_checks("error")
        try:
            session._direct.plan(tensors, [], [x for x in made if not isinstance(x, tf.Tensor)])
        except tf.errors.InvalidArgumentError as problem:
            message = problem.message
        else:
            return set()
    found = set()
    for report in message.split("race on ")[1:]:
        first, second = re.findall(rf"{re.escape(FILE)}:(\d+)", report)
        found.add(tuple(sorted((int(first), int(second)))))
    assert found
    return found


def test_races_of_generated_programs_are_all_reported_with_both_lines():
    rng, seen = random.Random(1), 0
    while seen < 200:
        lines, kinds, pairs = generate(rng, ordered=False)
        if pairs:
            assert reported(lines, kinds) == pairs, "\n".join(lines)
            seen += 1


def test_generated_programs_without_races_report_nothing():
    rng = random.Random(2)
    for _ in range(200):
        lines, kinds, pairs = generate(rng, ordered=True)
        assert not pairs
        assert reported(lines, kinds) == set(), "\n".join(lines)


@pytest.mark.parametrize("mode", races.MODES)
def test_the_switch_has_three_positions(mode, caplog):
    checks.set_race_checks(mode)
    assert checks.get_race_checks() == mode
    with tf.Graph().as_default(), v1.Session() as session:
        v = resource("variable", "v")
        pair = [v.read_value(), v.assign_add(1.0, read_value=False)]
        session.run(v.initializer)
        if mode == "error":
            with pytest.raises(tf.errors.InvalidArgumentError, match="race on 'v'"):
                session.run(pair)
            assert session.run(v.read_value()) == 0.0  # nothing ran
        else:
            session.run(pair)
    assert ("race on 'v'" in caplog.text) == (mode == "warn")


def test_variables_without_a_name_are_one():
    checks.set_race_checks("error")
    raw, kind = tf.raw_ops, {"dtype": tf.float32, "shape": []}
    with tf.Graph().as_default(), v1.Session() as session:
        a, b = raw.VarHandleOp(**kind), raw.VarHandleOp(**kind)
        pair = [raw.AssignVariableOp(resource=handle, value=1.0) for handle in (a, b)]
        with pytest.raises(tf.errors.InvalidArgumentError, match="race on"):
            session.run(pair)


def test_the_environment_is_asked_when_nothing_is_set(monkeypatch):
    for word, mode in {"": "off", "0": "off", "1": "warn", "error": "error"}.items():
        monkeypatch.setenv("PENSTOCK_CHECK_RACES", word)
        assert checks.get_race_checks() == mode
    checks.set_race_checks("off")
    assert checks.get_race_checks() == "off"
    with pytest.raises(ValueError, match="expected 'off', 'warn', 'error' or None, got 'on'"):
        checks.set_race_checks("on")


def test_a_warning_names_both_lines_when_the_environment_asks_for_it(monkeypatch, caplog):
    monkeypatch.setenv("PENSTOCK_CHECK_RACES", "1")
    with tf.Graph().as_default(), v1.Session() as session:
        q = resource("queue", "q")
        scope = {"r0": q}
        text = "o0 = r0.enqueue(1.0)\no1 = r0.enqueue(2.0)"
        exec(compile(text, FILE, "exec"), scope)
        session.run([scope["o0"], scope["o1"]])
    line = re.escape(FILE)
    assert re.search(
        rf"race on 'fifo_queue': .*{line}:1 and .*{line}:2 run in no fixed order", caplog.text
    )


def test_functions_keep_program_order_and_have_no_races():
    checks.set_race_checks("error")
    v = tf.Variable(1.0)

    @tf.function
    def step():
        before = v.read_value()
        v.assign_add(2.0)
        return before + v.read_value()

    assert step().numpy() == 4.0
