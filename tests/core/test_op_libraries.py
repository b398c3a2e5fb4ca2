"""Libraries of compiled operations are refused as those of another version are."""

import pytest

import penstock as tf


@pytest.mark.parametrize(
    "load", [tf.load_op_library, tf.compat.v1.load_file_system_library], ids=["ops", "files"]
)
def test_a_library_is_not_found(load, tmp_path):
    library = tmp_path / "ops.so"
    with pytest.raises(tf.errors.NotFoundError, match="cannot open shared object file"):
        load(str(library))
    library.write_bytes(b"\x7fELF")
    with pytest.raises(tf.errors.NotFoundError, match=r"compiled against.*tf\.library"):
        load(str(library))
    with pytest.raises(TypeError, match="expected a path as str, got 3"):
        load(3)


@pytest.mark.parametrize("load", [tf.load_library, tf.experimental.register_filesystem_plugin])
def test_folders_are_looked_through(load, tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a file or folder"):
        load(str(tmp_path / "none"))
    (tmp_path / "readme.txt").write_text("no library")
    load(str(tmp_path))
    (tmp_path / "z.so").write_bytes(b"")
    with pytest.raises(tf.errors.NotFoundError, match=r"z\.so"):
        load(str(tmp_path))
