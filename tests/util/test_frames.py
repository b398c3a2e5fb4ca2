"""Frames: the line of the user, past our own code and past what lies between."""

import contextlib
import inspect
import pathlib
import threading

import penstock
from penstock.util import frames
from penstock.util.frames import Frame, user_frame, user_stack
from penstock.util.nest import map_structure

HERE = __file__


def line():
    return inspect.currentframe().f_back.f_lineno


def test_the_caller_is_found():
    found, wanted = user_frame(), line()
    assert found == Frame(HERE, wanted, "test_the_caller_is_found")
    assert str(found) == f"{HERE}:{wanted}"


def test_our_own_frames_are_passed_over(tmp_path):
    # A file inside the package, run in its place: its frames are ours.
    inside = pathlib.Path(frames.__file__).parent / "made_up.py"
    names = {"user_frame": user_frame, "user_stack": user_stack}
    exec(
        compile("def ours():\n    return user_frame(), user_stack()\n", str(inside), "exec"), names
    )
    (found, stack), wanted = names["ours"](), line()
    assert found == Frame(HERE, wanted, "test_our_own_frames_are_passed_over")
    assert stack[-1] == found
    assert not any(f.file == str(inside) for f in stack)


def test_a_callback_of_ours_is_the_users():
    (found,) = map_structure(lambda _: user_frame(), [1])
    assert found.file == HERE
    assert found.function == "<lambda>"


def test_frames_of_contextlib_are_passed_over():
    @contextlib.contextmanager
    def manager():
        yield user_stack()

    with manager() as stack:
        pass
    assert not any(f.file == contextlib.__file__ for f in stack)


def test_the_stack_is_outermost_first_and_can_be_cut():
    def inner():
        return user_stack(), user_stack(limit=2)

    full, short = inner()
    assert [f.function for f in full[-2:]] == [
        "test_the_stack_is_outermost_first_and_can_be_cut",
        "inner",
    ]
    assert [f.function for f in short] == [f.function for f in full[-2:]]
    assert len(full) > 2


def test_hidden_files_count_as_ours(monkeypatch):
    monkeypatch.setattr(frames, "_extra_prefixes", [])
    monkeypatch.setattr(frames, "_internal_files", {})
    names = {"user_frame": user_frame}
    exec(compile("def made():\n    return user_frame()\n", "/generated/x.py", "exec"), names)
    assert names["made"]().file == "/generated/x.py"
    frames.hide_files("/generated/")
    assert names["made"]().file == HERE


def test_a_thread_without_user_code_has_none(monkeypatch):
    monkeypatch.setattr(frames, "_extra_prefixes", [])
    monkeypatch.setattr(frames, "_internal_files", {})
    frames.hide_files(threading.__file__)
    found = []

    class Ours(threading.Thread):
        run = staticmethod(lambda: None)

    thread = threading.Thread(target=_record, args=(found,))
    frames.hide_files(HERE)
    thread.start()
    thread.join()
    assert found == [None]


def _record(found):
    found.append(user_frame())


def test_the_table_of_files_is_bounded(monkeypatch):
    monkeypatch.setattr(frames, "_internal_files", {})
    monkeypatch.setattr(frames, "_MAX_CACHED", 10)
    for i in range(50):
        frames._classify(f"/cell/{i}")
    assert len(frames._internal_files) <= 10


def test_the_package_is_this_one():
    assert str(pathlib.Path(penstock.__path__[0]).resolve()) + "/" == frames._PACKAGE
