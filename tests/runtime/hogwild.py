"""An asynchronous program: threads that train one model without locks, fed through queues."""

import threading

import penstock as tf

v1 = tf.compat.v1
ROWS = 96


def bits(array):
    return array.tobytes().hex()


def run(seed, threads=4, batch=3):
    """The bits of each thread's losses, and of the variables at the end."""
    losses = {}
    with tf.Graph().as_default():
        numbers = v1.train.range_input_producer(ROWS, num_epochs=1, shuffle=True)
        row = tf.random.stateless_normal([4], [seed, numbers.dequeue()])
        rows = tf.queue.RandomShuffleQueue(16, 2, [tf.float32], [[4]])
        v1.train.add_queue_runner(v1.train.QueueRunner(rows, [rows.enqueue([row])] * 2))
        weights = v1.get_variable("w", [4, 1], initializer=v1.zeros_initializer())
        bias = v1.get_variable("b", [], initializer=v1.zeros_initializer())
        step = v1.train.get_or_create_global_step()
        x = rows.dequeue_many(batch)
        wanted = tf.reduce_sum(x, 1, keepdims=True) + 0.1 * tf.random.normal([batch, 1])
        loss = tf.reduce_mean(tf.square(x @ weights + bias - wanted))
        train = v1.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step)
        initialize = [v1.global_variables_initializer(), v1.local_variables_initializer()]
        with v1.Session() as session:
            session.run(initialize)
            coord = tf.train.Coordinator()
            runners = v1.train.start_queue_runners(session, coord)

            def work(number):
                losses[number] = []
                with coord.stop_on_exception():
                    while not coord.should_stop():
                        losses[number].append(bits(session.run([loss, train])[0]))

            workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
            for worker in workers:
                worker.start()
            coord.join(workers + runners, stop_grace_period_secs=60)
            final = [bits(value) for value in session.run([weights, bias, step])]
    return losses, final
