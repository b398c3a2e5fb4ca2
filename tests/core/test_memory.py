"""Memory that steps free stays with the process."""

import ctypes
import mmap
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest

import penstock as tf
from penstock.core import memory
from penstock.runtime import executable
from penstock.tracing.exporting import export_stablehlo

STEPS = """
import resource
import penstock as tf

@tf.function
def step(x):
    y = tf.reshape(x, [-1, 1]) * tf.reshape(x, [1, -1])   # 64 MB
    return tf.reduce_sum(tf.matmul(y, tf.ones([4000, 16])))

x = tf.ones([4000])
faults = []
for _ in range(16):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step(x).numpy()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(faults))  # a step may start before XLA has freed what the last one used
"""


MARKED = """
import penstock as tf
from penstock.core import memory

assert memory.keep_freed_memory()
with open("/proc/self/smaps") as file:
    size, marked = 0, 0
    for line in file:
        name, *rest = line.split()
        size = int(rest[0]) if name == "Size:" else size
        marked += size if name == "VmFlags:" and "hg" in rest else 0
print(marked)
"""


class Library:
    """A C library whose heap has one block, at `block`."""

    def __init__(self):
        self.calls = []
        self.advised = []
        self.freed = []
        self.block = 16

        def malloc(size):
            return self.block

        self.malloc = malloc

    def mallopt(self, parameter, value):
        self.calls.append((parameter, value))
        return 1

    def madvise(self, first, size, advice):
        self.advised.append((first.value, size.value, advice))

    def free(self, block):
        self.freed.append(block.value)


@pytest.fixture
def library(monkeypatch):
    made = Library()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: made)
    monkeypatch.setattr(memory, "is_allocator", lambda: True)
    monkeypatch.setattr(memory, "has_limited_addresses", lambda: False)
    return made


def test_the_library_is_told(library, monkeypatch):
    monkeypatch.delenv("PENSTOCK_KEEP_MEMORY", raising=False)
    monkeypatch.setattr(memory, "has_gnu_library", lambda: True)
    assert memory.keep_freed_memory()
    assert dict(library.calls) == dict(memory.SETTINGS)


def test_whole_pages_of_the_heap_are_marked(library, monkeypatch):
    monkeypatch.delenv("PENSTOCK_KEEP_MEMORY", raising=False)
    monkeypatch.setattr(memory, "has_gnu_library", lambda: True)
    memory.keep_freed_memory()
    page = mmap.PAGESIZE
    assert library.advised == [(page, memory.HEAP - page, mmap.MADV_HUGEPAGE)]
    assert library.freed == [16]


def test_a_system_without_such_a_range_is_left_alone(library, monkeypatch):
    monkeypatch.delenv("PENSTOCK_KEEP_MEMORY", raising=False)
    monkeypatch.setattr(memory, "has_gnu_library", lambda: True)
    library.block = None
    assert memory.keep_freed_memory()
    assert not library.advised
    assert not library.freed


LEFT_ALONE = [("0", True, True), ("1", False, True), ("1", True, False)]


@pytest.mark.parametrize(("switch", "gnu", "allocates"), LEFT_ALONE)
def test_it_is_left_alone(library, monkeypatch, switch, gnu, allocates):
    monkeypatch.setenv("PENSTOCK_KEEP_MEMORY", switch)
    monkeypatch.setattr(memory, "has_gnu_library", lambda: gnu)
    monkeypatch.setattr(memory, "is_allocator", lambda: allocates)
    assert not memory.keep_freed_memory()
    assert library.calls == []


def test_another_allocator_is_told_from_the_librarys_own(monkeypatch):
    """A program may bring one, which answers where the process asks for `malloc`."""

    class Malloc:
        def __init__(self, of):
            prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
            self.malloc = prototype(lambda size: of)

    own = Malloc(1)
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: own)
    assert memory.is_allocator()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: own if name else Malloc(2))
    assert not memory.is_allocator()


@pytest.mark.skipif(not memory.has_gnu_library(), reason="another C library")
def test_limited_addresses_are_left_to_others():
    """The libraries that are loaded next would miss them."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))"
    switched_on = {**os.environ, "PENSTOCK_KEEP_MEMORY": "1"}
    command = [sys.executable, "-c", limit + MARKED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=switched_on)
    assert int(done.stdout) * 1024 < memory.HEAP - 2 * mmap.PAGESIZE


@pytest.mark.skipif(not memory.has_gnu_library(), reason="another C library")
def test_steps_find_the_pages_of_the_last_one():
    switched_on = {**os.environ, "PENSTOCK_KEEP_MEMORY": "1"}
    command = [sys.executable, "-c", STEPS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=switched_on)
    assert int(done.stdout) < 64 * 256 / 4  # of 256 pages a MB, 64 MB a step


@pytest.mark.skipif(not memory.has_gnu_library(), reason="another C library")
@pytest.mark.skipif(
    not pathlib.Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="no huge pages"
)
def test_the_system_knows_what_is_to_be_in_huge_pages():
    switched_on = {**os.environ, "PENSTOCK_KEEP_MEMORY": "1"}
    command = [sys.executable, "-c", MARKED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=switched_on)
    assert int(done.stdout) * 1024 > memory.HEAP - 2 * mmap.PAGESIZE


def test_arrays_beyond_all_memory_are_refused_before_they_are_made():
    rows, columns = tf.zeros([1 << 20, 1]), tf.zeros([1, 1 << 20])
    product = tf.function(lambda a, b: a * b + 1.0)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"AddV2 .*4,398,046,511,104 bytes"):
        product(rows, columns)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating"):
        tf.random.uniform([1 << 40])
    variable = tf.Variable(tf.ones([2]))
    grown = tf.function(lambda a, b: (variable.assign_add([1.0, 1.0]), a * b))
    with pytest.raises(tf.errors.ResourceExhaustedError):
        grown(rows, columns)
    assert variable.numpy().tolist() == [1.0, 1.0]
    assert memory.largest() > 1 << 28


def test_addresses_of_the_process_are_memory_too(monkeypatch):
    whole = memory.largest()
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (1 << 20, -1))
    assert memory.largest() == 1 << 20
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (-1, -1))
    assert memory.largest() >= whole


def test_the_limit_of_a_container_is_its_memory(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CONTAINER", limit)
    for text, wanted in (("max\n", memory.largest()), ("1073741824\n", 1 << 30)):
        limit.write_text(text)
        assert memory._machine.__wrapped__() == wanted


@pytest.mark.parametrize("jit", [None, True])
def test_steps_that_compute_beyond_all_memory_change_no_variable(jit):
    variable = tf.Variable(tf.ones([2]))

    @tf.function(jit_compile=jit)
    def step(x):
        variable.assign_add([1.0, 1.0])
        table = x * tf.reshape(x, [-1, 1])
        return tf.reduce_sum(tf.sort(tf.matmul(table, table))[:, 0])

    assert step(tf.ones([100])).numpy() == 1e4
    for _ in range(2):
        said = r"TopKV2 .*OOM .*values of [0-9]+ operations.* of [0-9,]{17} bytes"
        with pytest.raises(tf.errors.ResourceExhaustedError, match=said) as caught:
            step(tf.ones([250_000]))
        assert "test_memory.py" in str(caught.value)
        assert variable.numpy().tolist() == [2.0, 2.0]
    assert step(tf.ones([100])).numpy() == 1e4
    assert variable.numpy().tolist() == [3.0, 3.0]


def test_a_trace_that_was_lost_is_made_again(monkeypatch):
    monkeypatch.setattr(executable, "WEIGHED_PART", 1 << 60)
    variable = tf.Variable(tf.zeros([64]))
    step = tf.function(lambda x: variable.assign_add(tf.sort(tf.cumsum(x))))
    for total in (1.0, 2.0, 3.0):
        assert step(tf.ones([64])).numpy()[0] == total
        jax.clear_caches()


def test_what_is_compiled_for_others_needs_no_memory_here():
    signature = [tf.TensorSpec([400_000])]
    run = tf.function(
        lambda x: tf.reduce_sum(tf.exp(x[:, None] + x[None, :])), signature, jit_compile=True
    )
    assert "HloModule" in run.experimental_get_compiler_ir(*signature)(stage="hlo")
    assert len(export_stablehlo(run.get_concrete_function()).mlir_module_serialized) > 100


SHORT = """
import resource
import sys
import penstock as tf
from penstock.core import memory
from penstock.runtime import executable

variable = tf.Variable(tf.zeros([2]))

@tf.function
def step(x):
    variable.assign_add([1.0, 1.0])
    table = x * tf.reshape(x, [-1, 1])
    return tf.reduce_sum(tf.sort(tf.matmul(table, table))[:, 0])

step(tf.ones([100]))
executable.WEIGHED_PART = int(sys.argv[1])
memory.largest = executable.largest = lambda: 1 << 40  # the limit below comes as a surprise
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), -1))
try:
    print(step(tf.ones([12_000])).numpy())
except tf.errors.ResourceExhaustedError as problem:
    print(str(problem)[:60])
try:
    print(variable.numpy()[0])
except tf.errors.ResourceExhaustedError as problem:
    print(str(problem)[-70:])
variable.assign([5.0, 5.0])
print(step(tf.ones([100])).numpy(), variable.numpy()[0])
"""


@pytest.mark.parametrize(
    ("part", "said", "left"),
    [
        (1 << 60, "TopKV2 {{node sort/TopKV2}}", "1.0"),  # it is weighed
        (1, "OOM when allocating: a value was read that is not there", "before they are read"),
    ],
)
def test_short_memory_is_an_error_that_says_so(part, said, left):
    command = [sys.executable, "-c", SHORT, str(part)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second, last = done.stdout.splitlines()
    assert first.startswith(said)
    assert left in second
    assert last == "10000.0 6.0"


def test_session_steps_that_compute_beyond_all_memory_lose_no_variable():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        v = tf.compat.v1.get_variable("v", initializer=tf.ones([2]))
        x = tf.compat.v1.placeholder(tf.float32, [None])
        with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
            table = x * tf.reshape(x, [-1, 1])
            least = tf.reduce_sum(tf.sort(tf.matmul(table, table))[:, 0])
        session.run(v.initializer)
        assert session.run(least, {x: np.ones(10)}) == 100.0
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating"):
            session.run(least, {x: np.ones(250_000)})
        assert set(session.run(v)) in ({2.0}, {3.0})  # the update may have come before
        assert session.run(least, {x: np.ones(10)}) == 100.0


def test_steps_that_are_weighed_and_fit_run_as_others_do(monkeypatch):
    monkeypatch.setattr(executable, "WEIGHED_PART", 1 << 60)
    variable = tf.Variable(tf.zeros([64]))

    @tf.function
    def step(x):
        variable.assign_add(x)
        return tf.reduce_sum(tf.sort(tf.cumsum(x))) + tf.reduce_sum(variable)

    assert [step(tf.ones([64])).numpy() for _ in range(3)] == [2144.0, 2208.0, 2272.0]
    assert step(2 * tf.ones([64])).numpy() == 4480.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.zeros([1 << 20, 1 << 20, 8]),
        lambda: tf.ones([1 << 20, 1 << 20, 8]),
        lambda: tf.fill([1 << 20, 1 << 20, 8], 1.0),
        lambda: tf.tile(tf.ones([1 << 10]), [1 << 34]),
        lambda: tf.ones([1 << 22, 1]) + tf.ones([1, 1 << 22]),
        lambda: tf.ones([1 << 22, 1]) @ tf.ones([1, 1 << 22]),
    ],
)
def test_single_calls_without_memory_are_resource_errors(make):
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating.*test_memory"):
        make()
