"""Files beside a program's modules."""

import pathlib

import pytest

import penstock as tf

loader = tf.compat.v1.resource_loader
HERE = pathlib.Path(__file__).parent


def test_paths_are_those_of_the_calling_module():
    assert loader.get_data_files_path() == str(HERE)
    assert loader.get_path_to_datafile("a/b.txt") == str(HERE / "a" / "b.txt")


def test_resources_are_read_from_the_package_or_anywhere(tmp_path):
    (tmp_path / "x").write_bytes(b"\x00data")
    assert loader.load_resource(str(tmp_path / "x")) == b"\x00data"
    root = pathlib.Path(loader.get_root_dir_with_all_resources())
    assert loader.load_resource("version.py") == (root / "version.py").read_bytes()
    with pytest.raises(FileNotFoundError):
        loader.load_resource("no/such/file")
    assert loader.readahead_file_path("x", readahead="1M") == "x"
