"""The compilation cache on disk: shared between processes, keyed, bounded, and never trusted."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, warnings
import jax, jax.monitoring
import penstock as tf
from penstock.core import compiling

warnings.simplefilter("ignore")  # JAX warns of entries that cannot be read
counts = {"hits": 0}

def listen(event, **unused):
    counts["hits"] += event == "/jax/compilation_cache/cache_hits"

jax.monitoring.register_event_listener(listen)
compiling.use_disk_cache()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
results = []
for n in range(3):
    f = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x) * float(n)), jax_compile)
    results.append(float(f(tf.ones([32, 32]))))
print(json.dumps({"results": results, **counts}))
""".replace("jax_compile)", "jit_compile=True)")
RESULTS = [0.0, 32.0**3, 2 * 32.0**3]


def start(folder, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PENSTOCK_CACHE_DIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, problems = process.communicate(timeout=120)
    assert process.returncode == 0, problems
    found = json.loads(out.splitlines()[-1])
    assert found["results"] == RESULTS
    return found["hits"]


def entries(folder):
    return sorted(folder.glob("xla/*/*-cache"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder that two processes filled at the same time."""
    folder = tmp_path_factory.mktemp("cache")
    for process in [start(folder), start(folder)]:
        finish(process)
    return folder


def test_two_processes_fill_it_at_once_and_others_use_it(filled) -> None:
    assert len(entries(filled)) >= 3
    others = [
        start(filled),
        start(filled, PENSTOCK_XLA_OPTIONS='{"xla_cpu_enable_fast_math": true}'),
    ]
    same, other_options = map(finish, others)
    assert same >= 3
    assert other_options == 0


def test_entries_that_cannot_be_read_are_compiled_again(filled, tmp_path) -> None:
    (source,) = filled.glob("xla/*")
    target = tmp_path / "xla" / source.name
    target.mkdir(parents=True)
    for entry in entries(filled):
        (target / entry.name).write_bytes(b"no executable")
    assert finish(start(tmp_path)) == 0


def test_it_stays_within_its_bound(filled, tmp_path) -> None:
    sizes = [entry.stat().st_size for entry in entries(filled)]
    bound = max(sizes) + min(sizes)
    assert sum(sizes) > bound
    finish(start(tmp_path, PENSTOCK_COMPILATION_CACHE_SIZE=str(bound)))
    assert 0 < sum(entry.stat().st_size for entry in entries(tmp_path)) <= bound


def test_off_it_leaves_nothing_behind(tmp_path) -> None:
    assert finish(start(tmp_path, PENSTOCK_COMPILATION_CACHE="0")) == 0
    assert list(tmp_path.iterdir()) == []
