"""Records of the operations that debuggers put into graphs."""

import numpy as np
from tests.ops.harness import Failure, Record, case, normal

import penstock as tf

SPECIAL = np.float32([1, 0, -2, np.nan, np.inf, -np.inf])
IN_FILES = "tests/ops/test_debug_dump.py"
NAMED = {"tensor_name": "a:0"}


def kinds(x):
    if x.dtype.kind != "f":
        return [np.zeros(x.shape, bool)] * 3
    return [np.isneginf(x), np.isposinf(x), np.isnan(x)]


def summary(x, output_dtype=None, tensor_debug_mode=-1, tensor_id=-1):
    bad = kinds(x)
    size, code = x.size, tf.as_dtype(x.dtype).as_datatype_enum
    finite = x[~np.logical_or.reduce(bad)].astype(np.float64)
    modes = {
        2: lambda: [tensor_id, np.any(bad)],
        3: lambda: [tensor_id, size, *(b.sum() for b in bad)],
        4: lambda: [tensor_id, -1, code, x.ndim, size, *(b.sum() for b in bad),
                    (finite < 0).sum(), (finite == 0).sum(), (finite > 0).sum()],
        5: lambda: [tensor_id, code, x.ndim, size, *(list(x.shape[-6:]) + [0] * 6)[:6]],
        8: lambda: [v if b.any() else 0 for v, b in zip((-np.inf, np.inf, np.nan), bad, strict=True)],
    }  # fmt: skip
    return np.array(modes[tensor_debug_mode](), output_dtype or np.float32)


RECORDS = [
    Record("DebugNumericSummaryV2",
           [case(x, tensor_debug_mode=mode, tensor_id=7)
            for x in (SPECIAL, normal(2, 3), np.zeros((1, 2, 1, 2, 1, 1, 3)), np.int32(3), np.zeros(0), np.array([True, False]))
            for mode in (2, 3, 4, 5, 8)], summary, widen=False, result_dtype="float32",
           errors=[
               Failure((SPECIAL,), "Unimplemented tensor debug mode", {"tensor_debug_mode": 6}, tf.errors.UnimplementedError, None),
               Failure((SPECIAL,), "2\\^24", {"tensor_debug_mode": 2, "tensor_id": (1 << 24) + 1}, graph=None),
               Failure((np.array([b"a"], object),), "real numbers", {"tensor_debug_mode": 2}, tf.errors.UnimplementedError, None),
           ]),
    Record("DebugNanCount", [case(SPECIAL, **NAMED), case(np.int32([1, 2]), **NAMED), case(np.zeros((0, 2)), **NAMED)],
           lambda x, tensor_name: np.array([np.isnan(x).sum()]), compiled=False, result_dtype="int64",
           errors=[Failure((SPECIAL,), "parse tensor name", graph=None)]),
    *(Record(name, tested_by=IN_FILES) for name in
      ("CheckPinned", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "DebugNumericSummary")),
]  # fmt: skip
