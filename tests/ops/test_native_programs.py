"""Programs of rounds and of updates with other numbers: an error, or work within the arrays.

Python writes programs, and the handlers read them: a number that is wrong would be a place in the
memory of others. `make sanitize` runs this where such an access is seen.
"""

import contextlib

import numpy as np
import pytest
from tests.ops.native_draws import Draw

from penstock.core import native, products, updates
from penstock.core.lazy import jax
from penstock.core.recurrence import Matrix, Recurrence

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")
BATCH, ROUNDS, INPUTS, UNITS = 3, 4, 5, 8
FAR = (-1, -(2**63), 2**40 + 1, 2**62, 2**63 - 1)  # numbers that are never right
NEAR = (0, 1, 2, 3, 5, 8, 17, 40, 100, 1000)


@contextlib.contextmanager
def with_number(place, number):
    """Calls have this number at a place of their program; yields the length of the last one."""
    call, lengths = native.call, []

    def changed(function, results, *arguments, program, **attrs):
        lengths.append(len(program))
        program = program.copy()
        if place is not None:
            program[place] = number
        return call(function, results, *arguments, program=program, **attrs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "call", changed)
        yield lengths


def rounds():
    """A net of one layer: h = tanh(x times w + h times u), all states and the last one."""
    r, draw = Recurrence(ROUNDS, BATCH), Draw(0)
    h = r.state(1, UNITS)
    z = r.apply("ADD", r.product(r.rows(0, INPUTS, 0, 1), Matrix(2, INPUTS, UNITS)),
                r.product(h, Matrix(3, UNITS, UNITS)))  # fmt: skip
    value = r.apply("TANH", r.apply("ADD", z, r.fixed(4, (UNITS,))))
    r.hand_on(h, value)
    r.collect(value, UNITS, True)
    shapes = (ROUNDS, BATCH, INPUTS), (BATCH, UNITS), (INPUTS, UNITS), (UNITS, UNITS), (UNITS,)
    arrays = [draw.floats(*shape) for shape in shapes]
    return lambda: r.call(r.program(), arrays)


def assignments():
    """Two groups of updates, one with a gradient that a product gives."""
    draw = Draw(1)
    p, m, g = (draw.floats(9, 4) for _ in "pmg")
    rate, a, b = draw.floats(), draw.floats(9, 6), draw.floats(6, 4)
    terms = [updates.Term("ARRAY", (9, 4), (), x) for x in (p, m, g)]
    step = terms[1] * 0.5 + terms[2] * updates.Term("NUMBER", (9, 4), (), rate)
    made = updates.written(updates.Group([p, m], [terms[0] - step, step]))
    q, given = draw.floats(9, 4), draw.floats(9, 4)
    terms = [updates.Term("ARRAY", (9, 4), (), x) for x in (q, given)]
    other = updates.written(updates.Group([q], [terms[0] - terms[1]]))
    product = (1, products.Product(a, b, False, False))
    other = updates.Written(other.count, other.program, other.arrays, other.numbers, product)
    return lambda: updates.call([made, other], True)


PROGRAMS = {"rounds": rounds, "updates": assignments}


def outcome(build, place=None, number=0):
    """The results, or the error's text, with a number changed; and the program's length."""
    with with_number(place, number) as lengths:
        try:
            found = [np.asarray(a) for a in jax.jit(build())()]
        except jax.errors.JaxRuntimeError as error:
            return str(error), lengths[0]
        return found, lengths[0]


@pytest.mark.parametrize("kind", PROGRAMS)
def test_numbers_that_are_never_right_are_refused(kind):
    build = PROGRAMS[kind]
    right, length = outcome(build)
    for place in range(length):
        number = FAR[place % len(FAR)]
        found, _ = outcome(build, place, number)
        if isinstance(found, str):
            assert "a call of a native kernel lacks" in found
            continue
        for one, other in zip(found, right, strict=True):  # of what is not used, or not by all
            assert one.shape == other.shape


@pytest.mark.parametrize("kind", PROGRAMS)
def test_other_numbers_are_refused_or_stay_within_the_arrays(kind):
    build, draw = PROGRAMS[kind], Draw(3)
    _, length = outcome(build)
    refused = 0
    for place in draw.rng.permutation(length)[:60]:
        found, _ = outcome(build, int(place), draw.one(*NEAR))
        refused += isinstance(found, str)
    assert refused > 10


@pytest.mark.parametrize("kind", PROGRAMS)
def test_programs_that_end_early_are_refused(kind):
    build, call = PROGRAMS[kind], native.call
    for cut in (0, 1, 4, 9, 30, -1):

        def shortened(*given, program, _cut=cut, **attrs):
            return call(*given, program=program[:_cut], **attrs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(native, "call", shortened)
            with pytest.raises(jax.errors.JaxRuntimeError, match="numbers of a program"):
                np.asarray(jax.jit(build())()[0])


def test_arrays_that_are_read_alone_are_not_written():
    """A program that writes to an array that no result has the memory of."""
    with jax.enable_x64(True):
        program = np.array([1, 1, 1, 0, 0, 0, 1, 18, 0, 0, 0, 0, 0, 1, 0, 1, 0], np.int64)
        x = np.ones(5, np.float32)
        run = jax.jit(
            lambda flag, x, y: native.call(
                "update", [jax.ShapeDtypeStruct((5,), np.float32)], flag, x, y,
                aliases={1: 0}, program=program,
            )
        )  # fmt: skip
        with pytest.raises(jax.errors.JaxRuntimeError, match="lacks"):
            np.asarray(run(True, x, x + 1)[0])
