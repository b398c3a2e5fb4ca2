"""Summaries: numbers, histograms, pictures and graphs for TensorBoard to show.

- `writers`: `create_file_writer`, the default writer, step and condition of a thread, `write`.
- `plots`: `scalar`, `histogram`, `image`, `text`, `audio`: tensors in the form a viewer expects.
- `tracing`: `trace_on`, `trace_off`, `trace_export`: graphs of functions that ran, and profiles.
- `merged`: the first generation's summaries, operations that give a serialised Summary.
- `file_writer`: the first generation's `FileWriter`, which takes such messages and graphs.
"""
