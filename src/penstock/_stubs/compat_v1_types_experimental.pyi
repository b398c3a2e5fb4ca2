# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.types.callables import AtomicFunction as AtomicFunction
from penstock.types.callables import Callable as Callable
from penstock.types.callables import ConcreteFunction as ConcreteFunction
from penstock.tracing.function_type import FunctionType as FunctionType
from penstock.types.callables import PolymorphicFunction as GenericFunction
from penstock.types.callables import PolymorphicFunction as PolymorphicFunction
from penstock.types.trace_type import SupportsTracingProtocol as SupportsTracingProtocol
from penstock.tracing.signature import TensorLike as TensorLike
from penstock.types.trace_type import TraceType as TraceType
