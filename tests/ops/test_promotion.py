"""Broadcasting and dtypes of operands: against NumPy, and what TensorFlow was seen to do."""

import gzip
import json
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from tests.ops.harness import placeholder

import penstock as tf
from penstock import ops
from penstock.core.context import graph_scope
from penstock.core.tensor import Tensor, eager_tensor
from penstock.graph.graph import Graph

ops.load_all()
DATA = Path(__file__).resolve().parents[1] / "data"
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq]


def _facts() -> dict[str, Any]:
    packed = DATA / "tf_promotion.json.gz"
    text = (
        gzip.decompress(packed.read_bytes())
        if packed.exists()
        else (DATA / "tf_promotion.json").read_bytes()
    )
    return json.loads(text)


FACTS = _facts()


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(
    mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0),
    st.sampled_from(OPERATORS),
)
def test_broadcasting_is_numpys(shapes: Any, function: Any) -> None:
    a, b = (
        np.arange(1, 1 + int(np.prod(s)), dtype=np.float32).reshape(s) for s in shapes.input_shapes
    )
    result = function(eager_tensor(a), eager_tensor(b))
    if function is operator.eq and not isinstance(result, Tensor):
        return
    np.testing.assert_allclose(result.numpy(), function(a, b), 1e-6)
    with graph_scope(Graph()):
        for known in ("full", "dims", "rank"):
            symbol = tf.add(placeholder(a, known), placeholder(b, known))
            assert symbol.shape.is_compatible_with(shapes.result_shape)


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    a, b = tf.ones([2, 3]), tf.ones([2, 4])
    for function in OPERATORS[:5]:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
            function(a, b)
    assert not (a == b).numpy()
    assert (a != b).numpy()


def expected(row: dict[str, str], dtype: str) -> str:
    """What a compressed row says for a dtype: an outcome names its dtypes, `*` is the rest."""
    for outcome, dtypes in row.items():
        if dtype in dtypes.split():
            return outcome
    return next(outcome for outcome, dtypes in row.items() if dtypes == "*")


PYTHON = {
    "2": 2,
    "2.5": 2.5,
    "2j": 2j,
    "None": None,
    "'a'": "a",
    "[2]": [2],
    "[2.5]": [2.5],
    "True": True,
}
FUNCTIONS = {
    "a + b": operator.add, "a - b": operator.sub, "a * b": operator.mul,
    "a / b": operator.truediv, "a // b": operator.floordiv, "a % b": operator.mod,
    "a < b": operator.lt, "a >= b": operator.ge, "a == b": operator.eq, "a != b": operator.ne,
}  # fmt: skip
TYPES = ("float32", "float64", "int32", "int64", "uint8", "complex64", "bfloat16", "float16")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_python_operands_take_the_tensors_dtype(name: str) -> None:
    """A Python value becomes the tensor's dtype or is refused, with TensorFlow's errors."""
    wrong = []
    for text, value in PYTHON.items():
        for dtype in TYPES:
            x = tf.cast(tf.constant([2]), dtype)
            wanted = expected(FACTS["with_python"][name][text], dtype)
            try:
                result = FUNCTIONS[name](x, value)
                got = result.dtype.name if isinstance(result, Tensor) else f"Python bool {result}"
            except Exception as problem:  # any class: it is compared
                got = f"!{type(problem).__name__}"
            if got != (dtype if wanted == "same" else wanted):
                wrong.append(f"{dtype} {name} {text}: {got}, TensorFlow {wanted}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_tensors_are_never_promoted(name: str) -> None:
    for dtype in TYPES:
        other = "float32" if dtype != "float32" else "int32"
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError)):
            FUNCTIONS[name](tf.cast(tf.constant([2]), dtype), tf.cast(tf.constant([2]), other))
