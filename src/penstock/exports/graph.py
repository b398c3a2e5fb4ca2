"""Public names of graphs as messages and files."""

EXPORTS = {
    "penstock.graph.import_graph": {
        "import_graph_def": [
            "import_graph_def",
            "graph_util.import_graph_def",
            "compat.v1.import_graph_def",
        ],
    },
    "penstock.graph.graph_files": {
        "write_graph": ["io.write_graph", "compat.v1.train.write_graph"],
    },
    "penstock.graph.graph_util": {
        name: [f"compat.v1.graph_util.{name}"]
        for name in (
            "convert_variables_to_constants",
            "extract_sub_graph",
            "must_run_on_cpu",
            "remove_training_nodes",
            "tensor_shape_from_node_def_name",
        )
    },
    "penstock.proto.attr_value_pb2": {
        "AttrValue": ["compat.v1.AttrValue"],
        "NameAttrList": ["compat.v1.NameAttrList"],
    },
    "penstock.proto.graph_pb2": {"GraphDef": ["compat.v1.GraphDef"]},
    "penstock.proto.meta_graph_pb2": {
        "MetaGraphDef": ["compat.v1.MetaGraphDef"],
        "TensorInfo": ["compat.v1.TensorInfo"],
    },
    "penstock.proto.node_def_pb2": {"NodeDef": ["compat.v1.NodeDef"]},
    "penstock.graph.tensor_proto": {
        "make_ndarray": ["make_ndarray"],
        "make_tensor_proto": ["make_tensor_proto"],
    },
}
