"""`tf.compat.v1.flags` and `tf.compat.v1.app`, in processes of their own: flags are global."""

import subprocess
import sys

PROGRAM = """
import sys
import penstock.compat.v1 as tf
flags = tf.flags
flags.DEFINE_string("s", "d", "text")
flags.DEFINE_integer(flag_name="n", default_value=3, docstring="number")
flags.DEFINE_enum("e", "a", ["a", "b"], "choice")
assert "s" in flags.FLAGS and "t" not in flags.FLAGS
sys.argv = ["x", "--s=3", "rest"]
assert (flags.FLAGS.s, flags.FLAGS.n, flags.FLAGS.e) == ("3", 3, "a")
flags.FLAGS.n = 4
assert flags.FLAGS["n"].value == 4

def main(argv):
    assert argv == ["x", "--unknown=3"] and flags.FLAGS.s == "5", argv
    return 7

tf.app.run(main, argv=["x", "--unknown=3", "--s=5"])
"""
WITHOUT = """
import sys
sys.modules["absl"] = None
import penstock.compat.v1 as tf
for use in (lambda: tf.flags.DEFINE_string, lambda: tf.flags.FLAGS, tf.app.run):
    try:
        use()
    except ModuleNotFoundError as problem:
        assert "pip install 'penstock[flags]'" in str(problem), problem
    else:
        raise AssertionError(use)
"""


def test_flags_are_parsed_when_one_is_read_and_by_app_run():
    assert subprocess.run([sys.executable, "-c", PROGRAM], check=False).returncode == 7


def test_without_the_package_the_error_names_the_command():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)
