"""Dtypes of sums after experimental_enable_numpy_behavior, as TensorFlow 2.21 gives them."""

import importlib.util
import json
from pathlib import Path

import pytest

import penstock as tf
from penstock.ops import numpy_behavior

ROOT = Path(__file__).resolve().parents[2]
RECORDED = json.loads((ROOT / "tests" / "data" / "numpy_result_dtypes.json").read_text())


def _recorder():
    path = ROOT / "tools" / "record_numpy_dtypes.py"
    spec = importlib.util.spec_from_file_location("record_numpy_dtypes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# TensorFlow refuses to add two tensors of bools; NumPy's rule, which is the rule here, is "or".
BOTH_BOOLS = {("bool +", 0), ("+ bool", 0)}


@pytest.mark.parametrize("setting", RECORDED)
def test_dtypes_of_sums(setting):
    mode, preference = setting.split()
    numpy_behavior.experimental_enable_numpy_behavior(preference == "True", mode)
    try:
        found = _recorder().sums(tf)
    finally:
        numpy_behavior.restore()
    for row, expected in RECORDED[setting].items():
        for place, (ours, theirs) in enumerate(zip(found[row], expected, strict=True)):
            if mode == "legacy" and (row, place) in BOTH_BOOLS:
                theirs = "bool"
            if theirs.startswith("ndarray"):  # NumPy adds what mode "safe" refused
                theirs = "TypeError"
            assert ours == theirs, (row, place)
