"""Assertions about numbers, arrays and nests of them."""

import unittest
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from penstock.core.tensor import EagerTensor, Tensor
from penstock.testing.reports import listed, not_close, not_equal, wide
from penstock.testing.values import host_value

Array = np.ndarray[Any, Any]


class NumberAssertions(unittest.TestCase):
    """What a test says about arrays and tensors."""

    def evaluate(self, tensors: Any) -> Any:
        """The NumPy value of a nest of tensors; a test case with sessions says how."""
        raise NotImplementedError

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Two tensors of a graph as arrays from one run, so that random ones agree."""
        if all(isinstance(v, Tensor) and not isinstance(v, EagerTensor) for v in (a, b)):
            a, b = self.evaluate([a, b])
        return a, b

    def _array(self, value: Any) -> Array:
        if isinstance(value, Tensor) and not isinstance(value, EagerTensor):
            value = self.evaluate(value)
        if hasattr(value, "read_value"):
            value = self.evaluate(value)
        if hasattr(value, "nested_row_splits"):
            value = value.flat_values
        array = np.asarray(host_value(value))
        if array.dtype.kind != "U":
            return array
        return np.array([t.encode() for t in array.flat], object).reshape(array.shape)

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Two nests of numbers agree: |a - b| <= atol + rtol * |b|."""
        a, b = self.evaluate_if_both_tensors(a, b)
        self._close_nests(a, b, rtol, atol, "", msg)

    def _close_nests(
        self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: str | None
    ) -> None:
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        a, b = _as_list(a), _as_list(b)
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg or ''}")
        if isinstance(a, Mapping):
            self.assertCountEqual(
                a.keys(), b.keys(), f"mismatched keys: a{path} and b{path}. {msg or ''}"
            )
            for key in a:
                self._close_nests(a[key], b[key], rtol, atol, f"{path}[{key}]", msg)
        elif isinstance(a, (list, tuple)) and not _is_rectangular(a):
            self.assertEqual(len(a), len(b), f"mismatched length: a{path} and b{path}. {msg or ''}")
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self._close_nests(x, y, rtol, atol, f"{path}[{i}]", msg)
        else:
            self._close_arrays(self._array(a), self._array(b), rtol, atol, path, msg)

    def _close_arrays(
        self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: str | None
    ) -> None:
        self.assertEqual(
            a.shape,
            b.shape,
            f"Shape mismatch: expected {a.shape}, got {b.shape} with contents {b}."
            + (f" At a{path}." if path else "")
            + (f" {msg}" if msg else ""),
        )
        if object in (a.dtype, b.dtype):  # text
            self.assertAllEqual(a, b, msg)
            return
        if not np.allclose(wide(a), wide(b), rtol=rtol, atol=atol, equal_nan=True):
            not_close(a, b, rtol, atol, f"a{path} is different from b{path}", msg)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """`assertAllClose` with tolerances of the least precise dtype."""
        for dtype, more_r, more_a in (
            ("float32", float_rtol, float_atol), ("complex64", float_rtol, float_atol),
            ("float16", half_rtol, half_atol),
            ("bfloat16", bfloat16_rtol, bfloat16_atol),
        ):  # fmt: skip
            if dtype in (self._array(a).dtype.name, self._array(b).dtype.name):
                rtol, atol = max(rtol, more_r), max(atol, more_a)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Some element differs by more than the tolerance."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except self.failureException:
            return
        raise self.failureException(f"The two values are close at all elements. {msg or ''}")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Two arrays are equal in shape and every element; NaN equals NaN."""
        a, b = self.evaluate_if_both_tensors(a, b)
        a, b = _as_list(a), _as_list(b)
        if isinstance(a, list) and isinstance(b, list) and not _is_rectangular(a):
            self.assertEqual(a, b, msg)
            return
        x, y = self._array(a), self._array(b)
        self.assertEqual(
            x.shape,
            y.shape,
            f"Shape mismatch: expected {x.shape}, got {y.shape} with contents {y}. {msg or ''}",
        )
        same = x == y
        if x.dtype.kind in "fc" and y.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(x), np.isnan(y)))
        if not np.all(same):
            not_equal(x, y, np.asarray(same), msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Some element differs."""
        try:
            self.assertAllEqual(a, b)
        except self.failureException:
            return
        raise self.failureException(f"The two values are equal at all elements. {msg or ''}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Every element is greater."""
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Every element is greater or equal."""
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Every element is less."""
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Every element is less or equal."""
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Every element lies between the bounds."""
        array = self._array(target)
        if array.dtype.kind not in "iufcb" and array.dtype.name != "bfloat16":
            raise self.failureException(
                f"The value of {target} does not have an ordered numeric type, instead it has"
                f" type: {array.dtype}"
            )
        low = array <= lower_bound if open_lower_bound else array < lower_bound
        high = array >= upper_bound if open_upper_bound else array > upper_bound
        lost = np.isnan(wide(array))
        if lost.any():
            raise self.failureException(
                f"{lost.sum()} of the {array.size} element(s) are NaN. Subscripts(s) and value(s)"
                f" of the NaN element(s):\n{listed(array, lost)}"
            )
        bad = low | high
        if bad.any():
            left, right = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
            raise self.failureException(
                f"{bad.sum()} of the {array.size} element(s) are outside the range"
                f" {left}{lower_bound}, {upper_bound}{right}. Subscript(s) and value(s) of the"
                f" offending elements:\n{listed(array, bad)}"
            )

    def assertAllInSet(self, target: Any, expected_set: Iterable[Any]) -> None:
        """Every element is one of the set."""
        wanted = set(expected_set)
        unexpected = set(self._array(target).reshape(-1).tolist()) - wanted
        if unexpected:
            raise self.failureException(
                f"{len(unexpected)} unique element(s) are not in the set {wanted}:"
                f" {sorted(unexpected, key=repr)[:10]}"
            )

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """|f1 - f2| <= err; each is a number, or a tensor, variable or array of one."""
        if f1 == f2 or abs(f1 - f2) <= err:
            return
        first, second, most = (np.asarray(each).item() for each in (f1, f2, err))
        text = f"{first:f} != {second:f} +/- {most:f} (difference: {abs(first - second):g})"
        self.assertTrue(False, text + (f" ({msg})" if msg else ""))

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Each pair of elements is near."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """The Euclidean distance of two arrays is less than `err`."""
        self.assertEqual(np.shape(ndarray1), np.shape(ndarray2), msg)
        self.assertLess(
            float(np.linalg.norm(np.asarray(ndarray1, np.float64) - ndarray2)), err, msg
        )

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """Minv <= value <= maxv."""
        self.assertTrue(
            minv <= value <= maxv, msg or f"{value!r} is not between {minv!r} and {maxv!r}"
        )


def _is_rectangular(value: Any) -> bool:
    try:
        return (
            np.asarray(
                [host_value(v) if not isinstance(v, (list, tuple)) else v for v in value]
            ).dtype
            != object
        )
    except (ValueError, TypeError):
        return False


def _as_list(value: Any) -> Any:
    """A ragged tensor as the nested list that it is compared as; other values as they are."""
    return value.to_list() if hasattr(value, "row_splits") else value
