"""Environment variables: values, defaults, and errors that name the variable."""

import pathlib

import pytest

from penstock.config import env

READ = [
    ("PENSTOCK_VERIFY", "1", True),
    ("PENSTOCK_VERIFY", "Off", False),
    ("PENSTOCK_VERIFY", "", False),
    ("PENSTOCK_PLAN_CACHE", "8", 8),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "1048576", 2**20),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "1.5G", 3 * 2**29),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "512 MiB", 2**29),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "10kb", 10 * 2**10),
    ("PENSTOCK_CACHE_DIR", "/tmp/x", pathlib.Path("/tmp/x")),
    ("PENSTOCK_CACHE_DIR", "", None),
    ("PENSTOCK_LOG_LEVEL", "INFO", "INFO"),
    ("PENSTOCK_XLA_OPTIONS", '{"task": {"index": 1}}', {"task": {"index": 1}}),
    ("PENSTOCK_XLA_OPTIONS", "", {}),
]
MALFORMED = [
    ("PENSTOCK_VERIFY", "maybe", "one of 1, true, yes, on"),
    ("PENSTOCK_PLAN_CACHE", "many", "an integer"),
    ("PENSTOCK_PLAN_CACHE", "0", "a number >= 1"),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "-1", "a size in bytes from 0"),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "nan", "a size in bytes from 0"),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "inf", "a size in bytes"),
    ("PENSTOCK_COMPILATION_CACHE_SIZE", "big", "a size in bytes"),
    ("PENSTOCK_LOG_LEVEL", "LOUD", "one of , DEBUG, INFO"),
    ("PENSTOCK_XLA_OPTIONS", "{", "JSON"),
]


@pytest.mark.parametrize(("name", "text", "wanted"), READ)
def test_values_are_read(name, text, wanted):
    assert env.get(name, {name: text}) == wanted


@pytest.mark.parametrize(("name", "text", "message"), MALFORMED)
def test_malformed_values_name_the_variable(name, text, message):
    with pytest.raises(ValueError, match=f"environment variable {name}: .*{message}") as caught:
        env.get(name, {name: text})
    assert repr(text) in str(caught.value)


def test_the_table_is_sound():
    for name, row in env.VARIABLES.items():
        assert name == row.name
        assert name.startswith(("PENSTOCK_", "TF_"))
        assert row.kind in env.PARSERS
        assert row.doc.endswith(".")
        assert env.get(name, {}) == row.default
        if row.choices:
            assert row.default in row.choices
    assert list(env.VARIABLES) == [row.name for row in env._ROWS]


def test_the_environment_of_the_process_is_the_default(monkeypatch):
    monkeypatch.setenv("PENSTOCK_PLAN_CACHE", "3")
    assert env.get("PENSTOCK_PLAN_CACHE") == 3
    monkeypatch.delenv("PENSTOCK_PLAN_CACHE")
    assert env.get("PENSTOCK_PLAN_CACHE") == env.VARIABLES["PENSTOCK_PLAN_CACHE"].default


def test_a_name_outside_the_table():
    with pytest.raises(KeyError, match="PENSTOCK_NOTHING"):
        env.get("PENSTOCK_NOTHING", {})


def test_check_lists_what_is_wrong():
    problems = env.check(
        {"PENSTOCK_VERIFI": "1", "PENSTOCK_PLAN_CACHE": "x", "PENSTOCK_VERIFY": "1", "HOME": "/"}
    )
    assert len(problems) == 2
    assert "PENSTOCK_PLAN_CACHE" in problems[0]
    assert "PENSTOCK_VERIFI" in problems[1]
    assert env.check({}) == []


def test_describe_has_a_line_for_each():
    text = env.describe()
    assert all(f"`{name}`" in text for name in env.VARIABLES)
