# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.build_info import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from penstock.core.build_info import CXX_VERSION as CXX_VERSION
from penstock.core.build_info import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from penstock.core.build_info import get_build_info as get_build_info
