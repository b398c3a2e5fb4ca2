"""Public functions give TensorFlow's recorded results for lines of Python that users may write."""

from collections.abc import Iterator

import pytest
from tests.golden.comparing import difference
from tests.golden.differences_public import BY_PROCESSOR, KNOWN_LINES
from tools.golden import codec, texts

import penstock as tf
from penstock.runtime import client  # noqa: F401  `Tensor.eval` has sessions in every order of tests

GOLDEN = {family: cases for family, cases in codec.read().items() if "." in family}
LINES = {case["text"] for cases in GOLDEN.values() for case in cases}


@pytest.fixture(autouse=True)
def no_seed_stays() -> Iterator[None]:
    """One line sets a global seed that random operations refuse."""
    yield
    tf.random.set_seed(None)


@pytest.mark.parametrize("family", sorted(GOLDEN))
def test_results(family: str) -> None:
    """Values, dtypes, shapes and classes of errors, save for what is known to differ."""
    found = {}
    for case in GOLDEN[family]:
        what = difference(family, case)
        if what is not None:
            found[case["text"]] = what
    new = {line: what for line, what in found.items() if line not in KNOWN_LINES}
    assert not new, "\n".join(f"{line}\n    {what}" for line, what in new.items())
    lasting = {line for line, reason in KNOWN_LINES.items() if reason not in BY_PROCESSOR}
    gone = sorted(lasting & {case["text"] for case in GOLDEN[family]} - found.keys())
    assert not gone, f"these do not differ any more; take them away: {gone}"


def test_known_lines_are_recorded() -> None:
    assert sorted(KNOWN_LINES.keys() - LINES) == []


def test_lines_are_those_of_the_tables() -> None:
    """What is recorded is still in the tables, and nearly all of the tables is recorded."""
    wanted = {case["text"] for cases in texts.cases().values() for case in cases}
    assert wanted >= LINES
    assert len(wanted - LINES) <= 30, "record again: see docs/adding_an_operation.md"
