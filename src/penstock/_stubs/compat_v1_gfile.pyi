# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.files_v1 import copy as Copy
from penstock.core.files_v1 import delete_recursively as DeleteRecursively
from penstock.core.files_v1 import exists as Exists
from penstock.core.file_object import FastGFile as FastGFile
from penstock.core.file_object import GFile as GFile
from penstock.core.files_v1 import glob as Glob
from penstock.core.files_v1 import is_directory as IsDirectory
from penstock.core.files_v1 import list_directory as ListDirectory
from penstock.core.files_v1 import make_dirs as MakeDirs
from penstock.core.files_v1 import mk_dir as MkDir
from penstock.core.file_object import GFile as Open
from penstock.core.files_v1 import remove as Remove
from penstock.core.files_v1 import rename as Rename
from penstock.core.files_v1 import stat as Stat
from penstock.core.files_v1 import walk as Walk
