"""`QueueRunner`: threads that keep a queue full.

Each thread runs one operation that puts elements into the queue, again and again, until the data
ends, the queue is closed, or a coordinator asks to stop. The last thread to end closes the queue,
so that those who take from it see the end. Graphs only.
"""

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from penstock import errors, proto
from penstock.config import logging
from penstock.core.context import state
from penstock.core.effects import Place, switch
from penstock.graph.default_graph import get_default_graph

QUEUE_RUNNERS = "queue_runners"  # the collection of a graph's queue runners


def refuse_eager() -> None:
    """Raises RuntimeError where operations run at once."""
    if state.graph is None:
        raise RuntimeError(
            "QueueRunners are not supported when eager execution is enabled. Instead, please use"
            " tf.data to get data into your model."
        )


class QueueRunner:
    """Threads that put elements into a queue, each with an operation of its own.

    Args:
      queue: the queue.
      enqueue_ops: operations that put elements into it; one thread each.
      close_op: closes the queue when the data has ended; made when None.
      cancel_op: closes it and cancels those who wait, when a coordinator stops; made when None.
      queue_closed_exception_types: errors that mean the end of the data; OutOfRangeError if None.
      queue_runner_def: a QueueRunnerDef message, instead of the others.
      import_scope: what the names in the message begin with in this graph.

    Raises:
      RuntimeError: operations run at once.
      ValueError: there is no queue, or no operation, or a message beside them.
      TypeError: `queue_closed_exception_types` is no tuple of error classes.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        refuse_eager()
        self._turns = Place("QueueRunner")
        self._lock = self._turns.lock  # guards: _errors, _running
        self._errors: list[BaseException] = []
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError(
                    "queue_runner_def and queue are mutually exclusive: expected one of them."
                )
            self._read(queue_runner_def, import_scope)
            return
        if queue is None or not enqueue_ops:
            raise ValueError(
                f"Must provide queue and enqueue_ops: got queue={queue!r} and enqueue_ops="
                f"{enqueue_ops!r}."
            )
        closing = queue_closed_exception_types
        if closing is not None and not _are_errors(closing):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
                f"but saw: {closing!r}."
            )
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        cancel = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._cancel_op = cancel
        self._closing: tuple[Any, ...] = closing or (errors.OutOfRangeError,)

    def _read(self, message: Any, scope: str | None) -> None:
        if not isinstance(message, proto.queue_runner_pb2.QueueRunnerDef):
            raise TypeError(f"queue_runner_def must be a QueueRunnerDef, got {type(message)}.")
        graph = get_default_graph()

        def find(name: str) -> Any:
            return graph.as_graph_element(f"{scope}/{name}" if scope else name)

        self._queue = find(message.queue_name)
        self._enqueue_ops = [find(name) for name in message.enqueue_op_name]
        self._close_op = find(message.close_op_name)
        self._cancel_op = find(message.cancel_op_name)
        codes = message.queue_closed_exception_types
        kinds = tuple(errors.exception_type_from_error_code(code) for code in codes)
        self._closing = kinds or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that put elements into it."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes it."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes it and cancels those who wait."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[Any, ...]:
        """The errors that mean the end of the data."""
        return self._closing

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The errors of threads without a coordinator."""
        return self._errors

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    # ---- threads

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads, unless they run for this session already.

        Args:
          sess: the session.
          coord: a Coordinator that stops them, and gets their errors.
          daemon: whether the program may end while they run.
          start: whether to start them.

        Returns:
          The threads: one for each operation, and one that waits for the coordinator.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._errors = []
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, op, coord),
                name=f"QueueRunnerThread-{self.name}-{op.name}",
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def _run(self, sess: Any, enqueue_op: Any, coord: Any) -> None:
        """One thread: puts elements until they end."""
        ended = False
        try:
            put = sess.make_callable(enqueue_op)
            while coord is None or not coord.should_stop():
                put()
        except self._closing:
            ended = True
        except Exception as problem:
            if coord is not None:
                # A step that outlasted the grace period is cancelled with its session.
                if not (coord.joined and isinstance(problem, errors.CancelledError)):
                    coord.request_stop(problem)
                return
            logging.error("Exception in QueueRunner: %s", problem)
            with self._lock:
                self._errors.append(problem)
        finally:
            log = switch.log
            with self._lock if log is None else log.turn_to_end("end", self._turns):
                self._running[sess] -= 1
                last = self._running[sess] == 0
            if ended and last:
                self._run_quietly(sess, self._close_op)

    def _close_on_stop(self, sess: Any, coord: Any) -> None:
        coord.wait_for_stop()
        self._run_quietly(sess, self._cancel_op)

    @staticmethod
    def _run_quietly(sess: Any, op: Any) -> None:
        """Closes the queue; it may be closed, and the session gone."""
        try:
            sess.run(op)
        except Exception as problem:
            logging.info("A QueueRunner could not run %s: %s", op.name, problem)

    # ---- messages

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A QueueRunnerDef message; None when the queue is outside of `export_scope`."""
        prefix = f"{export_scope}/" if export_scope else ""
        if not self._queue.name.startswith(prefix):
            return None

        def strip(element: Any) -> str:
            return str(element.name).removeprefix(prefix)

        message: Any = proto.queue_runner_pb2.QueueRunnerDef()
        message.queue_name = strip(self._queue)
        message.enqueue_op_name.extend(strip(op) for op in self._enqueue_ops)
        message.close_op_name = strip(self._close_op)
        message.cancel_op_name = strip(self._cancel_op)
        message.queue_closed_exception_types.extend(
            errors.error_code_from_exception_type(kind) for kind in self._closing
        )
        return message

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> "QueueRunner":
        """The queue runner of a QueueRunnerDef message, whose operations are in the graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _are_errors(kinds: Any) -> bool:
    return isinstance(kinds, tuple) and all(
        isinstance(k, type) and issubclass(k, errors.OpError) for k in kinds
    )


def add_queue_runner(qr: QueueRunner, collection: str = QUEUE_RUNNERS) -> None:
    """Adds a queue runner to a collection of the graph, which `start_queue_runners` starts.

    Args:
      qr: the queue runner.
      collection: the collection's name.
    """
    get_default_graph().add_to_collection(collection, qr)
