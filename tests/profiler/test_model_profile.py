"""The first generation's reports: what is counted, what is shown, and where it goes.

Names, layouts and numbers of parameters are those that TensorFlow 2.21 prints for the same graph.
"""

import gzip
import json
import re

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
profiler = v1.profiler
Builder = profiler.ProfileOptionBuilder
PARAMS = Builder.trainable_variables_parameter()
RUN = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)


@pytest.fixture(name="graph")
def _graph():
    graph = tf.Graph()
    zeros = v1.zeros_initializer()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [4, 8], name="x")
        with v1.variable_scope("a"):
            w = v1.get_variable("w", [8, 16], initializer=zeros)
            h = tf.nn.relu(tf.matmul(x, w, name="mm"), name="relu")
        with v1.variable_scope("b"):
            w = v1.get_variable("w", [16, 4], initializer=zeros)
            tf.add(tf.matmul(h, w, name="mm"), 1.0, name="z")
            image = v1.placeholder(tf.float32, [2, 8, 8, 3], name="im")
            kernel = tf.constant(np.ones([3, 3, 3, 5], np.float32), name="k")
            tf.nn.conv2d(image, kernel, 1, "SAME", name="c")
    return graph


@pytest.fixture(name="traced")
def _traced(graph):
    """The graph and the RunMetadata of two steps."""
    feeds = {"x:0": np.ones([4, 8]), "b/im:0": np.ones([2, 8, 8, 3])}
    found = []
    with v1.Session(graph=graph) as session:
        with graph.as_default():
            session.run(v1.global_variables_initializer())
        for _ in range(2):
            run = v1.RunMetadata()
            session.run(["b/z:0", "b/c:0"], feeds, options=RUN, run_metadata=run)
            found.append(run)
    return graph, found


def table(capsys):
    """The lines of the table of the last report."""
    text = capsys.readouterr().out.split("Profile:\n")[-1]
    return [line for line in text.split("\n=====")[0].splitlines()[1:] if line]


def with_types(*types, **changes):
    return {**PARAMS, "account_type_regexes": list(types), **changes}


def test_parameters_of_trainable_variables(graph, capsys):
    found = profiler.profile(graph)
    assert table(capsys) == [
        "_TFProfRoot (--/192 params)",
        "  a (--/128 params)",
        "    a/w (8x16, 128/128 params)",
        "  b (--/64 params)",
        "    b/w (16x4, 64/64 params)",
    ]
    assert type(found) is profiler.GraphNodeProto
    assert (found.total_parameters, found.total_definition_count) == (192, 5)
    assert [child.name for child in found.children[0].children] == ["a/w"]
    assert found.children[0].children[0].parameters == 128


def test_floating_point_operations(graph, capsys):
    found = profiler.profile(graph, cmd="op", options=Builder.float_operation())
    counts = {}
    row = found
    while row.children:
        (row,) = row.children
        counts[row.name] = row.float_ops
    assert counts == {"Conv2D": 34560, "MatMul": 1024 + 512, "Relu": 64, "AddV2": 16}
    assert found.total_float_ops == sum(counts.values())
    rows = table(capsys)
    assert rows[0] == "Conv2D                   34.56k float_ops (100.00%, 95.53%)"
    assert rows[3] == f"{'AddV2':25}{'16 float_ops (0.04%, 0.04%)':>30}"


def test_what_needs_what(graph, capsys):
    profiler.profile(graph, cmd="graph", options=Builder.float_operation())
    assert table(capsys) == [
        "_TFProfRoot (--/36.18k flops)",
        "  b/c (34.56k/34.56k flops)",
        "  b/z (16/1.62k flops)",
        "    b/mm (512/1.60k flops)",
        "      a/relu (64/1.09k flops)",
        "        a/mm (1.02k/1.02k flops)",
    ]


def test_lines_of_the_program(graph, capsys):
    found = profiler.profile(graph, cmd="code", options=Builder.float_operation())
    lines = table(capsys)
    assert type(found) is profiler.MultiGraphNodeProto
    here = [line for line in lines if "test_model_profile.py" in line]
    assert re.fullmatch(r" +test_model_profile\.py:\d+:_graph \(34\.56k/34\.56k flops\)", here[0])
    assert here == sorted(here, key=lambda line: "34.56k" not in line)


def test_gradients_are_of_the_line_of_what_they_derive(capsys):
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [8, 8], initializer=v1.zeros_initializer())
        product = tf.matmul(w, w, name="product")
        tf.gradients(product, [w])
    options = Builder(Builder.float_operation()).with_accounted_types(["MatMul"]).build()
    profiler.profile(graph, cmd="code", options=options)
    lines = [line for line in table(capsys) if "test_model_profile" in line]
    assert [line.split(" (")[1] for line in lines] == ["gradient)", "1.02k/1.02k flops)"]
    assert len({line.split(" (")[0].strip() for line in lines}) == 1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"max_depth": 1}, ["_TFProfRoot (--/0 params)"]),
        ({"max_depth": 2}, ["_TFProfRoot (--/0 params)", "  a (--/0 params)", "  b (--/0 params)"]),
        ({"min_params": 100}, ["_TFProfRoot (--/128 params)", "  a/w (8x16, 128/128 params)"]),
        ({"show_name_regexes": ["b/.*"]},
         ["_TFProfRoot (--/64 params)", "  b/w (16x4, 64/64 params)"]),
        ({"show_name_regexes": ["b/.*"], "account_displayed_op_only": False},
         ["_TFProfRoot (--/192 params)", "  b/w (16x4, 64/64 params)"]),
        ({"hide_name_regexes": ["a"]},
         ["_TFProfRoot (--/192 params)", "  a/w (8x16, 128/128 params)", "  b (--/64 params)",
          "    b/w (16x4, 64/64 params)"]),
        ({"start_name_regexes": ["b"], "order_by": "params"},
         ["_TFProfRoot (--/64 params)", "  b (--/64 params)", "    b/w (16x4, 64/64 params)"]),
        ({"trim_name_regexes": ["a"]},
         ["_TFProfRoot (--/64 params)", "  a (--/0 params)", "  b (--/64 params)",
          "    b/w (16x4, 64/64 params)"]),
        ({"account_type_regexes": ["VarHandle"]}, ["_TFProfRoot (--/0 params)"]),  # not the whole
    ],
)  # fmt: skip
def test_what_is_shown(graph, capsys, changes, expected):
    profiler.profile(graph, options={**PARAMS, **changes})
    assert table(capsys) == expected


def test_types_and_shapes(graph, capsys):
    options = with_types("MatMul", "VarHandleOp", select=["op_types", "input_shapes"])
    profiler.profile(graph, options=options)
    assert table(capsys) == [
        "_TFProfRoot (_kTFScopeParent, )",
        "  a (_kTFScopeParent, )",
        "    a/mm (MatMul, 0:4x8|1:8x16)",
        "    a/w (VarHandleOp|_trainable_variables, )",
        "  b (_kTFScopeParent, )",
        "    b/mm (MatMul, 0:4x16|1:16x4)",
        "    b/w (VarHandleOp|_trainable_variables, )",
    ]
    profiler.profile(graph, cmd="op", options=with_types("MatMul", select=["input_shapes"]))
    assert table(capsys)[1:] == [
        "input_type: 0:4x16,\t1:16x4\t(run*0|defined*1)\texec_time: 0us",
        "input_type: 0:4x8,\t1:8x16\t(run*0|defined*1)\texec_time: 0us",
    ]
    options = with_types(".*", select=["occurrence"], min_occurrence=3, order_by="occurrence")
    profiler.profile(graph, cmd="op", options=options)
    assert [line.split() for line in table(capsys)] == [["Const", "0|4"], ["ReadVariableOp", "0|4"]]


def test_facts_that_are_told_by_hand(graph, capsys):
    log = profiler.OpLogProto()
    log.log_entries.add(name="a/relu", float_ops=777, types=["mine"])
    found = profiler.profile(
        graph, op_log=log, options=with_types("mine", select=["float_ops", "op_types"])
    )
    assert table(capsys)[2] == "    a/relu (777/777 flops, Relu|mine)"
    assert found.total_float_ops == 777


def test_times_and_bytes_of_steps(traced, capsys):
    graph, runs = traced
    made = profiler.Profiler(graph)
    for step, run in enumerate(runs):
        made.add_step(step, run)
    options = Builder(Builder.time_and_memory(min_micros=0, min_bytes=0)).with_empty_output()
    per_step = [made.profile_name_scope(options.with_step(i).build()) for i in (0, 1, -1)]
    for run, found in zip(runs, per_step, strict=False):
        (device,) = run.step_stats.dev_stats
        assert found.total_exec_micros == sum(n.all_end_rel_micros for n in device.node_stats)
        assert found.total_cpu_exec_micros == found.total_exec_micros
    first, second, mean = (found.total_exec_micros for found in per_step)
    assert abs(mean - (first + second) / 2) < 20  # each operation's is rounded
    names = {each.name for child in per_step[0].children for each in child.children}
    assert {"a/mm", "b/c"} <= names  # also those inside of a compiled region
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"one of the steps \[0, 1\], got 7"):
        made.profile_name_scope(options.with_step(7).build())
    assert capsys.readouterr().out == ""


def test_a_run_that_is_handed_over(traced, capsys):
    graph, runs = traced
    options = Builder(Builder.time_and_memory()).select(["bytes", "micros", "occurrence"]).build()
    profiler.profile(graph, runs[0], cmd="op", options=options)
    text = capsys.readouterr().out
    header = text.split("Profile:\n")[1].splitlines()[0]
    assert header == (
        "node name | requested bytes | total execution time | accelerator execution time | "
        "cpu execution time | op occurrence (run|defined)"
    )
    assert re.search(r"Conv2D +\d.*B \(\d+\.\d\d%, \d+\.\d\d%\), .* 1\|1\n", text)


def test_outputs(traced, tmp_path, capsys):
    graph, runs = traced
    for view in ("scope", "graph", "code", "op"):
        options = Builder(PARAMS).with_file_output(str(tmp_path / view)).build()
        profiler.profile(graph, cmd=view, options=options)
        assert "Model Analysis Report" in (tmp_path / view).read_text()
    assert capsys.readouterr().out == ""
    timed = Builder(Builder.time_and_memory()).with_timeline_output(str(tmp_path / "line")).build()
    for view in ("scope", "graph", "code"):
        profiler.profile(graph, runs[0], cmd=view, options=timed)
        events = json.loads((tmp_path / "line_-1").read_text())["traceEvents"]
        assert [e for e in events if e["ph"] == "X" and e["dur"] > 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="scope, graph or code, got 'op'"):
        profiler.profile(graph, cmd="op", options=timed)
    options = Builder(PARAMS).with_file_output(str(tmp_path / "none" / "x")).build()
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        profiler.profile(graph, options=options)


def test_output_for_pprof(graph, tmp_path):
    def fields(data):
        at = 0
        while at < len(data):
            key, at = varint(data, at)
            if key & 7 == 2:
                size, at = varint(data, at)
                yield key >> 3, data[at : at + size]
                at += size
            else:
                value, at = varint(data, at)
                yield key >> 3, value

    def varint(data, at):
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value, at

    path = tmp_path / "p"
    options = Builder(Builder.float_operation()).with_pprof_output(str(path)).build()
    profiler.profile(graph, cmd="code", options=options)
    found = list(fields(gzip.decompress(path.read_bytes())))
    texts = [value.decode() for number, value in found if number == 6]
    assert texts[0] == ""
    assert {"# float_ops", "count", "_graph", "test_model_profile.py"} <= set(texts)
    samples = [dict(fields(value)) for number, value in found if number == 2]
    total = sum(varint(sample[2], 0)[0] for sample in samples)
    assert total == 34560 + 1024 + 512 + 64 + 16
    locations = {dict(fields(value))[1] for number, value in found if number == 4}
    assert all(set(sample[1]) <= locations for sample in samples)
    for view, changes in (("scope", {}), ("code", {"select": ["params", "micros"]})):
        with pytest.raises(tf.errors.InvalidArgumentError, match="pprof"):
            profiler.profile(graph, cmd=view, options={**options, **changes})


def test_advice(traced, capsys):
    graph, runs = traced
    found = profiler.advise(graph, runs[0])
    assert type(found) is profiler.AdviceProto
    assert sorted(found.checkers) == [
        "AcceleratorUtilizationChecker", "ExpensiveOperationChecker", "OperationChecker"
    ]  # fmt: skip
    types, scopes, lines = found.checkers["ExpensiveOperationChecker"].reports
    assert types.startswith("top 1 operation type: Conv2D, cpu: ")
    assert scopes.startswith("top 1 graph node: b, cpu: ")
    assert "test_model_profile.py" in lines or ".py:" in lines
    assert "ExpensiveOperationChecker:\ntop 1" in capsys.readouterr().out
    with pytest.raises(tf.errors.InvalidArgumentError, match="got 'Nope'"):
        profiler.advise(graph, options={"Nope": {}})


def test_advice_on_devices_and_forms():
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(tf.float32, [2, 8, 8, 3], name="im")
        tf.nn.conv2d(image, tf.ones([3, 3, 3, 5]), 1, "SAME", name="c")
        moments = [tf.zeros([3])] * 2
        tf.nn.batch_normalization(image, *moments, None, None, 1e-3)
    run = v1.RunMetadata()
    for device, name, micros in (("GPU", "c", 10), ("CPU", "im", 90)):
        stats = run.step_stats.dev_stats.add(device=f"/device:{device}:0").node_stats.add()
        stats.node_name, stats.all_end_rel_micros = name, micros
    found = profiler.advise(graph, run).checkers
    (low,) = found["AcceleratorUtilizationChecker"].reports
    assert low.startswith("device: /device:GPU:0 low utilization: 0.10")
    assert any("NHWC, as c." in text for text in found["OperationChecker"].reports)


def test_written_facts_come_back(graph, tmp_path):
    profiler.write_op_log(graph, tmp_path)
    log = profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {entry.name: entry for entry in log.log_entries}
    assert entries["b/c"].float_ops == 34560
    assert list(entries["a/w"].types) == ["_trainable_variables"]
    trace = entries["b/c"].code_def.traces[-1]
    assert log.id_to_string[trace.file_id].endswith("test_model_profile.py")
    assert log.id_to_string[trace.function_id] == "_graph"
    profiler.write_op_log(graph, tmp_path, add_trace=False)
    log = profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    assert not any(entry.code_def.traces for entry in log.log_entries)
    with pytest.raises(tf.errors.NotFoundError):
        profiler.write_op_log(graph, tmp_path / "none")


def test_a_profile_as_bytes(traced):
    graph, runs = traced
    made = profiler.Profiler(graph)
    made.add_step(3, runs[0])
    message = tf.proto.tfprof_log_pb2.ProfileProto.FromString(made.serialize_to_string())
    nodes = {node.name: node for node in message.nodes.values()}
    assert list(message.steps) == [3]
    assert nodes["a/relu"].inputs[0] == nodes["a/mm"].id
    assert nodes["b/c"].execs[3].run_count == 1
    assert list(nodes["a/mm"].input_shapes[1].int64_values) == [8, 16]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"nope": 1}, "option"),
        ({"select": ["nope"]}, "select"),
        ({"order_by": "nope"}, "order_by"),
        ({"output": "nope"}, "output"),
        ({"output": "file"}, "outfile=PATH"),
        ({"show_name_regexes": ["("]}, "regular expressions"),
    ],
)
def test_options_that_are_none(options, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        profiler.profile(tf.Graph(), options={**PARAMS, **options})


def test_what_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown cmd: nope"):
        profiler.profile(tf.Graph(), cmd="nope")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"a tf\.Graph, got None"):
        profiler.profile()
    with pytest.raises(TypeError, match="expected options as a dictionary"):
        profiler.profile(tf.Graph(), options=3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a step from 0, got -1"):
        profiler.Profiler(tf.Graph()).add_step(-1, v1.RunMetadata())


def test_a_deep_graph_is_no_problem(capsys):
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        for _ in range(1500):
            x = tf.negative(x)
    for view in ("scope", "graph"):
        found = profiler.profile(
            graph, cmd=view, options=with_types(".*", select=["float_ops"], max_depth=10**6)
        )
        assert found.total_float_ops == 1500
    assert len(table(capsys)) == 1502
