"""SavedModel: functions, variables and files of a program, in a folder that needs no program.

A folder holds `saved_model.pb` (a SavedModel message: a graph with a library of functions, and the
graph of objects that uses them), `variables/` (a bundle), `assets/` (files) and `fingerprint.pb`.
It is TensorFlow's format, both ways.

`save` walks the objects below a root, functions included, and writes them; `load` makes them anew.
`structures` writes Python values and specs as messages, `objects` has the objects that exist for
the sake of saving, `walking` numbers everything, `signatures` makes the functions that servers
call, `graph_side` the graph that a session runs, `restored` the functions of a loaded model. For
the first generation, `builder` collects graphs of sessions and `loader` brings them back;
`signature_defs` writes descriptions of what is fed and fetched. `folder` reads and writes the
files.
"""
