"""Families of operations are imported when one of their names is first asked for."""

import re
import subprocess
import sys
from pathlib import Path

import penstock
from penstock import ops

SOURCE = Path(penstock.__file__).parent
BY_NAME = re.compile(r'\b(?:execute|find|lookup|named)\(\s*"([A-Z_]\w*)"')
PROGRAM = """
import sys
import penstock as tf
from penstock.core import op_def

ALL = "penstock.ops.barrier_ops"
for name in sys.argv[1:]:
    assert op_def.find(name), name
    assert ALL not in sys.modules, name
w = tf.Variable(tf.ones([8, 4]))

@tf.function
def step(ids):
    with tf.GradientTape() as tape:
        rows = tf.gather(w, ids)
        total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * rows), (0, rows))[1]
        loss = tf.reduce_sum(total) + tf.reduce_sum(w)
    w.assign_sub(tape.gradient(loss, w))

step(tf.constant([1, 2]))
assert ALL not in sys.modules
assert op_def.find("BarrierClose") and ALL in sys.modules
"""


def test_a_training_step_does_not_import_all_families():
    """Nor does any operation that the layers outside `ops` make by name."""
    texts = [f.read_text() for d in ("autodiff", "core", "runtime", "tracing")
             for f in sorted((SOURCE / d).rglob("*.py"))]  # fmt: skip
    names = sorted({name for text in texts for name in BY_NAME.findall(text)})
    assert len(names) > 40
    subprocess.run([sys.executable, "-c", PROGRAM, *names], check=True)


def test_the_common_families_are_families():
    assert set(ops.COMMON) <= set(ops.FAMILIES)
