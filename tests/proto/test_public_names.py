"""Messages under their public names: TensorFlow's bytes, sessions' settings, no early import."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
FEATURES = (
    "0a140a0161120f1a0d0a0b01feffffffffffffffff010a0d0a0162120812060a040000003f"
    "0a0b0a016312060a040a0278ff"
)
STEPS = "12180a160a017312110a0f1a0d0a0b01feffffffffffffffff01"
PUBLIC = """
    compat.v1.AttrValue compat.v1.ConfigProto compat.v1.Event compat.v1.GPUOptions
    compat.v1.GraphDef
    compat.v1.GraphOptions compat.v1.HistogramProto compat.v1.LogMessage compat.v1.MetaGraphDef
    compat.v1.NameAttrList compat.v1.NodeDef compat.v1.OptimizerOptions compat.v1.RunMetadata
    compat.v1.RunOptions compat.v1.SessionLog compat.v1.Summary compat.v1.SummaryMetadata
    compat.v1.TensorInfo compat.v1.summary.Event compat.v1.summary.SessionLog
    compat.v1.summary.Summary compat.v1.summary.SummaryDescription
    compat.v1.summary.TaggedRunMetadata compat.v1.train.SaverDef train.BytesList train.ClusterDef
    train.Example train.Feature train.FeatureList train.FeatureLists train.Features train.FloatList
    train.Int64List train.JobDef train.SequenceExample train.ServerDef compat.v1.train.Example
    compat.v1.train.ServerDef
""".split()


def public(name: str) -> Any:
    value: Any = tf
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_is_the_message_of_that_name(name: str) -> None:
    kind = public(name)
    assert kind.DESCRIPTOR.full_name == f"penstock.{name.rpartition('.')[2]}"
    assert kind.FromString(kind().SerializeToString()) == kind()


def config() -> Any:
    return v1.ConfigProto(
        allow_soft_placement=True,
        intra_op_parallelism_threads=3,
        device_count={"GPU": 0},
        gpu_options=v1.GPUOptions(allow_growth=True, per_process_gpu_memory_fraction=0.5),
        graph_options=v1.GraphOptions(optimizer_options=v1.OptimizerOptions(opt_level=-1)),
    )


def features() -> Any:
    return tf.train.Features(
        feature={
            "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, -2])),
            "b": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])),
            "c": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x\xff"])),
        }
    )


def sequence() -> Any:
    steps = tf.train.FeatureList(feature=[features().feature["a"]])
    return tf.train.SequenceExample(
        context=features(), feature_lists=tf.train.FeatureLists(feature_list={"s": steps})
    )


def server() -> Any:
    job = tf.train.JobDef(name="worker", tasks={0: "h:1", 2: "h:2"})
    return tf.train.ServerDef(
        cluster=tf.train.ClusterDef(job=[job]), job_name="worker", task_index=2, protocol="grpc"
    )


# What TensorFlow 2.21 wrote for the same arguments, with deterministic=True.
@pytest.mark.parametrize(
    ("make", "recorded"),
    [
        (
            config,
            "0a070a0347505510001003320b09000000000000e03f20013801520d1a0b18ffffffffffffffffff01",
        ),
        (
            lambda: v1.RunOptions(
                trace_level=v1.RunOptions.FULL_TRACE,
                timeout_in_ms=1234,
                output_partition_graphs=True,
            ),
            "080310d2092801",
        ),
        (lambda: tf.train.Example(features=features()), f"0a32{FEATURES}"),
        (sequence, f"0a32{FEATURES}{STEPS}"),
        (
            server,
            "0a1c0a1a0a06776f726b6572120708021203683a32120708001203683a31"
            "1206776f726b657218022a0467727063",
        ),
        (
            lambda: v1.Summary(value=[v1.Summary.Value(tag="t", simple_value=1.5)]),
            "0a080a0174150000c03f",
        ),
        (lambda: v1.TensorInfo(name="x:0", dtype=1), "0a03783a301001"),
        (
            lambda: v1.train.SaverDef(filename_tensor_name="f", max_to_keep=5, version=2),
            "0a016620053802",
        ),
    ],
    ids=["config", "run", "example", "sequence", "server", "summary", "tensor", "saver"],
)
def test_bytes_are_tensorflows_in_both_directions(make: Callable[[], Any], recorded: str) -> None:
    message, theirs = make(), bytes.fromhex(recorded)
    assert type(message).FromString(theirs) == message
    again = message.SerializeToString(deterministic=True)
    # The order of a map with integer keys is the serializer's own.
    assert type(message).FromString(again) == message
    assert sorted(again) == sorted(theirs)


def test_a_session_takes_settings_and_fills_metadata() -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2])
        y = tf.add(tf.multiply(x, x), 1.0, name="y")
        metadata = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        with v1.Session(config=v1.ConfigProto(allow_soft_placement=True)) as session:
            got = session.run(y, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
    np.testing.assert_array_equal(got, [2.0, 5.0])
    devices = metadata.step_stats.dev_stats
    assert devices
    assert any(node.node_name for device in devices for node in device.node_stats)


def test_importing_penstock_and_listing_names_imports_no_protobuf() -> None:
    code = (
        "import sys, penstock as tf; names = dir(tf.train) + dir(tf.compat.v1); "
        "assert 'Example' in names and 'ConfigProto' in names; "
        "assert 'google.protobuf' not in sys.modules; tf.compat.v1.ConfigProto; "
        "assert 'google.protobuf' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
