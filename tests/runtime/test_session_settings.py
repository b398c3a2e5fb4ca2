"""Settings of sessions that are honoured or refused; docs/settings.md lists them all."""

import gc

import pytest

import penstock as tf

v1 = tf.compat.v1
INVALID = tf.errors.InvalidArgumentError


def run(config, options=None, metadata=None):
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        x = tf.constant([1.0, 2.0])
        return session.run(tf.reduce_sum(x * 2.0), options=options, run_metadata=metadata)


@pytest.mark.parametrize("kind", ["", "DEFAULT", "SINGLE_THREADED_EXECUTOR"])
def test_executors(kind):
    config = v1.ConfigProto(inter_op_parallelism_threads=3)
    config.experimental.executor_type = kind
    assert run(config) == 6.0
    with v1.Session(graph=tf.Graph(), config=config) as session:
        bound = session._direct.options.threads
    assert bound == (1 if kind.startswith("SINGLE") else 3)


def test_an_unknown_executor_is_refused_when_a_step_is_planned():
    config = v1.ConfigProto()
    config.experimental.executor_type = "nope"
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        x = tf.constant(1.0)
        with pytest.raises(tf.errors.NotFoundError, match="'nope': no executor is registered"):
            session.run(x)


def test_the_name_of_a_session_is_in_its_metadata_and_no_other_open_session_has_it():
    config = v1.ConfigProto()
    config.experimental.session_metadata.name = "m"
    config.experimental.session_metadata.version = 2
    metadata = v1.RunMetadata()
    run(config, None, metadata)
    assert (metadata.session_metadata.name, metadata.session_metadata.version) == ("m", 2)
    first = v1.Session(graph=tf.Graph(), config=config)
    with pytest.raises(INVALID, match=r"same name and version .*'m', version 2"):
        v1.Session(graph=tf.Graph(), config=config)
    first.close()
    second = v1.Session(graph=tf.Graph(), config=config)
    del second  # not closed, but gone
    gc.collect()
    run(config)
    config.experimental.session_metadata.version = -1
    with pytest.raises(INVALID, match="shouldn't be negative: got -1"):
        run(config)


def test_a_session_may_give_no_graphs():
    config = v1.ConfigProto()
    config.experimental.disable_output_partition_graphs = True
    options = v1.RunOptions(output_partition_graphs=True)
    assert run(config) == 6.0
    with pytest.raises(INVALID, match="output_partition_graphs"):
        run(config, options, v1.RunMetadata())
