"""Small programs that run under TensorFlow and under Penstock, for comparing their GraphDefs.

Each takes the module and adds operations to the current graph; `FEEDS` and `FETCHES` say how to run
the result. `tools/record_graphs.py` runs them under TensorFlow and keeps GraphDef and values.
"""

import numpy as np


def arithmetic(tf):
    x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[None, 3], name="x")
    y = tf.raw_ops.AddV2(x=x, y=[1.0, 2.0, 3.0], name="y")
    tf.raw_ops.Mul(x=y, y=y, name="z")


def default_names(tf):
    x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[2, 2])
    for _ in range(3):
        x = tf.raw_ops.AddV2(x=x, y=1.0)
    with tf.compat.v1.name_scope("scope"):
        x = tf.raw_ops.Sub(x=x, y=x)
        x = tf.raw_ops.Sub(x=x, y=x)
    with tf.compat.v1.name_scope("scope"):
        x = tf.raw_ops.Neg(x=x)
    tf.raw_ops.Identity(input=x, name="z")


def attributes(tf):
    x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[2, 3], name="x")
    y = tf.raw_ops.MatMul(a=x, b=x, transpose_b=True, name="y")
    parts = tf.split(y, 2, name="parts")
    tf.raw_ops.ConcatV2(values=[parts[1], parts[0], [[7.0, 8.0]]], axis=0, name="z")


def control(tf):
    x = tf.raw_ops.Placeholder(dtype=tf.int32, shape=[], name="x")
    first = tf.raw_ops.NoOp(name="first")
    b = tf.raw_ops.NoOp(name="b")
    with tf.control_dependencies([first, x, b]):
        y = tf.raw_ops.AddV2(x=x, y=1, name="y")
        tf.raw_ops.Mul(x=y, y=y, name="z")


def devices(tf):
    graph = tf.compat.v1.get_default_graph()
    with tf.device("/job:localhost"):
        x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=None, name="x")
        with tf.device("/cpu:0"):
            y = tf.raw_ops.Square(x=x, name="y")
        with graph.colocate_with(y.op):
            tf.raw_ops.Neg(x=y, name="z")


def shapes(tf):
    x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[None, 4], name="x")
    shape = tf.raw_ops.Shape(input=x)
    first = tf.raw_ops.StridedSlice(
        input=shape, begin=[0], end=[1], strides=[1], shrink_axis_mask=1, name="first"
    )
    packed = tf.raw_ops.Pack(values=[first, 2, 2], name="packed")
    y = tf.raw_ops.Reshape(tensor=x, shape=packed, name="y")
    tf.reduce_sum(y, [1, 2], keepdims=True, name="z")


def types(tf):
    x = tf.raw_ops.Placeholder(dtype=tf.int64, shape=[3], name="x")
    a = tf.raw_ops.Cast(x=x, DstT=tf.float64)
    b = tf.raw_ops.Cast(x=a, DstT=tf.float16)
    c = tf.raw_ops.Cast(x=b, DstT=tf.bool)
    d = tf.raw_ops.Cast(x=c, DstT=tf.complex64)
    tf.raw_ops.Identity(input=d, name="z")


def variables(tf):
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="v", name="v")
    tf.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0], name="init")
    x = tf.raw_ops.Placeholder(dtype=tf.float32, shape=[], name="x")
    y = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="y")
    tf.raw_ops.Mul(x=y, y=x, name="z")


PROGRAMS = {
    program.__name__: program
    for program in (
        arithmetic,
        default_names,
        attributes,
        control,
        devices,
        shapes,
        types,
        variables,
    )
}
FEEDS = {
    "arithmetic": np.arange(6, dtype=np.float32).reshape(2, 3),
    "attributes": np.arange(6, dtype=np.float32).reshape(2, 3),
    "control": np.int32(4),
    "default_names": np.ones((2, 2), np.float32),
    "devices": np.float32([1.5, -2]),
    "functions": np.float32([1.0, 2.0, 4.0]),
    "shapes": np.arange(8, dtype=np.float32).reshape(2, 4),
    "types": np.array([0, 1, 2], np.int64),
    "variables": np.float32(3),
}
INPUTS = {"default_names": "Placeholder:0"}  # else "x:0"
TARGETS = {"variables": ["init"]}  # run first
