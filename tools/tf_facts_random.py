"""Facts about random numbers: what TensorFlow draws for given seeds.

``EXPRESSIONS`` are evaluated one by one, ``SEQUENCES`` in order after ``tf.random.set_seed(42)``,
``IN_GRAPH`` in a fresh graph with seed 7, each run twice in one session. The test evaluates the
same texts with Penstock; the file keeps them beside the numbers.
"""

from typing import Any

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int32", "int64", "uint32", "uint64")
STATELESS = [
    f"tf.raw_ops.Stateless{op}(shape=[9], seed=[{seed}], dtype='{dtype}')"
    for op in ("RandomUniform", "RandomNormal", "TruncatedNormal")
    for dtype in FLOATS
    for seed in ("1, 2", "-7, 123456")
]
WHOLE = [
    f"tf.raw_ops.StatelessRandomUniformFullInt(shape=[3, 3], seed=[1, 2], dtype='{dtype}')"
    for dtype in INTS
]
EXPRESSIONS = [
    *STATELESS,
    *WHOLE,
    "tf.raw_ops.StatelessRandomUniformInt(shape=[7], seed=[1, 2], minval=-5, maxval=1000)",
    "tf.raw_ops.StatelessRandomUniformInt(shape=[7], seed=[1, 2], minval=np.int64(-5), "
    "maxval=np.int64(2**40))",
    "tf.raw_ops.StatelessRandomGetKeyCounter(seed=[3, 4])[0]",
    "tf.raw_ops.StatelessRandomGetKeyCounter(seed=[3, 4])[1]",
    "tf.raw_ops.StatelessRandomUniformV2(shape=[7], key=[7], counter=[3, 4], alg=1)",
    "tf.raw_ops.StatelessRandomUniformV2(shape=[7], key=[7], counter=[2**64 - 1, 4], alg=1)",
    "tf.raw_ops.StatelessShuffle(value=tf.range(12), key=[5], counter=[1, 2], alg=1)",
    "tf.raw_ops.StatelessMultinomial(logits=[[1., 2., 3.], [3., 1., -1.]], num_samples=5, "
    "seed=[53, 9])",
    "tf.random.split([1, 2], 3)",
    "tf.random.fold_in([1, 2], 3)",
    "tf.random.stateless_uniform([5], [1, 2], 2., 7.)",
    "tf.random.stateless_uniform([5], [1, 2], -3, 12, dtype='int32')",
    "tf.random.stateless_normal([5], [1, 2], 3., 2.)",
    "tf.random.stateless_truncated_normal([5], [1, 2], 3., 2.)",
    "tf.random.stateless_categorical([[0., 1., 2.]], 7, [1, 2])",
    "tf.random.experimental.stateless_shuffle(tf.range(8), [1, 2])",
    "tf.nn.experimental.stateless_dropout(tf.ones([9]), 0.4, [1, 2])",
]
SEQUENCE = [
    "tf.random.uniform([5])",
    "tf.random.uniform([5])",
    "tf.random.uniform([5], seed=1)",
    "tf.random.uniform([2], seed=1)",
    "tf.random.uniform([3], seed=1)",
    "tf.random.uniform([5], -2, 30, dtype='int64', seed=3)",
    "tf.random.uniform([5], -2, 30, dtype='int64', seed=3)",
    "tf.random.normal([5], seed=1)",
    "tf.random.normal([5], seed=1)",
    "tf.random.truncated_normal([5], seed=1)",
    "tf.random.truncated_normal([5], seed=1)",
    "tf.random.normal([3], dtype='float64', seed=2)",
    "tf.random.shuffle(tf.range(11), seed=5)",
    "tf.random.shuffle(tf.range(11), seed=5)",
    "tf.random.categorical([[0., 1., 2.], [2., 1., 0.]], 6, seed=5)",
    "tf.random.categorical([[0., 1., 2.], [2., 1., 0.]], 6, seed=5)",
    "tf.nn.dropout(tf.ones([9]), 0.5)",
    "tf.nn.dropout(tf.ones([9]), 0.5, seed=3)",
]
IN_GRAPH = [
    "tf.random.uniform([4])",
    "tf.random.normal([4])",
    "tf.random.uniform([4], 0, 100, dtype='int32')",
    "tf.random.truncated_normal([4], seed=9)",
    "tf.random.shuffle(tf.range(9))",
    "tf.random.categorical([[0., 1., 2.]], 5)",
]
GLOBAL_SEEDS = (0, 42, -3, 2**33 + 5)
OPERATION_SEEDS = (None, 0, 1, 2**40, -3)


def values(tensor: Any) -> list[Any]:
    """The elements of a result as Python numbers, exact."""
    array = np.asarray(tensor)
    if array.dtype.kind not in "iu":
        array = array.astype(np.float64)
    return array.reshape(-1).tolist()


def draw(tf: Any) -> dict[str, Any]:
    """All facts, drawn with `tf`: TensorFlow when they are recorded, Penstock when compared."""
    names = {"tf": tf, "np": np}
    alone = {text: values(eval(text, names)) for text in EXPRESSIONS}
    tf.random.set_seed(42)
    in_order = {f"{i:02} {text}": values(eval(text, names)) for i, text in enumerate(SEQUENCE)}
    seeds = {}
    for seed in GLOBAL_SEEDS:
        tf.random.set_seed(seed)
        found = [tf.compat.v1.get_seed(own) for own in (*OPERATION_SEEDS, None)]
        seeds[str(seed)] = [[int(s) for s in pair] for pair in found]
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(7)
        tensors = [eval(text, names) for text in IN_GRAPH]
        with tf.compat.v1.Session() as session:
            runs = [session.run(t) for t in tensors], [session.run(t) for t in tensors]
    graph = {t: [values(a), values(b)] for t, a, b in zip(IN_GRAPH, *runs, strict=True)}
    return {"alone": alone, "in_order": in_order, "seeds": seeds, "graph": graph}


def record() -> dict[str, Any]:
    """What TensorFlow draws."""
    import tensorflow as tf  # the interpreter that records has it

    return {"tensorflow": tf.__version__, **draw(tf)}
