"""Reading graph files: both forms, and everything that can be wrong with a file."""

import pytest
from google.protobuf import text_format

from penstock import proto
from penstock.cli.graph_file import GraphFileError, read_graph_def


@pytest.fixture
def graph_def():
    graph_def = proto.graph_pb2.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph_def.node.add(name="y", op="Square", input=["x"]).attr["T"].type = 1
    graph_def.versions.producer = 1395
    return graph_def


@pytest.fixture
def written(tmp_path):
    def write(data, name="graph.pb"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("name", ["graph.pb", "graph.pbtxt", "graph"])
def test_both_forms_are_read_whatever_the_name(graph_def, written, name):
    assert read_graph_def(written(graph_def.SerializeToString(), name)) == graph_def
    text = text_format.MessageToString(graph_def).encode()
    assert read_graph_def(written(text, name)) == graph_def


def test_a_graph_of_functions_only_is_a_graph(written):
    graph_def = proto.graph_pb2.GraphDef()
    graph_def.library.function.add().signature.name = "f"
    assert read_graph_def(written(graph_def.SerializeToString())) == graph_def


def refusal(path):
    with pytest.raises(GraphFileError) as caught:
        read_graph_def(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    return text


def test_missing(tmp_path):
    assert "found none" in refusal(tmp_path / "no.pb")


def test_below_a_file(written):
    assert "cannot be read" in refusal(written(b"x") / "graph.pb")


def test_folder(tmp_path):
    assert "got a folder" in refusal(tmp_path)


def test_empty(written):
    assert "got an empty one" in refusal(written(b""))


def test_truncated(graph_def, written):
    data = graph_def.SerializeToString()
    nodes_end = len(data) - graph_def.versions.ByteSize() - 2
    for length in (2, nodes_end // 2, nodes_end - 1):
        assert f"got {length} bytes" in refusal(written(data[:length]))


def test_noise(written):
    assert "expected a binary GraphDef" in refusal(written(bytes(range(256)) * 4))


def test_text_with_an_error_names_line_and_column(written):
    assert "2:3" in refusal(written(b'node {\n  nam: "x"\n}\n'))


def test_prose(written):
    assert "text form" in refusal(written(b"Dear reader, this is no graph."))


def test_deep_text_is_refused(written):
    deep = b'attr { key: "f" value { func { ' * 5000
    assert "text form" in refusal(written(b"node { " + deep))


def test_another_message(written):
    saved_model = proto.saved_model_pb2.SavedModel(saved_model_schema_version=1)
    saved_model.meta_graphs.add().meta_info_def.tags.append("serve")
    assert "such as a SavedModel" in refusal(written(saved_model.SerializeToString()))


@pytest.mark.parametrize(
    "data", [b"\n", b"# a comment", b"versions { producer: 1 }", b'"\x02\x08\x01']
)
def test_a_graph_without_operations(written, data):
    assert "without any" in refusal(written(data))


def test_too_large(tmp_path):
    path = tmp_path / "large.pb"
    with path.open("wb") as file:
        file.truncate(2**31)  # sparse: it takes no space
    assert "got 2147483648" in refusal(path)
