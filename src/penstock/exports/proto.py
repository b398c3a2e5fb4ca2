"""Public names of messages, and of what describes clusters: settings, examples, savers.

The classes are imported with their modules at first use, so these names cost `import penstock`
nothing.
"""


def _v1(*names: str) -> dict[str, list[str]]:
    return {name: [f"compat.v1.{name}"] for name in names}


def _train(*names: str) -> dict[str, list[str]]:
    return {name: [f"train.{name}"] for name in names}


EXPORTS = {
    "penstock.proto.cluster_pb2": _train("ClusterDef", "JobDef"),
    "penstock.distributed.cluster_spec": _train("ClusterSpec"),
    "penstock.distributed.server": {"Server": ["distribute.Server", "compat.v1.train.Server"]},
    "penstock.proto.config_pb2": _v1(
        "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunMetadata", "RunOptions"
    ),
    "penstock.proto.example_pb2": _train("Example", "SequenceExample"),
    "penstock.proto.feature_pb2": _train(
        "BytesList", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList", "Int64List"
    ),
    "penstock.proto.saver_pb2": {"SaverDef": ["compat.v1.train.SaverDef"]},
    "penstock.proto.tensorflow_server_pb2": _train("ServerDef"),
}
