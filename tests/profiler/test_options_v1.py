"""Options of the first generation's reports; the numbers are TensorFlow 2.21's."""

import penstock as tf

Builder = tf.compat.v1.profiler.ProfileOptionBuilder


def test_ready_made_options():
    found = Builder.trainable_variables_parameter()
    assert found["account_type_regexes"] == ["_trainable_variables"]
    assert (found["select"], found["order_by"], found["min_bytes"]) == (["params"], "name", 0)
    found = Builder.float_operation()
    assert (found["select"], found["order_by"], found["min_float_ops"]) == (
        ["float_ops"], "float_ops", 1,
    )  # fmt: skip
    found = Builder.time_and_memory(min_micros=5)
    assert (found["min_micros"], found["min_bytes"], found["select"], found["output"]) == (
        5, 1, ["micros", "bytes"], "stdout",
    )  # fmt: skip
    assert all(f()["account_displayed_op_only"] for f in (Builder.float_operation,
               Builder.time_and_memory, Builder.trainable_variables_parameter))  # fmt: skip


def test_a_builder_changes_a_copy():
    begin = Builder.float_operation()
    made = Builder(begin).with_empty_output().with_node_names(show_name_regexes=["a.*"]).build()
    assert (made["output"], made["show_name_regexes"]) == ("none", ["a.*"])
    assert (begin["output"], begin["show_name_regexes"]) == ("stdout", [".*"])
    assert Builder({}).build() == {}
    assert (Builder().build()["max_depth"], begin["max_depth"]) == (100, 10000)


def test_all_methods_chain_to_tensorflows_options():
    made = Builder().with_max_depth(3).with_step(1).select(["bytes", "params"])
    made = made.with_file_output("/tmp/q").build()
    assert made == {
        "max_depth": 3, "min_bytes": 0, "min_micros": 0, "min_params": 0, "min_float_ops": 0,
        "min_occurrence": 0, "order_by": "name", "account_type_regexes": [".*"],
        "start_name_regexes": [".*"], "trim_name_regexes": [], "show_name_regexes": [".*"],
        "hide_name_regexes": [], "account_displayed_op_only": False,
        "select": ["bytes", "params"], "step": 1, "output": "file:outfile=/tmp/q",
    }  # fmt: skip
    changed = (
        Builder().with_min_memory(1, 2).with_min_execution_time(3).with_min_parameters(4)
        .with_min_occurrence(5).with_min_float_operations(6).with_accounted_types(["Mat.*"])
        .account_displayed_op_only(True).with_timeline_output("t").order_by("bytes").build()
    )  # fmt: skip
    assert (changed["min_bytes"], changed["min_peak_bytes"], changed["min_micros"]) == (1, 2, 3)
    assert (changed["min_params"], changed["min_occurrence"], changed["min_float_ops"]) == (4, 5, 6)
    assert (changed["output"], changed["order_by"]) == ("timeline:outfile=t", "bytes")
