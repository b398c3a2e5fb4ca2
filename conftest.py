"""Doctests: `tf` stands for the package, and public functions are tested where they are defined."""

import signal

import pytest
from hypothesis import settings

import penstock

# Drawn examples are the same in each run: what fails does so because of a change, not of a draw.
# `--hypothesis-profile=default` draws others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

# The public modules hold the functions of others; their examples run in the modules they are from.
collect_ignore_glob = ["src/penstock/__init__.py", "src/penstock/compat/*/__init__.py"]


@pytest.fixture(autouse=True)
def _the_package_as_tf(doctest_namespace):
    doctest_namespace["tf"] = penstock


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_measured():
    """No test depends on which kernels this machine found faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_AUTOTUNE", "0")
        yield


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_arrives():
    """Jobs that a shell starts in the background ignore it, and so would what tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
