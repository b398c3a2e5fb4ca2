# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.composite import CompositeTensor as CompositeTensor
from penstock.core.tensor import EagerTensor as EagerTensor
from penstock.graph.func_graph import FuncGraph as FuncGraph
from penstock.types.composite_specs import VariableSpec as VariableSpec
from penstock.graph.behavior import name_scope as name_scope
from penstock._stubs import internal_autograph as autograph
from penstock._stubs import internal_distribute as distribute
from penstock._stubs import internal_eager_context as eager_context
from penstock._stubs import internal_smart_cond as smart_cond
from penstock._stubs import internal_tf2 as tf2
from penstock._stubs import internal_tracking as tracking
from penstock._stubs import internal_types as types
