"""Penstock: a dataflow machine-learning system with TensorFlow's programming model, on XLA.

    import penstock as tf

Public names are found at first use; see `penstock.namespace`. Importing this package starts no
device and imports neither JAX nor protobuf.
"""

import functools
import importlib
import os
import sys

from penstock import namespace
from penstock.core import composite, op_def, trackable
from penstock.types import type_spec
from penstock.version import __version__

_PACKAGES_WITH_PUBLIC_NAMES = (
    "autodiff",
    "compat",
    "config",
    "data",
    "distribute",
    "errors",
    "profiler",
    "summary",
    "train",
    "types",
    "version",
)

namespace.install(sys.modules[__name__], "")
for _package in _PACKAGES_WITH_PUBLIC_NAMES:
    namespace.install(importlib.import_module(f"penstock.{_package}"), _package)

for _module in ("overloads", "array_getitem"):  # operators and slices of tensors
    importlib.import_module(f"penstock.ops.{_module}")
# The last one added is asked first: what others make by name, all our own, other packages'.
op_def.add_loader(lambda: importlib.import_module("penstock.core.op_packages").load_packages())
op_def.add_loader(lambda: importlib.import_module("penstock.data.operations").load_all())
op_def.add_loader(lambda: importlib.import_module("penstock.ops").load_all())
op_def.add_loader(lambda: importlib.import_module("penstock.ops").load_common())
composite.add_sparse_loader(lambda: importlib.import_module("penstock.ops.sparse_dispatch"))
trackable.set_manager_loader(lambda: importlib.import_module("penstock.checkpoint.manager"))
type_spec.add_loader("tf.linalg.", lambda: importlib.import_module("penstock.ops.linear_operators"))
for _prefix, _behind in (
    ("tf.data.DatasetSpec", "data.base"),
    ("tf.IteratorSpec", "data.iterator"),
    ("tf.OptionalSpec", "ops.optional"),
):
    type_spec.add_loader(_prefix, functools.partial(importlib.import_module, f"penstock.{_behind}"))
type_spec.use_messages(lambda: importlib.import_module("penstock.data.structure_messages"))
version = importlib.import_module("penstock.version")
if os.environ.get("PENSTOCK_EFFECTS"):
    importlib.import_module("penstock.core.effect_start").start()

__all__ = ["__version__", "version"]
