"""What every dataset is run through here: each place it can be saved at, and each way to run it."""

import numpy as np

import penstock as tf
from penstock.data.options import ExternalStatePolicy


def plain(value):
    """An element as nested lists and scalars, which compare."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (tf.RaggedTensor,)):
        return value.to_list()
    if isinstance(value, tf.SparseTensor):
        return tf.sparse.to_dense(value).numpy().tolist()
    return np.asarray(value.numpy()).tolist()


def values(dataset):
    """Its elements."""
    return [plain(x) for x in dataset]


def outcomes(dataset, limit=50):
    """Its elements, and the classes of its errors where they come."""
    iterator, found = iter(dataset), []
    for _ in range(limit):
        try:
            found.append(plain(next(iterator)))
        except StopIteration:
            return found
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    raise AssertionError(f"no end after {limit}: {found[:5]}")


def saved(iterator):
    """Where an iterator is, whatever its functions keep elsewhere."""
    return iterator._state.save(ExternalStatePolicy.IGNORE)


def check_everywhere(make):
    """Restoring at each place gives the rest, and a function gives the same elements."""
    everything = values(make())
    for place in range(len(everything) + 1):
        first = iter(make())
        for _ in range(place):
            next(first)
        data = saved(first)
        assert [plain(x) for x in first] == everything[place:]
        second = iter(make())
        next(second, None)
        second._state.restore(data)
        assert [plain(x) for x in second] == everything[place:]
    return everything


def in_function(make, count):
    """The first elements of a dataset that a tf.function makes."""

    @tf.function
    def run():
        iterator = iter(make())
        return [iterator.get_next() for _ in range(count)]

    return plain(run())


def in_session(make):
    """The elements of a dataset of a graph, in a session; of one component each."""
    with tf.Graph().as_default():
        dataset = make()
        attrs = {"output_types": dataset._structure.types, "output_shapes": [[]]}
        iterator = tf.raw_ops.IteratorV2(shared_name="", container="", **attrs)
        start = tf.raw_ops.MakeIterator(dataset=dataset._variant_tensor, iterator=iterator)
        element = tf.raw_ops.IteratorGetNext(iterator=iterator, **attrs)
        found = []
        with tf.compat.v1.Session() as session:
            session.run(start)
            try:
                while True:
                    found.append(np.asarray(session.run(element[0])).tolist())
            except tf.errors.OutOfRangeError:
                return found
