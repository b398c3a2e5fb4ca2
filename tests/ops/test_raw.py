"""tf.raw_ops: parameters, defaults and results of the generated functions."""

import inspect
import json
import pathlib
import re

import numpy as np
import pytest

import penstock as tf
from penstock import ops
from penstock.core import op_def

FACTS = pathlib.Path(__file__).parents[1] / "data" / "tf_signatures.json"


def test_every_raw_function_has_tensorflows_parameters():
    facts = json.loads(FACTS.read_text())["tf.raw_ops"]
    ops.load_all()
    different = {}
    for name in op_def.registered() | op_def.unserved():
        if name in facts:
            unquoted = re.sub(r"'[^']*'", "''", facts[name].strip("()"))
            outside_brackets = re.split(r",\s*(?![^()\[\]]*[\)\]])", unquoted)
            wanted = [p.split("=")[0].strip() for p in outside_brackets]
            found = list(inspect.signature(getattr(tf.raw_ops, name)).parameters)
            if found != wanted:
                different[name] = found
    assert different == {}


def test_values_and_defaults():
    np.testing.assert_array_equal(tf.raw_ops.AddV2(x=[1, 2], y=[3, 4]).numpy(), [4, 6])
    product = tf.raw_ops.MatMul(a=[[1.0], [2.0]], b=[[3.0], [4.0]], transpose_a=True)
    assert float(product[0, 0]) == 11.0
    assert int(tf.raw_ops.Sum(input=[1, 2, 3], axis=0)) == 6


def test_several_outputs_have_names():
    result = tf.raw_ops.TopKV2(input=[3.0, 1.0, 2.0], k=2)
    np.testing.assert_array_equal(result.values.numpy(), [3.0, 2.0])
    np.testing.assert_array_equal(result.indices.numpy(), [0, 2])


def test_positional_and_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="only takes keyword args"):
        tf.raw_ops.AddV2(1, 2)
    with pytest.raises(TypeError):
        tf.raw_ops.AddV2(x=1, y=2, z=3)
    with pytest.raises(AttributeError, match="no operation of that name"):
        tf.raw_ops.NoSuchOperation  # noqa: B018


def test_every_module_that_defines_operations_is_loaded():
    """Operations of a module outside of FAMILIES would be found only after somebody imported it."""
    folder = pathlib.Path(ops.__file__).parent
    defining = {p.stem for p in folder.glob("*.py") if " = define_op(\n" in p.read_text()}
    assert defining - set(ops.FAMILIES) == set()


def test_none_for_an_attribute_without_a_default():
    for call in (
        lambda: tf.raw_ops.DecodeRaw(bytes="a", out_type=None),
        lambda: tf.strings.to_hash_bucket_fast(["a"], None),
        lambda: tf.strings.to_hash_bucket_strong(["a"], 3, None),
    ):
        for mode in (call, tf.function(call)):
            with pytest.raises(TypeError, match=r"Expected .* for argument .* not None"):
                mode()
    assert int(tf.raw_ops.Cast(x=1.5, DstT=tf.int32, Truncate=None)) == 1
