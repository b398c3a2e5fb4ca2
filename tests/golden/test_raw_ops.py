"""Every raw operation that TensorFlow has too gives TensorFlow's recorded results."""

import collections

import numpy as np
import pytest
from tests.golden.comparing import KINDS, difference
from tests.golden.differences import KNOWN
from tests.golden.tolerances import VALUES
from tools.golden import codec
from tools.golden.left_out import NOT_RECORDED

from penstock import ops
from penstock.core.op_def import registered
from penstock.data import operations as data_operations

ops.load_all()
data_operations.load_all()
GOLDEN = {op: cases for op, cases in codec.read().items() if "." not in op}
THEIRS = frozenset(codec.source()["raw_ops"])
SHARED = sorted(THEIRS & registered().keys())


@pytest.mark.parametrize("op", sorted(GOLDEN.keys() & registered().keys()))
def test_results(op: str) -> None:
    """Values, dtypes, shapes, gradients and classes of errors, save for what is known to differ."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for case in GOLDEN[op]:
        what = difference(op, case)
        if what is not None:
            found[what.partition(":")[0]].append(f"{what}\n    {case['steps']}"[:600])
    for kind in KINDS:
        known = KNOWN.get((op, kind))
        allowed = known.cases if known else 0
        assert len(found[kind]) <= allowed, "\n".join(
            [f"{op}: {allowed} cases may differ in {kind}, {len(found[kind])} do:", *found[kind]]
        )
        if known and known.everywhere:
            assert found[kind], f"{op}: nothing differs in {kind} any more; take the entry away"


@pytest.mark.parametrize("op", SHARED)
def test_three_cases_or_a_reason(op: str) -> None:
    """Golden cases are recorded for every operation, or it says why not."""
    assert len(GOLDEN.get(op, ())) >= 3 or op in NOT_RECORDED, (
        f"{op}: see docs/adding_an_operation.md, Golden results"
    )


def test_tables_name_operations() -> None:
    """No table holds what is no longer there."""
    assert {op for op, _ in KNOWN} <= GOLDEN.keys()
    assert {name for name in VALUES if "." not in name} <= GOLDEN.keys()
    assert NOT_RECORDED.keys() <= THEIRS
    assert [op for op in NOT_RECORDED if len(GOLDEN.get(op, ())) >= 3] == []
    assert all(kind in KINDS for _, kind in KNOWN)


def test_a_difference_is_seen() -> None:
    """The comparison is not blind: another value, dtype, shape, class or gradient is told."""
    case = next(
        c
        for c in GOLDEN["Square"]
        if c.get("grad") and c["out"][0][0] == "float32" and c["out"][0][1]
    )
    assert difference("Square", case) is None
    wrong = codec.encode("float32", codec.decode(case["out"][0]) * np.float32(1 + 1e-4))
    assert str(difference("Square", case | {"out": [wrong]})).startswith("value: ")
    wrong = codec.encode("float32", codec.decode(case["grad"][0]) * np.float32(1 + 1e-4))
    assert str(difference("Square", case | {"grad": [wrong]})).startswith("gradient: ")
    wide = codec.encode("float64", codec.decode(case["out"][0]))
    assert str(difference("Square", case | {"out": [wide]})).startswith("dtype: ")
    deeper = codec.encode("float32", codec.decode(case["out"][0])[None])
    assert str(difference("Square", case | {"out": [deeper]})).startswith("shape: ")
    refused = {"steps": case["steps"], "err": "InvalidArgumentError", "build": None}
    assert difference("Square", refused) == "error: expected InvalidArgumentError, got a result"
