# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.queue_runner import QueueRunner as QueueRunner
from penstock.ops.queue_runner import add_queue_runner as add_queue_runner
from penstock.train.queue_runners import start_queue_runners as start_queue_runners
