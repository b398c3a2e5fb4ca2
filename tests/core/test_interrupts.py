"""Ctrl-C that is noticed while Python collects garbage."""

import functools
import gc
import os
import signal
import time
import types

import pytest

import penstock as tf
from penstock.core import interrupts, lazy


def test_no_line_of_python_runs_around_a_collection():
    tf.function(lambda x: x + 1.0, jit_compile=True)(tf.zeros([3]))
    assert lazy.jax_is_loaded()
    kinds = {getattr(c, "__name__", ""): type(c) for c in gc.callbacks}
    assert interrupts.CALLBACK not in kinds
    assert functools.partial in kinds.values()  # `let_through` put it in JAX's place
    jax_has_none = [c for c in gc.callbacks if isinstance(c, types.FunctionType)]
    assert not any(c.__module__.startswith("jax") for c in jax_has_none)


def test_the_function_runs_at_each_collection():
    seen = []

    class Library:  # a function of C without arguments
        count = staticmethod(iter(lambda: seen.append(1), 1).__next__)

    callback = interrupts.without_frame(Library.count)
    gc.callbacks.append(callback)
    try:
        gc.collect()
        gc.collect()
    finally:
        gc.callbacks.remove(callback)
    assert len(seen) == 4  # before and after each


def test_another_callback_stays_as_it_is(monkeypatch):
    def other(phase, info):
        pass

    def of_that_name(phase, info):
        pass

    of_that_name.__name__ = interrupts.CALLBACK  # but without the library behind it
    callbacks = [other, of_that_name]
    monkeypatch.setattr(gc, "callbacks", callbacks)
    interrupts.let_through()
    assert callbacks == [other, of_that_name]


def test_a_signal_during_a_collection_arrives():
    def work():  # stands for the long computation after which a collection comes
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        gc.collect()

    tf.function(lambda x: x + 1.0)(tf.zeros([3]))
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt):
            work()
