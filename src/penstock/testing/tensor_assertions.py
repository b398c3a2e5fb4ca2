"""Assertions about shapes, dtypes, devices, errors and protobuf messages."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.graph.graph_def import PRODUCER
from penstock.graph.scopes import device_text
from penstock.testing.number_assertions import NumberAssertions
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape

_SHAPES = r"(?i)incompatible shapes|broadcast|inner dimensions|same shape|compatible|dimensions"


class TensorAssertions(NumberAssertions):
    """What a test says about tensors, errors and messages."""

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Two arrays or tensors have one static shape."""
        a, b = _static_shape(input_a, "input_a"), _static_shape(input_b, "input_b")
        self.assertAllEqual(a, b, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The dtype of an array or tensor."""
        found = target.dtype if hasattr(target, "dtype") else np.asarray(target).dtype
        self.assertEqual(as_dtype(found), as_dtype(expected_dtype))

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two device names mean the same."""
        canonical = [device_text(d) for d in (device1, device2)]
        self.assertEqual(
            canonical[0],
            canonical[1],
            f"Devices {device1} and {device2} are not equal. {msg or ''}",
        )

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Text begins with."""
        if not actual.startswith(expected_start):
            self.fail(
                f"{actual!r} does not start with {expected_start!r}"
                + ("" if msg is None else f" : {msg!r}")
            )

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """A container has no items."""
        self.assertEqual(len(container), 0, msg or f"{container!r} has length of {len(container)}")

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """A container has items."""
        self.assertGreater(len(container), 0, msg or f"{container!r} is empty")

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """A container has this many items."""
        self.assertEqual(
            len(container),
            expected_len,
            msg or f"{container!r} has length of {len(container)}, expected {expected_len}",
        )

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Two sequences have the same elements, however often."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertItemsEqual(
        self, first: Iterable[Any], second: Iterable[Any], msg: str | None = None
    ) -> None:
        """Two sequences have the same elements equally often."""
        self.assertCountEqual(first, second, msg)

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: str | None = None
    ) -> None:
        """Every element of the subset is there."""
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, msg or f"missing elements: {missing!r}")

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """An exception is raised whose message matches the pattern or predicate."""
        if callable(expected_err_re_or_predicate):
            accepts = expected_err_re_or_predicate
        else:

            def accepts(problem: Any) -> bool:
                text = problem.message if isinstance(problem, errors.OpError) else str(problem)
                return re.search(expected_err_re_or_predicate, text) is not None

        try:
            yield
        except Exception as problem:  # whatever was raised is looked at
            if not isinstance(problem, exception_type) or not accepts(problem):
                raise AssertionError(
                    f"Exception of type {type(problem)}: {problem}, expected "
                    f"{exception_type} matching {expected_err_re_or_predicate!r}"
                ) from problem
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """An OpError is raised that matches."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(
        self, exception_type: Any = errors.InvalidArgumentError
    ) -> Any:
        """An error that says that shapes do not go together is raised."""
        return self.assertRaisesWithPredicateMatch(exception_type, _SHAPES)

    def assertProtoEquals(
        self,
        expected_message_maybe_ascii: Any,
        validate_message: Any,
        msg: str | None = None,
        relative_tolerance: float | None = None,
    ) -> None:
        """Two messages are equal; the expected one may be text."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = parse_message(expected, type(validate_message))
        elif type(expected) is not type(validate_message):
            self.fail(
                f"Can't compare protos of type {type(expected)} and "
                f"{type(validate_message)}. {msg or ''}"
            )
        if relative_tolerance is not None:
            self._close_nests(
                _message_dict(expected),
                _message_dict(validate_message),
                relative_tolerance,
                0.0,
                "",
                msg,
            )
            return
        self.assertMultiLineEqual(str(expected), str(validate_message), msg)

    def assertProtoEqualsVersion(
        self,
        expected: Any,
        actual: Any,
        producer: int = PRODUCER,
        min_consumer: int = 0,
        msg: str | None = None,
    ) -> None:
        """A GraphDef equals the text with the versions of this library added."""
        consumer = f" min_consumer: {min_consumer}" if min_consumer else ""
        versions = f"versions {{ producer: {producer}{consumer} }}"
        self.assertProtoEquals(f"{versions}\n{expected}", actual, msg)


def _static_shape(value: Any, name: str) -> Any:
    if not hasattr(value, "shape"):
        raise TypeError(
            f"{name} must be a Numpy ndarray, Numpy scalar, or a Tensor. Instead received"
            f" {type(value)}. Compare shapes with assertEqual."
        )
    return TensorShape(value.shape).as_list()


def parse_message(text: str, kind: type) -> Any:
    """A protobuf message from its text form."""
    return proto.text_format.Parse(text, kind())


def _message_dict(message: Any) -> Any:
    return proto.json_format.MessageToDict(message)
