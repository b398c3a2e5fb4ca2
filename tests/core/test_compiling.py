"""Options given to XLA and the folder of its cache."""

import functools
import os
import pathlib
import subprocess
import sys
import time

import pytest

from penstock.core import compiling, native

PROGRAM = """
import penstock as tf
f = tf.function(lambda x: tf.tanh(x) @ x)
f(tf.ones([64, 64]))
import jax
print(jax.config.jax_compilation_cache_dir)
"""


def cache_dir(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_flags_of_the_processor_are_read(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text("processor : 0\nflags\t\t: sse avx2 avx512f\n")
    assert compiling.cpu_flags(str(file)) == {"sse", "avx2", "avx512f"}
    assert compiling.cpu_flags(str(tmp_path / "missing")) == frozenset()


def test_products_and_windows_are_not_elementwise():
    assert compiling.is_elementwise(["AddV2", "Tanh", "Const"])
    assert not compiling.is_elementwise(["AddV2", "MatMul"])
    assert not compiling.is_elementwise(["MaxPoolGrad"])


def test_the_cache_is_on_by_default_in_the_users_folder(tmp_path):
    found = cache_dir(XDG_CACHE_HOME=str(tmp_path))
    assert found.startswith(str(tmp_path / "penstock" / "xla"))


def test_one_setting_turns_the_cache_off(tmp_path):
    assert cache_dir(XDG_CACHE_HOME=str(tmp_path), PENSTOCK_COMPILATION_CACHE="0") == "None"


def test_entries_that_were_not_finished_are_removed(tmp_path):
    """JAX fails to add any entry beside one, and warns of it whenever it is read.

    One that was written a moment ago may be another process's that is about to finish it.
    """
    folder = pathlib.Path(cache_dir(XDG_CACHE_HOME=str(tmp_path)))
    for name in ("half-cache", "young-cache", "whole-cache", "whole-atime", "other"):
        (folder / name).write_bytes(bytes(8))
    before = time.time() - 2 * compiling.BEING_WRITTEN_S
    os.utime(folder / "half-cache", (before, before))
    cache_dir(XDG_CACHE_HOME=str(tmp_path))
    left = {path.name for path in folder.iterdir()}
    assert {"young-cache", "whole-cache", "whole-atime", "other"} <= left
    assert "half-cache" not in left


def test_a_folder_that_the_program_chose_is_left_alone(tmp_path):
    chosen = str(tmp_path / "own")
    assert cache_dir(JAX_COMPILATION_CACHE_DIR=chosen) == chosen


SUMS = """
import hashlib, os, sys
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
import numpy as np
import penstock as tf

tf.config.experimental.enable_op_determinism()
x = tf.constant(np.random.default_rng(0).normal(size=(1000, 777)).astype(np.float32))
y = tf.constant(np.random.default_rng(1).normal(size=(777, 16)).astype(np.float32))

@tf.function
def sums(x):
    parts = [tf.reduce_sum(x), tf.reduce_sum(x, 0), tf.reduce_mean(x, 1), tf.nn.softmax(x)]
    return [*parts, *tf.nn.moments(x, [0]), tf.matmul(x, y), tf.matmul(x, x, transpose_a=True)]

for each in [*sums(x), tf.reduce_sum(x), tf.reduce_mean(x, 0)]:
    print(hashlib.sha256(each.numpy().tobytes()).hexdigest())
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.skipif(not native.available(), reason="XLA's own products split sums among threads")
def test_with_determinism_sums_have_the_same_bits_for_any_number_of_threads():
    run = functools.partial(subprocess.check_output, text=True)
    one, two = (run([sys.executable, "-c", SUMS, str(count)]) for count in (1, 2))
    assert one == two
    assert len(one.split()) == 10
