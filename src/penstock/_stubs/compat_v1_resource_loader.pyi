# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.util.resource_files import get_data_files_path as get_data_files_path
from penstock.util.resource_files import get_path_to_datafile as get_path_to_datafile
from penstock.util.resource_files import get_root_dir_with_all_resources as get_root_dir_with_all_resources
from penstock.util.resource_files import load_resource as load_resource
from penstock.util.resource_files import readahead_file_path as readahead_file_path
