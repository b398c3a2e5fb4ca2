"""`tf.summary.trace_on`, `trace_off`, `trace_export`: graphs of functions that ran, and profiles.

From `trace_on` to `trace_off`, the graphs of the functions that eager code calls are kept; with a
profiler, a profile is taken too. `trace_export` writes them for the viewer's graph page and ends
the trace.
"""

import contextlib
import threading
from typing import Any

from penstock import errors, proto
from penstock.config import logging
from penstock.core import context
from penstock.profiler import sessions as profiles
from penstock.runtime.watching import FunctionWatch
from penstock.runtime.watching import state as watching
from penstock.summary import writers

_GRAPH = "graph_run_metadata_graph"  # plugins of the viewer
_PROFILE = "graph_run_metadata"
_VERSION = b"1"


class _Trace:
    """What one trace collects; one for the process."""

    def __init__(self, graph: bool, profile: bool) -> None:
        self.graph = graph
        self.profile = profile
        self.functions = FunctionWatch()


_lock = threading.Lock()  # guards: _running
_running: list[_Trace] = []  # the trace under way, or none


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: Any = None) -> None:
    """Starts a trace: keeps the graphs of functions that run, and takes a profile.

    Does nothing but a warning in a graph or function, or when a trace is under way.

    Args:
      graph: whether graphs are kept.
      profiler: whether a profile is taken.
      profiler_outdir: the folder of the profile; a profile needs one.
    """
    if _in_graph("trace_on"):
        return
    with _lock:
        if _running:
            logging.warning("Must call trace_off before trace_on: a trace is under way already.")
            return
        if profiler and profiler_outdir is None:
            logging.warning(
                "tf.summary.trace_on: expected profiler_outdir with profiler=True, got None. No"
                " profile is taken; pass a folder."
            )
            profiler = False
        trace = _Trace(graph, profiler)
        if profiler:
            profiles.start(profiler_outdir)
        _running.append(trace)
        if graph:
            watching.functions = trace.functions


def trace_off() -> None:
    """Ends the trace and forgets what it kept; the profile, when there is one, is written."""
    with _lock:
        _end()


def _end() -> None:
    trace = _running.pop() if _running else None
    watching.functions = None
    if trace is not None and trace.profile:
        with contextlib.suppress(errors.UnavailableError):  # the program stopped it
            profiles.stop()


def trace_export(name: str, step: Any = None, profiler_outdir: Any = None) -> None:
    """Writes the graphs that the trace kept to the thread's writer, and ends the trace.

    Does nothing but a warning in a graph or function.

    Args:
      name: the tag of the summary.
      step: an int64 scalar; the thread's step when None.
      profiler_outdir: not used; `trace_on` takes the folder.

    Raises:
      ValueError: no trace is under way, or there is a writer but no step.
    """
    if _in_graph("trace_export"):
        return
    with _lock:
        if not _running:
            raise ValueError(
                "Must enable trace before export through tf.summary.trace_on. "
                f"tf.summary.trace_export {name!r}: expected a trace under way, got none."
            )
        trace = _running[0]
        message = _run_metadata(trace.functions.bodies if trace.graph else [])
        metadata = proto.summary_pb2.SummaryMetadata()
        both = trace.graph and not trace.profile
        metadata.plugin_data.plugin_name = _GRAPH if both else _PROFILE
        metadata.plugin_data.content = _VERSION
        with writers.summary_scope(name, "trace_export_summary") as (tag, _):
            writers.write(tag, message.SerializeToString(), step, metadata)
        _end()


def _run_metadata(bodies: list[Any]) -> Any:
    message = proto.config_pb2.RunMetadata()
    for body in bodies:
        graph_def = body.graph.as_graph_def(add_shapes=True)
        message.partition_graphs.add().CopyFrom(graph_def)
        message.function_graphs.add().pre_optimization_graph.CopyFrom(graph_def)
    return message


def _in_graph(function: str) -> bool:
    if context.executing_eagerly():
        return False
    logging.warning("Cannot call %s in a graph or function: it does nothing there.", function)
    return True
