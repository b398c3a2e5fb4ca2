"""What a summary of a plain graph gives waits until it is written."""

import penstock as tf

v1 = tf.compat.v1


def test_what_a_summary_of_a_plain_graph_gives_waits_for_it(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        writer = tf.summary.create_file_writer(str(tmp_path))

        def body(i):
            written = tf.summary.scalar("b", 1.0, step=tf.cast(i, tf.int64))
            with tf.control_dependencies([written]):
                return i + 1

        with writer.as_default(step=7):
            alone = tf.summary.scalar("a", 1.0)
            loop = tf.while_loop(lambda i: i < 2, body, [0])
        session.run(writer.init())
        assert session.run(alone)
        session.run(loop)
        session.run(writer.close())
    [path] = tmp_path.iterdir()
    events = v1.train.summary_iterator(str(path))
    found = [(value.tag, event.step) for event in events for value in event.summary.value]
    assert found == [("a", 7), ("b", 0), ("b", 1)]
