"""Races are found in generated programs, each with both lines, and nowhere else."""

import itertools
import random
import re

import pytest

import penstock as tf
from penstock.runtime.program import build
from penstock.runtime.races import find_races

tf1 = tf.compat.v1
PROGRAMS = 200
ACCESSES = {
    "read": "v{n}.read_value()",
    "add": "v{n}.assign_add(1.0, read_value=False)",
    "put": "v{n}.assign(2.0, read_value=False)",
}


def generate(seed, ordered):
    """Text of a program; its accesses as (line, variable, writes, accesses waited for)."""
    rng = random.Random(seed)
    count = rng.randint(1, 3)
    lines = [f'v{n} = tf1.get_variable("v{n}", initializer=0.0)' for n in range(count)]
    accesses = []
    for i in range(rng.randint(3, 8)):
        variable, kind = rng.randrange(count), rng.choice(list(ACCESSES))
        waits = {j for j in range(i) if rng.random() < 0.3}
        for j, (_, other, writes, _) in enumerate(accesses):
            if ordered and other == variable and (writes or kind != "read"):
                waits.add(j)  # it comes after whatever it could race with
        names = ", ".join(f"a{j}" for j in sorted(waits))
        lines.append(f"with tf.control_dependencies([{names}]):")
        lines.append(f"    a{i} = {ACCESSES[kind].format(n=variable)}")
        accesses.append((len(lines), variable, kind != "read", waits))
    return "\n".join(lines), accesses


def known_races(accesses):
    """Pairs of lines, from the generator's own records."""
    before = []
    for _, _, _, waits in accesses:
        before.append(set(waits).union(*(before[j] for j in waits)))
    return [
        (accesses[i][0], accesses[j][0])
        for i, j in itertools.combinations(range(len(accesses)), 2)
        if accesses[i][1] == accesses[j][1]
        and (accesses[i][2] or accesses[j][2])
        and i not in before[j]
    ]


def operations(text, count, seed):
    """The accesses of the program as operations, made in the current graph."""
    names = {"tf": tf, "tf1": tf1}
    exec(compile(text, f"generated_{seed}.py", "exec"), names)
    made = [names[f"a{i}"] for i in range(count)]
    return [getattr(m, "op", m) for m in made]


def reported_lines(message, seed):
    line = rf"generated_{seed}\.py:(\d+)"
    found = re.findall(rf"{line} and .*{line} run in no fixed order", message)
    return sorted(tuple(sorted(map(int, pair))) for pair in found)


def test_all_races_of_programs_with_races_are_reported_with_both_lines():
    tried = 0
    for seed in itertools.count():
        text, accesses = generate(seed, ordered=False)
        expected = known_races(accesses)
        if expected:
            with tf.Graph().as_default():
                races = find_races(build([], [], operations(text, len(accesses), seed)))
            assert reported_lines("\n".join(map(str, races)), seed) == sorted(expected), text
            tried += 1
        if tried == PROGRAMS:
            return


def test_programs_without_races_report_nothing():
    for seed in range(PROGRAMS):
        text, accesses = generate(seed, ordered=True)
        assert not known_races(accesses)
        with tf.Graph().as_default():
            assert find_races(build([], [], operations(text, len(accesses), seed))) == [], text


@pytest.mark.parametrize("ordered", [False, True])
def test_sessions_report_what_the_plan_finds(ordered, monkeypatch, caplog):
    monkeypatch.setenv("PENSTOCK_CHECK_RACES", "1")
    text, accesses = generate(3, ordered)
    with tf.Graph().as_default(), tf1.Session() as session:
        wanted = operations(text, len(accesses), 3)
        session.run(tf1.global_variables_initializer())
        session.run(wanted)
    expected = known_races(accesses)
    assert bool(expected) is not ordered
    assert reported_lines(caplog.text, 3) == sorted(expected)


def test_queues_race_too():
    with tf.Graph().as_default():
        queue = tf1.FIFOQueue(4, tf.int32, name="q")
        puts = [queue.enqueue(i) for i in range(2)]
        (race,) = find_races(build([], [], puts))
    assert {race.first.name, race.second.name} == {p.name for p in puts}
