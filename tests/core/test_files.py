"""`tf.io.gfile`, its first-generation names, and operations on whole files."""

import os
from pathlib import Path
from typing import Any

import pytest

import penstock as tf
from penstock.core import context
from penstock.graph.graph import Graph

gfile = tf.io.gfile
old = tf.compat.v1.gfile
E = tf.errors


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "a.txt").write_text("hello\nwörld\n")
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "b").write_text("y")
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f.txt").write_text("deep")
    return str(tmp_path)


def missing(folder: str) -> str:
    return f"{folder}/no"


def test_queries(folder: str) -> None:
    a = f"{folder}/a.txt"
    for form in (a, a.encode(), Path(a), f"file://{a}"):
        assert gfile.exists(form)
    assert not gfile.exists(missing(folder))
    assert not gfile.exists("")
    assert [gfile.isdir(p) for p in (folder, a, missing(folder))] == [True, False, False]
    assert gfile.listdir(folder) == [".hidden", "a.txt", "b", "d"]
    assert (gfile.stat(a).length, gfile.stat(a).is_directory) == (13, False)
    assert gfile.stat(a).mtime_nsec == os.stat(a).st_mtime_ns
    assert gfile.stat(folder).is_directory
    assert gfile.join("a", "/b", "c") == "/b/c"
    assert gfile.join(b"a", b"b") == b"a/b"


def test_glob(folder: str) -> None:
    def names(pattern: Any) -> list[str]:
        return [os.path.relpath(p, folder) for p in gfile.glob(pattern)]

    assert names(f"{folder}/*") == [".hidden", "a.txt", "b", "d"]
    assert names([f"{folder}/*.txt", f"{folder}/b"]) == ["a.txt", "b"]
    assert names(f"{folder}/?") == ["b", "d"]
    assert names(f"{folder}/[^b]") == ["d"]
    assert names(f"{folder}/*/*/f*") == ["d/e/f.txt"]
    assert names(f"{folder}/q*") == []
    assert names(f"{folder}/{{a,b}}*") == []
    assert gfile.glob(f"file://{folder}/b*") == [f"file://{folder}/b"]


def test_walk(folder: str) -> None:
    down = [(os.path.relpath(top, folder), dirs, files) for top, dirs, files in gfile.walk(folder)]
    wanted = [(".", ["d"], [".hidden", "a.txt", "b"]), ("d", ["e"], []), ("d/e", [], ["f.txt"])]
    assert down == wanted
    assert [t for t, _, _ in gfile.walk(folder, topdown=False)] == [
        f"{folder}/d/e", f"{folder}/d", folder,
    ]  # fmt: skip
    assert [t for t, _, _ in old.Walk(folder, in_order=False)][-1] == folder
    seen: list[Any] = []
    assert list(gfile.walk(missing(folder), onerror=seen.append)) == []
    assert [type(s) for s in seen] == [E.NotFoundError]


def test_changes(folder: str) -> None:
    a, b = f"{folder}/a.txt", f"{folder}/b"
    gfile.copy(a, f"{folder}/c")
    assert Path(folder, "c").read_bytes() == Path(a).read_bytes()
    gfile.copy(b, a, overwrite=True)
    assert Path(a).read_text() == "y"
    gfile.rename(a, f"{folder}/z")
    assert not gfile.exists(a)
    gfile.rename(f"{folder}/z", b, overwrite=True)
    gfile.mkdir(f"{folder}/m")
    gfile.mkdir(f"{folder}/m")
    gfile.makedirs(f"{folder}/m/n/o")
    gfile.makedirs(f"{folder}/m/n/o")
    gfile.remove(b)
    gfile.rmtree(f"{folder}/m")
    gfile.rmtree(f"{folder}/c")
    assert gfile.listdir(folder) == [".hidden", "d"]


def test_links_are_removed_not_what_they_point_to(folder: str) -> None:
    os.symlink(f"{folder}/d", f"{folder}/link")
    gfile.rmtree(f"{folder}/link")
    os.symlink(f"{folder}/d", f"{folder}/link")
    gfile.remove(f"{folder}/link")
    assert gfile.exists(f"{folder}/d/e/f.txt")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda f: gfile.GFile(f + "/no").read(), E.NotFoundError, "/no; No such file"),
        (lambda f: gfile.GFile(f).read(), E.FailedPreconditionError, "; Is a directory"),
        (lambda f: gfile.GFile(f + "/no/x", "w").write("x"), E.NotFoundError, "/no/x; No such"),
        (lambda f: gfile.listdir(f + "/no"), E.NotFoundError, "Could not find directory .*/no"),
        (lambda f: gfile.listdir(f + "/b"), E.NotFoundError, "Could not find directory .*/b"),
        (lambda f: gfile.copy(f + "/no", f + "/x"), E.NotFoundError, "/no; No such file"),
        (lambda f: gfile.copy(f + "/b", f + "/no/x"), E.NotFoundError, "/no/x; No such file"),
        (lambda f: gfile.copy(f + "/b", f + "/a.txt"), E.AlreadyExistsError, "already exists"),
        (lambda f: gfile.copy(f + "/d", f + "/x"), E.InvalidArgumentError, "got a folder"),
        (lambda f: gfile.rename(f + "/no", f + "/x"), E.NotFoundError, "/no; No such file"),
        (lambda f: gfile.rename(f + "/b", f + "/a.txt"), E.AlreadyExistsError, "already exists"),
        (lambda f: gfile.remove(f + "/no"), E.NotFoundError, "/no; No such file"),
        (lambda f: gfile.remove(f + "/d"), E.FailedPreconditionError, "/d; Is a directory"),
        (lambda f: gfile.mkdir(f + "/x/y"), E.NotFoundError, "/x/y; No such file"),
        (lambda f: gfile.mkdir(f + "/b"), E.AlreadyExistsError, "/b; File exists"),
        (lambda f: gfile.rmtree(f + "/no"), E.NotFoundError, "/no not found"),
        (lambda f: gfile.stat(f + "/no"), E.NotFoundError, "/no; No such file"),
        (lambda f: gfile.exists("foo://a/b"), E.UnimplementedError, "'foo' not implemented .*://a"),
        (lambda f: gfile.glob("foo://a/*"), E.UnimplementedError, "expected a local path"),
        (lambda f: gfile.GFile(f + "/b", "q"), E.InvalidArgumentError, "mode is not 'r' or"),
        (lambda f: gfile.GFile(f + "/b").write("x"), E.PermissionDeniedError, "open for writing"),
        (lambda f: gfile.GFile(f + "/x", "w").read(), E.PermissionDeniedError, "open for reading"),
        (lambda f: gfile.GFile(f + "/b").seek(0, 7), E.InvalidArgumentError, "whence argument: 7"),
        (lambda f: gfile.GFile(f + "/b").seek(-1), E.InvalidArgumentError, "negative position: -1"),
        (lambda f: gfile.GFile(f + "/b").seek(2), E.OutOfRangeError, r"\[0, 1\], got 2"),
        (lambda f: gfile.GFile(f + "/b").seek(), TypeError, "offset argument required"),
        (lambda f: tf.io.read_file(f + "/no"), E.NotFoundError, "/no; No such file"),
        (lambda f: tf.io.read_file(f), E.FailedPreconditionError, "Is a directory"),
        (lambda f: tf.io.read_file([f]), E.InvalidArgumentError, "filename of rank 0"),
        (lambda f: tf.io.write_file(f, "x"), E.FailedPreconditionError, "Is a directory"),
        (lambda f: tf.io.matching_files([[f]]), E.InvalidArgumentError, "of rank 2"),
    ],
)
def test_refusals(folder: str, call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(folder)
    assert gfile.GFile(f"{folder}/b").read() == "y"  # nothing was touched


def test_reading(folder: str) -> None:
    a = f"{folder}/a.txt"
    with gfile.GFile(a) as file:
        assert (file.name, file.mode, file.size(), file.seekable()) == (a, "r", 13, True)
        assert (file.read(2), file.tell(), file.read(0)) == ("he", 2, "")
        file.seek(1)
        assert file.read(3) == "ell"
        file.seek(-4, 2)
        assert (file.read(), file.tell(), file.read()) == ("rld\n"[0:4], 13, "")
        file.seek(position=6)
        file.seek(2, 1)
        assert file.tell() == 8
        file.seek(13)
    assert file.read() == "hello\nwörld\n"  # a closed file is opened again
    file.close()
    file.close()
    assert list(gfile.GFile(a)) == gfile.GFile(a).readlines() == ["hello\n", "wörld\n"]
    assert (gfile.GFile(a).readline(), gfile.GFile(a).next()) == ("hello\n", "hello\n")
    assert gfile.GFile(a, "rb").read(8) == b"hello\nw\xc3"


def test_writing(folder: str) -> None:
    path = f"{folder}/new"
    for mode, value, wanted in (
        ("w", "über", "über"),
        ("wb", b"by", "by"),
        ("w", b"by", "by"),
        ("wb", "text", "text"),
        ("a", "+", "text+"),
        ("r+", "T", "Text+"),
    ):
        with gfile.GFile(path, mode) as file:
            file.write(value)
        assert Path(path).read_text() == wanted
    with gfile.GFile(path, "a+") as file:
        file.write("!")
        assert file.size() == 6
        assert file.read() == "Text+!"
    with gfile.GFile(path, "w+") as file:
        file.write("more")
        file.flush()
        assert Path(path).read_text() == "more"
        assert (file.read(), file.tell()) == ("more", 4)
    with gfile.GFile(path, "w") as file:
        file.write("abc")
        assert file.tell() == 3


def test_first_generation_names(folder: str) -> None:
    a = f"{folder}/a.txt"
    assert old.Exists(a)
    assert not old.IsDirectory(a)
    assert old.ListDirectory(folder) == gfile.listdir(folder)
    assert old.Glob(f"{folder}/*.txt") == [a]
    assert old.Stat(a) == gfile.stat(a)
    old.Copy(a, f"{folder}/c", overwrite=False)
    old.Rename(f"{folder}/c", f"{folder}/e", True)
    old.Remove(f"{folder}/e")
    old.MkDir(f"{folder}/x")
    old.MakeDirs(f"{folder}/x/y")
    old.DeleteRecursively(f"{folder}/x")
    assert gfile.listdir(folder) == [".hidden", "a.txt", "b", "d"]
    assert old.Open is old.GFile
    assert old.FastGFile(a, "rb").read(5) == b"hello"


def test_operations(folder: str) -> None:
    path = f"{folder}/n/e/w.txt"
    assert tf.io.write_file(path, b"a\xff") is None
    assert tf.io.read_file(path).numpy() == b"a\xff"
    found = tf.io.matching_files([f"{folder}/*.txt", f"{folder}/n*"])
    assert [os.path.basename(p) for p in found.numpy()] == [b"a.txt", b"n"]
    assert tf.io.matching_files(f"{folder}/zz*").shape == (0,)


def test_a_session_reads_a_file_anew_in_each_step(folder: str) -> None:
    path = f"{folder}/b"
    with context.graph_scope(Graph()) as _, tf.compat.v1.Session() as session:
        contents = tf.io.read_file(path)
        names = tf.io.matching_files(f"{folder}/b*")
        assert contents.shape == ()
        assert names.shape.as_list() == [None]
        assert session.run(contents) == b"y"
        Path(path).write_text("changed")
        Path(folder, "b2").touch()
        assert session.run(contents) == b"changed"
        assert len(session.run(names)) == 2
        write = tf.io.write_file(path, "by a step")
        session.run(write)
        assert session.run(contents) == b"by a step"


@pytest.mark.parametrize("content", [[1, 2], (), memoryview(b"x"), tf.constant("x"), None, 3])
def test_a_file_takes_text_and_bytes_alone(folder: str, content: Any) -> None:
    with gfile.GFile(f"{folder}/new", "w") as file:
        with pytest.raises(TypeError, match="expected text or bytes"):
            file.write(content)
        file.write(bytearray(b"z"))
    assert Path(folder, "new").read_bytes() == b"z"
