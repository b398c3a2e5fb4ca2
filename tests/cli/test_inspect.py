"""`penstock inspect`: the table of a graph, sizes known and unknown, what is not understood."""

import pytest
from click.testing import CliRunner

import penstock as tf
from penstock import proto
from penstock.cli.inspect import inspect_graph, inspection_text
from penstock.cli.main import main


@pytest.fixture
def graph_def():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        w = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")
        with tf.device("/device:CPU:0"):
            y = tf.matmul(x, w, name="y")
        tf.reduce_sum(y, name="total_loss")
    return graph.as_graph_def()


def invoke(tmp_path, graph_def, *arguments):
    path = tmp_path / "graph.pb"
    path.write_bytes(graph_def.SerializeToString())
    return CliRunner().invoke(main, ["inspect", str(path), *arguments])


def cells(output):
    """Rows of the table by name."""
    table = output.split("\n\n")[0].splitlines()
    return {line.split()[0]: line.split()[1:] for line in table}


def test_operations_with_shapes_and_devices(tmp_path, graph_def):
    result = invoke(tmp_path, graph_def)
    assert result.exit_code == 0
    rows = cells(result.output)
    assert rows["NAME"] == ["TYPE", "OUTPUTS", "FLOPS", "BYTES", "DEVICE"]
    assert rows["x"] == ["Placeholder", "float32[?,3]", "0", "0", "B"]
    assert rows["w"][:2] == ["Const", "float32[3,2]"]
    assert rows["y"] == ["MatMul", "float32[?,2]", "?", "?", "/device:CPU:0"]
    assert rows["total_loss"][:3] == ["Sum", "float32[]", "?"]
    assert "5 operations: Const 2, " in result.output
    assert "2 of 5 operations depend on sizes or choices" in result.output


def test_unknown_dimensions_count_as_told(tmp_path, graph_def):
    result = invoke(tmp_path, graph_def, "--unknown-as", "10")
    rows = cells(result.output)
    assert rows["y"][2:5] == [str(2 * 10 * 2 * 3), str(4 * (30 + 6 + 20)), "B"]
    assert rows["total_loss"][2] == "20"
    assert rows["total"][0] == "140"
    assert "not known" not in result.output


def test_a_text_file_gives_the_same(tmp_path, graph_def):
    binary = invoke(tmp_path, graph_def).output
    path = tmp_path / "graph.pbtxt"
    path.write_text(str(graph_def))
    assert CliRunner().invoke(main, ["inspect", str(path)]).output == binary


def test_unregistered_operations_are_listed_without_shapes(tmp_path, graph_def):
    graph_def.node.add(name="odd", op="FrobnicateV7", input=["y"])
    result = invoke(tmp_path, graph_def)
    assert result.exit_code == 0
    assert cells(result.output)["odd"] == ["FrobnicateV7", "?", "?", "?"]
    assert "operations that are not registered: FrobnicateV7." in result.output


def test_a_graph_that_does_not_import_says_why(tmp_path, graph_def):
    graph_def.node.add(name="z", op="Square", input=["nowhere"]).attr["T"].type = 1
    result = invoke(tmp_path, graph_def)
    assert result.exit_code == 0
    assert "the graph does not import" in result.output
    assert "nowhere" in result.output


def test_functions_are_named(graph_def):
    graph_def.library.function.add().signature.name = "helper"
    inspection = inspect_graph(graph_def)
    assert inspection.functions == ["helper"]
    assert "Functions: helper." in inspection_text(inspection)


def test_a_call_costs_what_its_body_costs(tmp_path):
    @tf.function
    def product(a, b):
        return tf.matmul(a, b)

    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [4, 8], name="x")
        product(x, tf.zeros([8, 2]))
    rows = cells(invoke(tmp_path, graph.as_graph_def()).output)
    assert rows["PartitionedCall"][2:5] == ["128", "224", "B"]


def test_many_types_are_summed_up():
    graph_def = proto.graph_pb2.GraphDef()
    for number in range(20):
        graph_def.node.add(name=f"n{number}", op=f"Odd{number % 10}")
    text = inspection_text(inspect_graph(graph_def))
    assert "20 operations: Odd0 2, Odd1 2," in text
    assert "and 2 more." in text


def test_a_file_without_a_graph_is_one_message(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(b"\x00\x01")
    for given in (path, tmp_path / "missing.pb"):
        result = CliRunner().invoke(main, ["inspect", str(given)])
        assert result.exit_code == 1
        assert result.output.startswith(f"Error: {given}: expected a")
        assert len(result.output.splitlines()) == 1


def test_the_graph_of_a_function_keeps_the_shapes_of_what_it_captured(tmp_path):
    v = tf.Variable(tf.zeros([3, 2]))
    function = tf.function(lambda x: tf.matmul(x, v, name="y"))
    graph = function.get_concrete_function(tf.TensorSpec([4, 3])).graph
    result = invoke(tmp_path, graph.as_graph_def(add_shapes=True))
    assert "missing" not in result.output
    assert cells(result.output)["y"][:3] == ["MatMul", "float32[4,2]", "48"]


def test_the_planners_patterns_and_which_are_off(monkeypatch):
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "loop_sums")
    result = CliRunner().invoke(main, ["inspect", "--patterns"])
    assert result.exit_code == 0
    names = [line for line in result.output.splitlines() if line and line[0] != " "]
    assert {"loop_row_products", "conv_finish"} <= set(names)
    assert "loop_sums (off: PENSTOCK_PATTERNS_OFF)" in names


def test_a_file_is_asked_for():
    result = CliRunner().invoke(main, ["inspect"])
    assert result.exit_code == 2
    assert "Missing argument 'GRAPHFILE'" in result.output
