"""Random programs of nested conditionals and loops give the same in all modes.

Eagerly, traced, compiled as a whole, as a step of a session, and on the reference executor.

A program is Python source over three int32 variables. It is written to a file, because conversion
reads source, and loaded from there.
"""

import importlib.util
import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import penstock as tf

NAMES = ("a", "b", "c")
_numbers = itertools.count()

atoms = st.one_of(st.sampled_from(NAMES), st.integers(-3, 5).map(str))
expressions = st.one_of(
    atoms,
    st.tuples(atoms, st.sampled_from(["+", "-", "*"]), atoms).map(" ".join),
    st.tuples(atoms, atoms, atoms).map(lambda t: f"({t[0]} if {t[1]} > {t[2]} else {t[0]} + 1)"),
)
comparisons = st.one_of(
    st.tuples(atoms, st.sampled_from(["<", ">", "==", "!=", "<="]), atoms).map(" ".join),
    st.tuples(atoms, atoms, atoms).map(lambda t: f"{t[0]} < {t[1]} <= {t[2]}"),
)
conditions = st.one_of(
    comparisons,
    st.tuples(comparisons, st.sampled_from(["and", "or"]), comparisons).map(" ".join),
    comparisons.map(lambda c: f"not {c}"),
)


def indent(lines):
    return [f"    {line}" for line in lines]


@st.composite
def blocks(draw, depth, in_loop=False):
    """The lines of a block."""
    kinds = ["assign", "assign", "augment"]
    if depth:
        kinds += ["if", "if", "for", "while"]
    if in_loop:
        kinds += ["break", "continue"]
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(statements(draw(st.sampled_from(kinds)), depth, in_loop))
    return lines


@st.composite
def statements(draw, kind, depth, in_loop):
    name = draw(st.sampled_from(NAMES))
    if kind == "assign":
        return [f"{name} = wrap({draw(expressions)})"]
    if kind == "augment":
        return [f"{name} += {draw(atoms)}", f"{name} = wrap({name})"]
    if kind in ("break", "continue"):
        return [f"if {draw(conditions)}:", f"    {kind}"]
    if kind == "if":
        lines = [f"if {draw(conditions)}:", *indent(draw(blocks(depth - 1, in_loop)))]
        if draw(st.booleans()):
            lines += [f"elif {draw(conditions)}:", *indent(draw(blocks(depth - 1, in_loop)))]
        if draw(st.booleans()):
            lines += ["else:", *indent(draw(blocks(depth - 1, in_loop)))]
        return lines
    body = indent(draw(blocks(depth - 1, in_loop=True)))
    if kind == "for":
        variable = f"i{next(_numbers)}"
        limit = draw(st.sampled_from(["2", "3", "5", "a % 4", "abs(b) % 7"]))
        return [f"for {variable} in tf.range({limit}):", f"    {name} += {variable}", *body]
    counter = f"n{next(_numbers)}"
    return [
        f"{counter} = tf.constant(0)",
        f"while {counter} < 4 and ({draw(conditions)}):",
        f"    {counter} += 1",
        *body,
    ]


HEADER = """
import penstock as tf

def wrap(x):
    return x % 97 - 48

def program(a, b, c):
"""


def load(folder, lines):
    path = folder / f"program{next(_numbers)}.py"
    path.write_text(HEADER + "\n".join(indent([*lines, "return a, b, c"])) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def run(function, values):
    return [int(np.asarray(v)) for v in function(*(tf.constant(v, tf.int32) for v in values))]


def run_traced(program, values):
    return run(tf.function(program), values)


def run_compiled(program, values):
    return run(tf.function(program, jit_compile=True), values)


def run_in_session(program, values):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        places = [tf.compat.v1.placeholder(tf.int32, []) for _ in values]
        fetches = [tf.convert_to_tensor(v) for v in tf.autograph.to_graph(program)(*places)]
        return [int(v) for v in session.run(fetches, dict(zip(places, values, strict=True)))]


QUICK = [
    (30, "reference", run_traced),
    (20, "reference", run_in_session),
    (6, "lazy", run_traced),
    (6, "fast", run_traced),
    (6, "fast", run_in_session),
    (6, "lazy", run_compiled),
]
SLOW = [  # 200 in each mode
    pytest.param(25, executor, mode, part, marks=pytest.mark.slow)
    for executor, mode in [
        ("reference", run_traced),
        ("lazy", run_traced),
        ("fast", run_traced),
        ("fast", run_in_session),
        ("lazy", run_compiled),
    ]
    for part in range(1, 9)
]


@pytest.mark.parametrize(
    ("programs", "executor", "mode", "part"), [*((*q, 0) for q in QUICK), *SLOW]
)
def test_random_programs(programs, executor, mode, part, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("programs")
    monkeypatch.setenv("PENSTOCK_EXECUTOR", executor)

    @hypothesis.seed(part)
    @hypothesis.settings(
        max_examples=programs,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(blocks(2), st.tuples(*[st.integers(-9, 9)] * 3))
    def agree(lines, values):
        program = load(folder, lines)
        wanted = run(program, values)
        assert mode(program, values) == wanted, "\n".join(lines)

    agree()
