# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.queues import FIFOQueue as FIFOQueue
from penstock.ops.queues import PaddingFIFOQueue as PaddingFIFOQueue
from penstock.ops.queues import PriorityQueue as PriorityQueue
from penstock.ops.queue_base import QueueBase as QueueBase
from penstock.ops.queues import RandomShuffleQueue as RandomShuffleQueue
