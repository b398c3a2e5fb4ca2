"""Programs cut where devices meet, and the rendezvous where the cut edges meet."""

import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.runtime.toys import add, const, identity, mul, placeholder

from penstock import errors
from penstock.core.op_def import lookup
from penstock.graph.graph import Graph
from penstock.runtime.partition import devices_of, partition
from penstock.runtime.program import build
from penstock.runtime.rendezvous import Rendezvous, rendezvous_key
from penstock.runtime.step import Step

ROOT = pathlib.Path(__file__).resolve().parents[2]


def placed(program, devices):
    """Places nodes by the first letter of their name."""
    for node in program.nodes:
        node.device = devices.get(node.name[0], "/device:CPU:0")
    return program


def text(parts):
    return "\n".join(f"{part.device} {part.feeds} {part.fetches}\n{part.program}" for part in parts)


def test_edges_become_pairs_one_for_each_value_and_device():
    with Graph().as_default():
        x = placeholder((2,), name="x")
        a = add(x, x, "a")
        b = mul(a, a, "b")
        b2 = add(b, a, "b2")
        c = add(b2, const([1, 2], name="c_const"), "c")
        program = placed(build([c, a], [x], []), {"a": "/device:CPU:0", "b": "/device:CPU:1"})
    program.verify()
    parts = partition(program)
    for part in parts:
        part.program.verify()
    assert [p.device for p in parts] == devices_of(program) == ["/device:CPU:0", "/device:CPU:1"]
    first, second = (part.program for part in parts)
    assert [n.type for n in first.nodes].count("_Send") == 1
    assert [n.type for n in second.nodes] == ["_Recv", "Mul", "AddV2", "_Send"]
    assert (parts[0].feeds, parts[0].fetches) == ([0], [0, 1])
    assert (parts[1].feeds, parts[1].fetches) == ([], [])
    keys = {
        (n.attrs["send_device"], n.attrs["recv_device"], n.attrs["tensor_name"])
        for n in first.nodes
        if n.type in ("_Send", "_Recv")
    }
    assert keys == {
        ("/device:CPU:0", "/device:CPU:1", "edge_0_a"),
        ("/device:CPU:1", "/device:CPU:0", "edge_1_b2"),
    }, text(parts)


def test_waits_become_empty_values_and_feeds_and_constants_are_copied():
    with Graph().as_default() as graph:
        x = placeholder((2,), name="x")
        a = add(x, const([1, 2], name="shared"), "a")
        with graph.control_dependencies([a.op]):
            b = identity(x, "b")
        program = placed(build([b], [x], []), {"b": "/device:CPU:1"})
    first, second = partition(program)
    assert [n.type for n in second.program.nodes] == ["_Feed", "_Recv", "Identity"]
    (receive,) = [n for n in second.program.nodes if n.type == "_Recv"]
    assert receive.dtypes[0].name == "bool"
    assert receive.shapes[0] == (0,)
    (send,) = [n for n in first.program.nodes if n.type == "_Send"]
    assert [n.name for n in send.control] == ["a"]
    assert first.feeds == second.feeds == [0]
    assert lookup("_Send").stateful
    assert lookup("_Recv").stateful


def test_levels_count_borders():
    with Graph().as_default():
        x = placeholder((2,), name="x")
        a = add(x, x, "a")
        b = mul(a, a, "b")
        c = add(b, x, "c")
        program = placed(build([c], [x], []), {"b": "/device:CPU:1"})
    found = {
        n.name: part.levels[id(n)]
        for part in partition(program)
        for n in part.program.nodes
        if n.name in "abc"
    }
    assert found == {"a": 0, "b": 1, "c": 2}


def test_a_program_on_one_device_stays_whole():
    with Graph().as_default():
        x = placeholder((2,), name="x")
        program = placed(build([add(x, x, "a")], [x], []), {})
    (part,) = partition(program)
    assert [repr(n) for n in part.program.nodes] == [repr(n) for n in program.nodes]


def test_rendezvous_gives_what_was_sent_before_or_after():
    meeting, step = Rendezvous(), Step(None)
    meeting.send("a", 1)
    assert meeting.waiting_values == 1
    assert meeting.recv("a", step) == 1
    assert meeting.waiting_values == 0
    found = []
    waiting = threading.Thread(target=lambda: found.append(meeting.recv("b", step)))
    waiting.start()
    meeting.send("b", 2)
    waiting.join(10)
    assert found == [2]
    with pytest.raises(errors.AbortedError, match="Duplicated send: a"):
        meeting.send("a", 3)


def test_receivers_end_with_their_step():
    meeting, step = Rendezvous(), Step(None)
    found = []

    def receive():
        try:
            meeting.recv("never", step)
        except errors.CancelledError as problem:
            found.append(str(problem))

    waiting = threading.Thread(target=receive)
    waiting.start()
    step.cancel("the session was closed")
    waiting.join(10)
    assert "the session was closed" in found[0]
    with pytest.raises(errors.DeadlineExceededError, match="never"):
        meeting.recv("never", Step(None, timeout_s=0.01))


def test_an_aborted_rendezvous_fails_both_ends():
    meeting = Rendezvous()
    meeting.abort(errors.OutOfRangeError(None, None, "first"))
    meeting.abort(errors.InternalError(None, None, "second"))
    with pytest.raises(errors.OutOfRangeError, match="first"):
        meeting.recv("a", Step(None))
    with pytest.raises(errors.OutOfRangeError, match="first"):
        meeting.send("a", np.zeros(1))


def test_keys_name_devices_edge_and_round():
    assert rendezvous_key("/a", "/b", "e", 3, 4) == "/a;/b;e;3:4"


def test_programs_on_several_devices_give_what_one_gives():
    code = [sys.executable, "-W", "error", "-m", "tests.runtime.placed_programs"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        code, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all checked" in done.stdout
