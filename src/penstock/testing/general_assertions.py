"""Assertions about plain Python values: sequences, text, files and processes.

TensorFlow's TestCase inherits methods of these names from Abseil's.
"""

import contextlib
import dataclasses
import json
import re
import subprocess
import unittest
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn


class GeneralAssertions(unittest.TestCase):
    """What a test says about values that are no tensors."""

    def enter_context(self, manager: contextlib.AbstractContextManager[Any]) -> Any:
        """Enters a context that ends with the test, however it ends; returns its value."""
        return self.enterContext(manager)

    def fail(self, msg: Any = None, user_msg: Any = None) -> NoReturn:
        """Fails, with both messages where there are two."""
        super().fail(msg if user_msg is None else f"{msg} : {user_msg}")

    def assertDictEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Two dictionaries have the same items."""
        super().assertDictEqual(a, b, msg)

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """Text ends with."""
        if not actual.endswith(expected_end):
            self.fail(_with(f"{actual!r} does not end with {expected_end!r}", msg))

    def assertNotStartsWith(
        self, actual: str, unexpected_start: str, msg: str | None = None
    ) -> None:
        """Text does not begin with."""
        if actual.startswith(unexpected_start):
            self.fail(_with(f"{actual!r} does start with {unexpected_start!r}", msg))

    def assertNotEndsWith(self, actual: str, unexpected_end: str, msg: str | None = None) -> None:
        """Text does not end with."""
        if actual.endswith(unexpected_end):
            self.fail(_with(f"{actual!r} does end with {unexpected_end!r}", msg))

    def assertRegexMatch(self, actual_str: Any, regexes: Any, message: str | None = None) -> None:
        """Some of the patterns (one, or a list of them) is found in the text, str or bytes."""
        patterns = [regexes] if isinstance(regexes, (str, bytes)) else list(regexes)
        self.assertTrue(patterns, "no pattern given")
        if not any(re.search(p, actual_str, re.MULTILINE) for p in patterns):
            self.fail(_with(f"{actual_str!r} contains none of {patterns!r}", message))

    def assertIsSubclass(self, cls: Any, superclass: Any, msg: str | None = None) -> None:
        """One class derives from another."""
        if not issubclass(cls, superclass):
            self.fail(_with(f"{cls!r} is not a subclass of {superclass!r}", msg))

    def assertNotIsSubclass(self, cls: Any, superclass: Any, msg: str | None = None) -> None:
        """One class does not derive from another."""
        if issubclass(cls, superclass):
            self.fail(_with(f"{cls!r} is a subclass of {superclass!r}", msg))

    def assertNoCommonElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Two sequences share no element."""
        common = set(expected_seq) & set(actual_seq)
        if common:
            self.fail(_with(f"common elements: {common!r}", msg))

    def assertSequenceStartsWith(
        self, prefix: Sequence[Any], whole: Sequence[Any], msg: str | None = None
    ) -> None:
        """A sequence begins with the elements of another; `prefix` is not empty."""
        self.assertTrue(len(prefix), "the prefix is empty")
        self.assertEqual(list(prefix), list(whole)[: len(prefix)], msg)

    def assertContainsSubsequence(
        self, container: Iterable[Any], subsequence: Iterable[Any], msg: str | None = None
    ) -> None:
        """The elements occur in this order, others may lie between them."""
        rest = iter(container)
        missing = [item for item in subsequence if not any(item == found for found in rest)]
        if missing:
            self.fail(_with(f"{missing[0]!r} is missing or out of order", msg))

    def assertContainsExactSubsequence(
        self, container: Sequence[Any], subsequence: Sequence[Any], msg: str | None = None
    ) -> None:
        """The elements occur one right after the other."""
        items, wanted = list(container), list(subsequence)
        starts = range(len(items) - len(wanted) + 1)
        if not any(items[i : i + len(wanted)] == wanted for i in starts):
            self.fail(_with(f"{wanted!r} is no contiguous part of {items!r}", msg))

    def assertContainsInOrder(
        self, strings: Iterable[str], target: str, msg: str | None = None
    ) -> None:
        """The strings occur in the text in this order."""
        position = 0
        for text in [strings] if isinstance(strings, str) else strings:
            found = target.find(text, position)
            if found < 0:
                self.fail(_with(f"{text!r} does not follow at {position} in {target!r}", msg))
            position = found + len(text)

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Sequence[Any],
        actual_seq: Sequence[Any],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """Elements are almost equal, as `assertAlmostEqual` means it."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        close: Any = self.assertAlmostEqual  # its types are those of either places or delta
        for expected, actual in zip(expected_seq, actual_seq, strict=True):
            close(expected, actual, places, msg, delta)

    def assertDictAlmostEqual(
        self,
        a: Mapping[Any, Any],
        b: Mapping[Any, Any],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """The same keys with almost equal values; values that are no numbers are equal."""
        close: Any = self.assertAlmostEqual  # its types are those of either places or delta
        self.assertEqual(set(a), set(b), msg)
        for key, value in a.items():
            if isinstance(value, float) or isinstance(b[key], float):
                close(value, b[key], places, msg, delta)
            else:
                self.assertEqual(value, b[key], msg)

    def assertMappingEqual(
        self,
        a: Any,
        b: Any,
        msg: str | None = None,
        mapping_type: type = Mapping,
        check_values_equality: Callable[[Any, Any], bool] = lambda x, y: bool(x == y),
    ) -> None:
        """Two mappings have the same keys, and values that the function accepts."""
        self.assertIsInstance(a, mapping_type, msg)
        self.assertIsInstance(b, mapping_type, msg)
        self.assertEqual(set(a), set(b), msg)
        wrong = {key: (a[key], b[key]) for key in a if not check_values_equality(a[key], b[key])}
        if wrong:
            self.fail(_with(f"values differ: {wrong!r}", msg))

    def assertDataclassEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """Two instances of one dataclass are equal; says which fields differ."""
        self.assertTrue(dataclasses.is_dataclass(first), f"{first!r} is no dataclass")
        self.assertIs(type(first), type(second), msg)
        if first != second:
            pairs = {
                f.name: (getattr(first, f.name), getattr(second, f.name))
                for f in dataclasses.fields(first)
            }
            wrong = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
            self.fail(_with(f"fields differ: {wrong!r}", msg))

    def assertSameStructure(
        self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: str | None = None
    ) -> None:
        """Two nests of dicts and lists have equal leaves; lists every place that differs."""
        problems = list(_differences(a, b, aname, bname))
        if problems:
            self.fail(_with("; ".join(problems[:20]), msg))

    def assertJsonEqual(self, first: str, second: str, msg: str | None = None) -> None:
        """Two JSON texts mean the same."""
        self.assertSameStructure(json.loads(first), json.loads(second), "first", "second", msg)

    def assertUrlEqual(self, a: str, b: str, msg: str | None = None) -> None:
        """Two addresses are equal up to the order of their query's arguments."""
        first, second = urllib.parse.urlsplit(a), urllib.parse.urlsplit(b)
        for x, y in ((first[:3], second[:3]), (first.fragment, second.fragment)):
            self.assertEqual(x, y, msg)
        of_first, of_second = (
            urllib.parse.parse_qsl(u.query, keep_blank_values=True) for u in (first, second)
        )
        self.assertCountEqual(of_first, of_second, msg)

    def assertTotallyOrdered(self, *groups: Iterable[Any], **kwargs: Any) -> None:
        """Each group's elements are equal to each other and less than those of later groups."""
        listed = [list(group) for group in groups]
        for i, group in enumerate(listed):
            for x in group:
                for y in group:
                    self.assertTrue(x == y and x <= y and not x < y, f"{x!r} and {y!r} not equal")
                for y in (item for later in listed[i + 1 :] for item in later):
                    self.assertTrue(x < y and y > x and x != y, f"{x!r} is not less than {y!r}")

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: Any,
        expected_exception_message: str,
        callable_obj: Callable[..., Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """An exception with exactly this message is raised."""
        pattern = rf"\A{re.escape(expected_exception_message)}\Z"
        if callable_obj is None:
            return self.assertRaisesRegex(expected_exception, pattern)
        self.assertRaisesRegex(expected_exception, pattern, callable_obj, *args, **kwargs)
        return None

    def assertRaisesRegexp(
        self, expected_exception: Any, expected_regex: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """The old name of `assertRaisesRegex`."""
        return self.assertRaisesRegex(expected_exception, expected_regex, *args, **kwargs)

    def assertCommandSucceeds(
        self,
        command: Any,
        regexes: Sequence[Any] = (b"",),
        env: Any = None,
        close_fds: bool = True,
        msg: str | None = None,
    ) -> None:
        """A process ends with status 0, and its output contains one of the patterns."""
        status, output = _run(command, env, close_fds)
        self.assertEqual(status, 0, _with(f"{command!r} failed: {output!r}", msg))
        self.assertRegexMatch(output, [_as_bytes(r) for r in regexes], msg)

    def assertCommandFails(
        self,
        command: Any,
        regexes: Sequence[Any],
        env: Any = None,
        close_fds: bool = True,
        msg: str | None = None,
    ) -> None:
        """A process ends with another status, and its output contains one of the patterns."""
        status, output = _run(command, env, close_fds)
        self.assertNotEqual(status, 0, _with(f"{command!r} succeeded", msg))
        self.assertRegexMatch(output, [_as_bytes(r) for r in regexes], msg)


def _with(text: str, msg: str | None) -> str:
    return text if msg is None else f"{text} : {msg}"


def _differences(a: Any, b: Any, aname: str, bname: str) -> Iterable[str]:
    """Yields a line for each place where two nests differ."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in [*a, *(k for k in b if k not in a)]:
            if key not in a or key not in b:
                there, other = (aname, bname) if key in a else (bname, aname)
                yield f"{there} has [{key!r}], {other} has not"
            else:
                yield from _differences(a[key], b[key], f"{aname}[{key!r}]", f"{bname}[{key!r}]")
    elif _is_list(a) and _is_list(b):
        if len(a) != len(b):
            yield f"{aname} has {len(a)} items, {bname} has {len(b)}"
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from _differences(x, y, f"{aname}[{i}]", f"{bname}[{i}]")
    elif a != b:
        yield f"{aname} is {a!r}, {bname} is {b!r}"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _run(command: Any, env: Any, close_fds: bool) -> tuple[int, bytes]:
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        close_fds=close_fds,
        shell=isinstance(command, str),
        check=False,
    )
    return done.returncode, done.stdout
