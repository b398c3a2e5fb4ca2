"""`tf.compat.v1.profiler`: reports on a graph, and on the steps of it that were traced.

`profile` makes one report; a `Profiler` collects steps and makes several; `advise` says what takes
the time. A report is printed, or goes where its options say, and is returned as a message.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

from penstock import errors
from penstock.core import files
from penstock.core.context import state
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.profiler import model_advice, model_messages
from penstock.profiler.model_facts import Facts, add_log, add_step, read_graph
from penstock.profiler.model_options import Options, read_options
from penstock.profiler.model_outputs import emit, write
from penstock.profiler.model_text import report
from penstock.profiler.model_tree import VIEWS, Source, prune, type_rows
from penstock.profiler.options_v1 import ProfileOptionBuilder

_DEFAULT = 0  # what the defaults of `options` are called
_LOG_NAME = "tfprof_log"


def _graph_of(graph: Any, where: str) -> Graph:
    found = graph
    if graph is None and state.graph is not None:
        found = get_default_graph()
    if isinstance(found, Graph):
        return found
    raise errors.InvalidArgumentError(
        None,
        None,
        errors.located(
            f"tf.compat.v1.profiler.{where}", "a tf.Graph", repr(graph),
            "Pass graph=, as session.graph or concrete_function.graph.",
        ),
    )  # fmt: skip


def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Any = _DEFAULT,
) -> Any:
    """Reports on a graph, and on one step of it.

    Args:
      graph: a `tf.Graph`; the default graph when None.
      run_meta: the RunMetadata of a traced step, for times and memory.
      op_log: an OpLogProto with more facts on operations.
      cmd: "scope", "graph", "code" or "op": what the report is arranged by.
      options: what `ProfileOptionBuilder` builds; the parameters of trainable variables by default.

    Returns:
      A GraphNodeProto for "scope" and "graph", a MultiGraphNodeProto for "op" and "code".

    Raises:
      InvalidArgumentError: `cmd` or an option is not known.

    Example:
      >>> with tf.Graph().as_default() as graph:
      ...     v = tf.compat.v1.get_variable("v", [2, 3])
      >>> options = tf.compat.v1.profiler.ProfileOptionBuilder(
      ...     tf.compat.v1.profiler.ProfileOptionBuilder.trainable_variables_parameter()
      ... ).with_empty_output()
      >>> tf.compat.v1.profiler.profile(graph, options=options.build()).total_parameters
      6
    """
    made = Profiler(_graph_of(graph, "profile"), op_log)
    if run_meta is not None:
        made.add_step(1, run_meta)
    return made._report(cmd, options)


def advise(graph: Any = None, run_meta: Any = None, options: Any = _DEFAULT) -> Any:
    """Says what takes the time of a step, and what could be faster; prints it too.

    Args:
      graph: a `tf.Graph`; the default graph when None.
      run_meta: the RunMetadata of a traced step.
      options: the names of checkers as keys of a dictionary; all of them by default.

    Returns:
      An AdviceProto.

    Raises:
      InvalidArgumentError: there is no such checker.
    """
    made = Profiler(_graph_of(graph, "advise"))
    if run_meta is not None:
        made.add_step(1, run_meta)
    return made.advise({} if options == _DEFAULT else options)


class Profiler:
    """Collects steps of a graph, and reports on them. Not thread-safe.

    Args:
      graph: a `tf.Graph`; the default graph when None.
      op_log: an OpLogProto with more facts on operations.

    Example:
      >>> profiler = tf.compat.v1.profiler.Profiler(tf.Graph())
      >>> len(profiler.serialize_to_string())
      2
    """

    def __init__(self, graph: Any = None, op_log: Any = None) -> None:
        self._graph = _graph_of(graph, "Profiler")
        self._op_log = op_log
        self._steps: dict[int, Any] = {}
        self._facts = self._read()

    def _read(self) -> dict[str, Facts]:
        facts = read_graph(self._graph)
        if self._op_log is not None:
            add_log(facts, self._op_log)
        return facts

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds a traced step, in place of one of that number.

        Args:
          step: its number, not negative.
          run_meta: its RunMetadata.

        Raises:
          InvalidArgumentError: the number is negative.
        """
        if step < 0:
            text = errors.located(
                "tf.compat.v1.profiler.Profiler.add_step", "a step from 0", str(step),
                "Number steps from 0.",
            )  # fmt: skip
            raise errors.InvalidArgumentError(None, None, text)
        self._steps[step] = run_meta
        self._facts = self._read()  # of the graph as it is now
        for number, message in self._steps.items():
            add_step(self._facts, message, number)

    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """Reports by scopes of names; see `profile` for options and errors."""
        return self._report("scope", options)

    def profile_graph(self, options: Mapping[str, Any]) -> Any:
        """Reports by what needs what; see `profile` for options and errors."""
        return self._report("graph", options)

    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """Reports by lines of the program; see `profile` for options and errors."""
        return self._report("code", options)

    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """Reports by types of operations; see `profile` for options and errors."""
        return self._report("op", options)

    def advise(self, options: Mapping[str, Any]) -> Any:
        """Says what takes the time, and prints it; see `advise`."""
        found = model_advice.advice(self._source(), options)
        sys.stdout.write(model_advice.text_of(found))
        return found

    def serialize_to_string(self) -> bytes:
        """The profile as the bytes of a ProfileProto."""
        data: bytes = model_messages.profile_message(self._source()).SerializeToString()
        return data

    def _source(self) -> Source:
        return Source(self._facts, sorted(self._steps))

    def _report(self, view: str, given: Any) -> Any:
        if view not in (*VIEWS, "op"):
            text = errors.located(
                "tf.compat.v1.profiler.profile", "cmd 'scope', 'graph', 'code' or 'op'",
                f"an unknown cmd: {view}", "Choose one of these.",
            )  # fmt: skip
            raise errors.InvalidArgumentError(None, None, text)
        plain = given == _DEFAULT and not isinstance(given, Mapping)
        options = read_options(
            ProfileOptionBuilder.trainable_variables_parameter() if plain else given
        )
        self._check_step(options)
        source, stats = self._source(), {n: m.step_stats for n, m in self._steps.items()}
        if view == "op":
            rows = type_rows(source, options)
            emit(report(view, rows, source, options), view, None, options, stats)
            return model_messages.rows_message(rows, source, options)
        displayed_only = options.displayed_only and view != "code"
        shown = prune(VIEWS[view](source, options), options, displayed_only)
        emit(report(view, shown, source, options), view, shown, options, stats)
        if view == "code":
            return model_messages.code_message(shown, source, options)
        return model_messages.tree_message(shown)

    def _check_step(self, options: Options) -> None:
        if options.step >= 0 and options.step not in self._steps:
            text = errors.located(
                "tf.compat.v1.profiler, step", f"one of the steps {sorted(self._steps)}",
                str(options.step), "Add it with Profiler.add_step, or leave it at -1 for all.",
            )  # fmt: skip
            raise errors.InvalidArgumentError(None, None, text)


def write_op_log(
    graph: Any, log_dir: Any, op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> None:
    """Writes what is known of a graph's operations to the file `tfprof_log` of a folder.

    Args:
      graph: a `tf.Graph`; the default graph when None.
      log_dir: the folder, which exists.
      op_log: an OpLogProto with more facts on operations, which go in too.
      run_meta: the RunMetadata of a traced step; operations that are only there go in too.
      add_trace: whether the lines that made the operations go in.

    Raises:
      NotFoundError: there is no such folder.
    """
    facts = read_graph(_graph_of(graph, "write_op_log"))
    if op_log is not None:
        add_log(facts, op_log)
    if run_meta is not None:
        add_step(facts, run_meta, 1)
    message = model_messages.log_message(facts.values(), add_trace)
    write(os.path.join(files.local_path(log_dir), _LOG_NAME), message.SerializeToString())
