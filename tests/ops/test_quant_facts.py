"""Quantisation against figures recorded from TensorFlow (tools/tf_facts_quantized.py)."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.tf_facts_quantized import FUSED, PLAIN, names, outcome

import penstock as tf

ROOT = Path(__file__).resolve().parents[2]
FACTS = json.loads((ROOT / "tests" / "data" / "tf_quantized.json").read_text())
KNOWN = names(tf)

# How far integers may lie from TensorFlow's. Its kernels for these count in fixed point, or in
# float32 where we use float64.
OFF_BY = {
    "QuantizedResizeBilinear": 2,
    "QuantizeDownAndShrinkRange": 1,
    "Requantize": 1,
    "RequantizePerChannel": 1,
    "QuantizedAdd": 128,  # an 8-bit step is 600 to 1000
    "QuantizedBatchNormWithGlobalNormalization": 4,
}


def compare(text: str, got: Any, wanted: Any, more: int = 0) -> None:
    """Integers to what OFF_BY says, 32-bit ones and floats to the precision of float32."""
    if isinstance(wanted, str):
        assert got == wanted, text
        return
    assert not isinstance(got, str), f"{text}: {got}"
    op = re.match(r"r\.(\w+)", text)
    assert op is not None
    assert len(got) == len(wanted)
    for (dtype, shape, values), (their_dtype, their_shape, theirs) in zip(got, wanted, strict=True):
        assert (dtype, shape) == (their_dtype, their_shape), text
        largest = np.max(np.abs(np.nan_to_num(theirs)), initial=0.0)
        share = 2e-7 if dtype == "qint32" else 5e-7
        allowed = share * largest if "int8" not in dtype and "int16" not in dtype else 0.0
        if "int" in dtype:
            allowed = max(allowed, OFF_BY.get(op[1], 0) + more, float("WithBias" in op[1]))
        np.testing.assert_allclose(values, theirs, rtol=0, atol=allowed, err_msg=text)


def test_the_file_has_every_text() -> None:
    assert (set(FACTS["plain"]), set(FACTS["fused"])) == (set(PLAIN), set(FUSED))


@pytest.mark.parametrize("text", PLAIN)
def test_figures_of_tensorflow(text: str) -> None:
    compare(text, outcome(tf, text, in_function=False), FACTS["plain"][text])


@pytest.mark.parametrize("text", FUSED)
def test_figures_of_tensorflow_with_onednn(text: str) -> None:
    compare(text, outcome(tf, text, in_function=True), FACTS["fused"][text])


def _one_of_each() -> list[str]:
    """For each operation the first text that succeeds."""
    found: dict[str, str] = {}
    for text in (*PLAIN, *FUSED):
        recorded = FACTS["plain"].get(text, FACTS["fused"].get(text))
        if not isinstance(recorded, str):
            found.setdefault(text.partition("(")[0], text)
    return list(found.values())


def _kept(maker: Any, drawn: list[Any]) -> Any:
    """What makes arrays, and keeps them."""

    def make(*arguments: Any) -> Any:
        drawn.append(maker(*arguments))
        return drawn[-1]

    return make


@pytest.mark.parametrize("text", _one_of_each())
def test_functions_and_compiled_ones_give_the_same(text: str) -> None:
    """A compiled region may round halves otherwise, by one."""
    eager = outcome(tf, text, in_function=False)
    compare(text, outcome(tf, text, in_function=True), eager, more=1)
    drawn: list[Any] = []

    eval(text, {**KNOWN, "q": _kept(KNOWN["q"], drawn), "f": _kept(KNOWN["f"], drawn)})
    assert drawn

    @tf.function(jit_compile=True)
    def compiled(given: list[Any]) -> Any:
        rest = iter(given)
        return eval(text, {**KNOWN, "q": lambda *_: next(rest), "f": lambda *_: next(rest)})

    made = compiled(drawn)
    results = made if isinstance(made, tuple) else [made]
    as_recorded = [
        [r.dtype.name, list(r.shape), r.numpy().astype(float).ravel().tolist()] for r in results
    ]
    compare(text, as_recorded, eager, more=1)


@pytest.mark.parametrize("text", _one_of_each())
def test_graphs_that_know_no_shapes_give_the_same(text: str) -> None:
    drawn: list[Any] = []
    eval(text, {**KNOWN, "q": _kept(KNOWN["q"], drawn), "f": _kept(KNOWN["f"], drawn)})
    with tf.Graph().as_default():
        given = [tf.compat.v1.placeholder(array.dtype, None) for array in drawn]
        rest = iter(given)
        made = eval(text, {**KNOWN, "q": lambda *_: next(rest), "f": lambda *_: next(rest)})
        results = list(made) if isinstance(made, tuple) else [made]
        with tf.compat.v1.Session() as session:
            feeds = {key: array.numpy() for key, array in zip(given, drawn, strict=True)}
            arrays = session.run(results, feeds)
    for symbol, array in zip(results, arrays, strict=True):
        assert symbol.shape.is_compatible_with(array.shape)
    got = [
        [symbol.dtype.name, list(array.shape), np.asarray(array).astype(float).ravel().tolist()]
        for symbol, array in zip(results, arrays, strict=True)
    ]
    compare(text, got, outcome(tf, text, in_function=False), more=1)
