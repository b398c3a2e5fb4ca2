"""How Penstock's outcome of a golden case is compared with TensorFlow's.

`difference(op, case)` runs the case and gives None, or what differs in words that begin with one of
`KINDS`: the table of known differences is by operation and kind.
"""

import warnings
from typing import Any

import numpy as np
from tests.golden.tolerances import Allowed, allowed_for
from tools.golden import calls, codec
from tools.golden.codec import Array, Case, Json

import penstock as tf

KINDS = ("error", "building", "dtype", "shape", "value", "gradient")

# Two differences hold everywhere (docs/differences.md). Where TensorFlow defines an operation for a
# dtype and has no kernel, its errors are these, and Penstock may have the kernel:
NO_KERNEL = ("NotFoundError", "UnimplementedError")
# and what can be known to be wrong while a graph is built is refused then:
CHECKED_EARLY = ("ValueError", "TypeError")


def difference(op: str, case: Case) -> str | None:
    """What Penstock does otherwise than TensorFlow did, None for nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated operations are operations still
        got = calls.run(tf, case)
    if "err" in case:
        return _of_errors(case, got)
    if "err" in got:
        return f"error: expected a result, got {got['err']}"
    return _of_results(op, case, got)


def _of_errors(case: Case, got: dict[str, Any]) -> str | None:
    wanted = case["err"]
    if wanted in NO_KERNEL or (_channels_first(case) and "err" not in got):
        return None  # Penstock has the kernel, or finds something else to refuse
    if "err" not in got:
        return f"error: expected {wanted}, got a result"
    if case.get("mode") == "session" and got["err"] in CHECKED_EARLY:
        return None  # while the graph was built, where TensorFlow's came when it ran
    if got["err"] != wanted:
        return f"error: expected {wanted}, got {got['err']}"
    building, wanted_building = got.get("build"), case.get("build")
    if building == wanted_building or (wanted_building is None and building in CHECKED_EARLY):
        return None
    return f"building: expected {wanted_building}, got {building}"


def _channels_first(case: Case) -> bool:
    """Whether the case is of the layout for which TensorFlow's kernels on the CPU are missing."""
    layouts = [
        arguments.get("data_format", {}).get("a", "") for _, arguments in case.get("steps", ())
    ]
    return any(str(layout).startswith("NC") for layout in layouts)


def _of_results(op: str, case: Case, got: dict[str, Any]) -> str | None:
    found = _of_tensors(op, case["out"], got["out"], "value")
    if found or "grad" not in case:
        return found
    wanted = case["grad"]
    if isinstance(wanted, str) or isinstance(got.get("grad"), str):
        same = wanted in (got.get("grad"), "LookupError")  # more gradients than TensorFlow has
        return None if same else f"gradient: expected {_shown(wanted)}, got {_shown(got['grad'])}"
    return _of_tensors(op, wanted, got.get("grad") or [], "gradient")


def _shown(gradient: Json) -> str:
    return gradient if isinstance(gradient, str) else "a result"


def _of_tensors(op: str, wanted: Json, got: Json, what: str) -> str | None:
    if len(wanted) != len(got):
        return f"{what}: expected {len(wanted)} tensors, got {len(got)}"
    for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
        found = _of_tensor(op, a, b, what)
        if found:
            return f"{found} (tensor {i})"
    return None


def _of_tensor(op: str, wanted: Json, got: Json, what: str) -> str | None:
    if wanted is None or got is None:
        return None if wanted is got else f"{what}: expected {wanted}, got {got}"[:200]
    kinds = ("dtype", "shape") if what == "value" else (what, what)
    if wanted[0] != got[0]:
        return f"{kinds[0]}: expected {wanted[0]}, got {got[0]}"
    if wanted[1] != got[1]:
        return f"{kinds[1]}: expected shape {wanted[1]}, got {got[1]}"
    if wanted[2] == got[2]:
        return None
    if wanted[0] == codec.PLAIN:
        return f"{what}: expected {wanted[2]}, got {got[2]}"[:300]
    a, b = codec.decode(wanted), codec.decode(got)
    if a.dtype.kind not in "fcV":
        return f"{what}: expected {a.tolist()}, got {b.tolist()}"[:300]
    return _of_floats(a, b, allowed_for(op, what), what)


def _of_floats(wanted: Array, got: Array, allowed: Allowed, what: str) -> str | None:
    """Compares within so many units, see `tolerances`; complex numbers part by part."""
    if wanted.dtype.kind == "c":
        pairs = ((wanted.real, got.real), (wanted.imag, got.imag))
        largest = _largest(np.stack([wanted.real, wanted.imag]))
        found = [_of_reals(a, b, allowed, what, largest) for a, b in pairs]
        return next(filter(None, found), None)
    return _of_reals(wanted, got, allowed, what, _largest(wanted))


def _largest(array: Array) -> float:
    wide = array.astype(np.float64)
    finite = np.abs(wide[np.isfinite(wide)])
    return float(finite.max()) if finite.size else 0.0


def _of_reals(wanted: Array, got: Array, allowed: Allowed, what: str, largest: float) -> str | None:
    info = codec.ml_dtypes.finfo(wanted.dtype)
    a, b = wanted.astype(np.float64), got.astype(np.float64)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(a), max(float(info.tiny), allowed.share * largest))
        distance = np.abs(a - b) / (size * float(info.eps))
        equal = (a == b) | (np.isnan(a) & np.isnan(b)) | (distance <= allowed.ulps)
    if allowed.any_order:
        equal |= ~np.isfinite(a) & ~np.isfinite(b)
    if equal.all():
        return None
    worst = np.argmax(np.where(equal, 0, np.where(np.isfinite(distance), distance, np.inf)))
    x, y = a.reshape(-1)[worst], b.reshape(-1)[worst]
    return (
        f"{what}: expected {x}, got {y}: {distance.reshape(-1)[worst]:.3g} ulps of {allowed.ulps}"
    )
