"""`tf.test.TestCase`: what its assertions accept and refuse, sessions, seeds, threads."""

import io
import os
import shutil
import sys
import unittest
from typing import Any, ClassVar

import numpy as np
import pytest

import penstock as tf
from penstock.core.context import graph_scope
from penstock.graph.graph import Graph
from penstock.testing.temporary import TempFileCleanup

v1 = tf.compat.v1
NAN = float("nan")


class Case(tf.test.TestCase):
    """A test case whose methods the tests here call."""

    __test__ = False

    def runTest(self) -> None:
        """Nothing: needed to make an instance."""


@pytest.fixture
def case() -> Any:
    made = Case()
    made.setUp()
    yield made
    made.tearDown()
    made.doCleanups()


def ragged_nest(last: float) -> dict[str, Any]:
    return {"a": [1.0, (2.0, [last])], "b": [[1.0], [2.0, 3.0]]}


# assertion, arguments that pass, arguments that fail
TABLE: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    ("assertAllClose", ([1.0, NAN], [1.0 + 1e-7, NAN]), ([1.0, 2.0], [1.0, 2.1])),
    ("assertAllClose", (ragged_nest(3.0), ragged_nest(3.0)), (ragged_nest(3.0), ragged_nest(3.1))),
    ("assertAllClose", ({"a": 1.0}, {"a": 1.0}), ({"a": 1.0}, {"b": 1.0})),
    ("assertAllClose", ([2.0], [3.0], 0.0, 1.0), ([2.0], [3.0], 0.0, 0.999)),
    ("assertAllClose", ([2.0], [4.0], 0.5, 0.0), ([4.0], [2.0], 0.5, 0.0)),
    ("assertAllClose", ([], []), ([1.0, 2.0], [[1.0, 2.0]])),
    ("assertAllEqual", ([1, 2], [1, 2]), ([1, 2], [1, 3])),
    ("assertAllEqual", ([NAN], [NAN]), ([NAN], [0.0])),
    ("assertAllEqual", (["a"], [b"a"]), (["a"], [b"b"])),
    ("assertAllEqual", ([[1], [2, 3]], [[1], [2, 3]]), ([[1], [2, 3]], [[1], [2, 4]])),
    ("assertAllEqual", (1, 1), ([1], 1)),
    ("assertNotAllEqual", ([1], [2]), ([1], [1])),
    ("assertNotAllClose", ([1.0], [1.1]), ([1.0], [1.0])),
    ("assertAllCloseAccordingToType",
     (np.float16([1]), np.float16([1.001])), (np.float16([1]), np.float16([1.01]))),
    ("assertAllCloseAccordingToType",
     (np.float64([1]), np.float64([1 + 1e-7])), (np.float64([1]), np.float64([1.001]))),
    ("assertArrayNear", ([1.0, 2.0], [1.0, 2.1], 0.2), ([1.0, 2.0], [1.0, 2.1], 0.05)),
    ("assertNDArrayNear", (np.ones(2), np.ones(2) + 0.1, 0.2),
     (np.ones(2), np.ones(2) + 0.1, 0.1)),
    ("assertNear", (1.0, 1.5, 0.5), (1.0, 1.5, 0.25)),
    ("assertNear", (tf.constant([1.0]), 1, 0.5), (tf.constant([1.0]), 2, 0.5)),
    ("assertNear", (np.array([1.0]), 1.0, 0.5), (1.0, np.array([2.0]), np.float32(0.5))),
    ("assertNear", ("a", "a", 0), (1.0, NAN, 1.0)),
    ("assertAllGreater", ([2, 3], 1), ([1, 2], 1)),
    ("assertAllGreaterEqual", ([1, 2], 1), ([0, 2], 1)),
    ("assertAllLess", ([1, 2], 3), ([1, 2], 2)),
    ("assertAllLessEqual", ([1, 2], 2), ([1, 3], 2)),
    ("assertAllInRange", ([1, 2], 1, 2), ([1, 2], 1, 2, False, True)),
    ("assertAllInRange", ([1.5], 1, 2, True, True), ([1, 2], 1, 2, True, False)),
    ("assertAllInRange", ([1.0], 1, 2), ([NAN], 1, 2)),
    ("assertAllInSet", ([1, 2], {1, 2, 3}), ([1, 2], {1})),
    ("assertBetween", (1, 1, 2), (0, 1, 2)),
    ("assertShapeEqual", (np.ones([2, 3]), np.zeros([2, 3])), (np.ones([2, 3]), np.ones([2, 2]))),
    ("assertDTypeEqual", (np.ones(2, np.float32), "float32"), (np.ones(2), "float32")),
    ("assertDeviceEqual", ("/device:CPU:0", "/cpu:0"), ("/device:CPU:0", "/gpu:0")),
    ("assertStartsWith", ("abc", "ab"), ("abc", "b")),
    ("assertEndsWith", ("abc", "bc"), ("abc", "b")),
    ("assertNotStartsWith", ("abc", "b"), ("abc", "a")),
    ("assertNotEndsWith", ("abc", "b"), ("abc", "c")),
    ("assertEmpty", ([],), ([1],)),
    ("assertNotEmpty", ([1],), ([],)),
    ("assertLen", ([1, 2], 2), ([1, 2], 3)),
    ("assertSameElements", ([1, 1, 2], [2, 1]), ([1], [2])),
    ("assertItemsEqual", ([1, 2], [2, 1]), ([1, 1, 2], [2, 1])),
    ("assertContainsSubset", ([1], [1, 2]), ([3], [1, 2])),
    ("assertNoCommonElements", ([1], [2]), ([1, 2], [2])),
    ("assertRegexMatch", ("abc", ["x", "b+"]), ("abc", ["x"])),
    ("assertIsSubclass", (bool, int), (int, bool)),
    ("assertNotIsSubclass", (int, bool), (bool, int)),
    ("assertSequenceStartsWith", ([1], [1, 2]), ([2], [1, 2])),
    ("assertContainsSubsequence", ([1, 2, 3], [1, 3]), ([1, 2, 3], [3, 1])),
    ("assertContainsExactSubsequence", ([1, 2, 3], [2, 3]), ([1, 2, 3], [1, 3])),
    ("assertContainsInOrder", (["a", "c"], "abc"), (["c", "a"], "abc")),
    ("assertSequenceAlmostEqual", ([1.0], [1.0 + 1e-9]), ([1.0], [1.1])),
    ("assertDictAlmostEqual", ({"a": 1.0}, {"a": 1.0 + 1e-9}), ({"a": 1.0}, {"a": 1.1})),
    ("assertMappingEqual", ({"a": 1}, {"a": 1}), ({"a": 1}, {"a": 2})),
    ("assertSameStructure", ({"a": [1]}, {"a": [1]}), ({"a": [1]}, {"a": [2]})),
    ("assertJsonEqual", ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'), ('{"a": 1}', '{"a": 2}')),
    ("assertUrlEqual", ("http://x/?a=1&b=2", "http://x/?b=2&a=1"), ("http://x/?a=1", "http://x/")),
    ("assertTotallyOrdered", ([1, 1.0], [2]), ([2], [1])),
    ("assertCommandSucceeds", (["printf", "hi"], ["h"]), (["false"],)),
    ("assertCommandFails", ("echo no; exit 3", ["no"]), (["true"], [""])),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=[f"{row[0]}-{i}" for i, row in enumerate(TABLE)])
def test_assertions_accept_and_refuse(case: Any, row: tuple[str, Any, Any]) -> None:
    name, passing, failing = row
    getattr(case, name)(*passing)
    with pytest.raises(AssertionError):
        getattr(case, name)(*failing)


@pytest.mark.parametrize("row", TABLE[:8], ids=[f"{row[0]}-{i}" for i, row in enumerate(TABLE[:8])])
def test_arrays_may_be_tensors(case: Any, row: tuple[str, Any, Any]) -> None:
    def tensors(values: tuple[Any, ...]) -> list[Any]:
        flat = [isinstance(v, list) for v in values]
        return [tf.constant(v) if f else v for v, f in zip(values, flat, strict=True)]

    getattr(case, row[0])(*tensors(row[1]))
    with pytest.raises(AssertionError):
        getattr(case, row[0])(*tensors(row[2]))


def test_the_message_names_the_place(case: Any) -> None:
    with pytest.raises(AssertionError, match=r"value: a\[a\]\[1\]\[1\] is .*\nnot close where"):
        case.assertAllClose(ragged_nest(3.0), ragged_nest(4.0))
    with pytest.raises(AssertionError) as equal:
        case.assertAllEqual([1, 2], [1, 3], "note")
    assert "Arrays are not equal\nnote\nnot equal where = (array([1]),)" in str(equal.value)
    assert "not equal lhs = array([2])\nnot equal rhs = array([3])" in str(equal.value)
    with pytest.raises(AssertionError) as close:
        case.assertAllClose(tf.constant([1.0, 2.0], tf.bfloat16), [1.0, 3.0])
    for line in (
        "not close where = (array([1]),)",
        "not close lhs = [2.]",
        "not close rhs = [3.]",
        "not close dif = [1.]",
        "not close tol = [4.e-06]",
        "dtype = bfloat16, shape = (2,)",
        "Mismatched elements: 1 / 2 (50%)",
    ):
        assert f"\n{line}\n" in str(close.value)


def test_elements_out_of_a_range_are_listed(case: Any) -> None:
    with pytest.raises(AssertionError) as found:
        case.assertAllInRange([[5, 2], [1, 9]], 1, 2)
    assert str(found.value).endswith("offending elements:\n  [0 0] : 5\n  [1 1] : 9")
    with pytest.raises(AssertionError) as found:
        case.assertAllInRange(np.arange(30), 1, 2)
    assert str(found.value).endswith("  [11] : 11\n  ...")
    with pytest.raises(AssertionError, match=r"\[1\] : nan"):
        case.assertAllInRange([1.0, np.nan], 1, 2)


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda t: t.assertAllEqual([1], [2]), AssertionError, "Arrays are not equal"),
        (lambda t: t.assertAllClose(1.0, 2.0), AssertionError, "Not equal to tolerance rtol=1e-06"),
        (
            lambda t: t.assertAllClose({"k": 1.0}, {"k": 2.0}),
            AssertionError,
            r"a\[k\] is different from b\[k\]",
        ),
        (
            lambda t: t.assertAllInRange([1, 3], 1, 2),
            AssertionError,
            r"1 of the 2 element\(s\) are outside the range \[1, 2\]",
        ),
        (lambda t: t.assertAllInRange([np.nan], 1, 2), AssertionError, "are NaN"),
        (lambda t: t.assertAllInRange(["a"], 1, 2), AssertionError, "ordered numeric type"),
        (lambda t: t.assertAllInSet([4], {1}), AssertionError, r"not in the set \{1\}: \[4\]"),
        (lambda t: t.assertShapeEqual([1], tf.ones([1])), TypeError, "input_a must be a Numpy"),
        (lambda t: t.assertDTypeEqual([1], np.float32), AssertionError, "int64"),
        (lambda t: t.assertLen([1], 2), AssertionError, "has length of 1, expected 2"),
    ],
)
def test_the_words_of_refusals(case: Any, use: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        use(case)


def test_ragged_tensors_are_evaluated_as_sessions_fetch_them(case: Any) -> None:
    ragged = tf.ragged.constant([[1], [2, 3]])
    with tf.Graph().as_default():
        in_graph = case.evaluate(tf.ragged.constant([[1], [2, 3]]))
    for value in (case.evaluate(ragged), case.evaluate([ragged])[0], in_graph):
        assert isinstance(value, tf.compat.v1.ragged.RaggedTensorValue)
        assert value.to_list() == [[1], [2, 3]]
    case.assertAllEqual(ragged, [[1], [2, 3]])
    case.assertAllInSet(ragged, {1, 2, 3})
    case.assertAllGreater(in_graph, 0)


def test_errors_are_matched_by_text_or_predicate(case: Any) -> None:
    def fail() -> None:
        raise tf.errors.InvalidArgumentError(None, None, "hello 7")

    with case.assertRaisesOpError(r"hello \d"):
        fail()
    with case.assertRaisesOpError(lambda e: e.message == "hello 7"):
        fail()
    with case.assertRaisesIncompatibleShapesError():
        tf.add(tf.ones([2]), tf.ones([3]))
    for arguments in ((ValueError, "hello"), (tf.errors.OpError, "bye")):
        with pytest.raises(AssertionError), case.assertRaisesWithPredicateMatch(*arguments):
            fail()
    with pytest.raises(AssertionError, match="not raised"), case.assertRaisesOpError("x"):
        pass
    with case.assertRaisesWithLiteralMatch(ValueError, "a.b"):
        raise ValueError("a.b")


def test_messages_are_compared(case: Any) -> None:
    graph = Graph().as_graph_def()
    case.assertProtoEqualsVersion("", graph)
    graph.node.add(name="a", op="NoOp")
    case.assertProtoEquals("versions { producer: 2474 } node { name: 'a' op: 'NoOp' }", graph)
    with pytest.raises(AssertionError):
        case.assertProtoEquals("node { name: 'b' }", graph)
    with pytest.raises(AssertionError, match="protos of type"):
        case.assertProtoEquals(1, graph)
    attr = "attr { key: 'x' value { f: %s } }"
    from_text = f"versions {{ producer: 2474 }} node {{ name: 'a' op: 'NoOp' {attr} }}"
    graph.node[0].attr["x"].f = 1.0
    case.assertProtoEquals(from_text % 1.001, graph, relative_tolerance=0.01)
    with pytest.raises(AssertionError):
        case.assertProtoEquals(from_text % 1.1, graph, relative_tolerance=0.01)


def test_graph_defs_are_compared_in_any_order() -> None:
    first, second = Graph().as_graph_def(), Graph().as_graph_def()
    for graph, names in ((first, "ab"), (second, "ba")):
        for name in names:
            graph.node.add(name=name, op="NoOp")
    tf.test.assert_equal_graph_def(first, second)
    second.node[0].device = "/cpu:0"
    with pytest.raises(AssertionError, match="'b' differs"):
        tf.test.assert_equal_graph_def(first, second)
    with pytest.raises(AssertionError, match="'a' is in one"):
        tf.test.assert_equal_graph_def(first, Graph().as_graph_def())
    with pytest.raises(TypeError, match="GraphDef"):
        tf.test.assert_equal_graph_def(first, 1)


def test_setup_sets_every_seed() -> None:
    drawn = []
    for _ in range(2):
        case = Case()
        case.setUp()
        drawn.append((tf.random.uniform([3]).numpy().tolist(), np.random.rand()))
        case.tearDown()
    assert drawn[0] == drawn[1]


def test_evaluate_gives_arrays(case: Any) -> None:
    found = case.evaluate({"a": [tf.constant([1.0]), None], "v": tf.Variable(2.0)})
    assert isinstance(found["a"][0], np.ndarray)
    assert found["a"][1] is None
    assert found["v"] == 2.0
    assert case.evaluate(lambda: tf.constant(3)) == 3
    slices = case.evaluate(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([4])))
    assert isinstance(slices, v1.IndexedSlicesValue)
    assert slices.indices.tolist() == [4]
    sparse = case.evaluate(tf.SparseTensor([[1]], [5], [2]))
    assert isinstance(sparse, v1.SparseTensorValue)
    assert sparse.values.tolist() == [5]


@pytest.mark.parametrize("value", [1, "a", b"a", True, [1.5], {"a": np.ones(2)}, tf.float32])
def test_what_is_no_tensor_is_not_evaluated(case: Any, value: Any) -> None:
    for given in (value, lambda: value):
        with pytest.raises(ValueError, match="evaluate: Unsupported type"):
            case.evaluate(given)


def test_eager_sessions_evaluate(case: Any) -> None:
    for session in (case.session, case.cached_session):
        with session() as given:
            assert given.run(tf.constant(1)) == 1


def test_sessions_of_graphs(case: Any) -> None:
    with graph_scope(Graph()):
        x = tf.random.uniform([2])
        with case.session() as session:
            assert session.run(tf.constant(1)) == 1
            assert case.evaluate(tf.constant(2)) == 2
        with case.cached_session() as first:
            case.assertAllClose(x, x)
        with case.cached_session() as second:
            assert first is second
        assert case.evaluate(x).shape == (2,)
        with pytest.raises(ValueError, match=r"the graph .* differs"):
            with case.cached_session(graph=Graph()):
                pass
        with pytest.raises(ValueError, match=r"the force_gpu .* differs"):
            with case.cached_session(force_gpu=True):
                pass
        with case.session(use_gpu=False):
            assert tf.constant(1).op.device == "/device:CPU:0"


def test_threads_report_what_they_raise(case: Any) -> None:
    thread = case.checkedThread(lambda: 1 / 0)
    thread.start()
    with pytest.raises(AssertionError, match="division by zero"):
        thread.join()
    done: list[int] = []
    other = case.checkedThread(done.append, args=(7,))
    other.start()
    other.join()
    assert done == [7]
    assert not other.is_alive()


def test_a_thread_that_is_not_joined_fails_the_test() -> None:
    case = Case()
    case.setUp()
    thread = case.checkedThread(lambda: None)
    thread.start()
    with pytest.raises(AssertionError, match="not joined"):
        case.tearDown()


def test_folders_go_with_the_test(tmp_path: Any) -> None:
    case = Case()
    made = case.create_tempfile("x/y.txt", "text")
    path = made.full_path
    with open(made) as file:
        assert file.read() == made.read_text() == "text"
    assert path.startswith(case.get_temp_dir())
    assert case.create_tempdir("d").full_path.endswith("d")
    case.doCleanups()
    assert not os.path.exists(path)
    assert v1.test.get_temp_dir() == v1.test.get_temp_dir()


def test_streams_are_captured(case: Any, tmp_path: Any) -> None:
    with (tmp_path / "out").open("w") as stream:
        with case.captureWritesToStream(stream) as captured:
            print("hi", file=stream)
        print("there", file=stream)
    assert captured.contents() == "hi\n"
    assert (tmp_path / "out").read_text() == "there\n"


def run(cls: type[unittest.TestCase]) -> unittest.TestResult:
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(cls)
    return unittest.TextTestRunner(stream=io.StringIO()).run(suite)


def test_it_is_a_unittest_case() -> None:
    class Two(tf.test.TestCase):
        def test_good(self) -> None:
            self.assertAllClose(tf.ones([2]), [1.0, 1.0])

        def test_bad(self) -> None:
            self.assertAllEqual(tf.ones([2]), [1.0, 2.0])

        @tf.test.disable_with_predicate(lambda: True, "not here")
        def test_skipped(self) -> None:
            self.fail("runs")

    result = run(Two)
    assert result.testsRun == 4  # with test_session, which skips itself
    assert [t.id().rpartition(".")[2] for t, _ in result.failures] == ["test_bad"]
    assert sorted(reason for _, reason in result.skipped) == ["Not a test.", "not here"]
    assert not result.errors


def test_benchmarks_report(capsys: Any) -> None:
    class SpeedOfNothing(tf.test.Benchmark):
        def benchmark_add(self) -> None:
            with graph_scope(Graph()) as graph, v1.Session(graph=graph) as session:
                found = self.run_op_benchmark(session, tf.constant(1) + 1, min_iters=3, mbs=2.0)
            assert (found["iters"], found["name"]) == (3, None)
            assert found["wall_time"] > 0
            assert found["throughput"] > 0
            assert self.reports[0]["name"] == "SpeedOfNothing.benchmark_add"

    assert tf.test.Benchmark.is_abstract()
    assert not SpeedOfNothing.is_abstract()
    tf.test.main(["prog", "--benchmarks=SpeedOfNothing"])
    assert "SpeedOfNothing.benchmark_add, iters: 3" in capsys.readouterr().out
    config = tf.test.benchmark_config()
    assert config.graph_options.rewrite_options.dependency_optimization == 2


def test_stubs_are_undone() -> None:
    class Base:
        value = 1

    class Derived(Base):
        pass

    stubs = v1.test.StubOutForTesting()
    stubs.Set(sys, "maxsize", 3)
    stubs.SmartSet(Derived, "value", 2)
    assert (sys.maxsize, Base.value) == (3, 2)
    stubs.CleanUp()
    stubs.CleanUp()
    assert sys.maxsize > 3
    assert Base.value == 1
    assert "value" not in vars(Derived)
    with pytest.raises(AttributeError, match="nothing"):
        stubs.SmartSet(Derived, "nothing", 2)


@pytest.mark.parametrize("known", ["x86", "aarch64"])
def test_processors(known: str) -> None:
    assert isinstance(tf.test.is_cpu_target_available(known), bool)
    with pytest.raises(ValueError, match="'foo'"):
        tf.test.is_cpu_target_available("foo")


def test_files_of_a_test_are_read_and_written(case: Any) -> None:
    folder = case.create_tempdir("one")
    assert case.create_tempdir("one").full_path == folder.full_path
    assert os.path.isdir(folder.mkdir())
    inner = folder.mkdir("two").create_file("deep/a.bin", b"ab", mode="a")
    assert inner.full_path.startswith(os.path.join(os.fspath(folder), "two"))
    inner.write_bytes(b"c", "ab")
    assert inner.read_bytes() == b"abc"
    inner.write_text("\u00e9", encoding="latin1")
    with inner.open_text(encoding="utf8", errors="replace") as file:
        assert file.read() == "\ufffd"
    assert folder.create_file("two/deep/a.bin").read_bytes() == b""
    assert case.create_tempfile().read_text() == ""
    with pytest.raises(ValueError, match="open_bytes"):
        inner.open_text("rb")
    with pytest.raises(ValueError, match="open_text"):
        inner.open_bytes("r")


def test_files_stay_as_long_as_was_asked() -> None:
    class Kept(tf.test.TestCase):
        kept: ClassVar[list[Any]] = []

        def test_passes(self) -> None:
            self.kept.append(self.create_tempfile(cleanup=TempFileCleanup.SUCCESS))

        def test_fails(self) -> None:
            for when in TempFileCleanup:
                self.kept.append(self.create_tempfile(cleanup=when))
            self.fail("so that files stay")

    result = unittest.TestResult()
    Kept("test_passes").run(result)
    assert not os.path.exists(Kept.kept.pop())
    Kept("test_fails").run(result)
    assert len(result.failures) == 1
    always, on_success, never = Kept.kept
    assert not os.path.exists(always)
    assert os.path.exists(on_success)
    assert os.path.exists(never)
    for each in (on_success, never):
        shutil.rmtree(os.path.dirname(each))


def test_contexts_and_facts_belong_to_the_test(case: Any, tmp_path: Any) -> None:
    file = case.enter_context((tmp_path / "a").open("w"))
    case.record_property("rows", 3)
    assert case.get_recorded_properties() == {"rows": 3}
    case.doCleanups()
    assert file.closed
    with pytest.raises(AssertionError, match=r"^a : b$"):
        case.fail("a", "b")
    with pytest.raises(AssertionError):
        case.assertDictEqual(a={"x": 1}, b={"x": 2}, msg="m")  # noqa: PT009
    case.assertItemsEqual(first=[1, 2], second=[2, 1])


def test_what_is_not_near_is_shown(case: Any) -> None:
    text = r"False is not true : 1\.000000 != 2\.000000 \+/- 0\.500000 \(difference: 1\) \(words\)"
    for value in (1, np.float32(1), np.array([1.0]), tf.constant(1.0), tf.Variable(1.0)):
        case.assertNear(value, 1, 1e-3)
        with pytest.raises(AssertionError, match=text):
            case.assertNear(value, 2.0, 0.5, "words")
