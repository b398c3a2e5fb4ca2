"""Checkpoints: the state of objects and of graphs, saved and restored.

Two ways lead to the same files (`penstock.core.bundle`). `Checkpoint` follows objects: it walks the
named children of a root, saves each object's tensors under the path that leads to it, and writes
the graph of objects beside them, so that restoring matches by structure, and what is created later
gets its values when it is attached. `Saver` follows variables of a graph by their names.

What takes part in a `Checkpoint` is a `Trackable` (`penstock.core.trackable`) with any of these:

- `_trackable_children(save_type)` returns {name: Trackable}. Whoever adds a child later calls
  `self._child_added(name, child)`, so that a waiting checkpoint reaches it.
- `_serialize_to_tensors()` returns {name: tensor} (eagerly with values, in a graph with symbolic
  tensors); it must be the state as of now, not a view that changes. A value may be a NumPy array.
- `_restore_from_tensors({name: tensor})` takes the state back. In a graph it returns the operation,
  or a list of operations, that does so.
- an optimizer has `get_slot_names()` and `get_slot(variable, name)`, and calls `_slot_added`.

An object whose state is no tensor (a queue, an iterator, a random generator) serializes itself to
string or integer tensors. Names of tensors are part of the file format: they never change.

`object_graph` walks, `saving` writes, `restoring` reads, `status` is what `restore` returns,
`objects` has `Checkpoint`, `manager` the manager of many, `state_files` the file that names the
last ones, `saver` and `meta_graph` the graph side, `readers` what looks into files.
"""
