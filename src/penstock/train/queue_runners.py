"""`start_queue_runners`: starts the threads that fill a graph's queues."""

import threading
from typing import Any

from penstock.ops.queue_runner import QUEUE_RUNNERS, refuse_eager
from penstock.runtime.client import get_default_session


def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts the queue runners of a graph.

    Args:
      sess: the session; the default one if None.
      coord: a Coordinator that stops their threads, and gets their errors.
      daemon: whether the program may end while they run.
      start: whether to start the threads, or only make them.
      collection: the collection of queue runners.

    Returns:
      The threads.

    Raises:
      RuntimeError: operations run at once.
      ValueError: there is no session.
      TypeError: `sess` is no session.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            refuse_eager()
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not (hasattr(sess, "graph") and hasattr(sess, "run")):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    if not hasattr(sess, "make_callable"):  # a monitored session starts its own
        return []
    with sess.graph.as_default():
        return [
            thread
            for runner in sess.graph.get_collection(collection)
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]
