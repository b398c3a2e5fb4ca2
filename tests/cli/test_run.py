"""`penstock run`: what a script sees, and what its author sees when it fails."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import zipfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def script(tmp_path):
    def write(text, name="train.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def command(*arguments):
    return [sys.executable, "-m", "penstock.cli", "run", *map(str, arguments)]


def run(*arguments, **variables):
    return subprocess.run(
        command(*arguments),
        env={**os.environ, "PYTHONPATH": str(SOURCE), **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_script_sees_what_python_gives_it(script):
    helper = script("value = 42", "helper.py")
    path = script("""
        import sys
        import helper
        print(__name__, __file__, sys.argv, sys.path[0], helper.value)
        print(sys.modules["__main__"].__dict__ is globals(), type(__builtins__).__name__)
    """)
    plain = subprocess.run(
        [sys.executable, str(path), "--epochs", "2"], capture_output=True, text=True, timeout=60
    )
    assert plain.returncode == 0
    result = run(path, "--epochs", "2")
    assert (result.returncode, result.stdout, result.stderr) == (0, plain.stdout, "")
    assert str(helper.parent) in result.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--traceback", "full"], ["--", "-x"]])
def test_arguments_after_the_script_are_the_scripts(script, arguments):
    result = run(script("import sys; print(sys.argv[1:])"), *arguments)
    assert result.stdout == f"{arguments}\n"


@pytest.mark.parametrize(
    ("ending", "code", "message"),
    [
        ("pass", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('no data')", 1, "no data\n"),
    ],
)
def test_the_exit_code_is_the_scripts(script, ending, code, message):
    result = run(script(f"import sys\n{ending}"))
    assert (result.returncode, result.stderr) == (code, message)


ERROR = """
    import json
    from penstock.cli.progress import progress

    class Odd:
        def __float__(self):
            raise ValueError("no number")

    def fit():
        with progress("fit") as bar:
            bar.advance(loss=Odd())

    fit()
"""


def test_an_error_shows_the_users_frames_and_counts_the_others(script):
    result = run(script(ERROR))
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "train.py" in lines[1]
    assert "line 13, in <module>" in lines[1]
    assert "ValueError: no number" in lines
    assert "progress.py" not in result.stderr
    assert lines[-1].endswith("inside libraries left out; penstock run --traceback full shows all)")
    assert "__float__" in result.stderr


def test_the_full_traceback_has_our_frames(script):
    result = run("--traceback", "full", script(ERROR))
    assert result.returncode == 1
    assert "progress.py" in result.stderr
    assert "left out" not in result.stderr


def test_causes_and_groups_are_shortened_too(script):
    result = run(
        script("""
        from penstock.cli.progress import progress
        try:
            progress()
        except TypeError as error:
            raise ExceptionGroup("two", [RuntimeError("one"), error]) from error
    """)
    )
    assert result.returncode == 1
    assert "direct cause" in result.stderr
    assert "RuntimeError: one" in result.stderr
    assert os.sep.join(("penstock", "cli")) not in result.stderr


def test_a_missing_extra_names_its_command(script):
    text = "raise ModuleNotFoundError('No module named \\'onnx\\'', name='onnx')"
    result = run(script(text))
    assert result.stderr.endswith("brings it: pip install 'penstock[models]'\n")
    assert "pip install" not in run(script("import quite_missing")).stderr


def test_a_syntax_error_names_its_line(script):
    result = run(script("x = 1\ny = = 2\n"))
    assert result.returncode == 1
    assert "line 2" in result.stderr
    assert "SyntaxError" in result.stderr
    assert "penstock" not in result.stderr.split("(")[0]


def test_a_scripts_own_hook_is_used(script):
    result = run(
        script("""
        import sys
        sys.excepthook = lambda kind, error, stack: print("mine:", error)
        raise ValueError("bad")
    """)
    )
    assert (result.returncode, result.stdout) == (1, "mine: bad\n")
    assert result.stderr == ""


def test_a_missing_script_is_a_usage_error():
    result = run("nowhere.py")
    assert result.returncode == 2
    assert "found no file 'nowhere.py'" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_option_before_the_script_is_a_usage_error(script):
    result = run("--epochs", script("pass"))
    assert result.returncode == 2
    assert "--epochs" in result.stderr


def test_ctrl_c_exits_130_and_names_the_users_line(script, tmp_path):
    started = tmp_path / "started"
    path = script(f"""
        import pathlib, threading
        pathlib.Path({str(started)!r}).touch()
        threading.Event().wait()
    """)
    process = subprocess.Popen(
        command(path),
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 30
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert errors.strip() == "Interrupted at train.py:4."


def test_folders_and_archives_with_a_main_run(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "__main__.py").write_text("import sys, part; print(__name__, part.x, sys.argv[1:])")
    (folder / "part.py").write_text("x = 3")
    archive = tmp_path / "program.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.iterdir():
            file.write(path, path.name)
    for path in (folder, archive):
        assert run(path, "a").stdout == "__main__ 3 ['a']\n"


def test_worker_processes_find_the_scripts_functions(script):
    result = run(
        script("""
        import multiprocessing

        def double(x):
            return 2 * x

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [1, 2]))
    """)
    )
    assert (result.returncode, result.stdout) == (0, "[2, 4]\n"), result.stderr
