"""What import_graph_def takes, what it refuses, and that a refusal changes nothing."""

import re
import time

import numpy as np
import pytest
from google.protobuf import text_format

import penstock as tf
from penstock import errors, proto

VERSION = "versions { producer: 2474 } "
X = (
    'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: 2 } } } } } '
)
SQUARE = 'node { name: "y" op: "Square" input: "x" attr { key: "T" value { type: DT_FLOAT } } } '


def parse(text):
    return text_format.Parse(VERSION + text, proto.graph_pb2.GraphDef())


def square(name, *inputs, dtype="DT_FLOAT"):
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return (
        f'node {{ name: "{name}" op: "Square" {listed} attr {{ key: "T" value {{ type: {dtype} }} '
        "} } "
    )


def noop(name, *inputs, extra=""):
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return f'node {{ name: "{name}" op: "NoOp" {listed} {extra} }} '


def constant(name, tensor):
    return (
        f'node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} '
        f'attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT {tensor} }} }} }} }} '
    )


def refusal(text, kind=ValueError, **arguments):
    """The text of the error; the graph must be as it was."""
    with tf.Graph().as_default() as graph:
        tf.raw_ops.NoOp(name="before")
        names = dict(graph._names._used._next)
        message = parse(text) if isinstance(text, str) else text
        with pytest.raises(kind) as caught:
            tf.graph_util.import_graph_def(message, **arguments)
    assert [op.name for op in graph.get_operations()] == ["before"]
    assert graph._names._used._next == names
    assert graph.version == 1
    assert graph.producer == 2474
    graph.verify()
    return str(caught.value)


def names(text, before=(), **arguments):
    with tf.Graph().as_default() as graph:
        for name in before:
            tf.raw_ops.NoOp(name=name)
        tf.graph_util.import_graph_def(parse(text), **arguments)
    graph.verify()
    return [op.name for op in graph.get_operations()][len(before) :]


# ---- names ---------------------------------------------------------------------------------------


def test_prefixes_are_unique_as_in_tensorflow():
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(parse(X + SQUARE))
        tf.graph_util.import_graph_def(parse(X + SQUARE))
        with tf.compat.v1.name_scope("s"):
            tf.graph_util.import_graph_def(parse(X))
            tf.graph_util.import_graph_def(parse(X), name="q")
        tf.graph_util.import_graph_def(parse(X + SQUARE), name="import/")
        tf.graph_util.import_graph_def(parse(X), name="")
        tf.graph_util.import_graph_def(parse(X), name="")
        assert graph.unique_name("import") == "import_2"
        assert graph.unique_name("x") == "x_2"
    found = " ".join(op.name for op in graph.get_operations())
    assert found == (
        "import/x import/y import_1/x import_1/y s/import/x s/q/x import/x_1 import/y_1 x x_1"
    )


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        (X, ["x/y"], ["x_1"]),
        (X, ["X"], ["x"]),
        (X + X.replace('"x"', '"x_1"') + SQUARE, ["x"], ["x_2", "x_1", "y"]),
        (SQUARE + X, [], ["x", "y"]),
        (X.replace('"x"', '"a/x"'), ["a"], ["a/x"]),
    ],
)
def test_names_that_are_taken(text, before, expected):
    assert names(text, before, name="") == expected


def test_order_is_that_of_the_message_where_it_can_be():
    text = SQUARE.replace('"x"', '"w"') + X.replace('"x"', '"w"') + square("b", "x") + X
    assert names(text, name="") == ["w", "y", "x", "b"]


def test_colocation_follows_the_new_name_and_takes_the_device():
    group = 'attr { key: "_class" value { list { s: "loc:@x" s: "other" } } }'
    text = X.replace("op:", 'device: "/gpu:1" op:') + noop("y", extra=f'device: "/gpu:0" {group}')
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(parse(text))
    op = graph.get_operation_by_name("import/y")
    assert op.colocation_groups() == [b"loc:@import/x"]
    assert op.device == "/device:GPU:1"


def test_scopes_apply_to_what_is_imported():
    with tf.Graph().as_default() as graph:
        first = tf.raw_ops.NoOp(name="first")
        with tf.device("/job:ps/task:1"), tf.control_dependencies([first]):
            tf.graph_util.import_graph_def(parse(X.replace("op:", 'device: "/gpu:0" op:') + SQUARE))
    x, y = graph.get_operations()[1:]
    assert x.device == "/job:ps/task:1/device:GPU:0"
    assert y.device == "/job:ps/task:1"
    assert x.control_inputs == y.control_inputs == [first]


# ---- arguments -----------------------------------------------------------------------------------


def test_input_map_replaces_tensors_and_control_inputs():
    with tf.Graph().as_default() as graph:
        z = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[2], name="z")
        tf.graph_util.import_graph_def(
            parse(X + square("y", "x", "^x") + square("w", "x")), {"x:0": z, "^x": z.op}
        )
    y, w = (graph.get_operation_by_name(f"import/{n}") for n in "yw")
    assert y.inputs[0] is z
    assert w.inputs[0] is z
    assert y.control_inputs == [z.op]


def test_input_map_names_what_the_message_lacks():
    with tf.Graph().as_default():
        z = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[2], name="z")
        found = tf.graph_util.import_graph_def(
            parse(SQUARE), {"x": z}, return_elements=["y:0", "x:0", "y"]
        )
    assert found[0].op.inputs[0] is z
    assert found[1] is z
    assert found[2] is found[0].op


def test_input_map_takes_values():
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(parse(X + SQUARE), {"x": [3.0, 1.0]})
    assert graph.get_operation_by_name("import/_inputs/Const")
    with tf.compat.v1.Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run("import/y:0"), [9, 1])


def test_arguments_of_wrong_types():
    with pytest.raises(TypeError, match="must be a GraphDef proto"):
        tf.graph_util.import_graph_def(b"")
    assert "must be a dictionary. Obtained list" in refusal(X, TypeError, input_map=[1])
    assert "keys for argument `input_map`" in refusal(X, TypeError, input_map={3: 1})
    assert "a list of strings" in refusal(X, TypeError, return_elements=[3])
    assert "not a valid root scope name" in refusal(X, name="a b")


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("nope", "Requested return node 'nope' not found in graph def"),
        ("nope:0", "Requested return tensor 'nope:0' not found in graph def"),
        ("y:4", "Invalid return output 4 of node 'y', which has 1 output(s)"),
        ("y:z", "Cannot convert 'y:z' to a tensor name"),
    ],
)
def test_return_elements_that_are_not_there(element, expected):
    assert expected in refusal(X + SQUARE, return_elements=[element])


def test_input_map_refusals():
    eager = tf.constant([1.0, 2.0])
    text = refusal(X + SQUARE, input_map={"q:0": eager, "x:1": eager})
    assert "were not found in graph_def: [q:0, x:1]" in text
    text = refusal(X + SQUARE, input_map={"x": tf.constant([1, 2])})
    assert "Input 0 of node import/y was passed int32 from" in text
    assert "incompatible with expected float." in text
    assert "requires a non-empty `name`" in refusal(X, input_map={"x": 1.0}, name="")


def test_finalized_graph_is_left_alone():
    with tf.Graph().as_default() as graph:
        graph.finalize()
        with pytest.raises(RuntimeError, match="finalized"):
            tf.graph_util.import_graph_def(parse(X))


# ---- versions ------------------------------------------------------------------------------------


def test_versions_merge():
    with tf.Graph().as_default() as graph:
        for text in (
            "producer: 100 min_consumer: 12 bad_consumers: 7 bad_consumers: 9",
            "producer: 50 min_consumer: 2 bad_consumers: 8",
        ):
            message = text_format.Parse(f"versions {{ {text} }} {X}", proto.graph_pb2.GraphDef())
            tf.graph_util.import_graph_def(message)
    versions = graph.graph_def_versions
    assert (versions.producer, versions.min_consumer) == (50, 12)
    assert list(versions.bad_consumers) == [7, 8, 9]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "producer: 2474 min_consumer: 2475",
            "min consumer version 2475 above current version 2474",
        ),
        ("producer: 2474 bad_consumers: 2474", "disallows consumer version 2474"),
        ("producer: -1", "producer version -1 below min producer 0"),
    ],
)
def test_versions_that_cannot_be_read(text, expected):
    message = text_format.Parse(f"versions {{ {text} }} {X}", proto.graph_pb2.GraphDef())
    assert expected in refusal(message)


@pytest.mark.parametrize(("producer", "rank"), [(5, None), (21, None), (22, 0), (2474, 0)])
def test_old_placeholders_wrote_an_unknown_shape_as_a_scalar(producer, rank):
    text = f"versions {{ producer: {producer} }} " + X.replace("dim { size: 2 }", "")
    with tf.Graph().as_default() as graph:
        message = text_format.Parse(text, proto.graph_pb2.GraphDef())
        tf.graph_util.import_graph_def(message)
    assert graph.get_tensor_by_name("import/x:0").shape.rank == rank


def test_missing_attributes_take_defaults_and_unknown_ones_are_kept():
    text = X.replace("size: 2", "size: 2 } dim { size: 2") + (
        'node { name: "m" op: "MatMul" input: "x" input: "x" '
        'attr { key: "T" value { type: DT_FLOAT } } attr { key: "later" value { i: 3 } } } '
    )
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(parse(text), name="")
    op = graph.get_operation_by_name("m")
    assert op.get_attr("transpose_a") is False
    assert op.get_attr("later") == 3
    assert op.node_def.attr["later"].i == 3


def test_new_attributes_with_their_default_are_left_out():
    message = parse(X.replace("op:", 'attr { key: "later" value { i: 3 } } op:'))
    known = text_format.Parse(
        'op { name: "Placeholder" attr { name: "later" type: "int" default_value { i: 3 } } }',
        proto.op_def_pb2.OpList(),
    )
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(message, producer_op_list=known)
        message.node[0].attr["later"].i = 4
        tf.graph_util.import_graph_def(message, producer_op_list=known)
    first, second = graph.get_operations()
    assert "later" not in first.attrs
    assert second.attrs["later"] == 4


def test_noted_shapes_refine_and_must_agree():
    noted = 'attr { key: "_output_shapes" value { list { shape { dim { size: %d } } } } } op:'
    unknown = X.replace("dim { size: 2 }", "unknown_rank: true")
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(parse(unknown.replace("op:", noted % 5)), name="")
    assert graph.get_tensor_by_name("x:0").shape.as_list() == [5]
    assert "_output_shapes" not in graph.get_operation_by_name("x").attrs
    text = refusal(X.replace("op:", noted % 7))
    assert "_output_shapes attribute inconsistent" in text
    assert "(2,) and (7,)" in text


# ---- what is refused -----------------------------------------------------------------------------


CLASS = 'attr { key: "_class" value { list { s: "loc:@nope" } } }'
REFUSED = [
    (SQUARE, "Node 'y': Unknown input node 'x'"),
    (noop("y", "^z"), "Node 'y': Unknown input node '^z'"),
    (X + square("y", "x:1"), "invalid output 1 of source node x which has 1 outputs"),
    (X + square("y", "x:a"), "Unknown input node 'x:a'"),
    (X + square("y", "x:-1"), "Unknown input node 'x:-1'"),
    (X + square("y", "x:99999999999999999999"), "Unknown input node"),
    (X + square("y", "^x", "x"), "Control dependencies must come after regular dependencies"),
    (X + square("y"), "do not match 0 inputs specified"),
    (X + square("y", "x", "x"), "do not match 2 inputs specified"),
    (X + 'node { name: "y" op: "Square" input: "x" }', "NodeDef missing attr 'T'"),
    (X + square("y", "x", dtype="DT_INT32"), "Input 0 of node import/y was passed float"),
    (
        (X + square("y", "x")).replace("DT_FLOAT", "DT_STRING"),
        "Value for attr 'T' of string is not in the list of allowed values",
    ),
    (X + square("y", "x", dtype="DT_INVALID"), "attr 'T'"),
    (X + square("y", "x", dtype="99"), "invalid DataType 99"),
    (X + SQUARE.replace("type: DT_FLOAT", "i: 3"), "expected an AttrValue of kind type"),
    (X + SQUARE.replace("type: DT_FLOAT", ""), "got no value"),
    (X + SQUARE.replace("type: DT_FLOAT", 'placeholder: "T"'), "the placeholder 'T'"),
    (X + X, "Node 'x' is not unique"),
    (square("a", "b") + square("b", "a"), "2 nodes in a cycle"),
    (square("a", "a"), "1 nodes in a cycle"),
    (noop("a", "^b") + noop("b", "^a"), "2 nodes in a cycle"),
    (noop("y", extra=CLASS), "Node 'y' expects to be colocated with unknown node 'nope'"),
    (X.replace("size: 2", "size: -5"), "at least -1"),
    (noop("y", extra='device: "bogus!!"'), "bogus!!"),
    (constant("c", 'tensor_shape { } tensor_content: "abc"'), "tensor_content of 4 bytes"),
    (constant("c", "tensor_shape { dim { size: -1 } } float_val: 1"), "Const 'import/c'"),
    (constant("c", "tensor_shape { dim { size: -3 } } float_val: 1"), "Const 'import/c'"),
    (
        constant("c", "tensor_shape { dim { size: 4611686018427387904 } dim { size: 8 } }"),
        "Const 'import/c'",
    ),
    (
        constant("c", "tensor_shape { dim { size: 1099511627776 } } float_val: 1 float_val: 2"),
        "fills at most",
    ),
    (constant("c", "tensor_shape { } float_val: 1 float_val: 2"), "Const 'import/c'"),
    (constant("c", "tensor_shape { unknown_rank: true } float_val: 1"), "an unknown rank"),
]
BAD_NAMES = ["", "a b", "_x", "^x", "x:0", "x\\n", "é"]
COUNTS = [10**12, 2**40, -1, -(2**63), 2**63 - 1, 0]


@pytest.mark.parametrize(("text", "expected"), REFUSED)
def test_refused(text, expected):
    assert expected in refusal(text)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names(name):
    assert "invalid characters" in refusal(X.replace('"x"', f'"{name}"'))


@pytest.mark.parametrize("count", COUNTS)
def test_lengths_that_nothing_backs(count):
    n = f'attr {{ key: "N" value {{ i: {count} }} }} attr {{ key: "T" value {{ type: DT_FLOAT }} }}'
    assert "Pack 'import/c'" in refusal(X + f'node {{ name: "c" op: "Pack" input: "x" {n} }}')
    unknown = X.replace("dim { size: 2 }", "unknown_rank: true")
    if count > 0:
        text = refusal(
            unknown + f'node {{ name: "c" op: "Unpack" input: "x" {n.replace("N", "num", 1)} }}'
        )
        assert "Number of outputs is too big" in text


def test_operation_that_is_not_registered():
    text = refusal('node { name: "a" op: "NoSuchOp" }', errors.NotFoundError)
    assert "Op type not registered 'NoSuchOp'" in text


def test_shape_rules_name_node_and_shapes():
    scalar = constant("c", "tensor_shape { } float_val: 1")
    product = (
        'node { name: "b" op: "MatMul" input: "c" input: "c" '
        'attr { key: "T" value { type: DT_FLOAT } } }'
    )
    text = refusal(scalar + product)
    assert "import/b" in text
    assert re.search(r"rank 2", text)


def test_functions_that_are_missing_or_call_themselves():
    call = (
        'node { name: "c" op: "PartitionedCall" input: "x" attr { key: "f" value { func { name: '
        '"f" } } } attr { key: "Tin" value { list { type: DT_FLOAT } } } '
        'attr { key: "Tout" value { list { type: DT_FLOAT } } } } '
    )
    assert "expected a function of the GraphDef's library, got 'f'" in refusal(X + call)
    body = (
        'library { function { signature { name: "f" input_arg { name: "x" type: DT_FLOAT } '
        'output_arg { name: "o" type: DT_FLOAT } } node_def { %s } ret { key: "o" value: "%s" } } }'
    )
    inner = call.removeprefix("node { ").strip().removesuffix("}")
    assert "calls itself" in refusal(X + call + body % (inner, "c:output:0"))
    good = square("y", "x").strip().removeprefix("node {").removesuffix("}")
    assert names(X + call + body % (good, "y:y:0")) == ["import/x", "import/c"]
    assert "function 'f'" in refusal(X + call + body % (good, "q:y:0"))
    legacy = 'node { name: "c" op: "f" input: "x" } '
    assert names(X + legacy + body % (good, "y:y:0")) == ["import/x", "import/c"]


def test_a_chain_of_thousands_needs_no_recursion():
    message = parse(X)
    before = "x"
    for i in range(5000):
        node = message.node.add(name=f"n{i}", op="Square", input=[before])
        node.attr["T"].type = 1
        before = node.name
    start = time.monotonic()
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(message, name="")
    assert time.monotonic() - start < 10
    assert len(graph.get_operations()) == 5001
    message.node[1].input[0] = before  # now a ring
    assert "5000 nodes in a cycle" in refusal(message)


def test_a_large_constant_of_one_element_takes_no_memory():
    text = constant("c", "tensor_shape { dim { size: 1099511627776 } } float_val: 1")
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(parse(text), name="")
    assert graph.get_tensor_by_name("c:0").shape.as_list() == [2**40]
    assert graph.as_graph_def() == parse(text)
    value = graph.get_operation_by_name("c").attrs["value"]
    assert hash(value) == hash(value)
    assert value == type(value)(np.broadcast_to(np.float32(1), (2**40,)), tf.float32)
    assert value != type(value)(np.broadcast_to(np.float32(2), (2**40,)), tf.float32)


def test_loops_of_the_old_kind_may_go_back():
    try:
        tf.raw_ops.NextIteration  # noqa: B018
    except AttributeError:
        pytest.skip("the operations of old loops are not registered")
    enter = (
        'node { name: "e" op: "Enter" input: "x" attr { key: "T" value { type: DT_FLOAT } } '
        'attr { key: "frame_name" value { s: "f" } } } '
    )
    merge = (
        'node { name: "m" op: "Merge" input: "e" input: "n" attr { key: "N" value { i: 2 } } '
        'attr { key: "T" value { type: DT_FLOAT } } } '
    )
    back = (
        'node { name: "n" op: "NextIteration" input: "m" '
        'attr { key: "T" value { type: DT_FLOAT } } } '
    )
    assert names(X + enter + merge + back, name="") == ["x", "e", "m", "n"]
