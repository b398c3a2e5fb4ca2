"""Reading event files in tests: with our own reader, and with TensorBoard's."""

import pathlib

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from penstock import proto
from penstock.core.records import read_records
from penstock.graph.tensor_proto import make_ndarray


def files(folder):
    return sorted(pathlib.Path(folder).glob("events.out.tfevents.*"))


def events(folder):
    """The events of the only file of a folder, without the first."""
    (path,) = files(folder)
    with path.open("rb") as file:
        first, *rest = map(proto.event_pb2.Event.FromString, read_records(file))
    assert first.file_version == "brain.Event:2"
    assert all(event.wall_time > 0 for event in (first, *rest))
    return rest


def values(folder):
    """(step, tag, value) of every summary; tensors as arrays."""
    found = []
    for event in events(folder):
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            given = make_ndarray(value.tensor) if kind == "tensor" else getattr(value, kind)
            found.append((event.step, value.tag, given))
    return found


def scalars(folder):
    """(step, tag, number) of summaries that are all scalars."""
    return [(step, tag, float(np.asarray(value))) for step, tag, value in values(folder)]


def tensorboard(folder):
    """What TensorBoard makes of a folder."""
    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    return accumulator
