"""`native/sanitize.py` runs the tests of native libraries, with what the compiler has."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ELSEWHERE = {"test_native_threads.py"}  # it starts processes of its own


@pytest.fixture
def sanitize():
    spec = importlib.util.spec_from_file_location("native_sanitize", ROOT / "native/sanitize.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_runs_all_tests_of_native_operations(sanitize):
    assert all((ROOT / path).exists() for path in sanitize.TESTS)
    for path, _, name in (test.partition("::") for test in sanitize.LEFT_OUT):
        assert f"def {name}(" in (ROOT / path).read_text()
    there = {path.name for path in (ROOT / "tests/ops").glob("test_native_*.py")} - ELSEWHERE
    assert there == {
        path.rpartition("/")[2] for path in sanitize.TESTS if "ops/test_native" in path
    }


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_the_sanitizers_come_before_the_library_that_they_look_into(sanitize, sanitizers):
    if sanitize.builder().compiler() is None:
        pytest.skip("no C++ compiler here")
    first, *_, last = sanitize.environment(sanitizers)["LD_PRELOAD"].split()
    assert "san" in pathlib.Path(first).name
    assert "stdc++" in pathlib.Path(last).name
