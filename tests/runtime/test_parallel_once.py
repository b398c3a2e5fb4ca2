"""Items of a parallel run, while other runs of the executor measure the same items."""

import itertools
import types

import pytest

from penstock.runtime.executor import Executor, _ParallelRun
from penstock.runtime.step import Step


class Wavering(Executor):
    """What is long changes from one question to the next, as measurements of other runs do it."""

    def is_long(self, index):
        return next(self.answers)


@pytest.mark.parametrize("first", [False, True])
def test_each_item_runs_once_whatever_is_measured_meanwhile(first):
    ran = []
    items = [
        types.SimpleNamespace(
            name=str(i), waits=False, may_wait=False, run=lambda slots, step, i=i: ran.append(i)
        )
        for i in range(6)
    ]
    executor = Wavering(items, [set(), set(), {0}, {0, 1}, {2}, {3}])
    # A list is asked about once for each item; a second question gets the other answer.
    executor.answers = itertools.cycle([first, first, not first, not first])
    _ParallelRun(executor, [], Step(None)).run()
    assert sorted(ran) == list(range(6))
