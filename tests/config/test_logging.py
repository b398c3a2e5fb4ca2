"""The log: levels, counting, and where messages go."""

import logging as python_logging

import pytest

import penstock as tf
from penstock.config import get_logger
from penstock.config import logging as log


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """A logger without handlers and a level of its own, as in a new process."""
    logger = python_logging.getLogger("penstock")
    before = (logger.handlers[:], logger.level, logger.propagate)
    logger.handlers, logger.level = [], python_logging.NOTSET
    logger.manager._clear_cache()
    monkeypatch.setattr(log, "_state", {})
    monkeypatch.setattr(log, "_counts", type(log._counts)())
    monkeypatch.delenv("PENSTOCK_LOG_LEVEL", raising=False)
    yield
    logger.handlers, logger.level, logger.propagate = before
    logger.manager._clear_cache()


@pytest.fixture
def no_root_handler(monkeypatch):
    """Takes away pytest's handlers, which come after the fixtures: call it in the test."""
    return lambda: monkeypatch.setattr(python_logging.getLogger(), "handlers", [])


def test_one_logger_with_one_handler(capsys, no_root_handler):
    no_root_handler()
    assert get_logger() is get_logger() is python_logging.getLogger("penstock")
    assert len(get_logger().handlers) == 1
    log.warning("x %d", 3)
    log.info("not shown")
    assert capsys.readouterr().err == "WARNING:penstock:x 3\n"


def test_a_programs_own_handler_is_enough(caplog):
    python_logging.getLogger().addHandler(caplog.handler)
    assert get_logger().handlers == []
    log.error("seen")
    assert [r.getMessage() for r in caplog.records] == ["seen"]


def test_the_place_of_a_message_is_the_callers(caplog):
    python_logging.getLogger().addHandler(caplog.handler)
    log.warn("a")
    log.log(log.ERROR, "b")
    log.log_if(log.ERROR, "c", True)
    log.log_first_n(log.ERROR, "d", 1)
    log.log_every_n(log.ERROR, "e", 1)
    log.TaskLevelStatusMessage("f")
    log.fatal("g")
    log.vlog(log.ERROR, "h")
    log.set_verbosity(log.DEBUG)
    log.debug("i")
    log.info("j")
    assert "".join(r.getMessage() for r in caplog.records) == "abcdefghij"
    assert {r.filename for r in caplog.records} == {"test_logging.py"}


def test_the_level(monkeypatch):
    monkeypatch.setenv("PENSTOCK_LOG_LEVEL", "ERROR")
    assert log.get_verbosity() == log.ERROR
    log.set_verbosity("DEBUG")
    assert log.get_verbosity() == log.DEBUG
    with pytest.raises(ValueError, match="Unknown level"):
        log.set_verbosity("LOUD")


def test_a_level_set_before_first_use_is_kept():
    python_logging.getLogger("penstock").setLevel("DEBUG")
    assert log.get_verbosity() == log.DEBUG


def test_counting(capsys, no_root_handler):
    no_root_handler()
    for i in range(5):
        log.log_every_n(log.WARN, "every %d", 2, i)
        log.log_first_n(log.WARN, "first %d", 2, i)
    lines = [line.removeprefix("WARNING:penstock:") for line in capsys.readouterr().err.split("\n")]
    assert lines[:-1] == ["every 0", "first 0", "first 1", "every 2", "every 4"]


def test_levels_are_pythons():
    assert (log.DEBUG, log.INFO, log.WARN, log.ERROR, log.FATAL) == (10, 20, 30, 40, 50)


def test_small_numbers_are_below_debug(capsys):
    log.set_verbosity(log.DEBUG)
    log.vlog(1, "quiet")
    log.flush()
    assert capsys.readouterr().err == ""


def test_the_log_has_names_in_compat_v1(caplog):
    old = tf.compat.v1.logging
    before = old.get_verbosity()
    old.set_verbosity(old.INFO)
    assert old.get_verbosity() == old.INFO == log.INFO
    with caplog.at_level("INFO", "penstock"):
        old.info("%d steps", 3)
    assert caplog.messages == ["3 steps"]
    old.set_verbosity(before)
