# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.kernels import KernelContext as KernelContext
from penstock.core.op_def import OpDef as OpDef
from penstock.core.shapes import ShapeContext as ShapeContext
from penstock.core.kernels import compiled_kernel as compiled_kernel
from penstock.core.op_def import define_op as define_op
from penstock.core.execute import execute as execute
from penstock.core.op_def import find as find_op
from penstock.core.kernels import host_kernel as host_kernel
from penstock.core.kernels import kernel as kernel
from penstock.core.kernels import register_kernel as register_kernel
