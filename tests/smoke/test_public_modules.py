"""Public modules: each can be imported, under every name, and is one object."""

import importlib
import subprocess
import sys

import pytest

import penstock as tf
from penstock import namespace

MODULES = sorted(m for m in namespace._modules if m)


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_is_what_the_attribute_gives(name):
    module = importlib.import_module(f"penstock.{name}")
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module
    assert module.__spec__ is not None
    assert set(namespace.names_of(name)) <= set(dir(module))


def test_modules_are_imported_first_of_all():
    """In a new process: nothing has made the modules before."""
    program = """if True:
        import penstock.experimental.numpy as tnp
        import penstock.compat.v1.logging as logging
        from penstock.linalg import trace
        from penstock.compat.v1.train import AdamOptimizer
        import penstock as tf
        assert tf.experimental.numpy is tnp and tf.linalg.trace is trace
        assert tf.compat.v1.logging is logging
        assert tf.compat.v1.train.AdamOptimizer is AdamOptimizer
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("compat.v2.compat.v1", "compat.v1"),
        ("compat.v1.compat.v1.nn", "compat.v1.nn"),
        ("compat.v1.app.flags", "compat.v1.flags"),
    ],
)
def test_second_names_of_a_module(name, same):
    module = importlib.import_module(f"penstock.{same}")
    assert importlib.import_module(f"penstock.{name}") is module
    assert module.__spec__.name == f"penstock.{same}"


def test_what_is_no_public_module_is_not_found():
    for name in ("nosuch", "math.nosuch", "compat.v3", "add"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"penstock.{name}")


def test_both_generations_have_the_errors():
    v1 = tf.compat.v1
    assert v1.errors.OutOfRangeError is tf.errors.OutOfRangeError
    assert v1.OpError is tf.errors.OpError
    assert issubclass(v1.errors.exception_type_from_error_code(11), v1.errors.OutOfRangeError)
    assert tf.compat.v2.math.add is not None
    assert tf.compat.v2.compat.v1.Session is v1.Session


def test_forward_compatibility():
    assert tf.compat.forward_compatible(2020, 1, 1)
    assert not tf.compat.forward_compatible(2999, 1, 1)
    with tf.compat.forward_compatibility_horizon(2019, 1, 1):
        assert not tf.compat.forward_compatible(2020, 1, 1)
    with pytest.raises(ValueError, match="month"):
        tf.compat.forward_compatible(2020, 13, 1)


def test_names_of_scopes():
    assert tf.get_current_name_scope() == ""
    with tf.name_scope("outer"), tf.name_scope("inner"):
        assert tf.get_current_name_scope() == "outer/inner"
    with tf.Graph().as_default(), tf.name_scope("layer"), tf.name_scope("layer"):
        assert tf.get_current_name_scope() == "layer/layer"
