"""GraphDefs of TensorFlow before 1.9: operations that it has removed since."""

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.core.op_def import find
from penstock.graph.superseded import SUPERSEDED

v1 = tf.compat.v1
ARRAYS = [("V2", 25), ("", 15)]  # the operations' suffix, and a version that had them


class Old:
    """A GraphDef of a version, node by node."""

    def __init__(self, producer: int) -> None:
        with tf.Graph().as_default() as graph:
            for name, value in {
                "n": 2, "i0": 0, "i1": 1, "f": np.float32(0), "v": np.float32([1.5, -2]),
                "m": np.float32([[1, 2], [3, 4]]), "indices": [1, 0], "lengths": np.int64([1, 1]),
            }.items():  # fmt: skip
                tf.constant(value, name=name)
        self.message = graph.as_graph_def()
        self.message.versions.producer = producer

    def add(self, name: str, op: str, inputs: str, **attrs: Any) -> "Old":
        """Adds a node; attributes are dtypes, numbers, bools or text."""
        node = self.message.node.add(name=name, op=op, input=inputs.split())
        for key, value in attrs.items():
            if isinstance(value, tf.DType):
                node.attr[key].type = value.as_datatype_enum
            elif isinstance(value, bool):
                node.attr[key].b = value
            elif isinstance(value, int):
                node.attr[key].i = value
            else:
                node.attr[key].s = value.encode()
        return self

    def array(self, v: str) -> "Old":
        """An array, and the same vector as both elements."""
        self.add("a", f"TensorArray{v}", "n", dtype=tf.float32)
        self.add("w0", f"TensorArrayWrite{v}", "a i0 v f", T=tf.float32)
        return self.add("w", f"TensorArrayWrite{v}", "a i1 v w0", T=tf.float32)

    def run(self, *fetches: str, by: str | None = None) -> list[Any]:
        """What tensors are, or the gradient of the first with respect to `by`."""
        with tf.Graph().as_default() as graph, v1.Session() as session:
            tf.import_graph_def(self.message, name="")
            found: list[Any] = [graph.get_tensor_by_name(f"{f}:0") for f in fetches]
            if by is not None:
                found = tf.gradients(found, graph.get_tensor_by_name(f"{by}:0"))
            return [np.asarray(x).tolist() for x in session.run(found)]


@pytest.mark.parametrize(("v", "producer"), ARRAYS)
def test_arrays(v: str, producer: int) -> None:
    """Every operation on the arrays, and gradients through them."""
    f = tf.float32
    written = Old(producer).array(v)
    written.add("read", f"TensorArrayRead{v}", "a i1 w", dtype=f)
    written.add("square", "Square", "read", T=f)
    written.add("size", f"TensorArraySize{v}", "a w")
    assert written.run("read", "size") == [[1.5, -2.0], 2]
    assert written.run("square", by="v") == [[3.0, -4.0]]
    joined = Old(producer).array(v)
    joined.add("joined", f"TensorArrayConcat{v}", "a w", dtype=f)
    assert joined.run("joined") == [[1.5, -2.0, 1.5, -2.0]]
    gathered = Old(producer).add("a", f"TensorArray{v}", "n", dtype=f)
    gathered.add("s", f"TensorArrayScatter{v}", "a indices m f", T=f)
    gathered.add("g", f"TensorArrayGather{v}", "a indices s", dtype=f)
    assert gathered.run("g") == [[[1.0, 2.0], [3.0, 4.0]]]
    pieces = Old(producer).add("a", f"TensorArray{v}", "n", dtype=f)
    pieces.add("s", f"TensorArraySplit{v}", "a m lengths f", T=f)
    pieces.add("read", f"TensorArrayRead{v}", "a i1 s", dtype=f)
    assert pieces.run("read") == [[[3.0, 4.0]]]
    summed = Old(producer).array(v).add("g", f"TensorArrayGrad{v}", "a w", source="x")
    summed.add("g0", f"TensorArrayWrite{v}", "g i0 v w", T=f)
    summed.add("g1", f"TensorArrayWrite{v}", "g i0 v g0", T=f)
    summed.add("read", f"TensorArrayRead{v}", "g i0 g1", dtype=f)
    assert summed.run("read") == [[3.0, -4.0]]
    closed = Old(producer).array(v).add("close", f"TensorArrayClose{v}", "a ^w")
    closed.add("read", f"TensorArrayRead{v}", "a i1 w ^close", dtype=f)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has already been closed"):
        closed.run("read")


def test_all_rows_at_once() -> None:
    """TensorArrayUnpack and TensorArrayPack, of TensorFlow before 0.12."""
    made = Old(15).add("a", "TensorArray", "n", dtype=tf.float32)
    made.add("u", "TensorArrayUnpack", "a m f", T=tf.float32)
    made.add("p", "TensorArrayPack", "a u", dtype=tf.float32)
    made.add("s", "Square", "p", T=tf.float32)
    assert made.run("p") == [[[1.0, 2.0], [3.0, 4.0]]]
    assert made.run("s", by="m") == [[[2.0, 4.0], [6.0, 8.0]]]


@pytest.mark.parametrize(("v", "producer"), ARRAYS)
def test_handles_in_loops(v: str, producer: int) -> None:
    """A loop gets the handle as a constant: a string, or a reference to one, in the file."""
    old = Old(producer).add("a", f"TensorArray{v}", "n", dtype=tf.float32)
    enter = "Enter" if v else "RefEnter"
    old.add("ea", enter, "a", T=tf.string, frame_name="l", is_constant=True)
    for name, source in (("ev", "v"), ("en", "n"), ("e1", "i1")):
        dtype = tf.float32 if source == "v" else tf.int32
        old.add(name, "Enter", source, T=dtype, frame_name="l", is_constant=True)
    old.add("ei", "Enter", "i0", T=tf.int32, frame_name="l")
    old.add("ef", "Enter", "f", T=tf.float32, frame_name="l")
    old.add("mi", "Merge", "ei ni", T=tf.int32, N=2).add("mf", "Merge", "ef nf", T=tf.float32, N=2)
    old.add("less", "Less", "mi en", T=tf.int32).add("go", "LoopCond", "less")
    old.add("si", "Switch", "mi go", T=tf.int32).add("sf", "Switch", "mf go", T=tf.float32)
    old.add("w", f"TensorArrayWrite{v}", "ea si:1 ev sf:1", T=tf.float32)
    old.add("next", "Add", "si:1 e1", T=tf.int32)
    old.add("ni", "NextIteration", "next", T=tf.int32)
    old.add("nf", "NextIteration", "w", T=tf.float32).add("xf", "Exit", "sf", T=tf.float32)
    old.add("g", f"TensorArrayGather{v}", "a indices xf", dtype=tf.float32)
    assert old.run("g") == [[[1.5, -2.0], [1.5, -2.0]]]


def test_batches_of_matrices() -> None:
    """What is in place of an operation has its attributes, and its results."""
    x = np.array([[[4, 1], [1, 9]]], np.float32)
    for op, expected in (
        ("BatchMatrixInverse", np.linalg.inv(x)),
        ("BatchMatrixDiagPart", [[4, 9]]),
        ("BatchMatrixDeterminant", [35]),
        ("BatchCholesky", np.linalg.cholesky(x)),
        ("BatchMatrixSolve", [np.eye(2)]),
    ):
        old = Old(12)
        old.message.node[0].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(x))
        old.message.node[0].attr["dtype"].type = tf.float32.as_datatype_enum
        old.add("y", op, "n n" if op.endswith("Solve") else "n", T=tf.float32)
        np.testing.assert_allclose(old.run("y")[0], expected, rtol=1e-5, atol=1e-6)


def function_of(producer: int) -> Old:
    """A graph that calls a function which has an operation that is gone since version 13."""
    old = Old(producer)
    function = old.message.library.function.add()
    function.signature.name = "Diagonal"
    function.signature.input_arg.add(name="a", type=tf.float32.as_datatype_enum)
    function.signature.output_arg.add(name="r", type=tf.float32.as_datatype_enum)
    node = function.node_def.add(name="d", op="BatchCholesky", input=["a"])
    node.attr["T"].type = tf.float32.as_datatype_enum
    function.ret["r"] = "d:output:0"
    return old.add("eye", "MatrixDiag", "v2", T=tf.float32).add("y", "Diagonal", "eye")


def test_functions_are_of_their_graphs_version() -> None:
    """A function's nodes may be what the version of its GraphDef allows."""
    for producer in (12, 13):
        old = function_of(producer)
        old.add("v2", "Square", "v", T=tf.float32)
        if producer == 12:
            assert old.run("y") == [[[1.5, 0.0], [0.0, 2.0]]]
        else:
            with pytest.raises(tf.errors.UnimplementedError, match="GraphDef version 13"):
                old.run("y")


def test_placeholders_of_the_second_kind_have_the_shape_of_a_scalar() -> None:
    """[] was an unknown shape in GraphDefs before version 22, but not to PlaceholderV2."""
    old = Old(21).add("p", "PlaceholderV2", "", dtype=tf.float32)
    old.message.node[-1].attr["shape"].shape.SetInParent()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(old.message, name="")
        assert graph.get_tensor_by_name("p:0").shape.rank == 0


def test_normalisation_as_in_published_graphs_of_2015() -> None:
    old = Old(8)
    for name, value in {"x": [[[[1.0, 2.0]]]], "c": [1.0, 1.0]}.items():
        with tf.Graph().as_default() as graph:
            tf.constant(value, name=name)
        old.message.node.extend(graph.as_graph_def().node)
    old.add("y", "BatchNormWithGlobalNormalization", "x c c c c", T=tf.float32)
    old.message.node[-1].attr["variance_epsilon"].f = 3.0
    old.message.node[-1].attr["scale_after_normalization"].b = True
    assert old.run("y") == [[[[[1.0, 1.5]]]]]
    assert old.run("y", by="x") == [[[[[0.5, 0.5]]]]]


@pytest.mark.parametrize(("seed", "first"), [(1, 42.0), (7, 14.0)])  # recorded from TensorFlow
def test_crops_are_where_they_were(seed: int, first: float) -> None:
    old = Old(7)
    with tf.Graph().as_default() as graph:
        tf.reshape(tf.range(60.0), [5, 6, 2], name="image")
        tf.constant([2, 3], tf.int64, name="size")
        tf.constant([7, 3], tf.int64, name="large")
    old.message.node.extend(graph.as_graph_def().node)
    old.add("y", "RandomCrop", "image size", T=tf.float32, seed=seed, seed2=2)
    (crop,) = old.run("y")
    assert crop[0] == [[first + i, first + i + 1] for i in (0, 2, 4)]
    old.add("z", "RandomCrop", "image large", T=tf.float32)
    with pytest.raises(tf.errors.FailedPreconditionError, match="height = 5, target_height = 7"):
        old.run("z")


def test_summaries_of_sounds() -> None:
    old = Old(14)
    with tf.Graph().as_default() as graph:
        tf.constant("t", name="tag")
        tf.constant([[0.5, -0.5]], name="sound")
    old.message.node.extend(graph.as_graph_def().node)
    old.add("y", "AudioSummary", "tag sound", max_outputs=1)
    old.message.node[-1].attr["sample_rate"].f = 8000.0
    with tf.Graph().as_default():
        wanted = tf.compat.v1.Session().run(
            tf.raw_ops.AudioSummaryV2(
                tag="t", tensor=[[0.5, -0.5]], sample_rate=8000.0, max_outputs=1
            )
        )
    assert old.run("y") == [wanted]


def test_the_gradient_of_repetition_is_a_sum() -> None:
    found = with_vector(Old(2), "times", [2, 1])
    assert found.add("sum", "TileGrad", "m times", T=tf.float32).run("sum") == [[[4.0, 6.0]]]
    found = with_vector(Old(2), "times", [2])
    with pytest.raises(ValueError, match="multiples for 2 dimensions"):
        found.add("sum", "TileGrad", "m times", T=tf.float32).run("sum")


def with_vector(old: "Old", name: str, value: list[int]) -> "Old":
    """Adds an int32 vector."""
    with tf.Graph().as_default() as graph:
        tf.constant(value, name=name)
    old.message.node.extend(graph.as_graph_def().node)
    return old


def test_normal_numbers_of_a_state_that_names_its_algorithm() -> None:
    state = np.int64([1, 7, 8, 9])  # Philox, and its three words
    variable = tf.Variable(state[1:])
    new = tf.raw_ops.StatefulStandardNormalV2(resource=variable.handle, algorithm=1, shape=[3])
    with tf.Graph().as_default() as graph:
        handle = tf.raw_ops.VarHandleOp(
            dtype=tf.int64, shape=[4], name="state", shared_name="state"
        )
        tf.raw_ops.AssignVariableOp(resource=handle, value=state, name="start")
        tf.constant([3], name="shape")
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int64, name="now")
    message = graph.as_graph_def()
    message.versions.producer = 28
    node = message.node.add(name="drawn", op="StatefulStandardNormal", input=["state", "shape"])
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["shape_dtype"].type = tf.int32.as_datatype_enum
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(message, name="")
        session.run("start")
        drawn, moved = session.run("drawn:0").tolist(), session.run("now:0").tolist()
    assert drawn == new.numpy().tolist()
    assert moved == [1, *variable.numpy().tolist()]


def test_raw_functions_refuse_them() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"version 9\. Use tf\.nn\.batch"):
        tf.raw_ops.BatchNormWithGlobalNormalization(t=1.0)


@pytest.mark.parametrize("op", sorted(SUPERSEDED.keys() - {"TensorArrayConcatV2"}))
def test_later_graphs_may_not_hold_them(op: str) -> None:
    """From the version on that removed it an operation is refused; what stands for it is there."""
    known = SUPERSEDED[op]
    assert find(known.in_place) is not None
    old = Old(known.since)
    old.add("y", op, "")
    match = f"Op {op} is not available in GraphDef version {known.since}. It has been removed"
    with pytest.raises(tf.errors.UnimplementedError, match=match):
        old.run("y")
