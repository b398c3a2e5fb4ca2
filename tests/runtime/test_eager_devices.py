"""Eager tensors on logical CPUs, in processes of their own: the devices are fixed at first use."""

import subprocess
import sys
import textwrap

import pytest

import penstock as tf

TASK = "/job:localhost/replica:0/task:0/device:CPU:"


def run(program):
    """What a program prints that has three logical CPUs."""
    head = """
        import penstock as tf
        cpu = tf.config.list_physical_devices("CPU")[0]
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [one, one, one])
    """
    text = textwrap.dedent(head) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_tensors_say_which_logical_cpu_they_were_made_on():
    printed = run("""
        with tf.device("CPU:1"):
            a = tf.constant(1.0)
            b = a + 1
            v = tf.Variable(2.0)
            with tf.device("CPU:2"):
                c = tf.identity(b)
            with tf.device(None):
                d = b + 1
        for tensor in (a, b, v, c, d, a + 1, a.cpu(), b[tf.newaxis]):
            print(tensor.device)
    """)
    assert printed == [TASK + str(i) for i in (1, 1, 1, 2, 0, 0, 0, 0)]


def test_a_missing_cpu_is_the_first_or_refused():
    printed = run("""
        with tf.device("CPU:7"):
            print(tf.constant(1.0).device)
        v = tf.Variable(1.0)
        tf.config.set_soft_device_placement(False)
        with tf.device("CPU:7"):
            try:
                v.assign(5.0)
            except tf.errors.InvalidArgumentError as problem:
                print("refused", "CPU:7" in problem.message)
        print(v.numpy())
        with tf.device("CPU:2"):
            print(tf.constant(1.0).device)
    """)
    assert printed == [TASK + "0", "refused", "True", "1.0", TASK + "2"]


def test_constants_are_made_on_the_device_of_the_scope():
    printed = run("""
        x = tf.constant([1.0])
        with tf.device("CPU:1"):
            made = [tf.zeros(2), tf.zeros([2]), tf.ones([2]), tf.zeros_like(x), tf.ones_like(x)]
            made += [tf.fill([2], 3), tf.eye(2), tf.range(3), tf.cast([1], tf.float32)]
        for tensor in [*made, tf.zeros([2]), tf.ones_like(made[0])]:
            print(tensor.device)
    """)
    assert printed == [TASK + "1"] * 9 + [TASK + "0"] * 2


def test_arrays_are_made_on_and_moved_to_logical_cpus():
    printed = run("""
        import numpy as np
        tnp = tf.experimental.numpy
        tnp.experimental_enable_numpy_behavior()
        one, two = "/device:CPU:1", "/device:CPU:2"
        x = tnp.ones(2, device=one)
        made = [x, tnp.asarray([1.0], device=two), tnp.asarray(x, device=two), x.to_device(two)]
        made += [tnp.astype(x, np.int32, device=two), tnp.from_dlpack(np.ones(2), device=one)]
        made += [x.to_device(x.device), tnp.zeros_like(x, device=two), tnp.zeros_like(x)]
        for tensor in made:
            print(tensor.device)
        print(x.to_device(x.device) is x, tnp.asarray(x, device=x.device, copy=False) is x)
    """)
    assert printed == [*(TASK + str(i) for i in (1, 2, 2, 2, 2, 1, 1, 2, 0)), "True", "True"]


@pytest.mark.parametrize("name", ["/job:nowhere", "/task:3", "/replica:1/cpu:0"])
def test_what_runs_eagerly_has_no_device_of_another_task(name):
    x = tf.constant([1.0, 2.0])
    with tf.device(name):
        for run in (lambda: tf.constant(1.0), lambda: x + x, lambda: tf.Variable(1.0)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="unknown device"):
                run()
    with tf.device("/job:localhost/task:0"):
        assert (x + x).device == TASK + "0"


def test_a_device_is_a_name_or_a_spec():
    for wrong in (7, b"cpu:0", []):
        with pytest.raises(ValueError, match="a device's name"), tf.device(wrong):
            pass


def test_inputs_on_other_devices_are_refused_where_copies_must_be_spelled_out():
    printed = run("""
        with tf.device("CPU:1"):
            far, number, text = tf.constant([1.0]), tf.constant(0), tf.constant(["a"])
            variable = tf.Variable([2.0])
        near = tf.constant([1.0])

        def on(device, function):
            with tf.device(device):
                try:
                    return function().device[-5:]
                except tf.errors.InvalidArgumentError as error:
                    start = error.message.index("cannot compute")
                    return ":".join(error.message[start:].split()[2:6:3])

        for policy in ("explicit", "silent_for_int32", "silent"):
            tf.config.experimental.set_device_policy(policy)
            print(policy)
            print(on(None, lambda: near + far), on(None, lambda: far + near))
            print(on("CPU:1", lambda: far + far), on("CPU:1", lambda: far + near))
            print(on("CPU:7", lambda: near + near), on("CPU:7", lambda: far + 1.0))
            print(on(None, lambda: number + number), on(None, lambda: tf.stack([text, text])))
            print(on(None, lambda: tf.identity(far)), on(None, lambda: tf.gather(far, number)))
            print(on(None, lambda: variable.assign(near) and near))
            print(on(None, lambda: tf.function(lambda x, y: x + y)(near, far)))
    """)
    wanted = """AddV2:#1 AddV2:#0
        CPU:1 AddV2:#1
        CPU:0 AddV2:#0
        CPU:0 CPU:0
        CPU:0 GatherV2:#0
        AssignVariableOp:#1
        CPU:0""".split()
    silent = "CPU:0 CPU:0 CPU:1 CPU:1 CPU:0 CPU:0 CPU:0 CPU:0 CPU:0 CPU:0 CPU:0 CPU:0".split()
    assert printed == ["explicit", *wanted, "silent_for_int32", *wanted, "silent", *silent]


def test_inputs_on_other_devices_are_copied_with_a_warning():
    printed = run("""
        import logging, sys
        tf.get_logger().handlers[:] = [logging.StreamHandler(sys.stdout)]
        with tf.device("CPU:1"):
            far = tf.constant([1.0])
        tf.config.experimental.set_device_policy("warn")
        print((far + 1.0).numpy())
    """)
    text = " ".join(printed)
    assert text.startswith(f"before computing AddV2 input #0 was expected to be on {TASK}0 but is")
    assert text.endswith("[2.]")
