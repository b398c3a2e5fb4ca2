# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.file_object import GFile as GFile
from penstock.core.files import copy as copy
from penstock.core.files import exists as exists
from penstock.core.files import get_registered_schemes as get_registered_schemes
from penstock.core.files import glob as glob
from penstock.core.files import isdir as isdir
from penstock.core.files import join as join
from penstock.core.files import listdir as listdir
from penstock.core.files import makedirs as makedirs
from penstock.core.files import mkdir as mkdir
from penstock.core.files import remove as remove
from penstock.core.files import rename as rename
from penstock.core.files import rmtree as rmtree
from penstock.core.files import stat as stat
from penstock.core.files import walk as walk
