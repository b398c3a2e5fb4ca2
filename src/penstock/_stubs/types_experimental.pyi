# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.tracing.concrete import ConcreteFunction as ConcreteFunction
from penstock.tracing.function import Function as GenericFunction
from penstock.tracing.function import Function as PolymorphicFunction
