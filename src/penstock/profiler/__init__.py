"""Profiles: what ran, on which device and thread, for how long, and what it took.

- `experimental`: `tf.profiler.experimental`: start, stop, `Profile`, `Trace`, options.
- `capture`: one profile under way, and the files that it writes.
- `records`: the account of operations of steps: counts, times, bytes.
- `cost`: what an operation costs by its shapes.
- `options_v1`: the options of `tf.compat.v1.profiler`.
"""
