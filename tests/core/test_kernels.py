"""Which kernel serves a call."""

import pytest

from penstock.core import kernels


@pytest.fixture
def name():
    yield "_TestOfSelecting"
    del kernels._kernels["_TestOfSelecting"]


def test_the_latest_of_equally_specific_kernels_is_selected(name):
    for number in range(3):
        kernels.register_kernel(name, lambda x, number=number: number, kind="host")
    chosen = kernels.select(name, "host", "CPU", {})
    assert chosen is kernels.kernels_of(name)[-1]


def test_a_more_specific_kernel_is_selected_before_a_later_one(name):
    kernels.register_kernel(name, lambda x: 0, kind="host", device="CPU")
    kernels.register_kernel(name, lambda x: 1, kind="host")
    chosen = kernels.select(name, "host", "CPU", {})
    assert chosen is kernels.kernels_of(name)[0]


def test_a_kernel_for_single_calls_serves_nothing_else(name):
    kernels.register_kernel(name, lambda x: 0, kind="host")
    kernels.register_kernel(name, lambda x: 1, kind="host", device="CPU", singly=True)
    plain, alone = kernels.kernels_of(name)
    assert kernels.select(name, "host", "CPU", {}) is plain
    assert kernels.select(name, "host", "CPU", {}, singly=True) is alone
